"""Makers: classes and functions that make things from specs, such as attacks and augmentations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.spec import Call, Value


@dataclass(frozen=True)
class Maker:
    """What a registry knows of a class or function that makes things of a kind."""

    kind: str
    """Word for the things in messages, such as ``attack``."""
    name: str
    make: Callable[..., Any]
    """Takes the arguments of a spec."""
    arguments: str | None = None
    """Arguments with their defaults, as they are written in a spec; None if they are unknown."""
    about: str = ""
    """One line of help."""
    needs: str = ""
    """Package that must be installed, the name of an extra of ours."""

    @classmethod
    def admit(cls, kind: str, name: str, thing: Any, *, needs: str = "") -> Maker:
        """Maker of another package: a class, a function, or a thing that is made already."""
        if not callable(thing):
            raise InputError(
                f"{kind} {name!r} must be a class or a function that returns an {kind}, got "
                f"{thing!r}"
            )
        made = not isinstance(thing, type) and hasattr(thing, "spec")
        about = (thing.__doc__ or "").strip().partition("\n")[0]
        return cls(kind, name, (lambda: thing) if made else thing, about=about, needs=needs)

    @property
    def usage(self) -> str:
        """How it is written in a spec."""
        return f"{self.name}({self.arguments})" if self.arguments else self.name

    def create(self, call: Call) -> Any:
        """Make a thing with the arguments of a spec; whole numbers are passed as int."""
        if self.needs and find_spec(self.needs) is None:
            raise InputError(
                f"{self.kind} {self.name} needs {self.needs}, which is not installed; "
                f"pip install 'shaketable[{self.needs}]'"
            )
        options = {name: as_whole(value) for name, value in call.options.items()}
        hint = ": {text}" if self.arguments is None else f"; write {self.usage}"
        failure = "cannot be made: {error}; correct its arguments or its code"
        with (
            guard_foreign(f"{self.kind} {call} {failure}"),
            guard_foreign(f"{self.kind} {call} is not understood{hint}", only=(TypeError,)),
        ):
            return self.make(*map(as_whole, call.args), **options)


def as_whole(value: Value) -> Any:
    """Whole numbers as integers, everything else as it is.

    >>> as_whole(3.0), as_whole(0.5), as_whole("inf")
    (3, 0.5, 'inf')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value

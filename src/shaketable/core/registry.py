"""Registries: corruptions, suites, attacks, findings, model loaders and commands by name.

The built-in ones are declared in the modules that define them. Those of other packages are found in
two ways: by entry points of installed packages, in a group such as ``shaketable.corruptions``, and
by a reference ``package.module:name``, which is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shaketable.core.checks import unknown_name
from shaketable.core.errors import (
    FOREIGN_ERRORS,
    InputError,
    ShaketableError,
    describe_error,
    guard_foreign,
)
from shaketable.core.importing import import_object, is_reference, run_trusted

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
from importlib.util import find_spec

from shaketable.core.spec import Call, Value

T = TypeVar("T")


@dataclass(eq=False)
class Registry(Generic[T]):
    """Things of one kind by name.

    >>> colours: Registry[int] = Registry("colour", admit=lambda name, thing: int(thing))
    >>> colours.add("red", 0xFF0000)
    16711680
    >>> colours.get("red"), list(colours)
    (16711680, ['red'])
    >>> colours.get("rad")
    Traceback (most recent call last):
        ...
    shaketable.core.errors.InputError: unknown colour 'rad'; did you mean 'red'? Known: red
    """

    kind: str
    """Word for them in messages; the group of entry points is ``shaketable.{kind}s``."""
    admit: Callable[[str, Any], T]
    """Converts an object of another package, given its name; or raises `InputError`."""
    homes: tuple[str, ...] = ()
    """Modules that declare the built-in ones; imported when a name is first looked up."""
    _declared: dict[str, Callable[[], T]] = field(default_factory=dict)

    def add(self, name: str, thing: T) -> T:
        """Declare a built-in one, and return it."""
        self.declare(name, lambda: thing)
        return thing

    def declare(self, name: str, make: Callable[[], T]) -> None:
        """Declare a built-in one that is made when it is first looked up."""
        if name in self._declared:
            raise InputError(f"{self.kind} {name!r} is declared already; choose another name")
        self._declared[name] = cache(make)

    def get(self, name: str) -> T:
        """Return what a name or a reference ``package.module:name`` stands for."""
        if name in self._builtin:
            return self._declared[name]()
        if name in self._installed:
            return self._admit(name, self._load(self._installed[name]))
        if is_reference(name):
            return self._admit(name, import_object(self.kind, name))
        raise unknown_name(self.kind, name, self)

    def __iter__(self) -> Iterator[str]:
        """All names: the built-in ones in the order of their declaration, then those installed."""
        yield from self._builtin
        yield from (name for name in self._installed if name not in self._declared)

    def __contains__(self, name: object) -> bool:
        return name in self._builtin or name in self._installed

    def items(self) -> list[tuple[str, T]]:
        """Every name with what it stands for."""
        return [(name, self.get(name)) for name in self]

    def describe(self, lines: Callable[[str, T], Mapping[str, str]]) -> dict[str, str]:
        """Return the lines of a list: for every name those that `lines` makes of its entry.

        A name whose package is broken is listed with the error, so that the others are still shown.

        >>> colours: Registry[int] = Registry("colour", admit=lambda name, thing: int(thing))
        >>> red = colours.add("red", 0xFF0000)
        >>> colours.describe(lambda name, code: {name: f"#{code:06x}"})
        {'red': '#ff0000'}
        """
        described: dict[str, str] = {}
        for name in self:
            try:
                described |= lines(name, self.get(name))
            except FOREIGN_ERRORS as error:  # of another package
                described[name] = f"cannot be used: {describe_error(error)}"
        return described

    @contextmanager
    def guard(
        self,
        name: str,
        failure: str = "failed: {error}",
        make: Callable[[str], BaseException] = InputError,
        *,
        hint: str = "",
        but: tuple[type[BaseException], ...] = (ShaketableError,),
    ) -> Iterator[None]:
        """Guard code of another package that is here under a name; built-in ones are not guarded.

        What it raises becomes an error that names it, says what failed and ends with the hint; see
        `guard_foreign`.
        """
        if name in self._builtin:
            yield
            return
        remedy = f"update the package or uninstall it{hint}"
        message = f"{self.kind} {name!r} of an installed package {failure}; {remedy}"
        with guard_foreign(message, make, but=but):
            yield

    @property
    def group(self) -> str:
        """Group of the entry points of other packages."""
        return f"shaketable.{self.kind.replace(' ', '_')}s"

    @property
    def declared(self) -> frozenset[str]:
        """Names of the built-in ones."""
        return frozenset(self._builtin)

    @property
    def _builtin(self) -> Mapping[str, Callable[[], T]]:
        assert self._is_loaded
        return self._declared

    @cached_property
    def _is_loaded(self) -> bool:
        """Whether the modules that declare the built-in ones are imported; it imports them."""
        for home in self.homes:
            import_module(home)
        return True

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # 20 ms, for the names of other packages only

        return {point.name: point for point in entry_points(group=self.group)}

    def _admit(self, name: str, thing: Any) -> T:
        remedy = "correct it, or update or uninstall its package"
        message = f"{self.kind} {name!r} cannot be used: {{error}}; {remedy}"
        with guard_foreign(message), run_trusted():  # a function or constructor of its package runs
            return self.admit(name, thing)

    def _load(self, point: EntryPoint) -> Any:
        with self.guard(point.name, "cannot be loaded: {text}", but=()), run_trusted():
            return point.load()


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

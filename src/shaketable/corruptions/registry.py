"""The registry of corruptions: what every spec name stands for.

A corruption declares itself with the decorator `declare`. That one line gives it a spec, a
line in ``shaketable list corruptions``, and a place in suites, grids and every command. Corruptions
of other packages are found by entry points in the group ``shaketable.corruptions`` and by
``package.module:name``; see `custom`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.core.spec import Call, Value

if TYPE_CHECKING:
    from shaketable.corruptions.corruption import Corruption

C = TypeVar("C", bound=type)

EpsMin: TypeAlias = "Callable[[float], float]"
"""Gives ``eps_min`` of the data in the p-norm, as a function of p."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a spec name, or a family of names, stands for."""

    read: Callable[[Call, EpsMin | None], Corruption]
    """Makes the corruption that one spec names; raises `InputError` for wrong arguments."""
    forms: Mapping[str, str]
    """Forms of the spec with what they mean, as ``shaketable list corruptions`` prints them."""
    pattern: str = ""
    """Regular expression that all names of a family match; empty for a single name."""
    names: tuple[str, ...] = ()
    """Names of a family that error messages suggest."""
    home: str = ""
    """Module that declares it; names are listed in the order of the modules in `homes`."""


class CorruptionRegistry(Registry[Declaration]):
    """Declarations by spec name; names of a family, such as ``l0.5``, match its pattern."""

    def get(self, name: str) -> Declaration:
        """Return the declaration of a name, or of the family that it belongs to.

        >>> CORRUPTIONS.get("l0.5").names
        ('linf', 'l2', 'l1', 'lP')
        """
        return self._find_family(name) or super().get(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self._find_family(str(name)) is not None

    def __iter__(self) -> Iterator[str]:
        """All names, built-in ones first, in the order of `homes`; of families the usual ones."""
        places = {home: place for place, home in enumerate(self.homes)}
        entries = ((name, make()) for name, make in self._builtin.items())
        for name, declaration in sorted(entries, key=lambda e: places.get(e[1].home, len(places))):
            yield from declaration.names or (name,)
        yield from (name for name in self._installed if name not in self._declared)

    def _find_family(self, name: str) -> Declaration | None:
        """Return the family that a name belongs to, unless it is declared by itself, as ``l0``."""
        if name in self._builtin:
            return None
        families = (d for make in self._builtin.values() if (d := make()).pattern)
        return next((d for d in families if re.fullmatch(d.pattern, name)), None)


def _admit(name: str, thing: Any) -> Declaration:
    from shaketable.corruptions.custom import admit  # it builds on the role, which declares itself

    return admit(name, thing)


_HERE = "shaketable.corruptions"
CORRUPTIONS = CorruptionRegistry(
    "corruption",
    admit=_admit,
    homes=(
        f"{_HERE}.corruption",
        f"{_HERE}.pnorm",
        f"{_HERE}.impulse",
        f"{_HERE}.gaussian",
        f"{_HERE}.camera_faults",
        f"{_HERE}.table_faults",
        f"{_HERE}.category_faults",
        f"{_HERE}.common.corruption",
        f"{_HERE}.training_sets",
    ),
)
"""All corruptions; every module of `homes` declares its own."""


def describe_corruptions() -> dict[str, str]:
    """Forms of all specs with what they mean."""
    return CORRUPTIONS.describe(lambda _, declaration: declaration.forms) | {
        "lP(0.5*eps_min)": "epsilon in units of eps_min, which the data decide; also eps_min/3",
        "A + B": "A, then B",
        "A | B": "A or B, drawn for every point; A + B | C is (A + B) | C",
        "3*A | B": "the same, A three times as often as B",
        'A(…, only="COLUMN,…")': "A on these columns of a table alone",
        "A as NAME": "A under a name of its own, with random draws of its own",
    }


def declare(name: str, forms: Mapping[str, str]) -> Callable[[C], C]:
    """Class decorator that declares a corruption, a dataclass, under its spec name.

    Its fields are the arguments of the spec. The first must be a number, the others must have
    defaults; a corruption without fields has the bare name.

    Parameters
    ----------
    name
        Its spec name, such as ``gaussian``.
    forms
        Forms of the spec with what they mean, for ``shaketable list corruptions``.
    """

    def add(cls: C) -> C:
        def read(call: Call, eps_min: EpsMin | None) -> Corruption:  # noqa: ARG001  (of p-norms alone)
            names = tuple(field.name for field in list_arguments(cls))
            if not names:
                check_bare(call)
                bare: Corruption = cls()
                return bare
            first, others = read_arguments(call, *names)
            made: Corruption = cls(first, **others)
            return made

        CORRUPTIONS.add(name, Declaration(read=read, forms=forms, home=cls.__module__))
        cls.spec_name = name  # type: ignore[attr-defined]  # of a corruption
        return cls

    return add


@lru_cache(maxsize=256)
def list_arguments(cls: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a corruption that its spec contains: all but what the data decide."""
    return tuple(field for field in fields(cls) if field.compare and field.name != "bounds")


def check_bare(call: Call) -> None:
    """Raise `InputError` for arguments of a corruption that takes none."""
    if call.args or call.options:
        raise InputError(f"corruption {call.name} takes no arguments, got {call}")


def read_arguments(call: Call, *names: str) -> tuple[float, dict[str, Any]]:
    """Return the first argument, a number that is required, and the others by name.

    >>> read_arguments(Call("l2", (0.5, "surface")), "epsilon", "kind")
    (0.5, {'kind': 'surface'})
    """
    given: dict[str, Value] = {**dict(zip(names, call.args, strict=False)), **call.options}
    extra = len(given) != len(call.args) + len(call.options)
    if extra or names[0] not in given or not set(given) <= set(names):
        others = f", and optionally {', '.join(names[1:])}" if names[1:] else ""
        raise InputError(f"corruption {call.name} takes {names[0]}{others}, got {call}")
    value = given.pop(names[0])
    if isinstance(value, str):
        remedy = "write 0.1 or eps_min, say" if names[0] == "epsilon" else "write one, such as 0.1"
        raise InputError(f"corruption {call}: {names[0]} must be a number, got {value!r}; {remedy}")
    return value, given

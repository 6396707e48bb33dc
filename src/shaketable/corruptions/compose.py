"""Sequences of corruptions, and corruptions with a name of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.spec import Call, add_brackets, split_name
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.corruption import Alone, Compound, Corruption, Wrapper
from shaketable.corruptions.registry import CORRUPTIONS

NAME_RULE = (
    "the name after as must be letters, digits, points, dashes and underscores, the first one a "
    "letter or digit"
)


@dataclass(frozen=True)
class Sequence(Compound):
    """``a + b``: first a, then b. Factor i draws from hash(key, i); bounds apply after each.

    Parameters
    ----------
    parts
        Corruptions in their order.

    Examples
    --------
    >>> from shaketable.corruptions import parse
    >>> (parse("l2(1)") + parse("linf(0.1)") + parse("l0(0.1)")).spec
    'l2(1) + linf(0.1) + l0(0.1)'
    >>> parse("(l2(1) | linf(0.1)) + l0(0.1)").spec
    '(l2(1) | linf(0.1)) + l0(0.1)'
    """

    parts: tuple[Corruption, ...]

    def __post_init__(self) -> None:
        flat: list[Corruption] = []
        for factor in map(as_member, self.parts):
            flat += factor.parts if isinstance(factor, Sequence) else (factor,)
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def spec(self) -> str:
        """Canonical spec string: those of the factors, joined by ``+``."""
        return " + ".join(add_brackets(factor.spec, "|") for factor in self.parts)

    def draw(self, x: Array, keys: KeyArray) -> list[Any]:
        """Return what every factor draws."""
        return [factor.draw(x, fold(keys, i)) for i, factor in enumerate(self.parts)]

    def apply(self, x: Array, drawn: list[Any]) -> Array:
        """Apply the factors in order."""
        for factor, own in zip(self.parts, drawn, strict=True):
            x = factor.apply(x, own)
        return x


@dataclass(frozen=True)
class Named(Alone, Wrapper):
    """``a as NAME``: the same corruption under a name, with random draws of its own.

    Parameters
    ----------
    corruption
        What is done.
    name
        Its name.

    Examples
    --------
    >>> from shaketable.corruptions import parse
    >>> parse("rotation(30) as RO30SP0").spec
    'rotation(30) as RO30SP0'
    """

    corruption: Corruption
    name: str

    def __post_init__(self) -> None:
        if split_name(f"x as {self.name}") != ("x", self.name):
            raise InputError(f"{NAME_RULE}, got {self.name!r}")
        if self.corruption.traits.by_row or isinstance(self.corruption, Named):
            raise InputError(f"{self.corruption.spec} cannot be named; remove 'as NAME'")

    @property
    def spec(self) -> str:
        """Canonical spec string: the corruption's, then the name."""
        return f"{self.corruption.spec} as {self.name}"


def as_member(corruption: Corruption) -> Corruption:
    """Return a corruption as a factor or a part, or raise `InputError` if it must stand alone.

    A name that the registry knows, such as SP0.1, gives what it stands for.
    """
    if isinstance(corruption, Named) and _is_known(corruption):
        return corruption.corruption
    if corruption.traits.by_row or isinstance(corruption, Named):
        what = "is read from files" if corruption.traits.by_row else "has a name of its own"
        raise InputError(f"{corruption.spec} {what} and must stand alone, without + and |")
    return corruption


def _is_known(named: Named) -> bool:
    """Whether the name alone is a spec of this corruption."""
    try:
        return CORRUPTIONS.get(named.name).read(Call(named.name), None) == named
    except InputError:  # no such name, or it takes arguments
        return False

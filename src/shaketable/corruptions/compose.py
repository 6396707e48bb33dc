"""Several corruptions, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from shaketable.corruptions.bounds import Bounds
from shaketable.corruptions.corruption import Corruption
from shaketable.keys import fold
from shaketable.types import Array, KeyArray


@dataclass(frozen=True)
class Sequence(Corruption):
    """``a + b``: first a, then b. Factor i draws from hash(key, i); bounds hold after each."""

    factors: tuple[Corruption, ...]

    @property
    def spec(self) -> str:
        """Canonical spec string, the factors' joined by `` + ``."""
        return " + ".join(factor.spec for factor in self.factors)

    @property
    def ladder(self) -> str:
        """Itself alone: sequences of several sizes are not levels of one ladder."""
        return self.spec

    @property
    def size(self) -> float:
        """Stands alone on its ladder."""
        return 0.0

    def sized(self, shape: tuple[int, ...]) -> Sequence:
        """Return the same sequence with every factor sized."""
        return replace(self, factors=tuple(factor.sized(shape) for factor in self.factors))

    def bind(self, bounds: Bounds | None) -> Sequence:
        """Return the same sequence with every factor bound."""
        return replace(self, factors=tuple(factor.bind(bounds) for factor in self.factors))

    def draw(self, x: Array, keys: KeyArray) -> list[Any]:
        """What every factor draws."""
        return [factor.draw(x, fold(keys, i)) for i, factor in enumerate(self.factors)]

    def apply(self, x: Array, drawn: list[Any]) -> Array:
        """Apply the factors in order."""
        for factor, mine in zip(self.factors, drawn, strict=True):
            x = factor.apply(x, mine)
        return x

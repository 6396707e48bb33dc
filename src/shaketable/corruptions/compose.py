"""Several corruptions, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shaketable.corruptions.bounds import Bounds
from shaketable.corruptions.corruption import Corruption
from shaketable.keys import fold
from shaketable.types import Array, KeyArray


@dataclass(frozen=True)
class Sequence:
    """``a + b``: first a, then b. Factor i draws from hash(key, i); bounds hold after each."""

    factors: tuple[Corruption, ...]

    @property
    def spec(self) -> str:
        """Canonical spec string, the factors' joined by `` + ``."""
        return " + ".join(factor.spec for factor in self.factors)

    @property
    def ladder(self) -> str:
        """The factors' ladders, joined likewise."""
        return " + ".join(factor.ladder for factor in self.factors)

    def bind(self, bounds: Bounds | None) -> Sequence:
        """Return the same sequence with every factor bound."""
        return replace(self, factors=tuple(factor.bind(bounds) for factor in self.factors))

    def __call__(self, x: Array, keys: KeyArray) -> Array:
        """Apply the factors in order."""
        for i, factor in enumerate(self.factors):
            x = factor(x, fold(keys, i))
        return x

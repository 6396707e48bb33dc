"""The role every corruption plays, and the one that does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shaketable.corruptions.bounds import Bounds
from shaketable.types import Array, KeyArray


class Corruption(Protocol):
    """A frozen dataclass whose fields are its parameters."""

    @property
    def spec(self) -> str:
        """Canonical spec string; parses back to an equal corruption."""

    @property
    def ladder(self) -> str:
        """Name shared by all levels of this corruption, which differ in size alone."""

    def bind(self, bounds: Bounds | None) -> Corruption:
        """Fill in what only the data can decide."""

    def __call__(self, x: Array, keys: KeyArray) -> Array:
        """Corrupted copy of the rows of `x`: one key a row, nothing else random."""


@dataclass(frozen=True)
class Clean:
    """No corruption: the inputs as they are."""

    spec = "clean"
    ladder = "clean"

    def bind(self, bounds: Bounds | None) -> Clean:  # noqa: ARG002  (part of the role)
        """Nothing to fill in."""
        return self

    def __call__(self, x: Array, keys: KeyArray) -> Array:  # noqa: ARG002  (part of the role)
        """Return the rows of `x` as they are."""
        return x


def noisy_copies(corruption: Corruption, x: Array, keys: KeyArray) -> Array:
    """Corrupted copies of every row, as many as it has keys: shape (rows * copies, ...).

    Parameters
    ----------
    corruption
        What to do to them.
    x
        Points, one a row.
    keys
        One row of keys a point, shape (rows, copies).
    """
    return corruption(np.repeat(x, keys.shape[1], axis=0), keys.reshape(-1))

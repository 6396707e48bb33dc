"""Samples of points: which rows are drawn, before or after they are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import IntArray


@dataclass(frozen=True)
class Sample:
    """So many points, drawn at random without replacement; a larger sample holds a smaller one.

    The draw depends on the number of points to choose from and on the seed, not on the points, so
    that readers of many files open only those that are drawn. It is not stratified: classes are as
    frequent as chance has it, which is what the intervals of accuracies assume.

    >>> Sample(3).choose(10), Sample(2).choose(10)
    (array([0, 3, 4]), array([0, 3]))
    """

    points: int
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", check_whole("points", self.points, least=1))
        object.__setattr__(self, "seed", check_whole("seed", self.seed, least=0))

    def choose(self, n: int, n_train: int | None = None) -> IntArray:
        """Return the rows that are drawn of `n`, ascending.

        The first `n_train` rows are a training part, which is kept whole.
        """
        first = n_train or 0
        if self.points > n - first:
            part = "points" if n_train is None else "test points"
            raise InputError(
                f"points must be at most the number of {part}, {n - first}, got {self.points}; "
                "take fewer, or leave it out"
            )
        key = digest("points", SCHEME, n - first, self.seed)
        draws = row_keys(key, np.arange(n - first), np.arange(1))[:, 0]
        drawn = np.sort(np.argsort(draws, kind="stable")[: self.points])
        return np.concatenate([np.arange(first), first + drawn])

    def name(self, name: str, n: int, n_train: int | None = None) -> str:
        """Return the name of data of which these points are drawn."""
        part = "points" if n_train is None else "test points"
        return f"{name}, {self.points} of {n - (n_train or 0)} {part}, seed {self.seed}"

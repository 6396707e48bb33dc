"""Samples of points: which rows are drawn, before or after they are read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import IntArray

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


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

    def check_classes(self, labels: Collection[object], name: str) -> None:
        """Raise `InputError` if the points that are drawn of these data are of one class."""
        if len(set(labels)) < 2:
            raise InputError(
                f"points must be enough for two classes, and of {name!r} {self.points} drawn with "
                f"seed {self.seed} are of one class; take more"
            )

    def mark(self, data: Dataset, rows: IntArray, n: int) -> Dataset:
        """Return data that hold these rows of `n` only, with a name that says so."""
        if len(rows) == n:
            return data
        first, part = data.n_train or 0, "points" if data.n_train is None else "test points"
        return replace(
            data,
            name=f"{data.name}, {self.points} of {n - first} {part}, seed {self.seed}",
            kept=rows if data.kept is None else data.kept,
            parts_before=data.parts_before or (first, n - first),
            sampled=True,
        )

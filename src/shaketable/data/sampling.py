"""Samples of points: which rows are drawn, before or after they are read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import IntArray

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

Part: TypeAlias = Literal["train", "test"]


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
    part: Part = "test"
    """Of data with a fixed test part: the part that is drawn from; the other one is kept whole."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", check_whole("points", self.points, least=1))
        object.__setattr__(self, "seed", check_whole("seed", self.seed, least=0))
        if self.part not in get_args(Part):
            raise unknown_name("part", self.part, get_args(Part))

    def choose(self, n: int, n_train: int | None = None) -> IntArray:
        """Return the rows that are drawn of `n`, ascending.

        The first `n_train` rows are the training part of data with a fixed test part.
        """
        start, end = self._find_part(n, n_train)
        if self.points > end - start:
            raise InputError(
                f"points must be at most the number of {self._name_part(n_train)}, {end - start}, "
                f"got {self.points}; take fewer, or leave it out"
            )
        key = digest("points", SCHEME, end - start, self.seed)
        draws = row_keys(key, np.arange(end - start), np.arange(1))[:, 0]
        drawn = np.sort(np.argsort(draws, kind="stable")[: self.points])
        return np.concatenate([np.arange(start), start + drawn, np.arange(end, n)])

    def _find_part(self, n: int, n_train: int | None) -> tuple[int, int]:
        """Return the first row that may be drawn, and the first after them that may not."""
        if n_train is None:
            return 0, n
        return (0, n_train) if self.part == "train" else (n_train, n)

    def _name_part(self, n_train: int | None) -> str:
        if n_train is None:
            return "points"
        return "training points" if self.part == "train" else "test points"

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
        n_train = data.n_train  # before the draw, if it was not of this part
        if n_train is not None and self.part == "train":
            n_train += n - len(rows)
        start, end = self._find_part(n, n_train)
        part = self._name_part(n_train)
        return replace(
            data,
            name=f"{data.name}, {self.points} of {end - start} {part}, seed {self.seed}",
            kept=rows if data.kept is None else data.kept,
            parts_before=data.parts_before or (n_train or 0, n - (n_train or 0)),
            sampled=True,
        )

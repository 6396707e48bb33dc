"""Audits: what to know of data before eps_min is trusted, which hangs on one pair of points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import norm_title
from shaketable.data.dataset import Dataset, Label
from shaketable.separations.record import class_minima
from shaketable.separations.separation import Separation

MAX_GROUPS = 10
"""Groups of coinciding points that are listed at most."""

MAX_ROWS = 5
"""Rows of a group, and groups, that a sentence names at most."""

QUARTILES = "least", "lower_quartile", "median", "upper_quartile", "most"


@dataclass(frozen=True)
class ClosePair:
    """Two close points of different classes, and what eps_min would be without them."""

    points: tuple[int, int]
    """Rows in the data set."""
    rows: tuple[int, int]
    """Rows in the source the data came from."""
    classes: tuple[Label, Label]
    distance: float
    epsilon_min_without: float | None
    """If this pair and all closer ones were left out; None where the next pair is not known."""

    def json(self) -> dict[str, Any]:
        """Pair as an object."""
        return {
            "rows": list(self.rows),
            "classes": list(self.classes),
            "distance": self.distance,
            "epsilon_min_without": self.epsilon_min_without,
        }


@dataclass(frozen=True)
class Duplicates:
    """Points that coincide with another point of their class."""

    groups: int
    points: int
    first: list[list[int]]
    """Source rows of the first groups."""
    across: int | None
    """Groups with points in both parts; None where the data have no fixed test part."""

    @classmethod
    def of(cls, data: Dataset) -> Duplicates:
        """Duplicates of a data set."""
        groups, n_train = data.duplicates(), data.n_train
        return cls(
            groups=len(groups),
            points=sum(map(len, groups)),
            first=[[data.source_row(row) for row in g.tolist()] for g in groups[:MAX_GROUPS]],
            across=None if n_train is None else sum(g[0] < n_train <= g[-1] for g in groups),
        )

    def json(self) -> dict[str, Any]:
        """Duplicates as an object."""
        return {
            "groups": self.groups,
            "points": self.points,
            "groups_in_both_parts": self.across,
            "rows": self.first,
        }

    def __str__(self) -> str:
        if not self.groups:
            return "no two points coincide"
        named = [_rows(rows) for rows in self.first[:MAX_ROWS]]
        if more := self.groups - len(named):
            named.append(_count(more, "more group"))
        if self.across:
            named.append(f"in both the training and the test part: {_count(self.across, 'group')}")
        return (
            f"{self.points} points in {_count(self.groups, 'group')} coincide with others of their "
            f"class: {'; '.join(named)}"
        )


@dataclass(frozen=True, eq=False)
class Audit:
    """All that a reader of eps_min should see, rows as the source counts them."""

    norm: str
    pairs: list[ClosePair]
    """The closest pairs of different classes, in order."""
    frequent: list[tuple[int, Label, int]]
    """Rows that are in many of these pairs: source row, label, pairs."""
    duplicates: Duplicates
    clashes: list[tuple[tuple[int, Label], tuple[int, Label]]]
    """Coinciding points of different classes that were left out: source rows and labels."""
    nearest: dict[str, float] | None
    """Quartiles of the points' distances to their nearest opponents; None if not measured."""
    by_class: list[list[float | None]] | None
    """Minimum per pair of classes."""

    @property
    def outliers(self) -> list[str]:
        """What to say of the rows that are in many of the closest pairs, a sentence each."""
        return [
            f"row {row} ({label!r}) is in {n} of these {len(self.pairs)} pairs: it may be "
            "mislabelled or an outlier, so look at it"
            for row, label, n in self.frequent
        ]

    @property
    def left_out(self) -> str:
        """What to say of the points that were left out; empty if none was."""
        if not self.clashes:
            return ""
        rows = {row for pair in self.clashes for row, _ in pair}
        named = "; ".join(
            f"rows {i} ({a!r}) and {j} ({b!r})" for (i, a), (j, b) in self.clashes[:MAX_ROWS]
        )
        more = len(self.clashes) - MAX_ROWS
        return (
            f"{len(rows)} points were left out that coincide with a point of another class: {named}"
            + (f" and {_count(more, 'more pair')}" if more > 0 else "")
        )


def audit(
    separation: Separation,
    data: Dataset,
    *,
    closest: int | None = None,
    before: Dataset | None = None,
) -> Audit:
    """Put together what is to be seen of data before their eps_min is trusted.

    Parameters
    ----------
    separation, data
        A separation, and the data it was measured on.
    closest
        How many of the closest pairs to list; by default all that are known.
    before
        The data before points were left out that coincide with one of another class.

    >>> from shaketable import make_dataset, separation
    >>> data = make_dataset([0.0, 1.0, 4.0, 9.0, 9.0], ["a", "b", "a", "b", "b"], name="tiny")
    >>> found = audit(separation(data), data)
    >>> found.pairs[0].rows, found.pairs[0].epsilon_min_without
    ((0, 1), 1.5)
    >>> print(found.duplicates)
    2 points in 1 group coincide with others of their class: rows 3 and 4
    """
    if not np.array_equal(separation.y, data.y):
        raise InputError(
            f"data must be those of the separation, got {data.n} other points; measure the "
            "separation of these data"
        )

    def label(row: int) -> Label:
        return data.classes[int(data.y[row])]

    pairs = [
        ClosePair(
            points=(i, j),
            rows=(data.source_row(i), data.source_row(j)),
            classes=(label(i), label(j)),
            distance=float(distance),
            epsilon_min_without=separation.epsilon_min_without(rank),
        )
        for rank, ((i, j), distance) in enumerate(
            zip(separation.closest.tolist(), separation.closest_distance, strict=True), start=1
        )
    ][:closest]
    nearest = separation.nearest
    return Audit(
        norm=norm_title(separation.p),
        pairs=pairs,
        frequent=[(data.source_row(row), label(row), n) for row, n in _frequent(pairs, data)],
        duplicates=Duplicates.of(data),
        clashes=[] if before is None else _clashes(before),
        nearest=None if nearest is None else dict(
            zip(QUARTILES, np.quantile(nearest, np.linspace(0, 1, 5)).tolist(), strict=True)
        ),
        by_class=class_minima(separation),
    )  # fmt: skip


def class_pairs(
    classes: Sequence[Label], by_class: Sequence[Sequence[float | None]] | None
) -> list[tuple[Label, Label, float]]:
    """Every two classes and the minimum between them, the closest first.

    >>> class_pairs("abc", [[None, 2.0, 1.0], [2.0, None, None], [1.0, None, None]])
    [('a', 'c', 1.0), ('a', 'b', 2.0)]
    """
    if by_class is None:
        return []
    pairs = [
        (classes[i], classes[j], value)
        for i, j in combinations(range(len(classes)), 2)
        if (value := by_class[i][j]) is not None
    ]
    return sorted(pairs, key=lambda pair: pair[2])


def _frequent(pairs: Sequence[ClosePair], data: Dataset) -> list[tuple[int, int]]:
    """Rows that are in a third of the pairs, with three different points at least."""
    alike = {row: group[0] for group in data.duplicates() for row in group.tolist()}
    counts = Counter(row for pair in pairs for row in pair.points)
    against = Counter(
        row
        for row, _ in {
            (row, alike.get(other, other))
            for i, j in (pair.points for pair in pairs)
            for row, other in ((i, j), (j, i))
        }
    )
    many = max(3, len(pairs) / 3)
    return [(row, n) for row, n in counts.most_common() if against[row] >= many]


def _clashes(before: Dataset) -> list[tuple[tuple[int, Label], tuple[int, Label]]]:
    def place(row: int) -> tuple[int, Label]:
        return before.source_row(row), before.classes[int(before.y[row])]

    return [(place(i), place(j)) for i, j in before.clashes()]


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _rows(rows: Iterable[int]) -> str:
    """Rows in words; of many the first.

    >>> _rows([1, 5, 7]), _rows(range(9))
    ('rows 1, 5 and 7', 'rows 0, 1, 2, 3, 4 and 4 more')
    """
    *first, last = map(str, rows)
    if len(first) >= MAX_ROWS + 1:
        first, last = first[:MAX_ROWS], f"{len(first) + 1 - MAX_ROWS} more"
    return f"rows {', '.join(first)} and {last}"

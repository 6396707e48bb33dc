"""Audits: what to check in data before eps_min is trusted, which depends on one pair of points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import NormJson, norm_title, norm_to_json
from shaketable.core.schemas import NotesJson
from shaketable.data.dataset import Dataset, Label, LabelJson
from shaketable.separations import view
from shaketable.separations.one_nn import OneNN, RangeJson
from shaketable.separations.pair import FeatureGapJson, compare_with_columns, list_gaps
from shaketable.separations.separation import Separation, class_minima
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed, print_notes

MAX_GROUPS = 10
"""Largest number of groups of coinciding points that are listed."""

MAX_ROWS = 5
"""Largest number of rows of a group, and of groups, that a sentence names."""

QUARTILES = "least", "lower_quartile", "median", "upper_quartile", "most"


class PairJson(TypedDict):
    """Two points of different classes."""

    rows: tuple[int, int]
    classes: list[LabelJson]


class ClosePairJson(PairJson):
    """Two close points of different classes, and the value of eps_min without them."""

    distance: float
    epsilon_min_without: float | None


class DuplicatesJson(TypedDict):
    """Points that coincide with another point of their class."""

    groups: int
    points: int
    groups_in_both_parts: int | None
    rows: list[list[int]]


class OneNNJson(TypedDict):
    """Accuracies of the 1-NN classifier, in per cent."""

    test_points: int
    accuracy: RangeJson
    majority_accuracy: RangeJson


class AuditJson(TypedDict):
    """Result of separation."""

    norm: NormJson
    two_r: Annotated[float, "Distance of the closest two points of different classes."]
    epsilon_min: Annotated[float, "Half of it, in norms p >= 1."]
    epsilon_min_deviations: Annotated[
        dict[str, float] | None,
        "The same in standard deviations of every column that noise changes; null for images.",
    ]
    pair: Annotated[tuple[int, int], "Rows of the closest two points."]
    pair_features: Annotated[
        list[FeatureGapJson] | None, "Features in which they differ; null for images."
    ]
    closest: list[ClosePairJson]
    nearest: Annotated[
        dict[str, float] | None,
        "Quartiles of the distances to the nearest point of another class.",
    ]
    duplicates: DuplicatesJson
    clashes: list[PairJson]
    classes: list[LabelJson]
    by_class: Annotated[
        list[list[float | None]] | None, "Minimum distance of every pair of classes."
    ]
    by_part: dict[str, float | None]
    one_nn: NotRequired[OneNNJson]
    errata: NotRequired[
        Annotated[list[str], "Errata of published numbers like these, added by the command."]
    ]
    notes: NotesJson


@dataclass(frozen=True)
class ClosePair:
    """Two close points of different classes, and the value of eps_min without them."""

    points: tuple[int, int]
    """Rows in the data set."""
    rows: tuple[int, int]
    """Rows in the file or array that the data came from."""
    classes: tuple[Label, Label]
    distance: float
    epsilon_min_without: float | None
    """eps_min if this pair and all closer ones were left out; None if the next pair is unknown."""

    def json(self) -> ClosePairJson:
        """Pair as a JSON object."""
        return {
            "rows": self.rows,
            "classes": list(self.classes),
            "distance": self.distance,
            "epsilon_min_without": self.epsilon_min_without,
        }


@dataclass(frozen=True)
class Duplicates:
    """Points that coincide with another point of their class."""

    groups: int
    """Number of groups of coinciding points."""
    points: int
    """Number of points in these groups."""
    first: list[list[int]]
    """Source rows of the first groups."""
    across: int | None
    """Number of groups with points in both parts; None if the data have no fixed test part."""

    @classmethod
    def of(cls, data: Dataset) -> Duplicates:
        """Count the duplicates of a data set."""
        groups, n_train = data.duplicates(), data.n_train
        return cls(
            groups=len(groups),
            points=sum(map(len, groups)),
            first=[[data.source_row(row) for row in g.tolist()] for g in groups[:MAX_GROUPS]],
            across=None if n_train is None else int(sum(g[0] < n_train <= g[-1] for g in groups)),
        )

    def json(self) -> DuplicatesJson:
        """Duplicates as a JSON object."""
        return {
            "groups": self.groups,
            "points": self.points,
            "groups_in_both_parts": self.across,
            "rows": self.first,
        }

    def __str__(self) -> str:
        if not self.groups:
            return "no two points coincide"
        groups = [_list_rows(rows) for rows in self.first[:MAX_ROWS]]
        if more := self.groups - len(groups):
            groups.append(_count(more, "more group"))
        if self.across:
            groups.append(f"in both the training and the test part: {_count(self.across, 'group')}")
        return (
            f"{self.points} points in {_count(self.groups, 'group')} coincide with others of their "
            f"class: {'; '.join(groups)}"
        )


@dataclass(frozen=True, eq=False)
class Audit(Displayed):
    """What to check before eps_min is trusted; rows are those of the source of the data.

    Examples
    --------
    >>> import shaketable as st
    >>> data = st.make_dataset([[0.0], [1.0], [9.0]], ["a", "b", "b"])
    >>> st.audit(st.separation(data), data).pairs[0].epsilon_min_without
    4.5
    """

    separation: Separation = field(repr=False)
    data: Dataset = field(repr=False)
    pairs: list[ClosePair]
    """The closest pairs of different classes, in order of distance."""
    frequent: list[tuple[int, Label, int]]
    """Points that are in many of these pairs: source row, label, number of pairs."""
    duplicates: Duplicates
    clashes: list[tuple[tuple[int, Label], tuple[int, Label]]]
    """Coinciding points of different classes that were left out: source rows and labels."""
    nearest: dict[str, float] | None
    """Quartiles of the distances to nearest opponents, by name; None if not measured."""
    one_nn: OneNN | None = field(default=None, repr=False)
    """Result of the 1-NN classifier on these data; None if not given."""

    @property
    def norm(self) -> str:
        """Title of the norm, such as ``L-inf``."""
        return norm_title(self.separation.p)

    @property
    def outliers(self) -> list[str]:
        """One sentence per point that is in many of the closest pairs."""
        return [
            f"row {row} ({label!r}) is in {n} of these {len(self.pairs)} pairs: it may be "
            "mislabelled or an outlier; check it"
            for row, label, n in self.frequent
        ]

    @property
    def left_out(self) -> str:
        """Sentence about the points that were left out; empty if there are none."""
        if not self.clashes:
            return ""
        rows = {row for pair in self.clashes for row, _ in pair}
        pairs = "; ".join(
            f"rows {i} ({a!r}) and {j} ({b!r})" for (i, a), (j, b) in self.clashes[:MAX_ROWS]
        )
        more = len(self.clashes) - MAX_ROWS
        return (
            f"{len(rows)} points were left out that coincide with a point of another class: {pairs}"
            + (f" and {_count(more, 'more pair')}" if more > 0 else "")
        )

    def blocks(self) -> list[Block]:
        """Return eps_min, closest pairs, duplicates, classes, distances of points and settings."""
        return view.make_blocks(self)

    def print(self) -> None:
        """Print the separation and what to check, then notes."""
        super().print()
        print_notes(self.separation.notes)

    def json(self) -> AuditJson:
        """Return the separation and what to check as one JSON object.

        Returns
        -------
        AuditJson
            Keys as in ``shaketable separation --json``.

        Examples
        --------
        >>> import shaketable as st
        >>> data = st.make_dataset([[0.0], [1.0], [9.0]], ["a", "b", "b"])
        >>> st.audit(st.separation(data), data).json()["pair"]
        (0, 1)
        """
        s, data = self.separation, self.data
        gaps = list_gaps(data, s.pair, s.p)
        first, second = s.pair
        found: AuditJson = {
            "norm": norm_to_json(s.p),
            "two_r": s.two_r,
            "epsilon_min": s.epsilon_min,
            "epsilon_min_deviations": compare_with_columns(data, s.epsilon_min) or None,
            "pair": (data.source_row(first), data.source_row(second)),
            "pair_features": None if gaps is None else [gap.json() for gap in gaps],
            "closest": [pair.json() for pair in self.pairs],
            "nearest": self.nearest,
            "duplicates": self.duplicates.json(),
            "clashes": [{"rows": (i, j), "classes": [a, b]} for (i, a), (j, b) in self.clashes],
            "classes": list(s.classes),
            "by_class": class_minima(s),
            "by_part": s.by_part,
            "notes": list(s.notes),
        }
        if self.one_nn is not None:
            found["one_nn"] = _one_nn_json(self.one_nn)
        return found

    def report(
        self, path: str | Path, *, title: str | None = None, notes: Iterable[str] = ()
    ) -> Path:
        """Write the separation and what to check as one HTML page.

        Parameters
        ----------
        path
            File to write; an older one is replaced.
        title
            Heading of the page; by default it names the data.
        notes
            Sentences to show near the top, before those of the data.

        Returns
        -------
        pathlib.Path
            Path of the page.

        Examples
        --------
        >>> import tempfile
        >>> import shaketable as st
        >>> data = st.load("bands(n=40)")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(audit(st.separation(data), data).report(Path(folder) / "page.html").name)
        page.html
        """
        from shaketable.views import page  # loads the charts

        return page.write_blocks(
            path,
            self.blocks(),
            title=title or f"How far apart are the classes of {self.data.name}?",
            lead=view.LEAD,
            notes=[*notes, *self.data.notes()],
        )


def _one_nn_json(result: OneNN) -> OneNNJson:
    """Accuracies of the 1-NN classifier as a JSON object, in per cent."""
    (low, high), (least, most) = result.accuracy, result.majority_accuracy
    return {
        "test_points": len(result.test),
        "accuracy": {"low": 100 * low, "high": 100 * high},
        "majority_accuracy": {"low": 100 * least, "high": 100 * most},
    }


def audit(
    separation: Separation,
    data: Dataset,
    *,
    closest: int | None = None,
    before: Dataset | None = None,
    one_nn: OneNN | None = None,
) -> Audit:
    """Collect what to check in data before their eps_min is trusted.

    Parameters
    ----------
    separation, data
        A separation, and the data it was measured on.
    closest
        Number of closest pairs to list; by default all that the separation lists.
    before
        The data before coinciding points of different classes were left out, if they were.
    one_nn
        Result of `one_nn` on these data, to be shown too.

    Returns
    -------
    Audit
        Closest pairs, points that are in many of them, duplicates and contradictions.

    Examples
    --------
    >>> from shaketable import make_dataset, separation
    >>> data = make_dataset([0.0, 1.0, 4.0, 9.0, 9.0], ["a", "b", "a", "b", "b"], name="tiny")
    >>> report = audit(separation(data), data)
    >>> report.pairs[0].rows, report.pairs[0].epsilon_min_without
    ((0, 1), 1.5)
    >>> print(report.duplicates)
    2 points in 1 group coincide with others of their class: rows 3 and 4
    """
    if not np.array_equal(separation.y, data.y):
        raise InputError(
            f"data must be those of the separation, got {data.n} points with other labels; measure "
            "the separation of these data"
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
    return Audit(
        separation,
        data,
        pairs=pairs,
        frequent=[(data.source_row(row), label(row), n) for row, n in _find_frequent(pairs, data)],
        duplicates=Duplicates.of(data),
        clashes=[] if before is None else _list_clashes(before),
        nearest=_quartiles(separation),
        one_nn=one_nn,
    )


def _quartiles(separation: Separation) -> dict[str, float] | None:
    """Quartiles of the distances to nearest opponents; None if not measured."""
    if separation.nearest is None:
        return None
    there = separation.nearest[np.isfinite(separation.nearest)]
    values = np.quantile(there, np.linspace(0, 1, 5))
    return dict(zip(QUARTILES, values.tolist(), strict=True))


def _find_frequent(pairs: Sequence[ClosePair], data: Dataset) -> list[tuple[int, int]]:
    """Rows with many distinct opponents: at least 3, and a third of the number of pairs."""
    first_copy = {row: group[0] for group in data.duplicates() for row in group.tolist()}
    counts = Counter(row for pair in pairs for row in pair.points)
    opponents = Counter(
        row
        for row, _ in {
            (row, first_copy.get(other, other))
            for i, j in (pair.points for pair in pairs)
            for row, other in ((i, j), (j, i))
        }
    )
    many = max(3, len(pairs) / 3)
    return [(row, n) for row, n in counts.most_common() if opponents[row] >= many]


def _list_clashes(before: Dataset) -> list[tuple[tuple[int, Label], tuple[int, Label]]]:
    def place(row: int) -> tuple[int, Label]:
        return before.source_row(row), before.classes[int(before.y[row])]

    return [(place(i), place(j)) for i, j in before.clashes()]


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _list_rows(rows: Iterable[int]) -> str:
    """Rows as a phrase; of many only the first.

    >>> _list_rows([1, 5, 7]), _list_rows(range(9))
    ('rows 1, 5 and 7', 'rows 0, 1, 2, 3, 4 and 4 more')
    """
    *first, last = map(str, rows)
    if len(first) >= MAX_ROWS + 1:
        first, last = first[:MAX_ROWS], f"{len(first) + 1 - MAX_ROWS} more"
    return f"rows {', '.join(first)} and {last}"

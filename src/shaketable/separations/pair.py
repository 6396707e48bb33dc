"""eps_min beside the columns of a table: in their deviations, and what makes its distance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from shaketable.core.checks import quote
from shaketable.core.norms import norm_title
from shaketable.data.dataset import Dataset
from shaketable.separations.opponents import compare_columns
from shaketable.separations.separation import SeparationRecord
from shaketable.views.numbers import format_distance, format_short_distance


def compare_with_columns(data: Dataset, epsilon: float) -> dict[str, float]:
    """Return a size in standard deviations of every column that noise changes, by name.

    Columns without spread are left out, and images have none. Standard deviations are those of the
    training part, as for ``jitter``.

    >>> from shaketable import make_dataset
    >>> data = make_dataset([[0.0, 7.0], [2.0, 7.0]], ["a", "b"], features=("age", "year"))
    >>> compare_with_columns(data, 0.5)
    {'age': 0.5}
    """
    if data.x.ndim != 2 or data.x.dtype == np.uint8:
        return {}
    spread = data.columns.spread
    moved = spread > 0 if data.table is None else (spread > 0) & data.table.moved
    return {
        data.feature_name(i): float(epsilon / spread[i]) for i in np.flatnonzero(moved).tolist()
    }


def describe_deviations(sizes: Mapping[str, float]) -> str:
    """Say how large a size is beside the spread of columns, from the smallest to the largest.

    >>> describe_deviations({"income": 0.0001, "job years": 0.25, "age": 0.02})
    "0.0001 (income) to 0.25 ('job years') standard deviations of a column"
    """
    if not sizes:
        return ""
    least, most = min(sizes, key=lambda name: sizes[name]), max(sizes, key=lambda name: sizes[name])
    if least == most:
        return f"{format_short_distance(sizes[most])} standard deviations of {quote(most)}"
    first, last = (
        f"{format_short_distance(sizes[name])} ({quote(name)})" for name in (least, most)
    )
    return f"{first} to {last} standard deviations of a column"


MAX_FEATURES = 3
"""Largest number of features that a sentence names."""


class FeatureGapJson(TypedDict):
    """The difference of two points in one feature."""

    feature: str
    difference: float
    share: float


@dataclass(frozen=True)
class FeatureGap:
    """The difference of two points in one feature."""

    feature: str
    difference: float
    share: float
    r"""Share of the distance: :math:`d_i^p / \sum_j d_j^p`; in L-inf, the largest count alone."""

    def json(self) -> FeatureGapJson:
        """Difference as a JSON object, the share in per cent."""
        return {"feature": self.feature, "difference": self.difference, "share": 100 * self.share}


def list_gaps(data: Dataset, pair: tuple[int, int], p: float) -> list[FeatureGap] | None:
    """List the features in which two points differ, the largest share first; None for images.

    >>> from shaketable import make_dataset
    >>> x = [[0.0, 5.0, 1.0], [3.0, 5.0, 2.0]]
    >>> data = make_dataset(x, ["a", "b"], name="tiny", features=("hours", "gain", "age"))
    >>> [(g.feature, g.difference, round(g.share, 3)) for g in list_gaps(data, (0, 1), 2)]
    [('hours', 3.0, 0.9), ('age', 1.0, 0.1)]
    """
    if data.x.ndim != 2:
        return None
    gaps = compare_columns(data, pair)
    powers = (gaps / gaps.max()) ** p if math.isfinite(p) else (gaps == gaps.max()).astype(float)
    order = [int(i) for i in np.argsort(-gaps, kind="stable") if gaps[i] > 0]
    total = float(powers.sum())
    return [
        FeatureGap(data.feature_name(i), float(gaps[i]), float(powers[i]) / total) for i in order
    ]


def describe_gaps(gaps: list[FeatureGap] | None) -> str:
    """Say in which features two points differ, and how much; empty for images.

    >>> describe_gaps([FeatureGap("hours", 3.0, 0.9), FeatureGap("age", 1.0, 0.1)])
    'they differ in hours by 3 (90 % of the distance) and in age by 1 (10 %)'
    """
    if not gaps:
        return ""
    phrases = [
        f"in {gap.feature} by {format_distance(gap.difference)} ({_format_share(gap.share)}"
        + (" of the distance)" if number == 0 else ")")
        for number, gap in enumerate(gaps[:MAX_FEATURES])
    ]
    if more := gaps[MAX_FEATURES:]:
        share = _format_share(sum(gap.share for gap in more))
        phrases.append(f"in {len(more)} other feature{'' if len(more) == 1 else 's'} ({share})")
    *first, last = phrases
    return f"they differ {', '.join(first)} and {last}" if first else f"they differ only {last}"


def note_eps_min(data: Dataset, separations: Iterable[SeparationRecord]) -> list[str]:
    """Say how large eps_min of a table is; where ranges of features differ much, what makes it."""
    notes = []
    for s in (s for s in separations if s.fingerprint == data.fingerprint):
        title = f"{norm_title(s.norm)} eps_min"
        if size := describe_deviations(compare_with_columns(data, s.epsilon_min)):
            notes.append(f"{title} = {format_short_distance(s.epsilon_min)} is {size}")
        if data.has_uneven_ranges:
            i, j = (data.source_row(row) for row in s.pair)
            what = describe_gaps(list_gaps(data, s.pair, s.norm))
            notes.append(f"{title} is set by rows {i} and {j}: {what}")
    return notes


def _format_share(share: float) -> str:
    """Format a share in per cent without claiming 0 or 100 for others.

    >>> _format_share(1.0), _format_share(0.9996), _format_share(0.0004), _format_share(0.5)
    ('100 %', 'over 99.9 %', 'under 0.1 %', '50 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.3g} %"

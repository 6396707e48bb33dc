"""Sizes of noise in standard deviations of the columns of a table, which say how large it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shaketable.core.checks import quote
from shaketable.data.dataset import Dataset
from shaketable.views.numbers import format_short_distance


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

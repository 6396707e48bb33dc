"""What a page says about the data it is based on."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from shaketable.core.versions import list_versions
from shaketable.data.dataset import Dataset
from shaketable.views.text import join_distinct

MAX_NAMES = 45
"""Largest number of classes that are listed by name."""


def describe_data(data: Dataset) -> dict[str, str]:
    """Name, size, type and classes of the data, and the versions of the software, by title."""
    return {
        "Data": data.name,
        "Fingerprint of the data": data.fingerprint,
        "Points": _count_points(data),
        "Features of a point": _describe_shape(data),
        **_describe_columns(data),
        "Precision of the points": str(data.x.dtype),
        "Classes": _list_first(list(map(str, data.classes))),
        "Versions": join_distinct(sorted(f"{name} {v}" for name, v in list_versions().items())),
        "Written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def list_facts(data: Dataset) -> list[tuple[str, str]]:
    """Size, type, range of values and classes of the data, for a notebook."""
    counts = np.bincount(data.y, minlength=len(data.classes))
    classes = [f"{label} ({n})" for label, n in zip(data.classes, counts.tolist(), strict=True)]
    return [
        ("points", _count_points(data)),
        ("features of a point", _describe_shape(data)),
        *((title[0].lower() + title[1:], text) for title, text in _describe_columns(data).items()),
        ("precision of the points", str(data.x.dtype)),
        ("range of values", "not declared" if data.bounds is None else str(data.bounds)),
        ("classes (points)", _list_first(classes)),
    ]


def _count_points(data: Dataset) -> str:
    split = f" ({data.n_train} training, {data.n - data.n_train} test)" if data.n_train else ""
    return f"{data.n}{split}"


def _describe_shape(data: Dataset) -> str:
    return " × ".join(map(str, data.shape)) or "1"


def _describe_columns(data: Dataset) -> dict[str, str]:
    """Which columns of a table noise changes, and how the others count; none for plain numbers."""
    if data.table is None:
        return {}
    moved = [column.name for column in data.table.columns if column.moved]
    others = {"agree": "must agree", "gower": "count by Gower's distance"}
    return {
        "Columns that noise changes": _list_first(moved) or "none",
        "Other columns, between points": others[data.table.others],
    }


def _list_first(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return join_distinct(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")

"""What a page says about the data it is based on."""

from __future__ import annotations

from datetime import UTC, datetime

from shaketable.core.versions import list_versions
from shaketable.data.dataset import Dataset
from shaketable.views.text import join_distinct

MAX_NAMES = 45
"""Largest number of classes that are listed by name."""


def describe_data(data: Dataset) -> dict[str, str]:
    """Name, size, type and classes of the data, and the versions of the software, by title."""
    split = f" ({data.n_train} training, {data.n - data.n_train} test)" if data.n_train else ""
    return {
        "Data": data.name,
        "Fingerprint of the data": data.fingerprint,
        "Points": f"{data.n}{split}",
        "Features of a point": " × ".join(map(str, data.shape)) or "1",
        "Precision of the points": str(data.x.dtype),
        "Classes": _list_first(list(map(str, data.classes))),
        "Versions": join_distinct(sorted(f"{name} {v}" for name, v in list_versions().items())),
        "Written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _list_first(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return join_distinct(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")

"""Checks of a data set: what must hold for all later work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


def check_dataset(data: Dataset) -> None:
    """Raise `InputError` unless points, classes, parts and groups fit together."""
    for label in data.classes:
        if isinstance(label, str) and label.endswith("\0"):
            raise InputError(
                f"a label must not end in a NUL character, which arrays of text drop, got "
                f"{label!r}; rename that class"
            )
    if not data.x.size:
        raise InputError(
            f"x must have at least one row and one feature, got shape {data.x.shape}; add points"
        )
    if data.y.shape != (data.n,):
        raise InputError(
            f"x and y must have the same length, got {data.n} rows and {data.y.size} labels; "
            "give one label per row"
        )
    _ = data.label_sets  # refuses classes that are no sets of its labels
    codes = np.unique(data.y)
    if codes[0] < 0 or codes[-1] >= len(data.classes):
        raise InputError(f"y must index classes, got {codes[0]} to {codes[-1]}")
    if len(codes) < 2:
        only = data.classes[codes[0]]
        raise InputError(f"y must hold at least two classes, got only {only!r}; add the others")
    if data.n_train is not None:
        if not 0 < data.n_train < data.n:
            raise InputError(f"n_train must lie between 1 and {data.n - 1}, got {data.n_train}")
        data.check_test_size(data.n - data.n_train)
    if data.files is not None and len(data.files) != data.n:
        raise InputError(f"files must name one file per row, got {len(data.files)} for {data.n}")
    for grouping in data.groupings:
        if len(grouping.codes) != data.n:
            raise InputError(
                f"column {grouping.name!r} to group by must have one value per row, got "
                f"{len(grouping.codes)} for {data.n}"
            )


def check_test_size(data: Dataset, n_test: int) -> None:
    """Raise `InputError` for a test part with fewer points than there are classes."""
    present = len(np.unique(data.y))
    if data.label_names is not None:  # many sets of labels may be rare
        present = min(present, len(data.label_names))
    if n_test < present:
        raise InputError(
            "the test part must have at least as many points as there are classes "
            f"({present}), got {n_test}; add points or give a larger test part"
        )

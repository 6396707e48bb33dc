"""Writing a data set to a file that `load` reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.core.writing import write_beside, write_table
from shaketable.data.dataset import Dataset

ENDINGS = (".npz", ".csv", ".csv.gz", ".parquet")
"""Endings of the files that a data set can be written to."""


def write_dataset(
    path: str | Path,
    data: Dataset,
    *,
    as_uint8: bool = False,
    label: str = "label",
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write a data set to a file, and return its path; scaled features are written in raw units.

    Parameters
    ----------
    path
        ``.npz``, or for tables without a fixed test part ``.csv``, ``.csv.gz`` or ``.parquet``.
    data
        Data set to write.
    as_uint8
        Whether to round values in [0, 1] to x/255, for images; only in ``.npz``.
    label
        Name of the column of classes, in tables.
    facts
        Values to write beside the arrays of an ``.npz`` file, by name.
    """
    path = Path(path)
    ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)
    if ending is None:
        raise unknown_name("ending of a data file", path.suffix, ENDINGS)
    x: Any = data.x if data.scaling is None else data.scaling.undo(data.x)
    schema = data.schema
    if schema is not None and not (ending == ".npz" and schema.numeric.all()):
        x = (schema.raw or schema).decode(x)
    if hasattr(x, "columns") and ending == ".npz":
        raise InputError(
            "an .npz file holds plain numbers, and these data are a frame of several kinds; write "
            f"it to {', '.join(ENDINGS[1:])}"
        )
    if as_uint8:
        if ending != ".npz" or x.min() < 0 or x.max() > 1:
            raise InputError(
                f"uint8 needs values in [0, 1] and an .npz file, got [{x.min():g}, {x.max():g}] "
                f"and {ending}; keep the range with bounds, or write floats"
            )
        x = np.rint(x * 255).astype(np.uint8)
    try:
        with write_beside(path, "data") as beside:
            if ending == ".npz":
                _write_npz(beside, x, data, facts or {})
            else:
                _write_table(beside, ending, x, data, label)
    except UnicodeEncodeError as error:
        raise InputError(
            f"labels and column names must be text in UTF-8 in a {ending} file, got "
            f"{error.object!r}; rename it, or write an .npz file"
        ) from error
    return path


def _write_npz(path: Path, x: Array, data: Dataset, facts: Mapping[str, Any]) -> None:
    labels = data.labels
    if labels.dtype == object:
        raise InputError("labels of several types cannot be saved; make all text or all numbers")
    n = data.n_train
    arrays: dict[str, Any] = (
        {"x": x, "y": labels}
        if n is None
        else {"x_train": x[:n], "y_train": labels[:n], "x_test": x[n:], "y_test": labels[n:]}
    )
    arrays |= {name: np.array(fact) for name, fact in facts.items()}
    with path.open("wb") as file:  # given a path, numpy appends .npz to .NPZ
        np.savez_compressed(file, **arrays)


def _write_table(path: Path, ending: str, x: Any, data: Dataset, label: str) -> None:
    import pandas as pd  # slow to import, and needed only here

    if data.n_train is not None or x.ndim != 2:
        raise InputError(
            f"a {ending} file holds one table; data with a fixed test part, and images, go into "
            "an .npz file"
        )
    names = data.features or tuple(f"x{i}" for i in range(x.shape[1]))
    if data.table is not None and data.features:
        names = data.table.flat_names
    if label in names:
        raise InputError(f"label must not be the name of a feature, got {label!r}")
    table = x if hasattr(x, "columns") else pd.DataFrame(x, columns=list(names))
    table = table.assign(**{label: data.labels})
    write_table(table, path)

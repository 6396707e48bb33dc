"""Corrupted copies of data sets, written to files: the very noise that `evaluate` shakes with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.corruptions import Corruption
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import BATCH_VALUES, Draws, Noise, range_of, resolve
from shaketable.evaluation.store import Store

SUFFIXES = (".npz", ".csv", ".csv.gz", ".parquet")
"""Endings of the files a copy can be written to."""


def corrupted(
    data: Dataset,
    corruption: str | Corruption,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "independent",
) -> Dataset:
    """Copy of a data set with every point corrupted, as float32 or float64 in its own units.

    The noise is what `evaluate` meets in the first draw of the same corruption, seed and draws;
    within suites that is ``"ladder"``.

    Parameters
    ----------
    data
        Both parts are corrupted, where it has two.
    corruption
        Such as ``l2(1)`` or ``linf(eps_min)``.
    seed
        What the noise follows from.
    bounds, draws
        As in `evaluate`.

    >>> from shaketable import load
    >>> data = load("bands(n=100)")
    >>> moved = abs(corrupted(data, "linf(0.1)").x - data.x)
    >>> bool(0.09 < moved.max() <= 0.1)
    True
    """
    limits = range_of(data, bounds)
    with Store(None) as store:
        (chosen,) = resolve([corruption], data, store, limits)
    if chosen.by_row:
        raise InputError(f"{chosen.spec} is a file of pictures already; copy that")
    noise, bound = Noise(k=1, seed=seed, draws=draws, bounds=limits), chosen.bind(limits)
    x = np.empty(data.x.shape, data.rows(slice(0, 1)).dtype)
    step = max(1, BATCH_VALUES // data.d)
    for start in range(0, data.n, step):
        rows = np.arange(start, min(data.n, start + step))
        x[rows] = bound(data.rows(rows), noise.keys(data, chosen, rows, np.arange(1))[:, 0])
    return replace(data, name=f"{data.name} under {chosen.spec}", x=x)


def write(
    path: str | Path, data: Dataset, *, as_uint8: bool = False, label: str = "label", **about: Any
) -> Path:
    """Write a data set as a file that `load` reads; features that were scaled in raw units.

    Parameters
    ----------
    path
        ``.npz``, or for tables without a fixed test part ``.csv``, ``.csv.gz`` or ``.parquet``.
    data
        What to write.
    as_uint8
        Round values in [0, 1] to x/255, for pictures; only in ``.npz``.
    label
        Column of the classes, in tables.
    about
        Facts to write beside the arrays of an ``.npz`` file.
    """
    path = Path(path)
    suffix = next((s for s in SUFFIXES if path.name.lower().endswith(s)), None)
    if suffix is None:
        raise unknown_name("ending of a data file", path.suffix, SUFFIXES)
    x = data.x if data.scaling is None else data.scaling.undo(data.x)
    if as_uint8:
        if suffix != ".npz" or x.min() < 0 or x.max() > 1:
            raise InputError(
                f"uint8 needs values in [0, 1] and an .npz file, got [{x.min():g}, {x.max():g}] "
                f"and {suffix}; keep the range with bounds, or write floats"
            )
        x = np.rint(x * 255).astype(np.uint8)
    try:
        if suffix == ".npz":
            _write_npz(path, x, data, about)
        else:
            _write_table(path, suffix, x, data, label)
    except OSError as error:
        raise InputError(
            f"file {str(path)!r} cannot be written ({error.strerror or error}); name another file"
        ) from error
    return path


def _write_npz(path: Path, x: Any, data: Dataset, about: dict[str, Any]) -> None:
    labels = data.labels
    if labels.dtype == object:
        raise InputError("labels of several types cannot be saved; make all text or all numbers")
    n = data.n_train
    arrays = (
        {"x": x, "y": labels}
        if n is None
        else {"x_train": x[:n], "y_train": labels[:n], "x_test": x[n:], "y_test": labels[n:]}
    )
    facts: dict[str, Any] = {name: np.array(fact) for name, fact in about.items()}
    with path.open("wb") as file:  # a path would get a second ending where it is not .npz
        np.savez_compressed(file, **arrays, **facts)


def _write_table(path: Path, suffix: str, x: Any, data: Dataset, label: str) -> None:
    import pandas as pd  # slow to import, and needed only here

    if data.n_train is not None or x.ndim != 2:
        raise InputError(
            f"a {suffix} file holds one table; data with a fixed test part, and pictures, go into "
            "an .npz file"
        )
    names = data.features or tuple(f"x{i}" for i in range(data.d))
    if label in names:
        raise InputError(f"label must not be the name of a feature, got {label!r}")
    table = pd.DataFrame(x, columns=list(names)).assign(**{label: data.labels})
    if suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)

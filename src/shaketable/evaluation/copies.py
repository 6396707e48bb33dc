"""Corrupted copies of data sets, with the same noise that `evaluate` uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from shaketable.core.errors import InputError
from shaketable.corruptions import Corruption
from shaketable.corruptions.corrupt import check_noisy
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import DataLike, as_dataset
from shaketable.evaluation.cells import BATCH_VALUES
from shaketable.evaluation.noise import Draws, Noise, choose_range
from shaketable.evaluation.resolve import resolve


def corrupted(
    data: DataLike,
    corruption: str | Corruption,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "independent",
) -> Dataset:
    """Return a copy of a data set with every point corrupted, as float32 or float64.

    The noise is the first draw of `evaluate` with the same corruption, seed and draws; within
    suites `draws` is ``"ladder"``. Values keep their units.

    Parameters
    ----------
    data
        Data set to copy, ``(x, y)``, or what `load` takes; if it has a training and a test part,
        both are corrupted.
    corruption
        Spec such as ``l2(1)`` or ``linf(eps_min)``, or a corruption.
    seed
        Seed of the noise.
    bounds, draws
        As in `evaluate`.

    Returns
    -------
    Dataset
        The copy, with a name that tells the corruption.

    Examples
    --------
    >>> from shaketable import load
    >>> data = load("bands(n=100)")
    >>> moved = abs(corrupted(data, "linf(0.1)").x - data.x)
    >>> bool(0.09 < moved.max() <= 0.1)
    True
    """
    data = as_dataset(data)
    limits = choose_range(data, bounds)
    (resolved,) = resolve([corruption], data, limits).corruptions
    if resolved.traits.by_row:
        raise InputError(f"{resolved.spec} is read from files of images; copy those files instead")
    noise, bound = Noise(k=1, seed=seed, draws=draws, bounds=limits), resolved.bind(limits)
    x = np.empty(data.x.shape, data.rows(slice(0, 1)).dtype)
    step = max(1, BATCH_VALUES // data.d)
    with np.errstate(over="ignore"):
        for start in range(0, data.n, step):
            rows = np.arange(start, min(data.n, start + step))
            x[rows] = bound(data.rows(rows), noise.keys(data, resolved, rows, np.arange(1))[:, 0])
    check_noisy(x if data.table is None else np.where(np.isnan(x), 0, x), resolved)
    schema = data.schema
    if schema is not None and resolved.traits.leaves_gaps:
        schema = replace(schema, complete=False)
    return replace(data, name=f"{data.name} under {resolved.spec}", x=x, schema=schema)

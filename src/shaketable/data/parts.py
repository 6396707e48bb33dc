"""Data with a fixed test part, where they had none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shaketable.core.types import IntArray
from shaketable.data.dataset import Dataset


def fix_test_part(data: Dataset, test: IntArray) -> Dataset:
    """Return data without a fixed test part with one: these rows, which come last.

    >>> from shaketable import load
    >>> data = load("bands(n=100)")
    >>> fix_test_part(data, data.parts(seed=0)[1]).n_train
    80
    """
    train = np.setdiff1d(np.arange(data.n), test)
    order = np.concatenate([train, np.sort(test)])
    return replace(
        data,
        x=data.x[order],
        y=data.y[order],
        n_train=len(train),
        kept=order if data.kept is None else data.kept[order],
        parts_before=data.parts_before or (0, data.n),
        files=None if data.files is None else tuple(data.files[row] for row in order),
        groupings=tuple(replace(g, codes=g.codes[order]) for g in data.groupings),
    )

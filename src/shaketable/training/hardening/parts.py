"""The parts of the data: one for the test, and one for the search, which splits it further."""

from __future__ import annotations

from dataclasses import replace

from shaketable.data.dataset import Dataset
from shaketable.data.parts import fix_test_part


def put_test_aside(data: Dataset, seed: int) -> Dataset:
    """Return the data with a fixed test part: their own, or 20 % of the points at random.

    >>> from shaketable import load
    >>> put_test_aside(load("bands(n=100)"), seed=0).n_train
    80
    """
    fixed = data if data.n_train is not None else fix_test_part(data, data.parts(seed=seed)[1])
    return replace(fixed, groupings=())


_PART = ", training part"


def names_training_part(name: str) -> bool:
    """Whether the name of data is that of points that a search splits, which only it makes."""
    return name.endswith(_PART)


def take_training_part(data: Dataset) -> Dataset:
    """Return the points outside the fixed test part, which are split anew in every run."""
    n = data.n_train
    return replace(
        data,
        name=f"{data.name}{_PART}",
        x=data.x[:n],
        y=data.y[:n],
        n_train=None,
        kept=None if data.kept is None else data.kept[:n],
        files=None if data.files is None else data.files[:n],
    )

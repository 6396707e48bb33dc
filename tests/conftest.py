"""Small results that several tests look at."""

import numpy as np
import pytest

from shaketable.core.types import Array, IntArray
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit

LEVELS = ["linf(0.005)", "linf(eps_min)", "linf(0.03)"]


@pytest.fixture(scope="session")
def data() -> Dataset:
    return build("bands(n=200)")


@pytest.fixture(scope="session")
def fixed(data: Dataset) -> Records:
    """Two fitted models under three levels of noise."""
    records = Records(())
    for name in ("svm", "1nn"):
        model = fit(builtin(name), data, np.arange(120), seed=0)
        records += evaluate(model, data, LEVELS, name=name)
    return records


def half(x: Array) -> IntArray:
    """Answer by the mean of the upper half of an 8 x 8 picture."""
    return (x[:, :4].mean(axis=(1, 2)) > 0.5).astype(int)


def whole(x: Array) -> IntArray:
    """Answer by the mean of the whole picture."""
    return (x.mean(axis=(1, 2)) > 0.5).astype(int)


@pytest.fixture(scope="session")
def tiles() -> Dataset:
    """Pictures of 8 x 8 values in two classes that overlap."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    x = np.clip(0.48 + 0.04 * y[:, None, None] + rng.normal(0, 0.2, (120, 8, 8)), 0, 1)
    return make_dataset(x, y, bounds=(0, 1), name="tiles")


@pytest.fixture(scope="session")
def suited(tiles: Dataset) -> Records:
    """Two models under two suites, whose sizes are derived."""
    records = Records(())
    for model in (half, whole):
        name = model.__name__
        records += evaluate(model, tiles, [suite("pnorm"), suite("ice")], name=name, model_id=name)
    return records

"""Small results that several tests look at."""

import numpy as np
import pytest

from shaketable.data import Dataset
from shaketable.datasets import build
from shaketable.evaluation import evaluate
from shaketable.models import builtin, fit
from shaketable.records import Records

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

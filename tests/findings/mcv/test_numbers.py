"""mCV is its definition on the accuracies."""

import numpy as np
import pytest

from shaketable import metrics
from shaketable.corruptions.suites.grids import grid
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate

RNG = np.random.default_rng(0)


IMAGES = make_dataset(
    RNG.uniform(size=(80, 6, 4)), np.where(np.arange(80) % 3 == 0, "dark", "bright"), bounds=(0, 1)
)


def mean_of_a_corner(x):
    return np.where(x[:, :3, :2].mean(axis=(1, 2)) > 0.45, "bright", "dark")


def error_rates(records, name):
    """Error rate of every cell of a suite, from its counts alone."""
    (suite_,) = [s for s in records.suites if s.name == name]
    by_spec = {c.corruption: 1 - c.hits.sum() / (c.n * c.k) for c in records}
    return [by_spec[spec] for spec in suite_.specs], by_spec["clean"]


@pytest.mark.parametrize("k", [1, 3])
def test_mcv_counts_clean_points_among_the_sets(k):
    sets = grid(["linf(0.3)", "linf(0.5)"], ["l2(1)"])
    records = evaluate(mean_of_a_corner, IMAGES, sets, k=k)
    errors, clean = error_rates(records, sets.name)
    right = 1 - np.array(errors)
    mcv = metrics.mcv(records)
    assert len(right) == 8
    assert next(iter(mcv.variation.scores)) == "clean"
    assert list(mcv.variation.scores.values()) == pytest.approx(right)
    assert (mcv.mean.value, mcv.clean.value) == pytest.approx((right.mean(), 1 - clean))
    assert mcv.cv.value == pytest.approx(right.std() / right.mean())
    assert mcv.cv.low <= mcv.cv.value <= mcv.cv.high
    assert mcv.mean.low <= mcv.mean.value <= mcv.mean.high

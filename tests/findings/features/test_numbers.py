"""Losses by feature as a metric: their names, values and order."""

import numpy as np
import pytest

from helpers.records import make_records
from shaketable import metrics
from shaketable.corruptions.suites.per_feature import METRIC

N, K = 50, 4


def compute(lost):
    """Losses of a model that loses so many of its points under each corruption."""
    hits = {spec: np.where(np.arange(N) < count, 0, K) for spec, count in lost.items()}
    records = make_records({"clean": np.ones(N, int), **hits}, k=K, metric=METRIC, sets=tuple(hits))
    return metrics.feature_losses(records)


def test_losses_are_named_by_column_and_the_largest_comes_first():
    found = compute(
        {f'jitter(0.5, only="{name}")': n for name, n in zip("abc", (3, 9, 5), strict=True)}
    )
    assert list(found) == ["b", "c", "a"]
    assert [loss.value for loss in found.values()] == pytest.approx([9 / N, 5 / N, 3 / N])


def test_several_kinds_of_noise_in_a_column_are_told_apart():
    lost = {'jitter(0.5, only="a")': 3, 'jitter(1, only="a")': 8, 'jitter(0.5, only="b")': 5}
    found = compute(lost)
    assert {spec: loss.value for spec, loss in found.items()} == pytest.approx(
        {spec: count / N for spec, count in lost.items()}
    )

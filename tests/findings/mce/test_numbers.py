"""Metrics of suites: definitions, and errors if undefined."""

from dataclasses import replace

import numpy as np
import pytest

from shaketable import metrics
from shaketable.core.errors import InputError, UndefinedError
from shaketable.corruptions.suites.suite import suite
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


@pytest.mark.parametrize("draws", ["ladder", "independent"])
def test_mce_lp_and_ice_are_their_definitions_on_the_error_rates(draws):
    records = evaluate(mean_of_a_corner, IMAGES, [suite("pnorm"), suite("ice")], k=2, draws=draws)
    errors, clean = error_rates(records, "pnorm")
    mce = metrics.mce_lp(records)
    assert mce.value == pytest.approx(np.mean(errors), rel=1e-12)
    assert mce.low <= mce.value <= mce.high
    assert f"mean over {len(errors)} corruptions of suite pnorm, derived from" in mce.method
    errors, clean = error_rates(records, "ice")
    ice = metrics.ice(records)
    assert clean > 0
    assert ice.value == pytest.approx((np.mean(errors) - clean) / clean, rel=1e-9)
    assert ice.low <= ice.value <= ice.high
    assert "mean over 6 corruptions of suite ice" in ice.method


def test_a_model_that_ignores_its_input_has_an_ice_of_0():
    records = evaluate(lambda x: np.full(len(x), "dark"), IMAGES, suite("ice"))
    assert metrics.ice(records).value == 0


def test_ice_without_an_error_is_undefined():
    y = IMAGES.labels
    answers = {row.tobytes(): label for row, label in zip(IMAGES.x, y, strict=True)}

    def perfect(x):
        return np.array([answers.get(row.tobytes(), "dark") for row in x])

    records = evaluate(perfect, IMAGES, suite("ice"))
    with pytest.raises(UndefinedError, match="iCE is undefined at a clean error of 0"):
        metrics.ice(records)


def test_a_suite_metric_needs_one_model_under_a_whole_suite():
    records = evaluate(mean_of_a_corner, IMAGES, suite("ice"), model_id="m")
    with pytest.raises(InputError, match="mce_lp needs exactly one model.*got none"):
        metrics.mce_lp(records)
    part = replace(records, cells=records.cells[:-1])
    with pytest.raises(InputError, match="got none"):
        metrics.ice(part)
    two = records + evaluate(mean_of_a_corner, IMAGES, suite("ice"), seed=1, model_id="m")
    with pytest.raises(InputError, match="exactly one model"):
        metrics.ice(two)
    assert len(metrics.suite_results(two)) == 2

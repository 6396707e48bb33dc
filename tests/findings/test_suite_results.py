"""Records grouped by suite, and whether two models were evaluated under the same one."""

import numpy as np
import pytest

from helpers.records import make_records, make_suite_result
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.findings.suite_results import group_suites, meets_same_suite

RNG = np.random.default_rng(4)
N, K = 30, 6
HITS = {
    "clean": RNG.integers(0, 2, N),
    "sp(0.1) as A": RNG.integers(0, K + 1, N),
    "sp(0.1) + rotation(30) as B": RNG.integers(0, K + 1, N),
}


def test_clean_points_are_a_set_beside_those_of_k_draws():
    found = make_suite_result(HITS, k=K)
    assert found.specs == tuple(HITS)
    assert (found.first.corruption, found.first.k) == ("sp(0.1) as A", K)
    assert found.draws == 3 * K
    clean, (errors,) = found.errors()
    share = [HITS["clean"], *(HITS[spec] / K for spec in found.specs[1:])]
    assert errors / found.draws == pytest.approx(1 - np.mean(share, axis=0))
    assert np.array_equal(clean[0], 1 - HITS["clean"])
    assert found.shares() == pytest.approx(np.array(share))
    assert metrics.mean_error(found).value == pytest.approx(1 - np.mean(share))
    assert found.method == "mean over 3 sets of suite by-hand"


def test_a_suite_without_clean_points_is_as_before():
    records = make_records(HITS, k=K, sets=tuple(HITS)[1:])
    (found,) = group_suites(records)
    assert found.draws == 2 * K
    assert found.method == "mean over 2 corruptions of suite by-hand"


def test_a_suite_is_met_when_all_its_noise_is():
    lacking = make_records({spec: HITS[spec] for spec in list(HITS)[:2]}, k=K, sets=tuple(HITS))
    assert group_suites(lacking) == []
    alone = make_records(HITS, k=K, sets=("clean",))
    assert [r.specs for r in group_suites(alone)] == [("clean",)]


def test_every_setting_has_its_own_result_with_the_same_clean_points():
    records = make_records(HITS, k=K) + make_records(HITS, k=K, seed=1)
    both = group_suites(records)
    assert [r.first.seed for r in both] == [0, 1]
    assert all(np.array_equal(r.series[0].first.hits, HITS["clean"]) for r in both)


def test_models_are_paired_whatever_the_seed_of_their_clean_points():
    one, other = make_suite_result(HITS, k=K), make_suite_result(HITS, k=K, model="other")
    assert meets_same_suite(one, other)
    # a later evaluation with another seed leaves its clean cell beside the noise of the first
    again = group_suites(
        make_records(HITS, k=K, model="other") + make_records(HITS, k=K, model="other", seed=1)
    )
    assert again[0].first.seed == 0
    assert meets_same_suite(one, again[0])
    assert not meets_same_suite(one, again[1])
    difference = metrics.mean_error_difference(one, again[0])
    assert (difference.value, difference.low) == (0, -difference.high)


def test_shares_are_those_of_one_fitted_model_with_draws_of_its_own():
    several = make_records(HITS, k=K) + make_records(HITS, k=K, run=1)
    (runs,) = group_suites(several)
    with pytest.raises(InputError, match=r"one fitted model, got 2 runs of net; choose one"):
        runs.shares()
    (one,) = group_suites(several.select(run=1))
    assert one.shares().shape == (3, N)
    (shared,) = group_suites(make_records(HITS, k=K, draws="shared"))
    with pytest.raises(InputError, match="draws must be independent"):
        shared.shares()

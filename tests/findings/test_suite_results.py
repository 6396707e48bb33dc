"""Records grouped by suite, and whether two models were evaluated under the same one."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.records import make_records, make_suite_result
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.corruptions.common.corruption import BENCHMARK, NO_NOISE
from shaketable.corruptions.common.severities import NAMES
from shaketable.findings.suite_results import group_suites, meets_same_suite, take_part

RNG = np.random.default_rng(4)
N, K = 30, 6
HITS = {
    "clean": RNG.integers(0, 2, N),
    "sp(0.1) as A": RNG.integers(0, K + 1, N),
    "sp(0.1) + rotation(30) as B": RNG.integers(0, K + 1, N),
}


def test_clean_points_weigh_as_much_as_sets_of_k_draws():
    result = make_suite_result(HITS, k=K)
    assert result.specs == tuple(HITS)
    assert (result.first.corruption, result.first.k) == ("sp(0.1) as A", K)
    assert result.draws == 3 * K
    clean, (errors,) = result.errors()
    share = [HITS["clean"], *(HITS[spec] / K for spec in result.specs[1:])]
    assert errors / result.draws == pytest.approx(1 - np.mean(share, axis=0))
    assert np.array_equal(clean[0], 1 - HITS["clean"])
    assert result.shares() == pytest.approx(np.array(share))
    assert metrics.mean_error(result).value == pytest.approx(1 - np.mean(share))
    assert result.method == "mean over 3 sets of suite by-hand"


def test_a_suite_without_clean_points_counts_its_corruptions():
    records = make_records(HITS, k=K, sets=tuple(HITS)[1:])
    (result,) = group_suites(records)
    assert result.draws == 2 * K
    assert result.method == "mean over 2 corruptions of suite by-hand"


def test_a_suite_has_a_result_if_all_its_corruptions_were_evaluated():
    lacking = make_records({spec: HITS[spec] for spec in list(HITS)[:2]}, k=K, sets=tuple(HITS))
    assert group_suites(lacking) == []
    alone = make_records(HITS, k=K, sets=("clean",))
    assert [r.specs for r in group_suites(alone)] == [("clean",)]


def test_every_setting_has_its_own_result_with_the_same_clean_points():
    records = make_records(HITS, k=K) + make_records(HITS, k=K, seed=1)
    both = group_suites(records)
    assert [r.first.setting.seed for r in both] == [0, 1]
    assert all(np.array_equal(r.series[0].first.hits, HITS["clean"]) for r in both)


def test_pairing_ignores_the_seed_of_clean_points():
    first, other = make_suite_result(HITS, k=K), make_suite_result(HITS, k=K, model="other")
    assert meets_same_suite(first, other)
    # a later evaluation with another seed leaves its clean cell beside the noise of the first
    again = group_suites(
        make_records(HITS, k=K, model="other") + make_records(HITS, k=K, model="other", seed=1)
    )
    assert again[0].first.setting.seed == 0
    assert meets_same_suite(first, again[0])
    assert not meets_same_suite(first, again[1])
    difference = metrics.mean_error_difference(first, again[0])
    assert (difference.value, difference.low) == (0, -difference.high)


def test_shares_of_one_run_need_independent_draws():
    several = make_records(HITS, k=K) + make_records(HITS, k=K, run=1)
    (runs,) = group_suites(several)
    assert runs.shares().shape == (2, 3, N)
    (result,) = group_suites(several.select(run=1))
    assert result.shares().shape == (3, N)
    (shared,) = group_suites(make_records(HITS, k=K, draws="shared"))
    with pytest.raises(InputError, match="draws must be independent"):
        shared.shares()


def test_a_suite_is_scored_on_its_own_data_only():
    hits = {"clean": [1, 1, 0], "linf(0.1)": [1, 0, 0]}
    made = make_records(hits, metric="mce_lp", sets=("linf(0.1)",))
    assert len(group_suites(made)) == 1
    (suite,) = made.suites
    elsewhere = replace(made, suites=(replace(suite, fingerprint="other"),))
    assert group_suites(elsewhere) == []


def test_parts_of_the_19_common_corruptions_keep_their_order():
    specs = tuple(f"{kind}({s}, cifar)" for kind in NAMES for s in range(1, 6))
    made = make_records({s: [1, 1, 0] for s in ("clean", *specs)}, metric="mce", sets=specs)
    (result,) = group_suites(made)
    for metric, kinds in (("mce_15", BENCHMARK), ("mce_xn", NO_NOISE)):
        part = take_part(result, metric)
        expected = tuple(s for s in specs if s.partition("(")[0] in kinds)
        assert part.specs == part.suite.specs == expected
        assert part.part_of == "by-hand"
    assert take_part(result, "mce_lp") is None


def test_results_are_paired_only_on_the_same_points_in_the_same_noise():
    hits = {"clean": [1, 1, 0], "linf(0.1)": [1, 0, 0]}

    def make(**settings):
        sets = ("linf(0.1)",)
        (result,) = group_suites(make_records(hits, metric="mce_lp", sets=sets, **settings))
        return result

    assert meets_same_suite(make(), make(model="other"))
    for other in (make(seed=1), make(run=1), make(draws="ladder")):
        assert not meets_same_suite(make(), other)
    made = make_records(hits, metric="mce_lp", sets=("linf(0.1)",))
    moved = tuple(replace(c, points=replace(c.points, order="other points")) for c in made)
    (elsewhere,) = group_suites(replace(made, cells=moved))
    assert not meets_same_suite(make(), elsewhere)

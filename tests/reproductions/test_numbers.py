"""Numbers beside print: standard errors, intervals, z-scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st_
from scipy import stats

from shaketable.core.errors import InputError
from shaketable.reproductions.numbers import (
    FEWEST,
    Number,
    Numbers,
    NumberTable,
    Printed,
    mean_over_runs,
    rescale,
)
from shaketable.statistics.intervals import proportion

VALUES = np.array([3.0, 4.0, 4.5, 6.0, 6.5, 7.0])


def print_as_the_paper(values):
    """What a paper prints that takes 1.96 deviations of the whole group: mean and half width."""
    return Printed(values.mean(), 1.96 * values.std() / math.sqrt(len(values)), len(values))


def test_the_standard_error_of_print_is_of_a_sample():
    assert print_as_the_paper(VALUES).error == pytest.approx(stats.sem(VALUES))
    assert Printed(1.0, 0.98).error == pytest.approx(0.5)
    assert Printed(1.0).error == 0


def test_the_interval_of_print_is_that_of_its_runs():
    e = print_as_the_paper(VALUES).estimate
    for confidence in (0.95, 0.999):
        again = e.again(confidence=confidence)
        expected = stats.t.interval(confidence, 5, VALUES.mean(), stats.sem(VALUES))
        assert (again.low, again.high) == pytest.approx(expected)
    unknown = Printed(1.0, 0.98).estimate
    assert (unknown.low, unknown.high) == pytest.approx((0.02, 1.98), abs=1e-4)


@pytest.mark.parametrize("n", [2, 3, 20])
def test_intervals_over_runs_are_students(n):
    values = np.random.default_rng(n).normal(size=n)
    e = mean_over_runs(values)
    for confidence in (0.95, 0.9993):
        again = e.again(confidence=confidence)
        expected = stats.t.interval(confidence, n - 1, values.mean(), stats.sem(values))
        assert (again.low, again.high) == pytest.approx(expected)


def test_estimates_are_rescaled_with_their_limits():
    e = proportion(90, 100)
    per_cent = rescale(e)
    assert (per_cent.value, per_cent.low) == pytest.approx((90, 100 * e.low))
    wide = per_cent.again(confidence=0.999)
    assert wide.high == pytest.approx(100 * e.again(confidence=0.999).high)


@given(
    st_.integers(FEWEST, 30),
    st_.integers(2, 1200),
    st_.floats(-3, 3),
    st_.floats(0.1, 9),
    st_.integers(0, 99),
)
def test_z_is_the_normal_quantile_of_welchs_t(n, runs, gap, spread, seed):
    values = np.random.default_rng(seed).normal(gap, spread, n)
    printed = Printed(0.0, 0.3, runs)
    deviation = printed.error * math.sqrt(runs)
    welch = stats.ttest_ind_from_stats(
        values.mean(), values.std(ddof=1), n, 0.0, deviation, runs, equal_var=False
    )
    expected = math.copysign(stats.norm.isf(welch.pvalue / 2), welch.statistic)
    assert Number("a", values, printed).z == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_z_against_a_number_without_interval_is_that_of_one_group():
    test = stats.ttest_1samp(VALUES, 4.0)
    expected = stats.norm.isf(test.pvalue / 2)
    assert Number("a", VALUES, Printed(4.0)).z == pytest.approx(expected)


def test_quantiles_of_students_t_make_z_smaller():
    printed = Printed(0.0, 1e-9, 1000)
    number = Number("a", VALUES, printed)
    naive = VALUES.mean() / stats.sem(VALUES)
    assert 0 < number.z < naive


@pytest.mark.parametrize("sign", [1, -1])
def test_a_huge_z_is_finite(sign):
    values = sign * (1e6 + np.arange(1200.0) * 1e-3)
    z = Number("a", values, Printed(0.0, 1e-6, 1200)).z
    assert math.isfinite(z)
    assert sign * z > 30


@pytest.mark.parametrize("n", [1, 2, 4])
def test_too_few_runs_have_no_z(n):
    number = Number("a", VALUES[:n], Printed(5.0, 0.1, 1200))
    assert number.z is None
    assert number.json()["z"] is None
    assert number.score == f"too few runs to judge ({n})"


def test_equal_runs_beside_a_number_of_unknown_runs_have_a_normal_z():
    number = Number("a", np.ones(5), Printed(0.0, 1.96 / 2))
    assert number.z == pytest.approx(2.0)
    assert Number("a", np.full(5, np.nan), Printed(0.0, 1.0)).z is None


def test_there_is_a_z_only_where_there_is_chance():
    assert Number("a", VALUES).score == ""
    assert Number("a", 1.0, Printed(2.0, 0.1, 5)).score == ""
    assert Number("a", np.ones(6), Printed(1.0)).z is None
    assert Number("a", proportion(5, 10), Printed(0.4)).score == ""
    assert Number("a", VALUES[:5], Printed(1.0, 0.1, 5)).score.startswith("+")


def test_exact_numbers_have_no_interval():
    number = Number("a", 0.5, Printed(0.25))
    assert (number.estimate, number.difference, number.runs) == (None, 0.25, 0)
    assert number.json()["low"] is None
    one = Number("a", np.array([0.5]), Printed(0.25))
    assert (one.estimate, one.difference, one.runs) == (None, None, 1)


def test_slips_are_kept_beside_what_is_right():
    number = Number("a", 1.0, Printed(1.0, slip="2", erratum="x"))
    assert number.difference == 0
    assert number.json()["slip"] == "2"


def test_names_in_a_table_must_differ():
    table = NumberTable("t", "T", [Number("a", 1.0), Number("a", 2.0)])
    with pytest.raises(InputError, match="'t' must have different names"):
        _ = table.by_name
    table = NumberTable("t", "T", [Number("a", 1.0, column="x"), Number("a", 2.0, column="y")])
    assert [*Numbers([table]).by_name] == ["t: a / x", "t: a / y"]
    assert table.is_matrix


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.001, "0.00"), (1.005, "1.00"), (-1.239, "-1.24"), (4.063e7, "4.063e+07")],
)
def test_values_are_written_without_a_negative_zero(value, text):
    assert NumberTable("t", "T", []).format(value) == text

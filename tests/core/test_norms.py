"""Norms by name, and norms of rows against numpy and against exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.core.norms import (
    as_p,
    half_separation,
    norm_name,
    norm_title,
    norm_to_json,
    pnorm,
    pnorm_level,
)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.5, math.inf])
def test_names_of_norms_are_read_back(p):
    assert as_p(norm_name(p)) == as_p(norm_title(p)) == as_p(norm_to_json(p)) == as_p(p) == p
    assert pnorm_level(f"{norm_name(p)}(0.25)") == (p, 0.25)


@pytest.mark.parametrize("norm", ["lnf", "", "l0", "-1", 0, -2, math.nan, None])
def test_what_is_no_norm_is_refused(norm):
    with pytest.raises(InputError, match="norm must be 1, 2, inf or another positive number"):
        as_p(norm)


@pytest.mark.parametrize(
    "spec", ["l2(1, surface)", "l2(1) + l2(1)", "l2(1) as small", "l2(eps_min)", "fog(3)", "l2"]
)
def test_only_plain_noise_in_a_ball_has_a_level(spec):
    assert pnorm_level(spec) is None


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, 10, math.inf])
@pytest.mark.parametrize("d", [1, 5, 32, 33, 1000])
def test_norms_of_rows_are_those_of_numpy(p, d):
    x = np.random.default_rng(0).normal(size=(20, d))
    np.testing.assert_allclose(pnorm(x, p), [np.linalg.norm(row, p) for row in x], rtol=1e-12)
    np.testing.assert_array_equal(pnorm(x.reshape(20, d, 1), p), pnorm(x, p))


def test_large_orders_and_tiny_values_do_not_underflow():
    assert pnorm(np.array([[1e-3, 1e-3]]), 200) == pytest.approx(1e-3 * 2 ** (1 / 200))
    assert pnorm(np.array([[3e-200, 4e-200]]), 2) == pytest.approx(5e-200)
    assert pnorm(np.zeros((1, 3)), 2) == 0


def test_sums_of_few_columns_do_not_depend_on_their_order():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 32)) * 10.0 ** rng.integers(-8, 8, size=(50, 32))
    exact = [float(sum(Fraction(abs(value)) for value in row.tolist())) for row in x]
    np.testing.assert_array_equal(pnorm(x, 1), exact)
    np.testing.assert_array_equal(pnorm(x[:, rng.permutation(32)], 1), exact)


@pytest.mark.parametrize("p", [0.5, 1, 2, math.inf])
def test_balls_of_half_the_separation_are_disjoint(p):
    rng = np.random.default_rng(2)
    gap = rng.normal(size=(1, 3))
    eps_min = half_separation(float(pnorm(gap, p)[0]), p)
    steps = rng.normal(size=(2000, 3))
    steps *= 0.999 * eps_min / pnorm(steps, p)[:, None]
    assert (pnorm(gap - steps, p) > eps_min).all()
    # and no larger radius will do: a point that both closed balls hold
    gap, between = np.array([[1.0, 1.0]]), np.array([[0.5, 0.5] if p >= 1 else [1.0, 0.0]])
    eps_min = half_separation(float(pnorm(gap, p)[0]), p)
    assert pnorm(between, p) == pytest.approx(eps_min)
    assert pnorm(gap - between, p) == pytest.approx(eps_min)

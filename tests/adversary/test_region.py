"""Regions: both ends of the value range count alike, and so do both sides of a sphere."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from helpers.regions import make_region
from shaketable.core.norms import pnorm
from shaketable.data.bounds import Bounds

NORMS = [1.0, 2.0, 3.0, math.inf]
KINDS = ["none", "genuine-max", "genuine-exact"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("constraint", KINDS)
@settings(max_examples=25, deadline=None)
@given(
    p=some.sampled_from(NORMS),
    seed=some.integers(0, 2**20),
    epsilon=some.sampled_from([0.05, 0.3, 1.0]),
    d=some.integers(1, 4),
)
def test_a_region_and_its_mirror_image_agree(*, constraint, dtype, p, seed, epsilon, d):
    rng, rows = np.random.default_rng(seed), np.arange(30)
    x = rng.choice([-1.0, -0.75, 0.0, 0.25, 1.5], size=(30, d))
    x += rng.uniform(0, 0.25, (30, d)) * (x < 1)
    x = x.astype(dtype).astype(float)
    region = make_region(x, epsilon, constraint, Bounds(-1, 1.5), p=p, dtype=dtype)
    mirror = make_region(-x, epsilon, constraint, Bounds(-1.5, 1), p=p, dtype=dtype)
    moved = x + epsilon * rng.normal(size=x.shape) * rng.choice([0.3, 1, 3], size=(30, 1))
    np.testing.assert_array_equal(
        region.contains(rows, moved), mirror.contains(rows, -moved), strict=True
    )
    held, other = region.project(rows, moved.copy()), mirror.project(rows, -moved)
    np.testing.assert_allclose(held, -other, atol=1e-12)
    np.testing.assert_array_equal(
        region.round_for_model(rows, held), -mirror.round_for_model(rows, -held)
    )


@pytest.mark.parametrize("p", NORMS)
def test_points_beyond_either_end_of_the_range_are_outside(p):
    x = np.array([[0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9]])
    out = np.array([[-0.2, 0], [0.2, 0], [0, -0.2], [0, 0.2]])
    rows = np.arange(4)
    bounded = make_region(x, 0.3, bounds=Bounds(0, 1), p=p)
    assert make_region(x, 0.3, p=p).contains(rows, x + out).all()
    assert not bounded.contains(rows, x + out).any()
    assert bounded.contains(rows, x - out).all()
    np.testing.assert_allclose(bounded.project(rows, x + out), np.clip(x + out, 0, 1))


@pytest.mark.parametrize("p", NORMS)
def test_exactly_epsilon_is_neither_more_nor_less(p):
    x = np.zeros((3, 2))
    step = np.array([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]])
    step /= pnorm(step, p)[:, None]
    region = make_region(x, 0.5, p=p)
    exact = make_region(x[:1], 0.5, "genuine-exact", p=p)
    for share, inside in ((0.5, True), (1 - 1e-4, True), (1.0, True), (1 + 1e-4, False)):
        assert region.contains(np.arange(3), share * 0.5 * step).tolist() == [inside] * 3
        on_surface = exact.contains(np.zeros(3, int), share * 0.5 * step)
        assert on_surface.tolist() == [share == 1] * 3


@pytest.mark.parametrize("towards", [-1.0, 1.0])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_steps_that_leave_the_range_on_either_side_are_stretched(p, towards):
    x = np.full((1, 3), 0.5 + 0.4 * towards)  # close to one wall in every value
    step = towards * np.array([[1.0, 0.2, -0.1]])
    region = make_region(x, 0.4, "genuine-exact", Bounds(0, 1), p=p)
    moved = region.project(np.array([0]), x + step)
    assert moved[0, 0] == 0.5 + 0.5 * towards  # at the wall
    assert pnorm(moved - x, p) == pytest.approx([0.4], rel=1e-7)

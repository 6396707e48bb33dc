"""The two ends of the value range count alike, for every corruption and every suite."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.corruptions.parse import parse
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.suites.suite import suite
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns

NEED_A_RANGE = ["l0(0.5)", "l0(0.5, uniform)", "sp(0.5)", "ga(0.1)", "rotation(30)", "fog(3)"]
BOUNDED = [
    *("linf(0.5)", "l2(3)", "l1(9, surface)", "linf(0.5, vertices)", "gaussian(0.5)"),
    *("gaussian(0.1, mean=0.3)", "gaussian(0.1, mean=-0.3)", "l0(0.5)", "l0(0.5, uniform)"),
    *("jitter(3)", "missing(0.5)", "scaling(3)", "scaling(-3)", "sp(0.5)", "ga(0.3)", "ga(-0.3)"),
    *("rotation(30, bicubic)", "fog(3)", "gaussian_noise(5)", "linf(0.5) + gaussian(0.5)"),
]
LIMITS = [Bounds(0.0, 1.0), Bounds(-2.0, 3.0), Bounds(-9.0, -4.0)]


def draw_images(bounds, n=12):
    """Images of 8 x 8 values all over a range, ends included."""
    x = np.random.default_rng(0).uniform(bounds.low, bounds.high, (n, 8, 8))
    x[0], x[1], x[2, :4] = bounds.low, bounds.high, bounds.high
    return x


def make_keys(n):
    return row_keys(0, np.arange(n), np.arange(1))[:, 0]


def prepare(spec, x, bounds):
    corruption = parse(spec).for_shape(x.shape[1:]).for_columns(Columns(lambda: x))
    return corruption.bind(bounds)


@pytest.mark.parametrize("bounds", LIMITS, ids=str)
@pytest.mark.parametrize("spec", BOUNDED)
def test_results_lie_in_the_range_and_reach_far_into_both_halves(spec, bounds):
    x = draw_images(bounds)
    noisy = prepare(spec, x, bounds)(x, make_keys(len(x)))
    slack = 1e-9 * (bounds.high - bounds.low)
    assert noisy.min() >= bounds.low - slack
    assert noisy.max() <= bounds.high + slack
    middle = (bounds.low + bounds.high) / 2
    if not spec.startswith(("scaling", "missing")):  # which move all values to one side, or inwards
        assert noisy.min() < middle < noisy.max()
    assert not np.array_equal(noisy, x)


@pytest.mark.parametrize("bounds", [(0, math.inf), (-math.inf, 1), (-math.inf, math.inf)])
@pytest.mark.parametrize("spec", NEED_A_RANGE)
def test_a_range_without_one_of_its_ends_is_no_range(spec, bounds):
    x = draw_images(Bounds(0, 1))
    with pytest.raises(InputError, match="finite value range"):
        prepare(spec, x, Bounds(*bounds))(x, make_keys(len(x)))


@pytest.mark.parametrize("bounds", [(0.05, 1), (0, 0.95)])
@pytest.mark.parametrize("spec", ["fog(3)", "pixelate(2)"])
def test_images_beyond_either_end_are_refused(spec, bounds):
    x = draw_images(Bounds(0, 1))
    with pytest.raises(InputError, match="lie in the bounds"):
        prepare(spec, x, Bounds(*bounds))(x, make_keys(len(x)))


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_points_beyond_either_end_cannot_have_truncated_noise(p):
    noise = PNormNoise(p, 0.5, bounds=Bounds(0, 1, "truncate"))
    for value in (-0.25, 1.25):
        with pytest.raises(InputError, match="lie in the bounds"):
            noise(np.array([[0.5, value]]), make_keys(1))


@settings(max_examples=60, deadline=None)
@given(
    p=some.sampled_from([0.5, 1.0, 2.0, 5.0, math.inf]),
    low=some.floats(-3, 3),
    width=some.floats(0.1, 3),
    share=some.floats(0.05, 1.2),
    seed=some.integers(0, 2**20),
)
def test_truncated_noise_stays_in_ball_and_range(*, p, low, width, share, seed):
    bounds, epsilon = Bounds(low, low + width, "truncate"), share * width
    rng = np.random.default_rng(seed)
    x = np.clip(rng.uniform(low - width, low + 2 * width, (40, 2)), bounds.low, bounds.high)
    noisy = PNormNoise(p, epsilon, bounds=bounds)(x, make_keys(40))
    assert (noisy >= bounds.low - 1e-12).all()
    assert (noisy <= bounds.high + 1e-12).all()
    assert (pnorm(noisy - x, p) <= epsilon * (1 + 1e-9)).all()


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("d", [1, 2])
def test_truncation_at_the_upper_end_mirrors_that_at_the_lower_one(p, d):
    n, noise = 4000, PNormNoise(p, 0.1, bounds=Bounds(0, 1, "truncate"))
    at_low, inside, at_high = (
        noise(np.full((n, d), centre), make_keys(n)) - centre for centre in (0.0, 0.5, 1.0)
    )
    assert at_low.min() >= 0 >= at_high.max()
    spread = 0.1 / math.sqrt(n)
    np.testing.assert_allclose(at_low.mean(axis=0), -at_high.mean(axis=0), atol=5 * spread)
    np.testing.assert_allclose(inside.mean(axis=0), 0, atol=5 * spread)
    # half of the ball is left: its points are drawn as often, whatever their sign was
    for one, two in ((at_low, at_high), (at_low, np.abs(inside))):
        np.testing.assert_allclose(
            np.quantile(np.abs(one), [0.25, 0.5, 0.75]),
            np.quantile(np.abs(two), [0.25, 0.5, 0.75]),
            atol=0.006,
        )


@pytest.mark.parametrize("bounds", [(-1, 255), (0, 256), (-1, 256)])
def test_bounds_that_uint8_cannot_hold_are_refused(bounds):
    x = np.arange(16, dtype=np.uint8).reshape(2, 8)
    with pytest.raises(InputError, match=r"bounds must lie in \[0, 255\]"):
        st.corrupt(x, "linf(1)", bounds=bounds, dtype=np.uint8, rng=0)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(0, 2), "for values in"),
        (Bounds(-1, 1), "for values in"),
        (Bounds(0, math.inf), "finite value range"),
        (Bounds(-math.inf, 1), "finite value range"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["pnorm-cifar", "ice-cifar"])
def test_published_suites_are_for_values_from_0_to_1(name, bounds, message):
    assert suite(name).on((32, 32, 3), Bounds(0, 1)) == suite(name)
    with pytest.raises(InputError, match=message):
        suite(name).on((32, 32, 3), bounds)


@pytest.mark.parametrize("name", ["pnorm", "ice"])
def test_derived_sizes_depend_on_the_width_of_the_range_alone(name):
    sizes = {str(b): suite(name).on((8, 8), b).names for b in (Bounds(0, 2), Bounds(-1, 1))}
    assert len({*sizes.values()}) == 1
    assert suite(name).on((8, 8), Bounds(0, 1)).names not in sizes.values()
    for bounds in (Bounds(0, math.inf), Bounds(-math.inf, 1)):
        with pytest.raises(InputError, match="finite value range"):
            suite(name).on((8, 8), bounds)


@st.corruption
def push(x, rng, *, by: float = 1.0):
    """Add a number to all values."""
    return x + by


@pytest.mark.parametrize(("by", "end"), [(5.0, 1.0), (-5.0, 0.0)])
def test_own_functions_are_kept_in_the_range_at_both_ends(by, end):
    x = np.random.default_rng(0).uniform(size=(3, 4))
    given = x.copy()
    np.testing.assert_array_equal(st.corrupt(x, push(by=by), bounds=(0, 1)), np.full((3, 4), end))
    np.testing.assert_array_equal(x, given)

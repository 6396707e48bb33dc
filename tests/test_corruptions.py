import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from shaketable.corruptions import Bounds, Clean, PNormNoise, Sequence, corrupt, noisy_copies, parse
from shaketable.errors import InputError
from shaketable.keys import row_keys
from shaketable.norms import pnorm


def draw(noise, *, n, d, centre=0.0, seed=0):
    keys = row_keys(seed, np.arange(n), np.arange(1))[:, 0]
    return noise(np.full((n, d), centre), keys) - centre


def log_odds(delta, p):
    """log(|x_1|^p / sum of the others' |x_i|^p), which does not round to 0 or 1 for large p."""
    logs = p * np.log(np.abs(delta))
    return logs[:, 0] - np.logaddexp.reduce(logs[:, 1:], axis=1)


def log_beta_prime_cdf(a, b):
    """Law of the log-odds of a Beta(a, b) share; its tails are taken in logarithms."""
    scale = special.betaln(a, b)

    def cdf(t):
        low, high = np.minimum(t, -30), np.maximum(t, 30)
        middle = special.betainc(a, b, special.expit(np.clip(t, -30, 30)))
        below = np.exp(a * low - np.log(a) - scale)
        above = 1 - np.exp(-b * high - np.log(b) - scale)
        return np.where(t < -30, below, np.where(t > 30, above, middle))

    return cdf


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, 10, 200])
@pytest.mark.parametrize("d", [2, 6])
def test_pnorm_noise_is_uniform_in_the_ball(p, d):
    delta = draw(PNormNoise(p, epsilon=0.3), n=4000, d=d)
    # Uniform in the ball fixes two laws: radius**d ~ U(0, 1), and the first coordinate's share of
    # the norm ~ Beta(1/p, (d-1)/p), independently of each other.
    radius = pnorm(delta, p) / 0.3
    assert stats.kstest(radius**d, "uniform").pvalue > 1e-3
    share = log_odds(delta, p)
    assert stats.kstest(share, log_beta_prime_cdf(1 / p, (d - 1) / p)).pvalue > 1e-3
    assert stats.spearmanr(radius, share).pvalue > 1e-3
    assert stats.binomtest(int((delta > 0).sum()), delta.size).pvalue > 1e-3


def test_linf_noise_is_uniform_in_every_coordinate():
    delta = draw(PNormNoise(math.inf, epsilon=0.3), n=4000, d=5)
    assert stats.kstest((delta.ravel() + 0.3) / 0.6, "uniform").pvalue > 1e-3
    assert np.abs(np.corrcoef(delta.T) - np.eye(5)).max() < 0.06


def test_clip_and_truncate_shift_the_mean_as_their_laws_say():
    n, at_edge = 40_000, {}
    for rule in ("clip", "truncate"):
        noise = PNormNoise(math.inf, 0.1, Bounds(0, 1, rule))
        at_edge[rule] = draw(noise, n=n, d=1)
        assert at_edge[rule].min() >= 0
    # uniform on [-0.1, 0.1] clipped at 0: mean 0.025, sd 0.0323; uniform on [0, 0.1]: 0.05, 0.0289
    assert at_edge["clip"].mean() == pytest.approx(0.025, abs=4 * 0.0323 / math.sqrt(n))
    assert at_edge["truncate"].mean() == pytest.approx(0.05, abs=4 * 0.0289 / math.sqrt(n))


@pytest.mark.parametrize("p", [1, 2])
def test_truncated_noise_is_uniform_in_ball_and_box(p):
    # from a corner of the box a quarter of the disc is left: radius**2 stays uniform
    delta = draw(PNormNoise(p, 0.5, Bounds(0, 1, "truncate")), n=4000, d=2)
    assert delta.min() >= 0
    assert stats.kstest((pnorm(delta, p) / 0.5) ** 2, "uniform").pvalue > 1e-3


def test_truncation_is_refused_where_it_cannot_be_sampled():
    noise = PNormNoise(2, 0.1, Bounds(0, 1, "truncate"))
    with pytest.raises(InputError, match="at most 8 dimensions"):
        draw(noise, n=2, d=9, centre=0.5)
    with pytest.raises(InputError, match="hardly ever"):
        draw(PNormNoise(2, 1e6, Bounds(0, 1, "truncate")), n=1, d=8, centre=0.5)
    with pytest.raises(InputError, match="lie in the bounds"):
        draw(noise, n=2, d=2, centre=1.5)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["linf", "l1", "l2", "l0.5", "l77"]),
            st.floats(min_value=0, max_value=1e300, allow_nan=False),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_specs_parse_back_to_themselves(parts):
    spec = " + ".join(f"{name}({epsilon!r})" for name, epsilon in parts)
    once = parse(spec)
    assert parse(once.spec) == once
    assert parse(once.spec).spec == once.spec


def test_a_sequence_applies_its_factors_in_order_with_their_own_noise():
    x = np.zeros((500, 3))
    both = corrupt(x, "linf(1) + linf(1)", rng=0)
    # a sum of two independent uniforms on [-1, 1] is triangular on [-2, 2]
    assert stats.kstest(both.ravel(), stats.triang(0.5, loc=-2, scale=4).cdf).pvalue > 1e-3
    assert isinstance(parse("linf(1) + l2(1)"), Sequence)
    assert corrupt(x, "linf(5) + linf(5)", rng=0, bounds=(0, 1)).max() <= 1


def test_corrupt_leaves_its_input_alone_and_follows_its_seed():
    x = np.arange(6.0).reshape(3, 2)
    kept = x.copy()
    noisy = corrupt(x, "linf(0.1)", rng=0)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(noisy, corrupt(x, "linf(0.1)", rng=0))
    assert not np.array_equal(noisy, corrupt(x, "linf(0.1)", rng=1))
    assert noisy.max() > 5 - 0.1
    copy = corrupt(x, "clean")
    copy += 1
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_and_shapes_are_kept(dtype):
    x = np.zeros((4, 3, 2), dtype)
    noisy = corrupt(x, "l2(1)", rng=0)
    assert noisy.dtype == dtype
    assert noisy.shape == x.shape
    assert corrupt(np.zeros((2, 2), int), "linf(1)", rng=0).dtype == np.float64


def test_noisy_copies_do_not_depend_on_how_they_are_batched():
    keys = row_keys(3, np.arange(5), np.arange(4))
    x = np.random.default_rng(0).normal(size=(5, 2))
    noise = parse("l1(0.5)")
    whole = noisy_copies(noise, x, keys).reshape(5, 4, 2)
    np.testing.assert_array_equal(noisy_copies(noise, x[3:], keys[3:, 1:2]), whole[3:, 1])


def test_eps_min_is_looked_up_in_the_norm_of_the_noise():
    assert parse("l2(eps_min)", eps_min=lambda p: p / 10).spec == "l2(0.2)"
    assert isinstance(parse("clean"), Clean)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lnf(0.1)", "did you mean 'linf"),
        ("linf", "takes one number"),
        ("linf(1, 2)", "takes one number"),
        ("linf(1, epsilon=2)", "takes one number"),
        ("linf(epsilon=1, epsilon=2)", "twice"),
        ("linf(size=1)", "takes one number"),
        ("linf(big)", "epsilon must be a number"),
        ("linf(-1)", "epsilon must be 0 or more"),
        ("linf(nan)", "epsilon must be 0 or more"),
        ("l0(1)", "norm must be"),
        ("linf(eps_min)", "known only where data are"),
        ("linf(0.1", "spec must read"),
        ("linf(,)", "empty argument"),
        ("", "must not be empty"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        parse(spec)


def test_no_points_are_refused():
    with pytest.raises(InputError, match="at least one point"):
        corrupt(np.zeros((0, 2)), "linf(1)")


def test_bad_bounds_are_refused():
    with pytest.raises(InputError, match="low < high"):
        corrupt(np.zeros((1, 1)), "linf(1)", bounds=(1, 0))
    with pytest.raises(InputError, match="did you mean 'clip'"):
        Bounds(0, 1, "clp")

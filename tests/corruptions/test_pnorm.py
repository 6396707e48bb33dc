"""Laws that fix the distribution of p-norm noise, for every order, dimension, type and library.

Uniform in the ball means: radius**d is uniform on (0, 1); the share of one component in the norm,
|x_j|^p / ||x||_p^p, is Beta(1/p, (d-1)/p); signs are fair; images are independent.
"""

import importlib.util
import math

import numpy as np
import pytest
from scipy import special, stats

from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import norm_name, pnorm, pnorm_level
from shaketable.corruptions import PNormNoise, corrupt, parse
from shaketable.data.bounds import Bounds

ORDERS = [0.3, 0.5, 1, 2, 3, 5, 10, 50, 77, 200, math.inf]
N, EPSILON = 20_000, 0.3
WIDE = 3072  # with so many components, so many rows: each component is looked at in one


def libraries():
    if importlib.util.find_spec("torch") is None:
        return ["numpy"]
    import torch

    return ["numpy", "cpu", *(["cuda"] if torch.cuda.is_available() else [])]


LIBRARIES = libraries()


def zeros(shape, dtype, library):
    if library == "numpy":
        return np.zeros(shape, dtype)
    import torch

    return torch.zeros(shape, dtype=getattr(torch, dtype), device=library)


def noise(spec, n, d, dtype="float64", library="numpy", *, seed=0, bounds=None):
    made = corrupt(zeros((n, d), dtype, library), spec, rng=seed, bounds=bounds)
    return made if isinstance(made, np.ndarray) else made.cpu().numpy()


def powers(x, p):
    """Sum of |x_i|^p over the largest one, and the largest; in float32, in blocks: it is enough."""
    largest = np.abs(x).max(axis=1).astype(np.float64)
    total = np.empty(len(x))
    for i in range(0, len(x), 2000):
        scaled = (np.abs(x[i : i + 2000]) / largest[i : i + 2000, None]).astype(np.float32)
        np.maximum(scaled, np.float32(1e-37), out=scaled)
        total[i : i + 2000] = np.exp(np.float32(p) * np.log(scaled)).sum(axis=1, dtype=np.float64)
    return total, largest


def log_odds(x, p, total, largest):
    """log of a component's share over the others': it does not round to 0 or 1 for large p.

    The component is another one in every row, so that all are looked at.
    """
    mine = np.abs(x[np.arange(len(x)), np.arange(len(x)) % x.shape[1]].astype(np.float64))
    if x.shape[1] <= 6:  # few others: their sum itself
        logs = p * np.log(np.abs(x.astype(np.float64)))
        logs[np.arange(len(x)), np.arange(len(x)) % x.shape[1]] = -np.inf
        return p * np.log(mine) - special.logsumexp(logs, axis=1)
    share = p * (np.log(mine) - np.log(largest)) - np.log(total)
    return share - np.log(-np.expm1(share))


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


def holds(law, p_value):
    assert p_value > 1e-3, f"{law} does not hold: p = {p_value:.2g}"


def check_ball(x, p, epsilon):
    n, d = x.shape
    total, largest = powers(x, min(p, 1e4))
    norm = largest if math.isinf(p) else largest * total ** (1 / p)
    radius = norm / epsilon
    assert radius.max() <= 1 + 1e-6
    holds("the radius", stats.kstest(radius**d, "uniform").pvalue)
    if math.isinf(p):
        one = np.abs(x[np.arange(n), np.arange(n) % d].astype(np.float64)) / epsilon
        holds("the size of a component", stats.kstest(one, "uniform").pvalue)
    elif d > 1:
        one = log_odds(x, p, total, largest)
        law = log_beta_prime_cdf(1 / p, (d - 1) / p)
        holds("the share of a component", stats.kstest(one, law).pvalue)
        holds("radius and share independent", stats.spearmanr(radius, one).pvalue)
    else:
        one = radius
    holds("images independent", stats.spearmanr(one[::2], one[1::2]).pvalue)
    holds("radii independent", stats.spearmanr(radius[::2], radius[1::2]).pvalue)
    holds("signs fair", stats.binomtest(int((x > 0).sum()), x.size).pvalue)
    first, second = x[:, 0] > 0, x[:, -1] > 0
    if d > 1:
        holds("signs independent", stats.binomtest(int((first ^ second).sum()), n).pvalue)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 2, 6, WIDE])
@pytest.mark.parametrize("p", ORDERS)
def test_noise_is_uniform_in_the_ball(p, d, dtype, library):
    spec = f"{norm_name(p)}({EPSILON})"
    if library == "cpu":  # the same values as numpy, for which the laws are checked
        n = min(N, 1_000_000 // d)  # rows depend on their keys alone, so these stand for all
        x, expected = (noise(spec, n, d, dtype, name, seed=11) for name in ("cpu", "numpy"))
        np.testing.assert_array_equal(x, expected)
    else:
        x = noise(spec, WIDE if d == WIDE else N, d, dtype, library, seed=11)
        check_ball(x, p, EPSILON)
    assert x.dtype == dtype


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("p", [0.05, 0.1, 1e4, 1e5])
def test_the_law_holds_at_the_ends_of_the_fast_way_and_beyond(p, library):
    for d in (1, 2, 6):
        check_ball(noise(f"{norm_name(p)}({EPSILON})", N, d, library=library), p, EPSILON)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("p", [0.3, 0.5, 1, 2, 5, 200])
def test_noise_on_the_surface_has_its_norm_and_the_direction_of_the_ball(p, library):
    x = noise(f"{norm_name(p)}({EPSILON}, surface)", N, 6, library=library)
    np.testing.assert_allclose(pnorm(x, p), EPSILON, rtol=1e-12)
    one = log_odds(x, p, *powers(x, p))
    holds("the share", stats.kstest(one, log_beta_prime_cdf(1 / p, 5 / p)).pvalue)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_surface_of_the_cube_is_hit_uniformly(library):
    x = noise("linf(0.5, surface)", N, 4, library=library)
    at_edge = np.abs(x) == 0.5
    np.testing.assert_array_equal(at_edge.sum(axis=1), 1)
    faces = at_edge.argmax(axis=1) * 2 + (x[at_edge] > 0)
    holds("the face", stats.chisquare(np.bincount(faces, minlength=8)).pvalue)
    holds("the place on it", stats.kstest(x[~at_edge] + 0.5, "uniform").pvalue)


@pytest.mark.parametrize("library", LIBRARIES)
def test_vertices_are_hit_uniformly(library):
    x = noise("linf(0.5, vertices)", N, 3, library=library)
    assert (np.abs(x) == 0.5).all()
    counts = np.bincount((x > 0) @ np.array([1, 2, 4]), minlength=8)
    holds("the vertex", stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gaussian_noise_is_normal(dtype, library):
    x = noise("gaussian(0.2, mean=0.1)", N, 5, dtype, library)
    holds("the law", stats.kstest(x.ravel(), stats.norm(0.1, 0.2).cdf).pvalue)
    corners = np.corrcoef(x.T) - np.eye(5)
    assert np.abs(corners).max() < 5 / math.sqrt(N)
    holds("images independent", stats.spearmanr(x[::2].ravel(), x[1::2].ravel()).pvalue)
    # the tail beyond 3.7 sigma, where the layers end
    far = np.abs(noise("gaussian(1)", N, 300, dtype, library)) > 3.7
    holds("the tail", stats.binomtest(int(far.sum()), far.size, 2 * stats.norm.sf(3.7)).pvalue)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("p", [0.3, 0.5, 1, 1.5, 7, 200])
def test_tails_are_drawn_by_their_law(p, library):
    # one component in 100 000 has a share that only the tail beyond the layers can give
    x = noise(f"{norm_name(p)}(1, surface)", 5000, 3072, library=library)
    limit = stats.beta(1 / p, 3071 / p).isf(1e-5) ** (1 / p)
    count = int((np.abs(x) > limit).sum())
    holds("the far tail", stats.binomtest(count, x.size, 1e-5).pvalue)


def check_impulses(changed, share):
    """Hits per image, and how often every place is hit; `changed` marks the hits."""
    n, d = changed.shape
    assert set(changed.sum(axis=1)) == {round(share * d)}, "distinct places"
    counts = changed.sum(axis=0)
    m = round(share * d)
    # without replacement, places of an image exclude each other: a chi-square with this factor
    statistic = ((counts - n * m / d) ** 2).sum() / (n * m / d * (1 - m / d)) * (d - 1) / d
    holds("the places", stats.chi2(d - 1).sf(statistic))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("share", "d"), [(0.01, 300), (0.3, 10), (0.12, 3072)])
def test_impulses_hit_exactly_their_share_and_every_place_alike(share, d, library):
    x = noise(f"l0({share})", 5000, d, "float32", library, bounds=(-1, 1))
    check_impulses(x != 0, share)
    hits = x[x != 0]
    assert set(np.unique(hits)) == {-1, 1}
    holds("low or high", stats.binomtest(int((hits > 0).sum()), len(hits)).pvalue)
    uniform = noise(f"l0({share}, uniform)", 5000, d, "float64", library, bounds=(-1, 1))
    check_impulses(uniform != 0, share)
    values = uniform[uniform != 0]
    holds("the values", stats.kstest((values[:100_000] + 1) / 2, "uniform").pvalue)


def published_mistake(p, n, d, *, share_magnitudes=False, clamp=False):
    """Noise as the authors' code makes it: one pattern for 8 images, or float32 underflow."""
    rng = np.random.default_rng(0)
    magnitudes = rng.standard_gamma(1 / p, (n // 8 if share_magnitudes else n, d))
    if clamp:
        magnitudes = np.maximum(magnitudes.astype(np.float32), np.finfo(np.float32).tiny)
    g = magnitudes.astype(np.float64) ** (1 / p)
    g = np.repeat(g, 8, axis=0) if share_magnitudes else g
    g *= rng.choice([-1.0, 1.0], (n, d))
    return EPSILON * g * (rng.random((n, 1)) ** (1 / d) / pnorm(g, p)[:, None])


@pytest.mark.parametrize("d", [2, 6])
def test_the_tests_see_the_published_mistakes(d):
    check_ball(published_mistake(2, N, d), 2, EPSILON)  # without a mistake they pass
    with pytest.raises(AssertionError, match="images independent"):
        check_ball(published_mistake(2, N, d, share_magnitudes=True), 2, EPSILON)
    with pytest.raises(AssertionError, match="the share of a component"):
        check_ball(published_mistake(200, N, d, clamp=True), 200, EPSILON)
    rng = np.random.default_rng(0)
    repeated = np.zeros((1000, 300), bool)
    repeated[np.arange(1000)[:, None], rng.integers(300, size=(1000, 30))] = True
    with pytest.raises(AssertionError, match="distinct places"):
        check_impulses(repeated, 0.1)


# --- bounds, sizes and specs ---


def draw(noise, *, n, d, centre=0.0, seed=0):
    keys = row_keys(seed, np.arange(n), np.arange(1))[:, 0]
    return noise(np.full((n, d), centre), keys) - centre


def test_clip_and_truncate_shift_the_mean_as_their_laws_say():
    n, at_edge = 40_000, {}
    for rule in ("clip", "truncate"):
        noise = PNormNoise(math.inf, 0.1, bounds=Bounds(0, 1, rule))
        at_edge[rule] = draw(noise, n=n, d=1)
        assert at_edge[rule].min() >= 0
    # uniform on [-0.1, 0.1] clipped at 0: mean 0.025, sd 0.0323; uniform on [0, 0.1]: 0.05, 0.0289
    assert at_edge["clip"].mean() == pytest.approx(0.025, abs=4 * 0.0323 / math.sqrt(n))
    assert at_edge["truncate"].mean() == pytest.approx(0.05, abs=4 * 0.0289 / math.sqrt(n))


@pytest.mark.parametrize("p", [1, 2])
def test_truncated_noise_is_uniform_in_ball_and_box(p):
    # from a corner of the box a quarter of the disc is left: radius**2 stays uniform
    delta = draw(PNormNoise(p, 0.5, bounds=Bounds(0, 1, "truncate")), n=4000, d=2)
    assert delta.min() >= 0
    assert stats.kstest((pnorm(delta, p) / 0.5) ** 2, "uniform").pvalue > 1e-3


def test_truncation_is_refused_where_it_cannot_be_sampled():
    noise = PNormNoise(2, 0.1, bounds=Bounds(0, 1, "truncate"))
    with pytest.raises(InputError, match="at most 8 dimensions"):
        draw(noise, n=2, d=9, centre=0.5)
    with pytest.raises(InputError, match="hardly ever"):
        draw(PNormNoise(2, 1e6, bounds=Bounds(0, 1, "truncate")), n=1, d=8, centre=0.5)
    with pytest.raises(InputError, match="lie in the bounds"):
        draw(noise, n=2, d=2, centre=1.5)


@pytest.mark.parametrize("p", [1e-5, 1e-300, 1e16, 1e300])
def test_orders_that_need_an_exponent_have_specs(p):
    noise = PNormNoise(p, 1e-9)
    assert parse(noise.spec) == noise
    assert pnorm_level(noise.spec) == (p, 1e-9)


@pytest.mark.parametrize("p", [0, -1, math.nan])
def test_orders_that_are_none_are_refused(p):
    with pytest.raises(InputError, match="p must be positive"):
        PNormNoise(p, 1)


@pytest.mark.parametrize("ladder", ["l{}({})", "l{}({}, surface)"])
@pytest.mark.parametrize("p", [0.5, 2, "inf"])
def test_the_levels_of_a_ladder_scale_one_draw(p, ladder):
    keys = row_keys(0, np.arange(20), np.arange(1))[:, 0]
    x = np.zeros((20, 7))
    weak, strong = (parse(ladder.format(p, size)) for size in (0.1, 3))
    assert weak.ladder == strong.ladder != weak.spec
    drawn = max(weak, strong, key=lambda c: c.size).draw(x, keys)
    np.testing.assert_array_equal(weak.apply(x, drawn), weak(x, keys))
    np.testing.assert_allclose(strong.apply(x, drawn), 30 * weak.apply(x, drawn), rtol=1e-12)

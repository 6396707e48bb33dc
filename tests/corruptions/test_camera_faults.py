"""Faults of cameras against their laws, and rotation against scipy and a brute force."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage, stats

import shaketable as st
from helpers.images import make_images, make_keys
from shaketable.core.errors import InputError
from shaketable.corruptions import CameraGaussian, Rotation, SaltPepper, corrupt, parse
from shaketable.corruptions.camera_faults import _normal_table
from shaketable.data.bounds import Bounds

UNIT = Bounds(0, 1)
TYPES = ["float32", "float64"]
SPECS = [
    "sp(0.2)",
    "ga(0.1)",
    "ga(-0.1, 0.05)",
    "rotation(30)",
    "rotation(-60, bilinear, fill=1)",
    "rotation(20, bicubic)",
    "sp(0.1) + ga(0.1)",
    "ga(0.1) + sp(0.1) + rotation(30, bicubic)",
    "sp(0.1) + rotation(-30) as SP0.1RO-30",
]


def grey(n, *shape, value=0.5, dtype="float64"):
    return np.full((n, *shape), value, dtype)


def holds(law, p_value):
    assert p_value > 1e-4, f"{law} does not hold: p = {p_value:.2g}"


def uncorrelated(noise):
    """Columns of noise, and rows that follow one another, have nothing in common."""
    flat = noise.reshape(len(noise), -1).astype(float)
    flat = (flat - flat.mean()) / flat.std()
    assert np.abs(np.corrcoef(flat.T) - np.eye(flat.shape[1])).max() < 5.5 / math.sqrt(len(flat))
    assert abs((flat[1:] * flat[:-1]).mean()) < 5 / math.sqrt(flat[1:].size)


# --- salt & pepper ---


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("density", [0, 1e-4, 0.1, 0.15, 0.2, 0.5, 0.97, 1])
def test_salt_and_pepper_hits_its_share_half_black_half_white(density, dtype):
    found = corrupt(grey(3000, 7, 11, dtype=dtype), f"sp({density})", rng=3, bounds=(0, 1))
    assert found.dtype == dtype
    black, white = int((found == 0).sum()), int((found == 1).sum())
    assert black + white == (found != 0.5).sum()
    holds("the share", stats.binomtest(black + white, found.size, density).pvalue)
    if black + white:
        holds("black and white", stats.binomtest(black, black + white).pvalue)


@pytest.mark.parametrize("density", [0.1, 0.5])
def test_salt_and_pepper_hits_every_value_by_itself(density):
    found = corrupt(grey(40_000, 3, 3, 3), f"sp({density})", rng=1, bounds=(0, 1))
    hits, white = found != 0.5, found == 1
    for marked in (hits, white):
        uncorrelated(marked)
    # of the 9 values of a row of pixels so many are hit, by the binomial law: channels are apart
    counts = np.bincount(hits.reshape(-1, 9).sum(axis=1), minlength=10)
    expected = stats.binom.pmf(np.arange(10), 9, density) * counts.sum()
    few = [np.append(values[:5], values[5:].sum()) for values in (counts, expected)]
    holds("hits among channels", stats.chisquare(*few).pvalue)


def halves(key, n):
    """32 bits a value: the halves of the words of splitmix64, spelled out."""
    for j in range(n):
        z = (int(key) + (j // 2 + 1) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield (z ^ z >> 31) >> 32 * (j % 2) & 0xFFFFFFFF


@pytest.mark.parametrize("density", [0, 0.3, 1])
def test_salt_and_pepper_takes_the_ends_of_32_bits(density):
    x, keys = grey(2, 5, 5), make_keys(2)
    found = SaltPepper(density).bind(Bounds(-3, 5))(x, keys).reshape(2, -1)
    for key, row in zip(keys, found, strict=True):
        for bits, value in zip(halves(key, 25), row, strict=True):
            place = bits / 2**32
            expected = -3 if place < density / 2 else 5 if place >= 1 - density / 2 else 0.5
            assert value == expected


def test_what_a_lower_density_hits_a_higher_one_hits_likewise():
    x, keys = grey(50, 6, 6, 3), make_keys(50)
    drawn = SaltPepper(1).draw(x, keys)
    levels = [SaltPepper(d).bind(UNIT).apply(x, drawn) for d in (0, 0.05, 0.1, 0.4, 1)]
    for few, more in pairwise(levels):
        hit = few != 0.5
        np.testing.assert_array_equal(more[hit], few[hit])
        assert (more != 0.5).sum() > hit.sum()
    assert SaltPepper(0.1).ladder == SaltPepper(0.2).ladder


def test_uint8_pictures_are_hit_in_their_own_units():
    x = make_images(50, 9, 13)
    kept = x.copy()
    found = corrupt(x, "sp(0.3)", rng=0, bounds=(0, 255), dtype="uint8")
    assert found.dtype == np.uint8
    assert set(np.unique(found[found != x])) == {0, 255}
    np.testing.assert_array_equal(x, kept)
    inner = (x > 0) & (x < 255)
    changed = int((found != x)[inner].sum())
    holds("the share", stats.binomtest(changed, int(inner.sum()), 0.3).pvalue)


# --- Gaussian noise as MATLAB has it ---


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bounds", [(0, 1), (-3, 5)])
@pytest.mark.parametrize(("mean", "var"), [(0, 1e-4), (0.1, 2e-3), (-0.05, 4e-4)])
def test_gaussian_noise_has_its_mean_and_variance_over_the_range(mean, var, bounds, dtype):
    span = bounds[1] - bounds[0]
    middle = bounds[0] + span / 2
    x = grey(2000, 5, 7, value=middle, dtype=dtype)
    noise = corrupt(x, f"ga({mean}, {var})", rng=2, bounds=bounds).astype(float) - middle
    holds(
        "the law", stats.kstest(noise.ravel(), stats.norm(mean * span, var**0.5 * span).cdf).pvalue
    )
    n, error = noise.size, noise.std() / math.sqrt(noise.size)
    assert noise.mean() == pytest.approx(mean * span, abs=4 * error)
    square = stats.chi2(n - 1).sf(noise.var(ddof=1) * (n - 1) / (var * span**2))
    holds("the variance", 2 * min(square, 1 - square))
    uncorrelated(noise)


def test_one_number_is_the_mean_as_imnoise_reads_it():
    assert parse("ga(0.1)") == parse("ga(mean=0.1, var=0.01)") == CameraGaussian(0.1, 0.01)
    found = corrupt(grey(4000, 25), "ga(0.1)", rng=0, bounds=(0, 1)).ravel()
    law = stats.norm(0.6, 0.1)
    white = int((found == 1).sum())
    holds("what is cut", stats.binomtest(white, found.size, law.sf(1)).pvalue)
    below = found[found < 1]
    holds("the rest", stats.kstest(below, lambda v: law.cdf(v) / law.cdf(1)).pvalue)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_gaussian_noise_is_cut_at_the_ends(value):
    found = corrupt(grey(2000, 30, value=value), "ga(0.1, 0.25)", rng=0, bounds=(0, 1))
    assert found.min() >= 0
    assert found.max() <= 1
    for end, share in (
        (0, stats.norm.cdf(0, value + 0.1, 0.5)),
        (1, stats.norm.sf(1, value + 0.1, 0.5)),
    ):
        holds("the cut", stats.binomtest(int((found == end).sum()), found.size, share).pvalue)


def level_law(levels, values, mean, var, steps):
    """Probability integral of levels that are drawn by the law, at random within each step."""
    edges = levels[None] + np.array([[-0.5], [0.5]])
    below, up_to = stats.norm.cdf(edges, values + steps * mean, steps * math.sqrt(var))
    below, up_to = np.where(levels == 0, 0, below), np.where(levels == steps, 1, up_to)
    return below + (up_to - below) * np.random.default_rng(0).random(levels.shape)


@pytest.mark.parametrize(("mean", "var"), [(0.1, 0.01), (0.2, 0.01), (0, 0.15), (-0.3, 1e-5)])
@pytest.mark.parametrize(("dtype", "steps"), [("uint8", 255), ("int16", 255), ("int16", 1000)])
def test_whole_numbers_get_noise_that_is_rounded_after_it(dtype, steps, mean, var):
    values = np.arange(steps + 1).repeat(200).astype(dtype).reshape(-1, 8)
    found = corrupt(values, f"ga({mean}, {var})", rng=0, bounds=(0, steps))
    np.testing.assert_array_equal(found, np.rint(found))
    uniform = level_law(found.ravel().astype(float), values.ravel(), mean, var, steps)
    holds("the law", stats.kstest(uniform, "uniform").pvalue)
    for lag in (1, 2, 7):
        assert abs(stats.spearmanr(uniform[lag:], uniform[:-lag])[0]) < 5 / math.sqrt(len(uniform))
    by_value = uniform.reshape(steps + 1, -1).mean(axis=1)
    assert np.abs(by_value - 0.5).max() < 5.5 / math.sqrt(12 * 200)


@pytest.mark.parametrize(("mean", "var"), [(0.1, 0.01), (0, 0.1), (-0.5, 1e-7)])
def test_the_table_of_levels_holds_the_law_to_32_bits(mean, var):
    table = _normal_table(mean, var).astype(np.int64)
    own, other = table >> 8, table & 255
    found = own.copy()
    for value in range(256):
        np.add.at(found[value], other[value], 2**24 - own[value])
    edges = np.arange(257) - 0.5
    edges[0], edges[-1] = -np.inf, np.inf
    centres = np.arange(256)[:, None] + 255 * mean
    law = np.diff(stats.norm.cdf(edges, centres, 255 * math.sqrt(var)), axis=1)
    assert np.abs(found - law * 2**32).max() < 1.01


def test_noise_without_variance_is_a_shift():
    x = np.arange(256, dtype=np.uint8).reshape(8, 32)
    found = corrupt(x, "ga(0.2, 0)", rng=0, bounds=(0, 255), dtype="uint8")
    np.testing.assert_array_equal(found, np.minimum(x.astype(int) + 51, 255))


def test_values_off_the_levels_and_out_of_range_end_on_levels():
    x = np.array([[-40, 0, 100, 300]], np.int16).repeat(500, axis=0)
    np.testing.assert_array_equal(corrupt(x, "ga(0, 1e-9)", bounds=(0, 255)), x.clip(0, 255))
    found = corrupt(x, "linf(9) + ga(0, 1e-9)", rng=0, bounds=(0, 255))
    assert set(np.unique(found[:, 2])) == {*range(91, 110)}


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "ga" in spec or "rotation" in spec])
def test_uint8_data_stay_on_their_levels_also_between_factors(spec):
    data = st.make_dataset(make_images(40, 12, 12), np.arange(40) % 2)
    levels = np.arange(256, dtype=np.uint8) / np.float32(255)
    noisy = st.corrupted(data, spec).x
    assert np.isin(noisy, levels).all()
    seen = []

    def model(x):
        seen.append(x.copy())
        return np.zeros(len(x), int)

    st.evaluate(model, data, [spec], k=1)
    np.testing.assert_array_equal(seen[0], data.x / np.float32(255))
    np.testing.assert_array_equal(seen[1], noisy)


def test_clipping_needs_bounds_that_clip():
    with pytest.raises(
        InputError, match=r"are for balls, got ga\(mean=0.1, var=0.01\); use 'clip'"
    ):
        corrupt(grey(2, 3), "ga(0.1)", bounds=Bounds(0, 1, "truncate"))


# --- rotation ---


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("way", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("side", [1, 2, 8, 9])
def test_right_angles_move_pixels_as_they_are(side, way, dtype):
    x = np.random.default_rng(0).random((3, side, side)).astype(dtype)
    for degrees in (-450, -360, -270, -180, -90, 0, 90, 180, 270, 360, 450, 36_000_090):
        turned = corrupt(x, f"rotation({degrees}, {way})", bounds=(0, 1))
        # rot90 turns the other way round
        np.testing.assert_array_equal(turned, np.rot90(x, -degrees // 90, axes=(1, 2)))
    wide = np.random.default_rng(0).random((3, 7, 10)).astype(dtype)
    half = corrupt(wide, f"rotation(180, {way})", bounds=(0, 1))
    np.testing.assert_array_equal(half, wide[:, ::-1, ::-1])


@pytest.mark.parametrize("shape", [(21, 21), (20, 28)])
@pytest.mark.parametrize("way", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("degrees", [-60, -30, 30, 60, 135])
def test_positive_is_clockwise_on_a_screen(degrees, way, shape):
    # a blob to the right of the centre; angles count from there, clockwise as y points down
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    y, x = y - (shape[0] - 1) / 2, x - (shape[1] - 1) / 2
    blob = np.exp(-(y**2 + (x - 5) ** 2) / 4)
    turned = corrupt(blob[None], f"rotation({degrees}, {way})", bounds=(0, 1))[0]
    angle = math.degrees(math.atan2((turned * y).sum(), (turned * x).sum()))
    assert angle == pytest.approx(degrees, abs=2)


@pytest.mark.parametrize(
    ("way", "error"), [("nearest", None), ("bilinear", 0.05), ("bicubic", 0.02)]
)
@pytest.mark.parametrize("degrees", [30, 60, 17.5])
def test_turning_back_restores_the_inside_of_a_disc(degrees, way, error):
    y, x = np.mgrid[-15.5:16, -15.5:16]
    inside = np.hypot(y, x) < 13
    soft = 0.5 + 0.4 * np.sin(y / 3) * np.cos(x / 4)
    picture = np.where(np.hypot(y, x) < 15, soft, 0)[None]
    there = corrupt(picture, f"rotation({degrees}, {way})", bounds=(0, 1))
    back = corrupt(there, f"rotation({-degrees}, {way})", bounds=(0, 1))
    assert np.abs(there - picture)[0, inside].max() > 0.2
    if error is None:
        assert (back == picture)[0, inside].mean() > 0.7
    else:
        assert np.abs(back - picture)[0, inside].max() < error


@pytest.mark.parametrize(("way", "order"), [("nearest", 0), ("bilinear", 1)])
@pytest.mark.parametrize("degrees", [30, -60, 3.7, 101, -200.5])
@pytest.mark.parametrize("shape", [(32, 32), (15, 24), (9, 4)])
def test_rotation_is_that_of_scipy(shape, degrees, way, order):
    x = np.random.default_rng(1).random((2, *shape))
    angle = math.radians(degrees)
    back = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    centre = (np.array(shape) - 1) / 2
    found = corrupt(x, f"rotation({degrees}, {way}, fill=0.25)", bounds=(0, 1))
    for mine, picture in zip(found, x, strict=True):
        theirs = ndimage.affine_transform(
            picture, back, centre - back @ centre, order=order, mode="grid-constant", cval=0.25
        )
        np.testing.assert_allclose(mine, theirs, atol=1e-8)


def keys_cubic(t):
    """Cubic convolution of Keys (1981), equation 15."""
    t = abs(t)
    if t < 1:
        return 3 / 2 * t**3 - 5 / 2 * t**2 + 1
    return -1 / 2 * t**3 + 5 / 2 * t**2 - 4 * t + 2 if t < 2 else 0.0


@pytest.mark.parametrize("degrees", [30, -75.3])
def test_bicubic_is_cubic_convolution(degrees):
    height, width, fill = 7, 9, 0.75
    x = np.random.default_rng(2).integers(0, 2, (height, width)).astype(float)
    expected, angle = np.zeros_like(x), math.radians(degrees)
    for row in range(height):
        for column in range(width):
            dy, dx = row - (height - 1) / 2, column - (width - 1) / 2
            y = math.cos(angle) * dy - math.sin(angle) * dx + (height - 1) / 2
            z = math.sin(angle) * dy + math.cos(angle) * dx + (width - 1) / 2
            for i in range(-12, 22):
                for j in range(-12, 22):
                    known = 0 <= i < height and 0 <= j < width
                    value = x[i, j] if known else fill
                    expected[row, column] += keys_cubic(y - i) * keys_cubic(z - j) * value
    assert expected.max() > 1 or expected.min() < 0, "clipping is seen"
    found = corrupt(x[None], f"rotation({degrees}, bicubic, fill={fill})", bounds=(0, 1))[0]
    np.testing.assert_allclose(found, expected.clip(0, 1), atol=1e-7)


@pytest.mark.parametrize("way", ["nearest", "bilinear", "bicubic"])
def test_hard_edges_stay_in_range_and_whole_numbers_whole(way):
    x = np.random.default_rng(3).integers(0, 2, (20, 16, 16, 3)).astype(np.uint8) * 255
    floats = corrupt(x / 255.0 * 4 - 1, f"rotation(25, {way}, fill=0.5)", bounds=(-1, 3))
    assert floats.min() >= -1
    assert floats.max() <= 3
    whole = corrupt(x, f"rotation(25, {way}, fill=0.6)", bounds=(0, 255))
    np.testing.assert_array_equal(whole, np.rint(whole))
    exact = corrupt(x / 255.0, f"rotation(25, {way}, fill=0.6)", bounds=(0, 1))
    assert np.abs(whole - 255 * exact).max() <= 0.5 + 1e-4


def test_corners_are_filled_in_the_units_of_the_range():
    for fill in (0, 0.25, 1):
        turned = Rotation(45, fill=fill).bind(Bounds(-3, 5))(grey(2, 40, 40), make_keys(2))
        outside = turned != 0.5
        assert set(turned[outside]) == {-3 + 8 * fill}
        # what a turned square leaves of the square: 2 (sqrt(2) - 1)
        assert outside.mean() == pytest.approx(3 - 2 * math.sqrt(2), abs=0.02)


def test_channels_may_come_first_or_be_missing():
    x = np.random.default_rng(4).random((5, 12, 17, 3))
    first = corrupt(np.moveaxis(x, 3, 1), "rotation(30, bilinear)", bounds=(0, 1))
    last = corrupt(x, "rotation(30, bilinear)", bounds=(0, 1))
    np.testing.assert_array_equal(np.moveaxis(first, 1, 3), last)
    for c in range(3):
        alone = corrupt(x[..., c], "rotation(30, bilinear)", bounds=(0, 1))
        np.testing.assert_array_equal(alone, last[..., c])


# --- all of them ---


@pytest.mark.parametrize("spec", SPECS)
def test_a_picture_depends_on_its_key_alone(spec, monkeypatch):
    x, keys = make_images(260, 32, 32) / np.float32(255), make_keys(260)
    for bounds in (UNIT, Bounds(0, 1, steps=255)):
        corruption = parse(spec).bind(bounds)
        whole = corruption(x, keys)
        assert not np.array_equal(whole, x)
        for threads in ("1", "2"):
            monkeypatch.setenv("OMP_NUM_THREADS", threads)
            np.testing.assert_array_equal(corruption(x, keys), whole)
        some = np.array([200, 3, 77])
        np.testing.assert_array_equal(corruption(x[some], keys[some]), whole[some])


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", [*TYPES, "uint8"])
def test_tensors_get_the_bytes_of_arrays(spec, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = make_images(20, 9, 13)
    x, bounds = (x, (0, 255)) if dtype == "uint8" else ((x / 255).astype(dtype), (0, 1))
    expected = corrupt(x, spec, rng=0, bounds=bounds)
    found = corrupt(torch.from_numpy(x), spec, rng=0, bounds=bounds)
    assert found.numpy().dtype == expected.dtype
    assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("x", "spec", "bounds", "numbers"),
    [
        (np.ones((1, 4)), "sp(0.9)", (0, 5), [0, 5, 5, 5]),
        (np.ones((1, 2)), "ga(0.1, 0.04)", (-9, 9), [-1.1937278474455288, 3.759356411343446]),
        (np.full((1, 4), 128, np.uint8), "ga(0.1)", (0, 255), [173, 130, 173, 140]),
    ],
    ids=["sp", "ga", "ga of levels"],
)
def test_noise_is_pinned(x, spec, bounds, numbers):
    # another value here means that all noise has changed: after a release, raise keys.SCHEME
    np.testing.assert_allclose(corrupt(x, spec, rng=0, bounds=bounds)[0], numbers, rtol=1e-12)


@pytest.mark.parametrize("spec", ["sp(0.1)", "ga(0.1)", "rotation(30)"])
@pytest.mark.parametrize("bounds", [None, (0, math.inf)])
def test_sizes_relative_to_a_range_need_one(spec, bounds):
    with pytest.raises(InputError, match="needs a finite value range.*give bounds"):
        corrupt(grey(2, 9, 9), spec, bounds=bounds)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sp(1.5)", r"density must lie in \[0, 1\], 0.1 for 10 %, got 1.5"),
        ("sp(-0.1)", "density must lie"),
        ("sp(nan)", "density must lie"),
        ("sp", "takes density"),
        ("sp(0.1, 0.2)", "takes density"),
        ("ga(0.1, -1)", "var must be 0 or more and finite, got -1"),
        ("ga(inf)", "mean must be a finite number"),
        ("ga(0.1, sd=0.1)", "takes mean, and optionally var"),
        ("ga", "takes mean"),
        ("ga(up)", "mean must be a number"),
        ("rotation(inf)", "degrees must be a finite number"),
        ("rotation(30, bilinar)", "did you mean 'bilinear'"),
        ("rotation(30, fill=2)", r"fill must lie in \[0, 1\], 0 for black, got 2"),
        ("rotation(30, bilinear, 1, 2)", "takes degrees"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message) as caught:
        parse(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(7,), (2, 2, 2, 2), (5, 9, 9)])
def test_only_pictures_can_be_turned(shape):
    with pytest.raises(InputError, match="is for images|cannot tell the channels"):
        corrupt(grey(2, *shape), "rotation(30)", bounds=(0, 1))

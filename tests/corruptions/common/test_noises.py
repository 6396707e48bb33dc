"""The four common noises against their exact laws."""

import numpy as np
import pytest
from scipy import stats

from helpers.images import check_independence, corrupt_by_name, make_images, make_keys
from shaketable.corruptions.common import noises
from shaketable.corruptions.common.severities import parameters
from shaketable.corruptions.compiled.levels import fill_draws

NAMES = ["gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"]
LEVELS = [
    (profile, severity)
    for profile in ("cifar", "tiny", "imagenet", "45px", "150px")
    for severity in range(1, 6)
]
VALUES = [0, 1, 2, 5, 20, 63, 100, 128, 177, 230, 250, 254, 255]


def normal_law(value, spread):
    """Probabilities of clip(floor(value + spread n)) for outcomes 0 to 255."""
    if spread == 0:
        return np.eye(256)[value]
    below = stats.norm.cdf(np.arange(257), value, spread)
    below[0], below[256] = 0, 1
    return np.diff(below)


def law(name, value, c):
    """Probabilities of the outcomes 0 to 255 given a value, one value at a time."""
    if name == "gaussian_noise":
        return normal_law(value, 255 * c)
    if name == "speckle_noise":
        return normal_law(value, value * c)
    if name == "impulse_noise":
        return (1 - c) * np.eye(256)[value] + c / 2 * (np.eye(256)[0] + np.eye(256)[255])
    counts = np.arange(int(3 * c) + 60)
    outcome = (np.clip(counts / c, 0, 1) * 255).astype(np.uint8)
    return np.bincount(outcome, stats.poisson.pmf(counts, value / 255 * c), minlength=256)


def merged(drawn, expected):
    """Neighbouring outcomes put together until some ten draws are expected of them."""
    groups = [[0, 0.0]]
    for one, hoped in zip(drawn, expected, strict=True):
        if groups[-1][1] >= 10:
            groups.append([0, 0.0])
        groups[-1] = [groups[-1][0] + one, groups[-1][1] + hoped]
    if len(groups) > 1 and groups[-1][1] < 10:
        rest = groups.pop()
        groups[-1] = [groups[-1][0] + rest[0], groups[-1][1] + rest[1]]
    return np.array(groups).T


def table_law(name, c):
    """What an alias table stands for, all 256 values at once, in multiples of 2**-32."""
    table = getattr(noises, f"_{name.removesuffix('_noise')}_table")(c).astype(np.int64)
    own, other = table >> 8, table & 255
    found = own.copy()
    for value in range(256):
        np.add.at(found[value], other[value], 2**24 - own[value])
    return found


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_tables_hold_the_law_to_32_bits(name, level):
    (c,) = parameters(name, level[1], level[0])
    found = table_law(name, c)
    assert (found.sum(axis=1) == 2**32).all()
    expected = np.array([law(name, value, c) for value in range(256)])
    assert np.abs(found - expected * 2**32).max() < 1.01


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_draws_follow_the_law(name, level):
    (c,) = parameters(name, level[1], level[0])
    images = np.repeat(np.array(VALUES, np.uint8), 5).reshape(-1, 1, 1, 1)
    images = np.broadcast_to(images, (len(images), 47, 31, 3)).copy()
    found = getattr(noises, name)(images, make_keys(len(images)), (c,), 32)
    for i, value in enumerate(VALUES):
        drawn = np.bincount(found[5 * i : 5 * i + 5].ravel(), minlength=256)
        expected = law(name, value, c) * drawn.sum()
        assert (drawn[expected == 0] == 0).all()
        observed, hoped = merged(drawn, expected)
        if len(hoped) > 1:
            assert stats.chisquare(observed, hoped, sum_check=False).pvalue > 1e-6, value


def test_values_of_an_image_are_independent():
    images = np.full((40, 64, 64, 3), 128, np.uint8)
    noise = corrupt_by_name(images, make_keys(40), "gaussian_noise", 3).reshape(40, -1) / 255.0
    noise -= noise.mean()
    for lag in (1, 2, 3, 16, 192):
        pairs = noise[:, :-lag] * noise[:, lag:] / noise.var()
        assert abs(pairs.mean()) < 5 / np.sqrt(pairs.size)
    across = (noise[1:] * noise[:-1]).mean() / noise.var()
    assert abs(across) < 5 / np.sqrt(noise[1:].size)


def halves(key, n):
    """32 bits a value: the halves of the words of splitmix64, spelled out."""
    for j in range(n):
        z = (int(key) + (j // 2 + 1) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield (z ^ z >> 31) >> 32 * (j % 2) & 0xFFFFFFFF


def test_halves_of_a_word_serve_two_values():
    images, keys = make_images(1, 9, 13), make_keys(1)
    found = noises.shot_noise(images, keys, (100,), 32).ravel()
    table = noises._shot_table(100)
    for outcome, value, bits in zip(found, images.ravel(), halves(keys[0], 351), strict=True):
        entry = int(table[value, bits % 256])
        assert outcome == (bits % 256 if bits >> 8 < entry >> 8 else entry % 256)


def test_a_column_keeps_the_places_below_its_threshold():
    key, image, out = make_keys(1), np.zeros((1, 1), np.uint8), np.empty((1, 1), np.uint8)
    (bits,) = halves(key[0], 1)
    column, place, other = bits % 256, bits >> 8, (bits + 1) % 256
    for own, outcome in ((place - 1, other), (place, other), (place + 1, column)):
        fill_draws(image, key, out, np.full((256, 256), own << 8 | other, np.uint32))
        assert out[0, 0] == outcome


@pytest.mark.parametrize("shape", [(8, 8, 1), (9, 13, 3), (28, 28, 1), (40, 56, 3), (11, 8, 5)])
@pytest.mark.parametrize("name", NAMES)
def test_any_shape(name, shape):
    images = make_images(3, *shape)
    found = corrupt_by_name(images, make_keys(3), name, 5)
    assert found.shape == images.shape
    assert found.dtype == np.uint8
    assert (found != images).mean() > 0.02


@pytest.mark.parametrize("name", NAMES)
def test_an_image_depends_on_its_key_alone(name, monkeypatch):
    check_independence(name, monkeypatch)

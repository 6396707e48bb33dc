"""Fog, frost, snow and spatter against slow references, fed with the same draws."""

import math

import numpy as np
import pytest
from scipy import ndimage, stats

from shaketable.core.keys import _mix, row_keys, uniforms
from shaketable.corruptions.common import spatter, weather
from shaketable.corruptions.common.severities import parameters, profile_of, side_of
from shaketable.corruptions.common.spatter import canny, chamfer
from shaketable.corruptions.common.textures import reduction, resize, textures
from shaketable.corruptions.compiled.streams import SIDE
from shaketable.corruptions.gaussian import Gaussian

KINDS = ["fog", "frost", "snow", "spatter"]
SIZES = [(32, 32), (64, 64), (224, 224), (8, 8), (9, 13), (28, 28), (40, 56)]
COUNTS = {32: 60, 64: 16, 224: 2}


def keys(n):
    return row_keys(5, np.arange(n), np.arange(1))[:, 0]


def random_images(n, height, width, channels=3):
    """Smooth shapes, textures, gradients, dark and pale ones."""
    rng = np.random.default_rng(height + width)
    noise = rng.normal(size=(n, height, width, channels))
    smooth = ndimage.gaussian_filter(noise, (0, height / 6, width / 6, 0))
    smooth /= smooth.std(axis=(1, 2, 3), keepdims=True)
    contrast = rng.uniform(0, 60, (n, 1, 1, 1))
    mean = rng.uniform(0, 255, (n, 1, 1, channels))
    slope = np.linspace(-40, 40, width)[:, None] * rng.uniform(-1, 1, (n, 1, 1, 1))
    return np.clip(mean + contrast * smooth + 9 * noise + slope, 0, 255).astype(np.uint8)


def normals(drawn_by, height, width):
    points = np.zeros((len(drawn_by), height * width))
    return Gaussian(1.0).draw(points, drawn_by).reshape(-1, height, width)


def corrupted(kind, images, severity, drawn_by=None):
    profile = profile_of(*images.shape[1:3])
    numbers = parameters(kind, severity, profile)
    drawn_by = keys(len(images)) if drawn_by is None else drawn_by
    module = spatter if kind == "spatter" else weather
    return getattr(module, kind)(images, drawn_by, numbers, side_of(profile))


def truncated(x):
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)


def slow_fog(images, drawn_by, numbers, side):
    amount, decay = numbers
    height, width = images.shape[1:3]
    side = 2 ** math.ceil(math.log2(max(height, width)))
    out = []
    for image, u in zip(images, uniforms(drawn_by, side * side), strict=True):
        draws, land, step, wibble = iter(u), np.zeros((side, side)), side, 100.0
        while step >= 2:
            half, shape = step // 2, (side // step, side // step)

            def jitter(wibble=wibble, shape=shape, draws=draws):
                u = np.array([next(draws) for _ in range(math.prod(shape))]).reshape(shape)
                return wibble * (-wibble + 2 * wibble * u)

            corner = land[::step, ::step]
            total = sum(np.roll(corner, (-i, -j), (0, 1)) for i in (0, 1) for j in (0, 1))
            land[half::step, half::step] = total / 4 + jitter()
            middle = land[half::step, half::step]
            across = corner + np.roll(corner, -1, 1) + middle + np.roll(middle, 1, 0)
            down = corner + np.roll(corner, -1, 0) + middle + np.roll(middle, 1, 1)
            land[::step, half::step] = across / 4 + jitter()
            land[half::step, ::step] = down / 4 + jitter()
            step, wibble = half, wibble / decay
        land -= land.min()
        land /= land.max()
        x = image / 255
        most = x.max()
        out.append(truncated((x + amount * land[:height, :width, None]) * most / (most + amount)))
    return np.array(out)


def slow_frost(images, drawn_by, numbers, side):
    height, width = images.shape[1:3]
    out = []
    for image, (which, row, column) in zip(images, uniforms(drawn_by, 3), strict=True):
        texture = textures()[int(5 * which)]
        enough = max(height / texture.shape[0], width / texture.shape[1])
        texture = resize(texture, max(reduction(side), enough))
        top, left = int(row * (len(texture) - height)), int(column * (texture.shape[1] - width))
        crop = texture[top : top + height, left : left + width]
        out.append(np.clip(numbers[0] * image + numbers[1] * crop, 0, 255).astype(np.uint8))
    return np.array(out)


def slow_zoom(layer, factor):
    """The middle of a layer, stretched."""
    inner = [math.ceil(size / factor) for size in layer.shape]
    first = [(size - n) // 2 for size, n in zip(layer.shape, inner, strict=True)]
    part = layer[first[0] : first[0] + inner[0], first[1] : first[1] + inner[1]]
    part = ndimage.zoom(part, factor, order=1)
    first = [(n - size) // 2 for size, n in zip(layer.shape, part.shape, strict=True)]
    return part[first[0] : first[0] + layer.shape[0], first[1] : first[1] + layer.shape[1]]


def slow_motion_blur(layer, radius, sigma, angle):
    taps = np.arange(2 * math.ceil(radius) + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    weights /= weights.sum()
    total, (y, x) = np.zeros(layer.shape), np.indices(layer.shape)
    for i, weight in zip(taps, weights, strict=True):
        v = y + math.ceil(i * math.sin(math.radians(angle)) - 0.5)
        u = x + math.ceil(i * math.cos(math.radians(angle)) - 0.5)
        v, u = v.clip(0, layer.shape[0] - 1), u.clip(0, layer.shape[1] - 1)
        total += weight * (257.0 * layer[v, u])
    return np.floor(total + 0.5).astype(int) // 257


def slow_snow(images, drawn_by, numbers, side):
    mean, std, zoom, threshold, radius, sigma, keep = numbers
    angles = -135 + 90 * uniforms(_mix(drawn_by ^ SIDE), 1)[:, 0]
    out = []
    for image, normal, angle in zip(
        images, normals(drawn_by, *images.shape[1:3]), angles, strict=True
    ):
        layer = slow_zoom(mean + std * normal, zoom)
        layer[layer < threshold] = 0
        layer = slow_motion_blur(truncated(layer), radius, sigma, angle)[..., None] / 255
        x = image.astype(np.float32) / np.float32(255)
        grey = x @ np.array([0.299, 0.587, 0.114], np.float32)
        pale = np.maximum(x, grey[..., None] * np.float32(1.5) + np.float32(0.5))
        x = np.float32(keep) * x + np.float32(1 - keep) * pale
        out.append(truncated(x + layer + layer[::-1, ::-1]))
    return np.array(out)


def slow_canny(image):
    """Edges by Canny's rules, thresholds 50 and 150, directions by their tangents."""
    image = np.pad(image.astype(int), 1, mode="edge")
    down = ndimage.correlate(image, [[-1, -2, -1], [0, 0, 0], [1, 2, 1]])[1:-1, 1:-1]
    across = ndimage.correlate(image, [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])[1:-1, 1:-1]
    steep = abs(across) + abs(down)

    def neighbour(dy, dx):
        padded = np.pad(steep, 1)
        return padded[1 + dy : 1 + dy + len(steep), 1 + dx : 1 + dx + steep.shape[1]]

    # ours has 15 bits of the tangent, which decide otherwise only for slopes such as 408 : 985
    flat = abs(down) < abs(across) * (math.sqrt(2) - 1)
    upright = abs(down) > abs(across) * (math.sqrt(2) + 1)
    rising = across * down < 0
    ridge = np.select(
        [flat, upright, rising],
        [
            (steep > neighbour(0, -1)) & (steep >= neighbour(0, 1)),
            (steep > neighbour(-1, 0)) & (steep >= neighbour(1, 0)),
            (steep > neighbour(-1, 1)) & (steep > neighbour(1, -1)),
        ],
        (steep > neighbour(-1, -1)) & (steep > neighbour(1, 1)),
    )
    parts, _ = ndimage.label(ridge & (steep > 50), np.ones((3, 3)))
    strong = np.unique(parts[ridge & (steep > 150)])
    return np.isin(parts, strong[strong > 0])


def slow_distance(edges, most=20):
    """Length of the shortest way by steps of 1, 1.4 and 2.1969: in closed form, place by place."""
    straight, diagonal, knight = (round(65536 * step) for step in (1, 1.4, 2.1969))
    padded, found = np.pad(edges, most), np.full(edges.shape, most << 16)
    for dy in range(-most, most + 1):
        for dx in range(-most, most + 1):
            short, long = sorted((abs(dy), abs(dx)))
            if long >= 2 * short:
                length = knight * short + straight * (long - 2 * short)
            else:
                length = knight * (long - short) + diagonal * (2 * short - long)
            if length < most << 16:
                hit = padded[most + dy :, most + dx :][: len(edges), : edges.shape[1]]
                found = np.where(hit, np.minimum(found, length), found)
    return found / 65536


def slow_water(x, layer, strength):
    drops = (layer * 255).astype(int).astype(np.uint8)
    distance = slow_distance(slow_canny(drops))
    box = np.ones((3, 3))
    light = np.float32(ndimage.correlate(distance, box, mode="mirror") / 9).astype(int)
    counts = np.bincount(light.ravel(), minlength=256)
    least = light.min()
    if counts[least] < light.size:
        share = np.float32(255) / np.float32(light.size - counts[least])
        light = np.rint(np.float32(counts.cumsum() - counts[least]) * share).astype(int)[light]
    relief = [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]
    light = ndimage.correlate(light, relief, mode="mirror").clip(0, 255)
    light = np.rint(ndimage.correlate(light.astype(float), box, mode="mirror") / 9)
    shine = drops * light.astype(np.float32)
    if not shine.any():
        return x
    shine = shine / shine.max() * np.float32(strength)
    return x + shine[..., None] * np.float32(np.array([175, 238, 238]) / 255)


def slow_mud(x, layer, threshold, sigma):
    mask = ndimage.gaussian_filter((layer > threshold).astype(np.float32), sigma, mode="nearest")
    mask[mask < np.float32(0.8)] = 0
    colour = np.float32(np.array([63, 42, 20]) / 255)
    return x * (1 - mask[..., None]) + colour * mask[..., None]


def slow_spatter(images, drawn_by, numbers, side):
    mean, std, sigma, threshold, strength, kind = numbers
    out = []
    for image, normal in zip(images, normals(drawn_by, *images.shape[1:3]), strict=True):
        layer = ndimage.gaussian_filter(mean + std * normal, sigma, mode="nearest")
        layer[layer < threshold] = 0
        x = image.astype(np.float32) / np.float32(255)
        x = slow_mud(x, layer, threshold, strength) if kind else slow_water(x, layer, strength)
        out.append((np.clip(x, 0, 1) * np.float32(255)).astype(np.uint8))
    return np.array(out)


SLOW = {"fog": slow_fog, "frost": slow_frost, "snow": slow_snow, "spatter": slow_spatter}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_images_are_those_of_the_description(kind, severity, size):
    profile = profile_of(*size)
    images = random_images(COUNTS.get(max(size), 10), *size)
    numbers = parameters(kind, severity, profile)
    expected = SLOW[kind](images, keys(len(images)), numbers, side_of(profile))
    found = corrupted(kind, images, severity)
    # the reference lets the library order the sum of three that is grey
    assert np.mean(found == expected) >= (0.9999 if kind == "snow" else 0.99999)
    assert found.shape == images.shape
    assert not np.shares_memory(found, images)
    assert (found != images).any()


@pytest.mark.parametrize("channels", [1, 4])
def test_fog_is_for_any_number_of_channels(channels):
    images, numbers = random_images(20, 28, 28, channels), parameters("fog", 3, "28px")
    assert np.array_equal(corrupted("fog", images, 3), slow_fog(images, keys(20), numbers, 28))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("severity", [1, 5])
def test_an_image_depends_on_its_key_alone(kind, severity, monkeypatch):
    images, drawn_by = random_images(300, 32, 32), keys(300)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole = corrupted(kind, images, severity, drawn_by)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert np.array_equal(corrupted(kind, images, severity, drawn_by), whole)
    for size in (1, 7):
        for i in range(0, 30, size):
            part = corrupted(kind, images[i : i + size], severity, drawn_by[i : i + size])
            assert np.array_equal(part, whole[i : i + size])
    order = np.random.default_rng(0).permutation(300)
    assert np.array_equal(corrupted(kind, images[order], severity, drawn_by[order]), whole[order])


@pytest.mark.parametrize("kind", KINDS)
def test_other_keys_give_other_weather(kind):
    images = np.repeat(random_images(1, 32, 32) // 2, 2, axis=0)
    assert (np.diff(corrupted(kind, images, 3).astype(int), axis=0) != 0).any()


@pytest.mark.parametrize("kind", KINDS)
def test_no_images_are_no_images(kind):
    assert corrupted(kind, random_images(0, 32, 32), 1).shape == (0, 32, 32, 3)


def test_fog_spans_the_range_that_its_formula_has():
    # the map reaches 0 and 1 on the whole square: x M / (M + t) and M, both for a flat image
    images = np.full((50, 32, 32, 3), 200, np.uint8)
    found, m = corrupted("fog", images, 4), 200 / 255
    assert set(found.max(axis=(1, 2, 3))) <= {199, 200}
    assert set(found.min(axis=(1, 2, 3))) == {int(m * m / (m + 1) * 255)}
    black = np.zeros((2, 32, 32, 3), np.uint8)
    assert not corrupted("fog", black, 5).any()


def test_frost_takes_every_texture_alike_and_never_the_last_row():
    images, n = np.zeros((4000, 32, 32, 3), np.uint8), 4000
    found = weather.frost(images, keys(n), (0.0, 1.0), 32)
    small = [resize(texture, 0.2) for texture in textures()]
    corners = {}
    for which, texture in enumerate(small):
        for top in range(len(texture) - 32 + 1):
            for left in range(texture.shape[1] - 32 + 1):
                place = texture[top, left : left + 32].tobytes()
                corners[place] = (1 if which == 2 else which, top)
    places = [corners[image[0].tobytes()] for image in found]
    counts = np.bincount([which for which, _ in places], minlength=5)
    assert counts[2] == 0
    expected = n * np.array([0.2, 0.4, 0.2, 0.2])
    assert stats.chisquare(counts[[0, 1, 3, 4]], expected).pvalue > 1e-3
    tops = np.array([top for which, top in places if which == 1])
    assert set(tops) == set(range(63 - 32))
    assert stats.chisquare(np.bincount(tops)).pvalue > 1e-3


def test_frost_comes_from_the_source_named(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.new("RGB", (300, 200), (10, 20, 30)).save(tmp_path / "ice.png")
    images = random_images(5, 32, 32)
    found = weather.frost(images, keys(5), (0.0, 1.0), 32, source=str(tmp_path))
    assert np.array_equal(found, np.broadcast_to(np.uint8([10, 20, 30]), images.shape))


def test_snow_and_its_reflection_fall_on_a_flat_image():
    images = np.full((20, 32, 32, 3), 60, np.uint8)
    found = corrupted("snow", images, 3).astype(int)
    # in the last bit the order of the sum shows
    assert abs(found - found[:, ::-1, ::-1]).max() <= 1
    assert found.max() > found.min()


@pytest.mark.parametrize("kind", [0, 1])
def test_without_a_drop_nothing_changes(kind):
    images = random_images(3, 32, 32)
    found = spatter.spatter(images, keys(3), (0.1, 0.01, 1.0, 0.9, 0.5, kind), 32)
    assert np.array_equal(found, images)


def test_water_without_a_rim_shines_evenly():
    images = np.full((1, 32, 32, 3), 51, np.uint8)
    found = spatter.spatter(images, keys(1), (0.72, 0.0, 1.0, 0.7, 0.5, 0), 32)
    # levels of a single value are not spread, so the light is the same everywhere
    assert (found == np.uint8([51 + 87, 51 + 119, 51 + 119])).all()


def test_distances_are_lengths_of_shortest_ways():
    edges = np.random.default_rng(0).random((70, 90)) < 0.002
    distance = np.empty((74, 94), np.int32)
    chamfer(np.pad(2 * edges, 1).astype(np.int32), distance)
    found = np.minimum(distance[2:-2, 2:-2] / 65536, 20)
    assert np.array_equal(found, slow_distance(edges))
    assert found.max() == 20


def test_edges_are_cannys():
    for image in random_images(20, 40, 56, 1)[..., 0]:
        framed, edges = np.pad(image, 1).astype(np.int32), np.zeros((42, 58), np.int32)
        slopes = tuple(np.zeros((42, 58), np.int32) for _ in range(3))
        canny(framed, slopes, edges, np.empty(40 * 56, np.int64))
        assert np.array_equal(edges[1:-1, 1:-1] == 2, slow_canny(image))


def test_mud_everywhere_hides_the_image():
    found = spatter.spatter(random_images(2, 32, 32), keys(2), (0.9, 0.0, 1.0, 0.7, 0.6, 1), 32)
    assert abs(found.astype(int) - [63, 42, 20]).max() <= 1

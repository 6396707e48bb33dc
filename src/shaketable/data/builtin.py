"""Built-in data sets: real ones from scikit-learn, and synthetic ones with known properties.

Synthetic points are functions of keys (`core.keys`): the same rows on every machine.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special
from scipy.spatial import cKDTree

from shaketable.core.errors import InputError
from shaketable.core.keys import digest, row_keys, uniforms
from shaketable.core.spec import parse_call
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset

SHAPES = (
    "checkerboard",
    "cross",
    "diagonal",
    "diamond",
    "disc",
    "horizontal",
    "ring",
    "square",
    "triangle",
    "vertical",
)
_SIDE = 32  # pixels of a side of an image of `shapes`
_HEIGHT, _WIDTH, _KNOTS = 0.3, 0.08, 2**14  # of the wave between the bands
_MAX_DOUBLINGS = 6
_DRAWS, _LAST_YEAR = 14, 64  # random numbers of a person, and the last year of work
_PAY = {
    "clerk": 36, "cook": 28, "driver": 30, "engineer": 62, "nurse": 40, "student": 14, "retired": 26
}  # fmt: skip
_MAX_VALUES = 10**9


def build(spec: str) -> Dataset:
    """Build the data set that a spec string names; the spec becomes its name.

    >>> build("toy1d(n=8)").name
    'toy1d(n=8)'
    """
    call = parse_call(spec)
    make = BUILTIN[call.name]
    signature = inspect.signature(make)
    try:
        arguments = signature.bind(*call.args, **call.options)
    except TypeError as error:
        options = ", ".join(signature.parameters) or "no options"
        raise InputError(f"data set {call.name} takes {options}, got {str(call)!r}") from error
    return replace(make(*arguments.args, **arguments.kwargs), name=str(call))


def bands(n: int = 1000, separation: float = 0.02, seed: int = 0) -> Dataset:
    """Two interlocking bands in the unit square, whose L-inf separation is the given one.

    One class lies above a wave, the other below it, and both keep a distance of half the separation
    from it. A line between points of different classes crosses the wave, so they are at least
    `separation` apart. One point of the closest pair is then moved towards the other until their
    distance is exactly `separation`. By the triangle inequality, no other pair gets closer.

    >>> data = bands(n=100, separation=0.05)
    >>> data.x.shape, np.bincount(data.y).tolist()
    ((100, 2), [50, 50])
    """
    n, seed = _check_points(n, 2), _check_whole("seed", seed, least=0)
    separation = _check_number("separation", separation)
    if not 1e-9 <= separation < 1:  # below, the coordinates' own rounding shows
        raise InputError(f"separation must lie between 1e-9 and 1, got {separation!r}")
    for doubling in range(_MAX_DOUBLINGS):
        x, y = _draw_bands(digest("bands", seed), 2 * max(n, 500) << doubling, separation / 2)
        lower, upper = np.flatnonzero(y == 0)[: n // 2], np.flatnonzero(y == 1)[: n - n // 2]
        if len(lower) + len(upper) == n:
            break
    else:
        raise InputError(
            f"separation {separation!r} leaves no room for {n} points in bands {_WIDTH} wide; "
            "choose a smaller one, such as 0.02"
        )
    distance, nearest = map(np.asarray, cKDTree(x[lower]).query(x[upper], p=np.inf))
    closest = int(distance.argmin())
    moved, fixed = upper[closest], lower[nearest[closest]]
    x[moved] = x[fixed] + (x[moved] - x[fixed]) * (separation / distance[closest])
    rows = np.sort(np.concatenate([lower, upper]))
    labels = np.where(y == 0, "lower", "upper")
    return make_dataset(x[rows], labels[rows], name="bands", features=("x1", "x2"))


def toy1d(n: int = 200) -> Dataset:
    """Two half-open intervals on a line, [-2, -1) and [1, 2), evenly spaced.

    The toy example of genuine adversarial accuracy: three classifiers of accuracy 1 have the same
    standard adversarial accuracy.

    >>> toy1d(n=4).x.ravel(), toy1d(n=4).labels
    (array([-2. , -1.5,  1. ,  1.5]), array([-1, -1,  1,  1]))
    """
    n = _check_points(n, 1)
    left, right = n // 2, n - n // 2
    x = np.concatenate([np.arange(left) / left - 2, np.arange(right) / right + 1])
    return make_dataset(x, np.repeat([-1, 1], [left, right]), name="toy1d")


def sunset(n: int = 1000, d: int = 2, seed: int = 0) -> Dataset:
    """Points on a unit hypersphere (A) and on a hyperplane that touches it (B): separation 0.

    The sphere lies around (0, …, 0, 1), the plane is x_d = 0 with all other |x_i| <= 2; the tangent
    point, where both meet, is left out. The L2 oracle's boundary in 2-D is x2 = x1^2 / 4.

    >>> sunset(n=10, d=3).x.shape
    (10, 3)
    """
    d = _check_whole("d", d, least=2)
    n = _check_points(n, d)
    u = uniforms(_keys(digest("sunset", _check_whole("seed", seed, least=0)), n), d)
    x = special.ndtri(u)
    x /= np.sqrt((x * x).sum(axis=1, keepdims=True))
    x[:, -1] += 1
    on_plane = np.arange(n) >= n - n // 2
    x[on_plane] = 4 * u[on_plane] - 2
    x[on_plane, -1] = 0
    return make_dataset(x, np.where(on_plane, "B", "A"), name="sunset")


def shapes(n: int = 2000, seed: int = 0) -> Dataset:
    """Ten kinds of bright figures on dark ground, 32 x 32 colour images with little noise.

    >>> shapes(n=20).x.shape
    (20, 32, 32, 3)
    """
    n = _check_points(n, _SIDE * _SIDE * 3)
    keys = _keys(digest("shapes", _check_whole("seed", seed, least=0)), n)
    kind = np.arange(n) % len(SHAPES)
    u = uniforms(keys, 9 + _SIDE * _SIDE * 3)
    centre = _SIDE / 2 + 6 * u[:, :2] - 3
    size = 7 + 4 * u[:, 2]
    ground, figure = 110 * u[:, 3:6], 145 + 100 * u[:, 6:9]
    noise = 20 * u[:, 9:].reshape(n, _SIDE, _SIDE, 3) - 10
    pixel = np.arange(_SIDE) + 0.5
    right = (pixel[None, None, :] - centre[:, :1, None]) / size[:, None, None]
    down = (pixel[None, :, None] - centre[:, 1:, None]) / size[:, None, None]
    inside = np.zeros((n, _SIDE, _SIDE), dtype=bool)
    for i, name in enumerate(SHAPES):
        inside[kind == i] = _draw_figure(name, right[kind == i], down[kind == i])
    images = np.where(inside[..., None], figure[:, None, None], ground[:, None, None]) + noise
    x = np.clip(np.round(images), 0, 255).astype(np.uint8)
    return make_dataset(x, np.array(SHAPES)[kind], name="shapes")


def people(n: int = 1500, seed: int = 0) -> Dataset:
    """Made-up persons who repaid a loan or not: a table with text, a flag and gaps.

    Income and amount are in thousands, the rate in per cent a year. A loan is repaid if the burden
    is light: a large amount for the income, a rate above 8.5 and the region south add to it, an own
    home takes from it, and so does chance. Of the incomes 8 % are missing, of the jobs 6 %, each
    independently of everything else.

    >>> data = people(n=300)
    >>> data.features[:4], data.classes
    (('age', 'sex', 'region', 'job'), ('no', 'yes'))
    """
    import pandas as pd  # slow to import

    n = _check_points(n, _DRAWS)
    u = uniforms(_keys(digest("people", _check_whole("seed", seed, least=0)), n), _DRAWS).T
    age = 18 + np.floor(30 * u[0] * (1 + u[0]))
    region = np.array(["north", "south", "west"], dtype=object)[np.floor(3 * u[7]).astype(int)]
    job = np.array([*_PAY], dtype=object)[np.floor((len(_PAY) - 1) * u[1]).astype(int)]
    job[age > _LAST_YEAR] = "retired"
    pay = np.array([_PAY[each] for each in job]) * (0.6 + 0.8 * u[2])
    income = np.round(pay + 0.2 * (np.minimum(age, _LAST_YEAR) - 18), 1)
    amount = np.round(2 + 19 * u[4] * (1 + u[4]), 1)
    rate = np.round(2 + 5 * (u[3] + u[11]), 1)
    owns_home = u[5] < 0.1 + 0.01 * (age - 18)
    burden = 100 * amount / income + 120 * (rate > 8.5) + 6 * (region == "south") - 18 * owns_home
    repaid = burden + 80 * (u[8] + u[9] + u[10] - 1.5) < 125
    table = pd.DataFrame(
        {
            "age": age.astype(np.int64),
            "sex": np.where(u[6] < 0.5, "f", "m"),
            "region": region,
            "job": np.where(u[13] < 0.06, None, job),
            "income": np.where(u[12] < 0.08, np.nan, income),
            "amount": amount,
            "rate": rate,
            "owns_home": owns_home,
        }
    )
    return make_dataset(table, np.where(repaid, "yes", "no"), name="people")


def digits() -> Dataset:
    """Handwritten digits, 1,797 of 8 x 8 pixels with values from 0 to 16 (scikit-learn)."""
    return replace(_load_sklearn("digits"), bounds=Bounds(0, 16))


def iris() -> Dataset:
    """Iris flowers, 150 of 4 lengths in cm and 3 species (scikit-learn)."""
    return _load_sklearn("iris")


def wine() -> Dataset:
    """Wines, 178 of 13 chemical measurements and 3 cultivars (scikit-learn)."""
    return _load_sklearn("wine")


def breast_cancer() -> Dataset:
    """Breast tumours, 569 of 30 measurements of cell nuclei, benign or malignant (scikit-learn)."""
    return _load_sklearn("breast_cancer")


BUILTIN: dict[str, Callable[..., Dataset]] = {
    make.__name__: make
    for make in (bands, breast_cancer, digits, iris, people, shapes, sunset, toy1d, wine)
}
"""The built-in sets by name; the first line of each docstring describes the set."""


def _check_number(option: str, value: Any) -> float:
    if not isinstance(value, int | float | np.number):
        raise InputError(f"{option} must be a number, got {value!r}")
    return float(value)


def _check_whole(option: str, value: Any, *, least: int) -> int:
    """Return `value` as an int; spec strings give floats."""
    number = _check_number(option, value)
    if not (number >= least and number.is_integer()):
        raise InputError(f"{option} must be a whole number, {least} or more, got {value!r}")
    return int(value)


def _check_points(n: Any, d: int) -> int:
    """Return the number of points with `d` values each, if they can be kept in memory."""
    number = _check_whole("n", n, least=2)
    if number * d > _MAX_VALUES:
        raise InputError(
            f"n must be at most {_MAX_VALUES // d} for points of {d} values, got {number}"
        )
    return number


def _keys(key: int, n: int) -> KeyArray:
    return row_keys(key, np.arange(n), np.arange(1))[:, 0]


def _wave(t: FloatArray) -> FloatArray:
    """Parabolic arcs, up, down and up again; plain arithmetic gives the same on every machine."""
    arc = np.minimum(np.floor(3 * t), 2)
    along = 3 * t - arc
    return np.asarray(0.5 + np.where(arc == 1, -_HEIGHT, _HEIGHT) * 4 * along * (1 - along))


def _draw_bands(key: int, m: int, margin: float) -> tuple[FloatArray, IntArray]:
    """Those of `m` random points that keep an L-inf margin to the wave; y = 1 above it."""
    u = uniforms(_keys(key, m), 2)
    offset = _WIDTH * (2 * u[:, 1] - 1)
    x = np.stack([u[:, 0], _wave(u[:, 0]) + offset], axis=1)
    knots = np.arange(_KNOTS + 1) / _KNOTS
    distance, _ = cKDTree(np.stack([knots, _wave(knots)], axis=1)).query(x, p=np.inf)
    # the slope is at most 12 heights, so every point of the wave has a knot this close
    clear = distance >= margin + 12 * _HEIGHT / (2 * _KNOTS)
    return x[clear], (offset[clear] > 0).astype(np.int64)


def _draw_figure(name: str, right: Array, down: Array) -> Array:
    """Whether pixels are inside a figure; coordinates are in units of the figure's size."""
    square = (np.abs(right) < 0.85) & (np.abs(down) < 0.85)
    radius2 = right**2 + down**2
    figures = {
        "checkerboard": square & ((np.floor(2 * right) + np.floor(2 * down)) % 2 == 0),
        "cross": (np.minimum(np.abs(right), np.abs(down)) < 0.3)
        & (np.maximum(np.abs(right), np.abs(down)) < 1),
        "diagonal": square & (np.floor(2 * (right + down)) % 2 == 0),
        "diamond": np.abs(right) + np.abs(down) < 1,
        "disc": radius2 < 0.8,
        "horizontal": square & (np.floor(3.5 * down) % 2 == 0),
        "ring": (radius2 < 1) & (radius2 > 0.4),
        "square": square,
        "triangle": (np.abs(right) < (down + 1) / 2) & (down < 0.8),
        "vertical": square & (np.floor(3.5 * right) % 2 == 0),
    }
    return np.asarray(figures[name])


def _load_sklearn(name: str) -> Dataset:
    from sklearn import datasets  # slow to import, and needed only here

    bunch = getattr(datasets, f"load_{name}")()
    labels = np.asarray(bunch.target_names)[bunch.target]
    return make_dataset(bunch.data, labels, name=name, features=tuple(bunch.feature_names))

"""Questions for searches of nearest opponents, and their answers from all pairs."""

import math

import numpy as np
from hypothesis import strategies as st

from shaketable.separations.search.question import Question

NORMS = [0.5, 1.0, 1.5, 2.0, 3.0, 50.0, math.inf]
EXACT_NORMS = [1.0, 2.0, math.inf]

SIZES = [2, 3, 7, 63, 64, 65, 127, 128, 129]  # up to one more than two tiles
FEW_DIMENSIONS = [1, 2, 3, 5, 8, 16]
DIMENSIONS = [*FEW_DIMENSIONS, 17, 33, 63, 64, 65, 128, 255, 256, 257, 300]

SHADES = np.array([0, 0, 0, 0, 0, 1, 2, 127, 252, 253, 254, 255, 255], np.uint8)
"""Mostly black and white, so that most points are equally far apart in L-inf."""

EXACT = {
    "three values in uint8": lambda rng, shape: rng.integers(0, 3, shape, np.uint8),
    "uint8": lambda rng, shape: rng.integers(0, 256, shape, np.uint8),
    "almost equal uint8": lambda rng, shape: _almost_equal(rng, shape).astype(np.uint8),
    "sparse images": lambda rng, shape: SHADES[rng.integers(0, len(SHADES), shape)],
    "three values in float32": lambda rng, shape: rng.integers(-1, 2, shape).astype(np.float32),
    "eighths": lambda rng, shape: rng.integers(-9, 9, shape) / 8,
    "a huge offset": lambda rng, shape: 1e9 + rng.integers(0, 3, shape) / 1024,
    "far clusters": lambda rng, shape: _almost_equal(rng, shape) * 2.0**-9,
}
"""Points whose distances float64 holds exactly in `EXACT_NORMS`, many of them equal."""

ROUNDED = {
    "float32": lambda rng, shape: rng.standard_normal(shape, np.float32),
    "float64": lambda rng, shape: rng.standard_normal(shape),
    "a huge offset": lambda rng, shape: 1e9 + 1e-3 * rng.standard_normal(shape),
    "far clusters": lambda rng, shape: (
        rng.integers(0, 2, (shape[0], 1)) + 1e-9 * rng.standard_normal(shape)
    ),
    "fractions of 255": lambda rng, shape: rng.integers(0, 256, shape) / 255,
}


def _almost_equal(rng, shape):
    return np.where(rng.random((shape[0], 1)) < 0.5, 0, 254) + (rng.random(shape) < 1 / shape[1])


def relative_error(p):
    """Bound of the rounding errors of distances."""
    return {math.inf: 0, 1: 2e-15, 2: 2e-15}.get(p, 1e-13)


def distances(x, p):
    """Distances between all rows; of floats, sums as if they were exact."""
    x = x.astype(np.int64 if x.dtype == np.uint8 else np.float64)
    result = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        gaps = np.abs(x[i] - x[i:])
        result[i, i:] = result[i:, i] = _norms(gaps, p)
    return result


def _norms(gaps, p):
    largest = gaps.max(axis=1)
    if math.isinf(p):
        return largest
    if p in (1, 2) and _is_whole(gaps):
        return gaps.sum(axis=1) if p == 1 else np.sqrt((gaps * gaps).sum(axis=1))
    if p in (1, 2):
        return _sums(gaps) if p == 1 else [math.hypot(*row) for row in gaps]
    shares = gaps / np.where(largest > 0, largest, 1)[:, None]
    return largest * _sums(shares**p) ** (1 / p)


def _sums(terms):
    """Sum of every row, in more digits than float64 has."""
    if np.finfo(np.longdouble).nmant < 63:  # a machine without longer floats
        return np.array([math.fsum(row) for row in terms])
    return terms.astype(np.longdouble).sum(axis=1)


def _is_whole(values):
    return values.max() < 2**10 and np.array_equal(values * 2**12, np.floor(values * 2**12))


@st.composite
def questions(draw, kinds, dimensions, p):
    """Questions about points of these kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.sampled_from(SIZES)), draw(st.sampled_from(dimensions))
    x = kinds[draw(st.sampled_from(sorted(kinds)))](rng, (n, d))
    group = rng.integers(0, draw(st.integers(2, 6)), n)
    group[rng.integers(0, n)] = group.max() + 1  # a group of one point
    if draw(st.booleans()):
        x[:, rng.random(d) < 0.5] = x[0, 0]
    if draw(st.booleans()):
        x[group == group[0]] = x[0]
    wanted = {
        "nearest_of": rng.random(n) < draw(st.sampled_from([0.1, 1])),
        "classes": group // draw(st.sampled_from([1, 2])),
        "parts": rng.integers(0, 2, n),
        "closest": draw(st.sampled_from([1, 4, n * n if n <= 65 else 50])),  # n * n: all pairs
    }
    return Question(x, group, p, **{name: wanted[name] for name in wanted if draw(st.booleans())})


def check_answer(answer, question, *, rtol):
    """Compare an answer with all pairs; if `rtol` is 0, ties must be broken by row."""
    n = question.n
    between = distances(question.x, question.p)
    between[question.group[:, None] == question.group] = np.inf

    def check(ours, true):
        np.testing.assert_allclose(answer.distance(ours), true, rtol=rtol, atol=0)

    if question.nearest_of is not None:
        rows = np.flatnonzero(question.nearest_of)
        check(answer.nearest[rows], between[rows].min(axis=1))
        assert (answer.nearest[~question.nearest_of] == -1).all()
        opponent = answer.opponent[rows]
        np.testing.assert_allclose(between[rows, opponent], between[rows].min(axis=1), rtol, 0)
        if not rtol:
            np.testing.assert_array_equal(opponent, between[rows].argmin(axis=1))
    i, j = np.triu_indices(n, 1)
    pairs = between[i, j]
    if question.classes is not None:
        codes = question.classes
        minima = np.full((codes.max() + 1,) * 2, np.inf)
        ends = np.minimum(codes[i], codes[j]), np.maximum(codes[i], codes[j])
        np.minimum.at(minima, ends, pairs)
        check(np.triu(answer.by_class), np.triu(minima))
    if question.parts is not None:
        minima = np.full(3, np.inf)
        np.minimum.at(minima, question.parts[i] + question.parts[j], pairs)
        check(answer.by_part, minima)
    if question.closest:
        order = np.lexsort((j, i, pairs))[: min(question.closest, np.isfinite(pairs).sum())]
        check(answer.closest, pairs[order])
        a, b = answer.closest_rows.T
        np.testing.assert_allclose(between[a, b], pairs[order], rtol, 0)
        assert (a < b).all()
        assert len({*zip(a, b, strict=True)}) == len(order)
        if not rtol:
            np.testing.assert_array_equal(answer.closest_rows, np.column_stack([i, j])[order])


@st.composite
def questions_with_radii(draw, search, kinds, dimensions, p):
    """Questions, and a radius around every point: a multiple of its distance to others, or -1."""
    question = draw(questions(kinds, dimensions, p))
    nearest = search(Question(question.x, question.group, p, np.ones(question.n, bool))).nearest
    factor = draw(st.sampled_from([0.0, 1.0, 2.0, 1e6]))
    keep = np.random.default_rng(draw(st.integers(0, 99))).random(question.n) < 0.6
    return question, np.where(keep, nearest * factor, -1.0)


def check_pairs(rows, question, radius, *, squared):
    """Compare the pairs within radii with all pairs."""
    measure = distances(question.x, question.p)
    if squared:
        measure = np.rint(measure**2)
    near = measure <= np.maximum(radius[:, None], radius)
    true = np.argwhere(near & (question.group[:, None] < question.group))
    np.testing.assert_array_equal(rows[np.lexsort(rows.T[::-1])], true)

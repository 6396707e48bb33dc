"""Distances of features are lower bounds of distances of points."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.searches import EXACT, ROUNDED, distances, questions
from helpers.searches import NORMS as ALL_NORMS
from shaketable.separations.search import features
from shaketable.separations.search.features import Bound, choose_bound, choose_sample, sketch
from shaketable.separations.search.kernels import BOX, COARSE, FEW, LANES, limit_of
from shaketable.separations.search.question import Question

NORMS = [p for p in ALL_NORMS if math.isfinite(p)]


@pytest.mark.parametrize("finest", [False, True])
@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_features_never_exceed_the_distance(p, finest, data):
    question = data.draw(questions(ROUNDED | EXACT, [1, 3, 8, 31, 40, 130, 300], p))
    check_features(question.x, question.group, p, finest=finest)


@pytest.mark.parametrize("noise", [1e-6, 1e-7, 1e-8, 1e-12])
@pytest.mark.parametrize("d", [1, 3, 20, 100])
@pytest.mark.parametrize("p", NORMS)
def test_features_allow_for_their_rounding(p, d, noise):
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, (100, d)) * (rng.random((100, 1)) < 0.1) + rng.random(d)
    x += noise * rng.standard_normal((100, d))
    check_features(x, np.arange(100) % 2, p, finest=False)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_features_may_be_computed_in_chunks(p, monkeypatch):
    monkeypatch.setattr(features, "_CHUNK_VALUES", 17 * 40)
    x = np.random.default_rng(0).standard_normal((100, 40))
    check_features(x, np.arange(100) % 2, p, finest=True)


def check_features(x, group, p, *, finest):
    """Compare every set of features of all pairs with the limit that their distance sets."""
    sample = x[choose_sample(x)].astype(np.float64)
    bound = choose_bound(sample, p)
    if math.isinf(bound.norm):  # the other bound holds too
        bound = Bound(2.0, x.shape[1] ** (1 / p - 1 / 2))
    question = Question(x, group, p, classes=group, parts=group % 2)
    points = sketch(question, sample, bound, finest=finest)
    units = points.units
    coarse, fine = points.coarse, points.fine.reshape(len(x), -1)
    box, few, more = np.split(coarse, [BOX, BOX + FEW], axis=1)
    assert more.shape[1] == COARSE
    for tile in range(len(points.tiles)):
        at = slice(tile * LANES, (tile + 1) * LANES)
        np.testing.assert_array_equal(points.tiles[tile].T[: len(coarse[at])], coarse[at])
        np.testing.assert_array_equal(points.low[:, tile], box[at].min(axis=0))
        np.testing.assert_array_equal(points.high[:, tile], box[at].max(axis=0))
    measure = distances(x[points.rows], p)
    if units.squared:
        measure = np.rint(measure**2)
    all_limits = _limits(measure, units).astype(coarse.dtype)
    for i, limits in enumerate(all_limits):
        for values in (box, few, more):
            assert (_bounds(values, i, units.bound) <= limits).all()
        most = limits.astype(np.float32) * np.float32(units.fine_scale)
        assert (_bounds(fine, i, units.bound) <= most + np.float32(units.fine_slack)).all()


@numba.njit
def _limits(measures, units):
    limits = np.empty(measures.shape)
    for i in range(measures.shape[0]):
        for j in range(measures.shape[1]):
            limits[i, j] = limit_of(measures[i, j], units)
    return limits


def _bounds(features, i, bound):
    gaps = np.abs(features.astype(np.float32) - features[i].astype(np.float32))
    return (gaps if bound == 1 else gaps * gaps).sum(axis=1)

"""The compiled search, against all pairs."""

import math
from contextlib import contextmanager
from dataclasses import replace

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.searches import (
    DIMENSIONS,
    EXACT,
    EXACT_NORMS,
    NORMS,
    ROUNDED,
    check_answer,
    check_pairs,
    distances,
    questions,
    questions_with_radii,
    relative_error,
)
from shaketable.separations.search import blocks
from shaketable.separations.search.kernels import LANES
from shaketable.separations.search.question import Question


@contextmanager
def block_of(size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_BLOCK", size)
        yield


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data(), block=st.sampled_from([64, 128, 4096]))
def test_answers_are_exact_ties_included(p, data, block):
    question = data.draw(questions(EXACT, DIMENSIONS, p))
    with block_of(block):
        check_answer(blocks.search(question), question, rtol=0)


@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data(), block=st.sampled_from([64, 4096]))
def test_answers_are_right_up_to_rounding(p, data, block):
    question = data.draw(questions(ROUNDED | EXACT, DIMENSIONS, p))
    with block_of(block):
        check_answer(blocks.search(question), question, rtol=relative_error(p))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("p", [*NORMS, 2.5, 7.0])
def test_a_single_gap_is_the_distance_in_every_norm(p, dtype):
    x, group = np.zeros((256, 20), dtype), np.minimum(np.arange(256), 1)
    x[:, 3] = np.arange(256)
    question = Question(x, group, p, nearest_of=group == 1)
    answer = blocks.search(question)
    np.testing.assert_array_equal(answer.distance(answer.nearest[1:]), np.arange(1, 256))
    rows = blocks.pairs_within(question, answer.nearest)
    assert sorted(rows.tolist()) == [[0, row] for row in range(1, 256)]


def test_fractions_of_255_tie_where_their_float64_gaps_do():
    pixels = np.random.default_rng(0).integers(0, 256, (200, 300))
    x, group = pixels / 255, np.arange(200) % 2
    between = np.abs(x[:, None] - x).max(axis=2)
    between[group[:, None] == group] = np.inf
    question = Question(x, group, math.inf, nearest_of=np.ones(200, bool), closest=100)
    answer = blocks.search(question)
    np.testing.assert_array_equal(answer.nearest, between.min(axis=1))
    np.testing.assert_array_equal(answer.opponent, between.argmin(axis=1))
    pairs = np.argwhere(np.triu(np.isfinite(between)))
    order = np.argsort(between[*pairs.T], kind="stable")[:100]
    np.testing.assert_array_equal(answer.closest_rows, pairs[order])
    whole = blocks.search(replace(question, x=pixels.astype(np.uint8), closest=0))
    assert (answer.opponent != whole.opponent).any()


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data(), block=st.sampled_from([64, 4096]))
def test_all_pairs_within_radii_are_listed(p, data, block):
    with block_of(block):
        question, radius = data.draw(questions_with_radii(blocks.search, EXACT, DIMENSIONS, p))
        rows = blocks.pairs_within(question, radius)
    check_pairs(rows, question, radius, squared=p == 2 and question.x.dtype == np.uint8)


@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(data=st.data())
def test_the_nearest_points_are_among_those_within_their_distance(p, data):
    question = data.draw(questions(EXACT | ROUNDED, DIMENSIONS, p))
    question = Question(question.x, question.group, p, nearest_of=question.group == 0)
    answer = blocks.search(question)
    rows = {(int(i), int(j)) for i, j in blocks.pairs_within(question, answer.nearest)}
    asked = np.flatnonzero(question.nearest_of)
    assert rows >= {(int(i), int(answer.opponent[i])) for i in asked}
    between = distances(question.x, p)
    near = answer.distance(np.maximum(answer.nearest, 0)) * (1 + relative_error(p))
    assert all(between[i, j] <= near[i] for i, j in rows)


@pytest.mark.parametrize("p", EXACT_NORMS)
def test_a_search_that_runs_out_of_room_goes_on(p, monkeypatch):
    monkeypatch.setattr(blocks, "_ROOM", 2 * LANES * LANES)
    rng = np.random.default_rng(0)
    x, group = rng.integers(0, 3, (330, 20)).astype(np.uint8), rng.integers(0, 3, 330)
    question, radius = Question(x, group, p), np.full(330, 1e6)
    rows = blocks.pairs_within(question, radius)
    assert len(rows) > 4 * blocks._ROOM
    check_pairs(rows, question, radius, squared=p == 2)


def all_arrays(question):
    """Everything that a search and the pairs within its distances give."""
    answer = blocks.search(question)
    pairs = blocks.pairs_within(question, answer.nearest)
    minima = answer.by_class, answer.by_part, answer.closest, answer.closest_rows
    return answer.nearest, answer.opponent, *minima, pairs[np.lexsort(pairs.T)]


@pytest.mark.parametrize("p", EXACT_NORMS)
def test_every_backend_gives_the_same(p, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 64)
    rng = np.random.default_rng(0)
    x, group = rng.integers(0, 3, (300, 40)).astype(np.uint8), rng.integers(0, 4, 300)
    parts, everyone = rng.integers(0, 2, 300), np.ones(300, bool)
    question = Question(x, group, p, everyone, classes=group, parts=parts, closest=20)
    plain = all_arrays(question)
    for backend, n_jobs in (("loky", 2), ("threading", 1)):
        with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
            for ours, theirs in zip(plain, all_arrays(question), strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_processes_can_share_many_classes(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 832)  # minima of 416 classes: joblib maps 1 MB and more
    rng = np.random.default_rng(0)
    x, group = rng.integers(0, 256, (1600, 20)).astype(np.uint8), np.arange(1600) // 2
    question = Question(x, group, 2.0, classes=group)
    plain = blocks.search(question)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        np.testing.assert_array_equal(blocks.search(question).by_class, plain.by_class)

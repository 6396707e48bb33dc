"""Marks of points that are on different sides of a split."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.searches import (
    DIMENSIONS,
    EXACT,
    ROUNDED,
    check_answer,
    check_pairs,
    distances,
    questions,
)
from shaketable.separations.search import blocks, marks
from shaketable.separations.search.features import choose_sample
from shaketable.separations.search.kernels import BOX, LANES
from shaketable.separations.search.marks import arrange, mark
from shaketable.separations.search.question import Question


def mark_points(question, wanted, *, finest=True):
    """Marks of points, as a search makes them."""
    rows = choose_sample(question.x)
    sample = question.x[rows].astype(np.float64)
    order = arrange(question, sample, blocks._measure_some(question, rows))
    return mark(question, sample, order, np.asarray(wanted, float), finest=finest)


def meeting(points, level):
    """Whether the marks of two positions meet, for all pairs; high is compared with low."""
    words = points.words[:, level].transpose(0, 2, 1).reshape(-1, points.words.shape[2])
    words = np.ascontiguousarray(words[: len(points.rows)])
    bits = np.unpackbits(words.view(np.uint8).reshape(len(words), -1, 2, 8), axis=3)
    high, low = (bits[:, :, side].reshape(len(words), -1).astype(int) for side in (0, 1))
    return high @ low.T + low @ high.T > 0


def sparse_question(kind, n=700, d=40, **asks):
    """Images whose nearest opponents are many and equally near."""
    rng = np.random.default_rng(1)
    x = EXACT["sparse images"](rng, (n, d))
    x = x if kind == "uint8" else (x / 255).astype(kind)
    group = rng.integers(0, 4, n)
    asks = {
        name: {"classes": group, "parts": np.arange(n) // 500}.get(name, a)
        for name, a in asks.items()
    }
    return Question(x, group, math.inf, **asks)


@pytest.mark.parametrize("p", [math.inf, 50.0])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), finest=st.booleans())
def test_points_whose_marks_meet_are_at_least_a_level_apart(p, data, finest):
    question = data.draw(questions(ROUNDED | EXACT, DIMENSIONS, p))
    far = distances(question.x, math.inf)
    wanted = np.quantile(far, data.draw(st.lists(st.floats(0, 1), max_size=5)))
    points = mark_points(question, wanted, finest=finest)
    far = far[np.ix_(points.rows, points.rows)]
    assert (np.diff(points.levels) > 0).all()
    for k, level in enumerate(points.levels):
        assert (far[meeting(points, k)] >= level).all()


@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data())
def test_boxes_and_tiles_are_those_of_their_points(data):
    question = data.draw(questions(ROUNDED | EXACT, DIMENSIONS, math.inf))
    points = mark_points(question, [1.0])
    assert sorted(points.rows) == [*range(question.n)]
    np.testing.assert_array_equal(points.group, np.sort(question.group))
    assert points.box.shape == (question.n, BOX)
    for tile in range(len(points.low)):
        at = slice(tile * LANES, (tile + 1) * LANES)
        np.testing.assert_array_equal(points.low[tile], points.box[at].min(axis=0))
        np.testing.assert_array_equal(points.high[tile], points.box[at].max(axis=0))
        assert points.first_row[tile] == points.rows[at].min()
        parts = question.part_codes[points.rows[at]]
        assert points.tile_parts[tile].tolist() == [parts.min(), parts.max()]


@pytest.mark.parametrize("kind", ["uint8", "float32", "float64"])
def test_marks_decide_nearly_all_pairs_of_sparse_images(kind):
    question = sparse_question(kind, n=400, d=300)
    far = distances(question.x, math.inf)
    wanted = 250 if kind == "uint8" else 250 / 255
    points = mark_points(question, [wanted])
    far = far[np.ix_(points.rows, points.rows)]
    assert meeting(points, 0)[far >= wanted].mean() > 0.99


def test_one_column_gets_several_splits():
    x = np.random.default_rng(0).random((500, 1))
    points = mark_points(Question(x, np.arange(500) % 2, math.inf), [0.1])
    far = distances(x[points.rows], math.inf)
    assert meeting(points, 0)[far > 0.2].mean() > 0.99, "one split would decide half of them"


def test_marks_of_many_points_are_fewer(monkeypatch):
    question = sparse_question("uint8", d=400)
    wide = mark_points(question, [250]).words.shape[2]
    monkeypatch.setattr(marks, "_MARK_BYTES", 0)
    assert mark_points(question, [250]).words.shape[2] == 4 < wide


@pytest.mark.parametrize("block", [64, 4096])
@pytest.mark.parametrize("kind", ["uint8", "float32", "float64"])
@pytest.mark.parametrize(
    "asks",
    [
        {"nearest_of": np.ones(700, bool), "classes": True, "parts": True, "closest": 30},
        {"nearest_of": np.arange(700) % 5 == 0},
        {"classes": True, "parts": True, "closest": 5},
    ],
)
def test_of_many_points_equally_near_the_first_is_found(kind, asks, block, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", block)
    monkeypatch.setattr(marks, "_STEP", 3)
    question = sparse_question(kind, **asks)
    check_answer(blocks.search(question), question, rtol=0)


@pytest.mark.parametrize("factor", [0.99, 1.0, 2.0])
@pytest.mark.parametrize("kind", ["uint8", "float64"])
def test_all_pairs_of_sparse_images_within_radii_are_listed_once(kind, factor, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 128)
    question = sparse_question(kind, n=300)
    radius = np.where(np.arange(300) % 3, blocks.search(everyone(question)).nearest * factor, -1.0)
    check_pairs(blocks.pairs_within(question, radius), question, radius, squared=False)


def everyone(question):
    return Question(question.x, question.group, question.p, np.ones(question.n, bool))


HARD = {
    "two points": (np.array([[0] * 20, [255] * 20]), [0, 1]),
    "a class of one point": (np.r_[np.eye(20) * 255, np.zeros((1, 20))], [0] * 20 + [1]),
    "constant images": (np.full((200, 20), 7), np.arange(200) % 2),
    "constant images of two shades": (
        np.repeat([[0], [255]], 20, 1)[np.arange(200) // 100],
        np.arange(200) % 3,
    ),
    "one group": (np.eye(20), [0] * 20),
    "every shade": (np.repeat(np.arange(256)[:, None], 20, 1), np.arange(256) % 2),
    "equal points of two classes": (np.eye(100, 20)[np.arange(100) // 2] * 255, np.arange(100) % 2),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_hard_cases_are_exact(name, kind):
    x, group = HARD[name]
    x, group = x.astype(kind), np.array(group)
    asked = {"classes": group, "parts": np.arange(len(x)) % 2, "closest": 4}
    for extra in ({}, {"nearest_of": np.ones(len(x), bool)}):
        question = Question(x, group, math.inf, **asked, **extra)
        if len(set(group.tolist())) > 1:
            check_answer(blocks.search(question), question, rtol=0)
        else:
            assert not len(blocks.search(question).closest)

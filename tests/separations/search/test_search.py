"""Whatever way a search takes, its answer is that of all pairs."""

import numpy as np
import pytest

import shaketable as st
from helpers.searches import NORMS, check_answer, relative_error
from shaketable.separations.search import blocks, direct, trees
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import MAX_TREE_DIMENSION, search

SCALES = [1e-200, 3e-162, 1e-150, 1e-45, 1e-38, 1e-22, 1e12, 1e20, 1e38, 1e150, 1e200]


@pytest.mark.parametrize("d", [2, 16, 17, 70])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("p", NORMS)
def test_no_scale_is_too_large_or_too_small(p, scale, d):
    rng = np.random.default_rng(0)
    x, group = scale * rng.standard_normal((70, d)), np.arange(70) % 3
    question = Question(x, group, p, nearest_of=np.ones(70, bool), classes=group, closest=3)
    check_answer(search(question), question, rtol=relative_error(p))
    if d <= MAX_TREE_DIMENSION:
        check_answer(blocks.search(question), question, rtol=relative_error(p))


def test_few_points_are_compared_without_preparation(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("features of few points take longer than their distances")

    rng, group = np.random.default_rng(0), np.arange(6) % 2
    x = rng.standard_normal((6, 100_000))
    monkeypatch.setattr(blocks, "sketch", refuse)
    assert st.separation(x, group, norm=2).two_r == pytest.approx(
        min(np.linalg.norm(a - b) for a in x[::2] for b in x[1::2]), rel=1e-14
    )
    wide = Question(np.zeros((3000, 64), np.uint8), np.arange(3000) % 2, 2.0, closest=1)
    with pytest.raises(AssertionError, match="take longer"):
        search(wide)


@pytest.mark.parametrize("way", [trees, blocks, direct])
def test_a_single_group_has_no_opponents(way):
    answer = way.search(
        Question(
            np.zeros((3, 2)),
            np.zeros(3, np.int64),
            2.0,
            nearest_of=np.ones(3, bool),
            parts=np.array([0, 0, 1]),
            closest=2,
        )
    )
    assert np.isinf(answer.nearest).all()
    assert np.isinf(answer.by_part).all()
    assert len(answer.closest) == len(answer.closest_rows) == 0

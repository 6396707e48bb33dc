"""The search among few points, against all pairs and the compiled search."""

from dataclasses import replace

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
    questions,
    questions_with_radii,
)
from shaketable.separations.search import blocks, direct


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_answers_are_exact_ties_included(p, data):
    question = data.draw(questions(EXACT, DIMENSIONS, p))
    check_answer(direct.search(question), question, rtol=0)
    question, radius = data.draw(questions_with_radii(direct.search, EXACT, DIMENSIONS, p))
    whole = p == 2 and question.x.dtype == np.uint8
    check_pairs(direct.pairs_within(question, radius), question, radius, squared=whole)


@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(data=st.data())
def test_answers_are_those_of_the_compiled_search_to_the_last_bit(p, data):
    drawn = data.draw(questions(ROUNDED | EXACT, DIMENSIONS, p))
    question = replace(
        drawn,
        nearest_of=np.ones(drawn.n, bool),
        classes=drawn.group,
        parts=np.arange(drawn.n) % 2,
        closest=7,
    )
    found, expected = direct.search(question), blocks.search(question)
    for name in ("nearest", "opponent", "by_class", "by_part", "closest", "closest_rows"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    assert found.squared == expected.squared
    rows = (way.pairs_within(question, found.nearest) for way in (direct, blocks))
    assert np.array_equal(*(np.unique(pairs, axis=0) for pairs in rows))

"""The search by k-d trees, against all pairs."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.searches import (
    EXACT,
    EXACT_NORMS,
    FEW_DIMENSIONS,
    ROUNDED,
    check_answer,
    check_pairs,
    questions,
    questions_with_radii,
    relative_error,
)
from shaketable.separations.search import trees


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data())
def test_answers_are_exact_ties_included(p, data):
    question = data.draw(questions(EXACT, FEW_DIMENSIONS, p))
    check_answer(trees.search(question), question, rtol=0)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, math.inf])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_answers_are_right_up_to_rounding(p, data):
    question = data.draw(questions(ROUNDED | EXACT, FEW_DIMENSIONS, p))
    check_answer(trees.search(question), question, rtol=relative_error(p))


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_all_pairs_within_radii_are_listed(p, data):
    question, radius = data.draw(questions_with_radii(trees.search, EXACT, FEW_DIMENSIONS, p))
    check_pairs(trees.pairs_within(question, radius), question, radius, squared=False)

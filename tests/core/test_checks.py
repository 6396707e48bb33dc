"""Arguments are taken as any number that keeps the rule, and refused by name."""

import math

import numpy as np
import pytest

from shaketable.core.checks import (
    HUGE,
    TINY,
    check_copies,
    check_real,
    check_whole,
    describe_lacks,
    list_names,
    quote,
    unknown_name,
)
from shaketable.core.errors import InputError


@pytest.mark.parametrize("value", [1, np.int32(1), np.uint8(1), True])
def test_whole_numbers_of_any_type_become_ints(value):
    number = check_whole("k", value, least=1)
    assert (number, type(number)) == (1, int)


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None])
def test_what_is_no_such_whole_number_is_refused(value):
    with pytest.raises(InputError, match="k must be a whole number of at least 1, got"):
        check_whole("k", value, least=1)


def test_a_whole_number_that_is_too_large_is_told_the_limit():
    assert check_whole("seed", 2**63 - 1, least=0) == 2**63 - 1
    rule = r"^seed must be a whole number of at least 0 and below 2\*\*63, got 9223372036854775808$"
    with pytest.raises(InputError, match=rule):
        check_whole("seed", 2**63, least=0)


@pytest.mark.parametrize("value", [TINY, 0.5, np.float32(0.5), 1, HUGE])
def test_numbers_of_any_type_become_floats(value):
    number = check_real("size", value, "be positive and finite", low=TINY, high=HUGE)
    assert (number, type(number)) == (value, float)


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "0.5", None])
def test_what_breaks_the_rule_is_refused(value):
    with pytest.raises(InputError, match="size must be positive and finite, got"):
        check_real("size", value, "be positive and finite", low=TINY, high=HUGE)


def test_unknown_names_suggest_similar_ones_in_any_case():
    assert "did you mean 'linf'?" in str(unknown_name("norm", "lnf", ["l1", "linf"]))
    assert "did you mean 'L2'?" in str(unknown_name("norm", "l2", ["L2", "other"]))
    assert "did you mean 'TA'?" in str(unknown_name("name", "ta", ["TA", "ga"]))
    assert str(unknown_name("norm", "x", ["l2", "l1"])) == "unknown norm 'x'; Known: l1, l2"


def test_long_lists_are_cut():
    assert list_names(list("abcde"), "; ") == "a; b; c; d; e"
    assert list_names(list("abcdef")) == "a, b, c, d, e and 1 more"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("age", "age"),
        ("job title", "'job title'"),
        ("a,b", "'a,b'"),
        ("", "''"),
        ("x\ty", "'x\\ty'"),
    ],
)
def test_names_that_would_run_together_are_quoted(name, shown):
    assert quote(name) == shown


def test_only_the_side_that_lacks_something_is_named():
    assert describe_lacks("a", ["x", "y"], "b", ["x"]) == "b lacks y"
    assert describe_lacks("a", ["x"], "b", ["x", "z", "y"]) == "a lacks y, z"
    assert describe_lacks("a", ["x", "y"], "b", ["y", "x"]) == ""


def test_copies_are_counted_before_they_are_made():
    check_copies(10**7, 1000)
    check_copies(1, 10**12, 10**6)
    for k, n, values, most in (
        (10**7 + 1, 1, None, 10**7),
        (10**6 + 1, 10**4, None, 10**6),
        (10**7, 1000, 10**9, 1),
    ):
        message = (
            f"k must be at most {most:,} for {n:,} points.*, got {k:,}: that would be "
            f"{n * k:,} noisy copies"
        )
        with pytest.raises(InputError, match=message):
            check_copies(k, n, values)

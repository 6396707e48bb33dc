"""Differences: which model is better, or why nothing can be said."""

import pytest

from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("low", "high", "options", "words"),
    [
        (0.01, 0.2, {}, "a wins"),
        (-0.2, -0.01, {}, "b wins"),
        (0.01, 0.2, {"lower_is_better": True}, "b wins"),
        (-0.2, -0.01, {"lower_is_better": True}, "a wins"),
        (0.0, 0.2, {}, "the difference may be chance"),
        (-0.2, 0.0, {}, "the difference may be chance"),
        (0.01, 0.2, {"doubt": "other attacks"}, "other attacks"),
    ],
)
def test_words_follow_the_interval(low, high, options, words):
    value = Estimate((low + high) / 2, low, high, 0.95, "by hand")
    difference = Difference("a", "b", value, "wins", **options)
    assert difference.words == words
    assert difference.shown == ("wins" in words)
    assert difference.json() == {"first": "a", "second": "b", **value.json(), "method": "by hand"}

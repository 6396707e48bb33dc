"""Differences: which model is better, or why nothing can be said."""

import pytest
from scipy import stats

from shaketable.statistics.difference import Difference, is_shown
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


@pytest.mark.parametrize("value", [-0.4, -0.1, 0.05, 0.1, 0.4])
@pytest.mark.parametrize("judged", [1, 2, 10])
def test_differences_that_are_judged_together_share_the_error_probability(value, judged):
    def limits(confidence, times=1.0, careful=True):
        return stats.norm.interval(confidence, loc=value, scale=0.045)

    estimate = Estimate(value, *limits(0.95), 0.95, "by hand", limits)
    p = 2 * stats.norm.sf(abs(value) / 0.045)  # 0.026 for 0.1
    assert is_shown(estimate, judged) == (p * judged < 0.05)

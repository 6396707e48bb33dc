"""Sentences about MSCR."""

import pytest

from shaketable.findings.mscr.view import describe_mscr
from shaketable.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (-0.02, -0.03, -0.01, "Not robust"),
        (0.02, 0.01, 0.03, "Robust"),
        (-0.001, -0.01, 0.005, "No loss shown"),
    ],
)
def test_the_verdict_claims_no_more_than_the_interval(value, low, high, words):
    assert describe_mscr(Estimate(value, low, high, 0.95, "")).startswith(words)

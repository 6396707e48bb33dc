"""Estimates: what they print, and what they give as JSON."""

import pytest

from shaketable.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.9, 0.824, 0.951), "0.900 (95 % interval 0.824 to 0.951)"),
        ((0.9, 0.89, 0.91), "0.9000 (95 % interval 0.8900 to 0.9100)"),
        ((0.5, 0.0, 1.0), "0.50 (95 % interval 0.00 to 1.00)"),
        ((1.0, 1.0, 1.0), "1.0000 (95 % interval 1.0000 to 1.0000)"),
        ((-0.0001, -0.4, 0.4), "0.000 (95 % interval -0.400 to 0.400)"),
    ],
)
def test_as_many_digits_as_the_interval_supports(numbers, text):
    assert str(Estimate(*numbers, 0.95, "by hand")) == text


def test_json_is_in_per_cent_without_a_negative_zero():
    json = Estimate(-0.0, -0.0, 0.25, 0.9, "by hand").json()
    assert repr(json) == "{'mean': 0.0, 'low': 0.0, 'high': 25.0}"

"""Numbers are written with as many digits as they deserve, and bounds stay true."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaketable.statistics.estimate import Estimate
from shaketable.views import numbers


@st.composite
def estimates(draw, low=-1.0):
    ends = sorted(draw(st.tuples(*[st.floats(low, 1.0)] * 3)))
    return Estimate(ends[1], ends[0], ends[2], 0.95, "by hand")


@given(estimates())
def test_decimals_show_two_digits_of_the_half_width(e):
    decimals = numbers.percent_decimals(e)
    half = 50 * (e.high - e.low)
    assert 2 <= decimals <= 4
    assert decimals == 4 or half == 0 or half >= 10 ** (1 - decimals) * (1 - 1e-9)


@given(estimates())
def test_every_way_to_write_an_estimate_says_the_same(e):
    value, low, high = (100 * v for v in (e.value, e.low, e.high))
    close = pytest.approx([value, low, high], abs=0.0051)
    for text in (
        f"{numbers.format_change(e)} {numbers.format_interval(e)}",
        f"{numbers.format_percent(e)} {numbers.format_interval(e)}",
        f"{numbers.format_points(e)} {numbers.format_points_interval(e)}",
        numbers.format_entry(e),
        numbers.format_entry(e, signed=True),
        numbers.format_brief(e),
        numbers.format_brief(e, signed=True),
        numbers.format_full(e).replace("95 % interval", ""),
    ):
        assert [float(n) for n in re.findall(r"[-+]?\d+\.\d+", text)] == close, text


@pytest.mark.parametrize("write", [numbers.format_entry, numbers.format_brief, numbers.format_full])
def test_there_is_no_negative_zero(write):
    assert "-0.00" not in write(Estimate(-1e-9, -2e-9, 0.5, 0.95, "by hand"))


@given(st.floats(1e-9, 1.0))
def test_bounds_are_rounded_up_by_little(share):
    bound = float(numbers.format_bound(share).removesuffix("%")) / 100
    assert share * (1 - 1e-9) <= bound <= share + max(1e-4, 0.1 * share)


def test_nothing_is_a_bound_too():
    assert numbers.format_bound(0.0) == "0%"


def test_distances_have_six_or_four_digits():
    assert numbers.format_distance(1234567.0) == "1.23457e+06"
    assert numbers.format_short_distance(0.000123456) == "0.0001235"
    assert numbers.format_distance(None) == "–"


def test_intervals_have_signs_where_they_go_below_zero():
    for low, high, text in (
        (-0.1, 0.2, "-10.00% to +20.00%"),
        (-0.2, -0.1, "-20.00% to -10.00%"),
        (0.1, 0.2, "10.00% to 20.00%"),
    ):
        e = Estimate((low + high) / 2, low, high, 0.95, "by hand")
        assert numbers.format_interval(e) == text
        assert numbers.format_points_interval(e) == text.replace("%", "")


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.995])
def test_intervals_state_their_confidence(confidence):
    e = Estimate(0.5, 0.25, 0.75, confidence, "by hand")
    level = f"{100 * confidence:g} % interval"
    assert numbers.format_full(e) == f"50.00 % ({level} 25.00 to 75.00)"
    assert level in str(e)

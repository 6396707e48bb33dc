"""Spec strings parse back to what they say, and what is no spec is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaketable.core.errors import InputError
from shaketable.core.spec import (
    Call,
    display_name,
    format_value,
    parse_call,
    split_factors,
    split_name,
    split_top_level,
)

WORD = st.from_regex(r"[A-Za-z_][\w]{0,6}", fullmatch=True).filter(
    lambda word: word.lower() not in ("inf", "nan", "infinity")
)
NAME = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,8}:[A-Za-z_][A-Za-z0-9_.]{0,8}", fullmatch=True),
)
VALUE = st.one_of(st.floats(allow_nan=False), WORD)


@given(st.builds(Call, NAME, st.lists(VALUE).map(tuple), st.dictionaries(WORD, VALUE)))
def test_calls_parse_back(call):
    assert parse_call(str(call)) == call
    assert parse_call(f"  {call} ") == call
    assert split_top_level(f"{call} + {call}", "+") == [str(call), str(call)]
    assert split_factors(f"{call} + clean + {call} as both") == (str(call), str(call))


@given(st.floats(allow_nan=False))
def test_values_parse_back_without_a_plus(value):
    text = format_value(value)
    assert float(text) == value
    assert "+" not in text


def test_names_may_refer_to_objects_of_other_packages():
    call = parse_call("mypackage.noise:rain(0.5, size=2)")
    assert (call.name, call.args, call.options) == ("mypackage.noise:rain", (0.5,), {"size": 2})
    assert str(call) == "mypackage.noise:rain(0.5, size=2)"
    assert parse_call("noise:Weather.rain").name == "noise:Weather.rain"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must read name"),
        ("l2(0.5", "must read name"),
        ("l2 0.5", "must read name"),
        (":rain", "must read name"),
        ("noise:", "must read name"),
        ("a:b:c", "must read name"),
        ("a:b-c", "must read name"),
        ("C:\\data", "must read name"),
        ("ga(mean=1, 2)", "put '2' before the options"),
        ("ga(mean=1, mean=2)", "gives mean twice"),
        ("ga(1,,2)", "has an empty argument"),
        ("ga(mean=)", "has an empty argument"),
    ],
)
def test_what_is_no_call_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_call(text)


def test_specs_may_have_a_name():
    spec = "sp(0.1) + rotation(30) as SP0.1RO30"
    assert split_name(spec) == ("sp(0.1) + rotation(30)", "SP0.1RO30")
    assert (display_name(spec), display_name("sp(0.1)")) == ("SP0.1RO30", "sp(0.1)")
    assert split_factors("clean") == ()


def test_brackets_keep_their_commas_and_pluses():
    call = parse_call("f(a (1, 2), g(3), option=h(4, (5)), last=6)")
    assert call.args == ("a (1, 2)", "g(3)")
    assert call.options == {"option": "h(4, (5))", "last": 6.0}
    assert split_top_level("f(a+b) + g((c+d)+e) + h", "+") == ["f(a+b)", "g((c+d)+e)", "h"]
    assert split_top_level("f(a, b), g(c, (d, e)), h", ",") == ["f(a, b)", "g(c, (d, e))", "h"]

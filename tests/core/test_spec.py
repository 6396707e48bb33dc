"""Spec strings parse back to what they say, and what is no spec is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaketable.core.errors import InputError
from shaketable.core.spec import (
    Call,
    display_name,
    format_value,
    name_multiple,
    parse_call,
    read_multiple,
    resolve_size,
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


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("eps_min", 1),
        ("0.5*eps_min", 0.5),
        (" 1e-3 * eps_min ", 1e-3),
        ("eps_min*2", 2),
        ("eps_min / 4", 0.25),
        ("0*eps_min", 0),
    ],
)
def test_multiples_are_read(text, factor):
    assert read_multiple(text) == factor
    assert resolve_size(text, 2, lambda p: p) == 2 * factor


@pytest.mark.parametrize("value", [0.5, "surface", "eps", "0.5", ""])
def test_anything_else_stays_as_it_is(value):
    assert read_multiple(value) is None
    assert resolve_size(value, 2, None) == value


@pytest.mark.parametrize(
    "text",
    [
        "-1*eps_min", "nan*eps_min", "inf*eps_min", "eps_min/0", "2*eps_min*2", "2*eps_min/2",
        "0.5eps_min", "2 eps_min", "2*foo", "*eps_min", "eps_min*", "2*eps_min2", "x*eps_min",
    ],
)  # fmt: skip
def test_what_is_no_multiple_is_refused_in_one_line(text):
    with pytest.raises(InputError, match=r"^size must be a number, or a multiple of .*, got") as e:
        read_multiple(text)
    assert str(e.value).endswith(f"got {text!r}")


@given(
    st.floats(min_value=1e-12, max_value=1e12),
    st.integers(1, 9999).flatmap(lambda n: st.sampled_from([n, n / 10, n / 1000])),
)
def test_a_name_stands_for_exactly_its_size(eps_min, factor):
    size = factor * eps_min
    name = name_multiple(size, eps_min)
    if name:
        assert resolve_size(name, 2, lambda _: eps_min) == size
    assert name or len(format_value(size)) <= len(f"{format_value(factor)}*eps_min")


def test_sizes_have_the_shorter_of_two_names():
    eps_min = 27 / 255
    names = {0.5: "0.5*eps_min", 1: "eps_min", 2: "2*eps_min", 1 / 3: "eps_min/3"}
    assert {c: name_multiple(c * eps_min, eps_min) for c in names} == names
    assert name_multiple(0.5, 0.5) == "eps_min"  # MSCR is measured at it
    for size, unit in (
        (0.1, 0.05),
        (0.1, eps_min),
        (0.0, eps_min),
        (0.1, None),
        (1e300, 1e-300),
        (1e-300, 1e300),
    ):
        assert name_multiple(size, unit) == ""

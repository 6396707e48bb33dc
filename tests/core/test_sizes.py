"""Sizes in units of eps_min, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaketable.core.errors import InputError
from shaketable.core.sizes import name_multiple, read_multiple, resolve_size
from shaketable.core.spec import format_value


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

"""Spec strings and the corruptions they name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaketable.core.errors import InputError
from shaketable.corruptions import (
    Clean,
    Gaussian,
    Impulse,
    PNormNoise,
    corrupt,
    parse,
)
from shaketable.corruptions.parse import has_size_eps_min


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "linf({})",
                    "l1({})",
                    "l0.5({}, surface)",
                    "linf({}, vertices)",
                    "gaussian({})",
                    "gaussian({}, mean=-2)",
                    "l2(epsilon={})",
                ]
            ),
            st.floats(min_value=0, max_value=1e300, allow_nan=False),
        )
        | st.tuples(
            st.sampled_from(["l0({})", "l0({}, uniform)", "l0(to=uniform, share={})"]),
            st.floats(min_value=0, max_value=1),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_specs_parse_back_to_themselves(parts):
    spec = " + ".join(form.format(repr(size)) for form, size in parts)
    once = parse(spec)
    assert parse(once.spec) == once
    assert parse(once.spec).spec == once.spec


def test_eps_min_is_looked_up_in_the_norm_of_the_noise():
    assert parse("l2(eps_min)", eps_min=lambda p: p / 10).spec == "l2(0.2)"
    assert isinstance(parse("clean"), Clean)


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("l2(0.5*eps_min)", "l2(1)"),
        ("l2( eps_min * 1.5, surface)", "l2(3, surface)"),
        ("l2(kind=surface, epsilon=eps_min/2)", "l2(1, surface)"),
        ("l2(1) + l4(2*eps_min)", "l2(1) + l4(8)"),
        ("3*l2(2*eps_min) | l4(eps_min/4) + l2(0*eps_min)", "3*l2(4) | l4(1) + l2(0)"),
        ('l2(0.5*eps_min, only="a*b,eps_min/2")', 'l2(1, only="a*b,eps_min/2")'),
        ("l2(0.5*eps_min) as half", "l2(1) as half"),
    ],
)
def test_sizes_are_in_units_of_eps_min_wherever_a_size_stands(spec, canonical):
    assert parse(spec, eps_min=lambda p: p).spec == canonical


@pytest.mark.parametrize(
    ("spec", "is_eps_min"),
    [
        ("l2(eps_min)", True),
        ("l2(1*eps_min)", True),
        ("linf(epsilon=eps_min)", True),
        ("l2(0.5*eps_min)", False),
        ("l2(1)", False),
        ("l2(2)", False),
        ("l2(eps_min, surface)", False),
        ("l2(eps_min) + l2(1)", False),
        ("clean", False),
    ],
)
def test_noise_of_size_eps_min_is_recognised_before_data_are_known(spec, is_eps_min):
    assert has_size_eps_min(spec) == is_eps_min


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lnf(0.1)", "did you mean 'linf"),
        ("linf", "takes epsilon"),
        ("linf(1, 2)", "unknown kind of p-norm noise '2.0'"),
        ("linf(1, surfce)", "did you mean 'surface'"),
        ("l2(1, vertices)", "for p = inf"),
        ("linf(1, surface, 2)", "takes epsilon"),
        ("linf(1, epsilon=2)", "takes epsilon"),
        ("linf(epsilon=1, epsilon=2)", "twice"),
        ("linf(size=1)", "takes epsilon"),
        ("l0(1.5)", r"share must lie in \[0, 1\]"),
        ("l0(nan)", r"share must lie in \[0, 1\]"),
        ("l0(0.1, low)", "unknown replacement"),
        ("l0(eps_min)", "share must be a number"),
        ("gaussian(-1)", "sigma must be 0 or more"),
        ("gaussian(1, mean=inf)", "mean must be a finite number"),
        ("gaussian(1, mean=up)", "mean must be"),
        ("linf(big)", "epsilon must be a number"),
        ("linf(-1)", "epsilon must be 0 or more"),
        ("linf(nan)", "epsilon must be 0 or more"),
        ("linf(eps_min)", "eps_min needs data; give a number here"),
        ("linf(2*eps_min)", r"2\*eps_min needs data; give a number here"),
        ("linf(2*foo)", r"size must be a number, or a multiple of eps_min .* got '2\*foo'$"),
        ("linf(0.1", "spec must read"),
        ("linf(,)", "empty argument"),
        ("", "must not be empty"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        parse(spec)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PNormNoise("2", 1),
        lambda: PNormNoise(2, None),
        lambda: Impulse("1"),
        lambda: Gaussian(None),
        lambda: Gaussian(1, "up"),
        lambda: parse(3),
        lambda: corrupt(np.zeros((1, 1)), 3),
        lambda: corrupt(np.zeros((1, 1)), "clean(1)"),
    ],
)
def test_arguments_that_are_no_numbers_are_refused(make):
    with pytest.raises(InputError, match="must|takes no arguments"):
        make()


@pytest.mark.parametrize(("spec", "remedy"), [("linf(epsmin)", "eps_min"), ("sp(much)", "such as")])
def test_a_size_that_is_no_number_says_what_to_write(spec, remedy):
    with pytest.raises(InputError, match=rf"must be a number, got '\w+'; write .*{remedy}"):
        parse(spec)

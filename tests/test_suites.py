import math

import numpy as np
import pytest

import shaketable as st
from shaketable.corruptions import Bounds, PNormNoise, parse
from shaketable.errors import InputError
from shaketable.norms import pnorm_level
from shaketable.suites import SUITES, suite

UNIT = Bounds(0, 1)


@pytest.mark.parametrize("name", [n for n, s in SUITES.items() if s.names])
def test_every_suite_is_made_of_canonical_specs_each_once(name):
    names = suite(name).names
    specs = [parse(n, eps_min=lambda _: 0.5).spec for n in names]
    assert [n.replace("eps_min", "0.5") for n in names] == specs
    assert len(set(specs)) == len(specs)


@pytest.mark.parametrize(("name", "d"), [("pnorm-cifar", 3072), ("pnorm-tiny", 12288)])
def test_the_published_ladders_have_nine_norms_and_ten_growing_sizes(name, d):
    levels = [pnorm_level(n) for n in suite(name).on((d,), UNIT).names]
    assert list(dict.fromkeys(p for p, _ in levels)) == [0, 0.5, 1, 2, 5, 10, 50, 200, math.inf]
    for p in {p for p, _ in levels}:
        sizes = [size for q, size in levels if q == p]
        assert len(sizes) == 10
        assert sizes == sorted(sizes)
    # the table's corners, typed in apart
    corners = {"pnorm-cifar": ["l0(0.005)", "l0(0.12)", "l0.5(400000)", "linf(0.15)"],
               "pnorm-tiny": ["l0(0.01)", "l0(0.3)", "l0.5(12000000)", "linf(0.3)"]}  # fmt: skip
    assert set(corners[name]) <= set(suite(name).names)


def test_the_imperceptible_noises():
    assert suite("ice-cifar").names == (
        "l0.5(25000)", "l1(25)", "l2(0.5)", "l10(0.03)", "l50(0.02)", "linf(0.01)"
    )  # fmt: skip
    assert suite("ice-tiny").names == (
        "l0.5(700000)", "l1(125)", "l2(2)", "l10(0.06)", "l50(0.04)", "linf(0.01)"
    )  # fmt: skip


@pytest.mark.parametrize("name", ["pnorm", "ice"])
def test_published_sizes_are_taken_where_they_fit(name):
    assert suite(name).on((3072,), UNIT) == suite(f"{name}-cifar")
    assert suite(name).on((12288,), UNIT) == suite(f"{name}-tiny")
    for odd in (suite(name).on((784,), UNIT), suite(name).on((3072,), Bounds(0, 255))):
        assert "derived from" in odd.derived
        assert len(odd.names) == len(suite(f"{name}-cifar").names)


@pytest.mark.parametrize("p", [0.5, 1, 2, 5, math.inf])
def test_derived_sizes_move_a_value_as_much_as_cifars(p):
    # by their law: the mean size of a component of noise, over the value range, stays what it is
    small = suite("pnorm").on((192,), Bounds(-1, 1)).names
    for mine, cifar in zip(small, suite("pnorm-cifar").names, strict=True):
        if pnorm_level(cifar)[0] == p:
            keys = np.arange(200, dtype=np.uint64)
            sizes = [
                np.abs(PNormNoise(*pnorm_level(spec))(np.zeros((200, d)), keys)).mean()
                for spec, d in ((mine, 192), (cifar, 3072))
            ]
            assert sizes[0] / 2 == pytest.approx(sizes[1], rel=0.05)
            break


def test_derived_impulses_that_hit_nothing_are_left_out():
    assert not any(n.startswith("l0(") for n in suite("pnorm").on((3,), UNIT).names)
    few = [n for n in suite("pnorm").on((60,), UNIT).names if n.startswith("l0(")]
    assert few[0] == "l0(0.01)"
    assert len(few) == 9


def test_a_suite_for_another_shape_is_refused():
    with pytest.raises(InputError, match="3072 values, got 784.*use 'pnorm'"):
        suite("pnorm-cifar").on((784,), UNIT)
    with pytest.raises(InputError, match="use 'ice'"):
        suite("ice-tiny").on((12288,), Bounds(0, 255))
    for odd in (None, Bounds(0, math.inf)):
        with pytest.raises(InputError, match="needs a finite value range"):
            suite("pnorm").on((3,), odd)
    data = st.make_dataset(np.random.default_rng(0).random((20, 28, 28)), np.arange(20) % 2)
    with pytest.raises(InputError, match="use 'pnorm'"):
        st.evaluate(lambda x: np.zeros(len(x), int), data, suite("pnorm-cifar"))

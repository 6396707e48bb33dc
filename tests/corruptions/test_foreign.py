"""Corruptions that are classes of other packages."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.corruptions import Corruption, parse
from shaketable.corruptions.corruption import Traits
from shaketable.corruptions.parse import as_corruption

HERE = __name__


@dataclass(frozen=True)
class Shift(Corruption):
    """Every value moved by a constant."""

    amount: float = 1.0
    bounds: object = None

    def apply(self, x, drawn):
        return x + self.amount


class Nothing(Corruption):
    pass


class NoTraits(Shift):
    traits = None


class NoLadder(Shift):
    ladder = None


class TextSize(Shift):
    size = "large"


class FailingSpec(Shift):
    @property
    def spec(self):
        raise KeyError("no spec")


class NoApply(Shift):
    apply = Corruption.apply


class FailingConstructor(Shift):
    def __init__(self, amount):
        raise ValueError("no such amount")


class BindsNothing(Shift):
    def bind(self, bounds):
        pass


class FailingApply(Shift):
    def apply(self, x, drawn):
        raise RuntimeError("broken")


class FailingDraw(Shift):
    def draw(self, x, keys):
        raise RuntimeError("broken")


class OtherShape(Shift):
    def apply(self, x, drawn):
        return x[:, :2]


class ReturnsNone(Shift):
    def apply(self, x, drawn):
        pass


class ReturnsNan(Shift):
    def apply(self, x, drawn):
        x *= np.nan
        return x


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Nothing, "Nothing: spec failed with TypeError: .* a dataclass"),
        (NoTraits, "NoTraits must define traits, a Traits, got None; see"),
        (NoLadder, "NoLadder must define ladder, a str, got None"),
        (TextSize, "TextSize must define size, a number, got 'large'"),
        (FailingSpec, "FailingSpec: spec failed with KeyError: 'no spec'; correct the class"),
        (NoApply, "NoApply must define the method apply; see"),
    ],
)
def test_a_class_without_a_member_is_refused(kind, message):
    for use in (lambda: parse(f"{HERE}:{kind.__name__}"), lambda: as_corruption(kind())):
        with pytest.raises(InputError, match=f"corruption {HERE}:{message}") as caught:
            use()
        assert "\n" not in str(caught.value)


def test_a_constructor_that_fails_is_an_error_of_one_line():
    with pytest.raises(InputError, match=r"Constructor\(3\): ValueError: no such amount; check"):
        parse(f"{HERE}:FailingConstructor(3)")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (BindsNothing, "must return a corruption, got None; return self"),
        (FailingApply, "apply failed with RuntimeError: broken; correct the class"),
        (FailingDraw, "draw failed with RuntimeError: broken"),
        (OtherShape, r"must return an array of shape \(3, 4\), .* got shape \(3, 2\)"),
        (ReturnsNone, "got NoneType; return the corrupted copy"),
        (ReturnsNan, "not finite"),
    ],
)
def test_wrong_results_are_refused(kind, message):
    spec = f"{HERE}:{kind.__name__}(1)"
    for given in (spec, kind(), f"linf(0.1) + {spec}", f"{spec} as A"):
        with pytest.raises(InputError, match=message) as caught:
            st.corrupt(np.zeros((3, 4)), given, rng=0)
        assert f"{HERE}:{kind.__name__}(1)" in str(caught.value)


def test_a_class_may_keep_nan_that_it_is_given():
    x = np.array([[np.nan, 1.0]])
    np.testing.assert_array_equal(as_corruption(Shift())(x, np.zeros(1, np.uint64)), x + 1)


def test_what_was_parsed_equals_the_object():
    shift = parse(f"{HERE}:Shift(0.5)")
    assert shift == Shift(0.5) == shift == parse(shift.spec) == as_corruption(Shift(0.5))
    assert hash(shift) == hash(Shift(0.5))
    assert shift != Shift(0.6)
    assert shift != parse("linf(0.5)")
    assert as_corruption(shift) is shift
    assert pickle.loads(pickle.dumps(shift)) == shift
    assert (shift.ladder, shift.size, shift.traits) == (f"{HERE}:Shift", 0.5, Traits())


def test_ours_are_not_wrapped():
    clean = parse("clean")
    assert as_corruption(clean) is clean


def test_it_works_on_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.zeros(2, 3)
    assert torch.equal(st.corrupt(x, Shift()), x + 1)
    with pytest.raises(InputError, match=r"got shape \(2, 2\)"):
        st.corrupt(x, OtherShape())
    with pytest.raises(InputError, match="not finite"):
        st.corrupt(x, ReturnsNan())


def test_it_is_measured_as_before():
    rng = np.random.default_rng(0)
    x = rng.random((40, 3))
    y = (x[:, 0] > 0.5).astype(int)
    records = st.evaluate(
        lambda x: (x[:, 0] > 0.5).astype(int), (x, y), [Shift(0.5), f"{HERE}:Shift(1)"], k=2
    )
    assert [r.corruption for r in records][1:] == [f"{HERE}:Shift(0.5)", f"{HERE}:Shift(1)"]

"""Claims on agreement with print, both sides being uncertain, and on precision."""

import numpy as np
import pytest

from shaketable.reproductions.claims import Agrees, Precise
from shaketable.reproductions.numbers import Number, Printed

RUNS = np.random.default_rng(0).normal(99.5, 0.1, 25)  # a standard error of about 0.02


def judge(claim, *numbers):
    return claim.judge({f"a: {i}": number for i, number in enumerate(numbers)})


@pytest.mark.parametrize(
    ("printed", "half", "verdict"),
    [(99.5, 0.04, "holds"), (99.6, 0.04, "fails"), (99.6, 0.4, "holds"), (99.7, 0.04, "fails")],
)
def test_both_sides_are_uncertain(printed, half, verdict):
    number = Number("0", RUNS - RUNS.mean() + 99.5, Printed(printed, half, 1200))
    assert judge(Agrees("agrees", "a: *"), number).verdict == verdict


def test_many_numbers_share_the_error():
    """A difference of 2.5 standard errors is none among 81."""
    ours = RUNS - RUNS.mean()
    error = ours.std(ddof=1) / 5
    far = Number("0", ours + 2.5 * error, Printed(0.0))
    near = [Number(str(i), ours, Printed(0.0)) for i in range(80)]
    assert judge(Agrees("agrees", "a: *"), far).verdict == "fails"
    assert judge(Agrees("agrees", "a: *"), far, *near).verdict == "holds"
    farther = Number("0", ours + 5 * error, Printed(0.0))
    found = judge(Agrees("agrees", "a: *"), farther, *near)
    assert (found.verdict, found.why[:4]) == ("fails", "a: 0")


def test_what_is_not_known_does_not_agree():
    once = Number("0", RUNS[:1], Printed(99.5, 0.1))
    assert judge(Agrees("agrees", "a: *"), once).verdict == "inconclusive"
    assert judge(Agrees("agrees", "a: *"), Number("0", RUNS)).verdict == "inconclusive"
    assert judge(Precise("precise", "a: *"), once).verdict == "inconclusive"
    assert judge(Precise("precise", "a: *"), Number("0", RUNS)).verdict == "inconclusive"


def test_precision_is_that_of_the_widest():
    wide = Number("0", RUNS, Printed(99.5, 0.02, 1200))
    narrow = Number("1", RUNS, Printed(99.5, 0.2, 1200))
    assert judge(Precise("precise", "a: *"), narrow).verdict == "holds"
    found = judge(Precise("precise", "a: *"), narrow, wide)
    e = wide.estimate
    assert found.verdict == "inconclusive"
    assert found.why == f"widest of 2: a: 1, {(e.high - e.low) / 2 / 0.02:.2f} times print"
    assert judge(Precise("precise", "a: *", 3), narrow, wide).verdict == "holds"

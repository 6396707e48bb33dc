"""Claims: when they hold, fail, and are inconclusive, for exact numbers and by intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from shaketable.reproductions.claims import (
    EXIT_CODES,
    Agrees,
    Close,
    Judgement,
    Order,
    Precise,
    Within,
    find_worst,
    select,
    subtract,
)
from shaketable.reproductions.numbers import Number, Printed
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import proportion


def judge(claim, **numbers):
    """Verdict on numbers by name; a pair is a number and what is printed."""
    made = {
        name: Number(name, *ours) if isinstance(ours, tuple) else Number(name, ours)
        for name, ours in numbers.items()
    }
    return claim.judge(made)


def runs(mean, half, n=5):
    """Values of `n` runs whose 95 % interval is mean +- half."""
    steps = np.linspace(-1, 1, n)
    width = stats.t.ppf(0.975, n - 1) * steps.std(ddof=1) / math.sqrt(n)
    return mean + steps * half / width


def around(mean, half):
    """An estimate whose interval has this half width at 95 %, and grows like a normal one."""

    def limits(confidence, times, _):
        reach = half * stats.norm.ppf((1 + confidence) / 2) / stats.norm.ppf(0.975)
        return mean - reach / math.sqrt(times), mean + reach / math.sqrt(times)

    return Estimate(mean, *limits(0.95, 1, False), 0.95, "by hand", limits)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (1.0, "holds"),
        (1.1, "holds"),
        (0.9, "holds"),
        (1.1 + 1e-6, "fails"),
        (math.nan, "inconclusive"),
    ],
)
def test_exact_numbers_are_close_up_to_the_tolerance_itself(ours, verdict):
    claim = Close("c", "a", tolerance=0.1)
    assert judge(claim, a=(ours, Printed(1.0))).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(89.565, "holds"), (89.5749, "holds"), (89.5751, "fails"), (89.56, "fails")],
)
def test_without_a_tolerance_numbers_must_round_to_print(ours, verdict):
    claim = Close("c", "a")
    assert judge(claim, a=(ours, Printed(89.57, rounding=0.005))).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "verdict"), [(-22.0, "holds"), (-17.9, "fails"), (-22.1, "fails")]
)
def test_a_tolerance_can_be_a_share_of_the_printed_size(ours, verdict):
    claim = Close("c", "a", tolerance=0.1, relative=True)
    assert judge(claim, a=(ours, Printed(-20.0))).verdict == verdict


def test_numbers_without_print_are_not_compared():
    claim = Close("c", "*", tolerance=0.1)
    assert judge(claim, a=(1.0, Printed(1.0)), b=7.0).verdict == "holds"
    assert judge(claim, b=7.0).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.0, "fails"), (1e-12, "holds"), (1.0, "fails"), (-1.0, "fails")]
)
def test_limits_themselves_are_outside(ours, verdict):
    assert judge(Within("c", "a", 0, 1), a=ours).verdict == verdict


@pytest.mark.parametrize(
    ("mean", "half", "verdict"),
    [
        (0.5, 0.4, "holds"),
        (0.5, 0.6, "inconclusive"),
        (0.1, 0.2, "inconclusive"),
        (-0.1, 0.2, "inconclusive"),
        (-0.3, 0.2, "fails"),
        (1.3, 0.2, "fails"),
    ],
)
@pytest.mark.parametrize("make", [runs, around])
def test_the_interval_decides(make, mean, half, verdict):
    assert judge(Within("c", "a", 0, 1), a=make(mean, half)).verdict == verdict


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(1.0, "holds"), (1.29, "inconclusive"), (1.4, "inconclusive"), (1.71, "fails")],
)
def test_the_interval_of_a_difference_to_print_decides(mean, verdict):
    # half widths of 0.12 and 0.16, by square and add 0.2
    printed = Printed(1.0, 0.16)
    assert (
        judge(Close("c", "a", tolerance=0.45), a=(around(mean, 0.12), printed)).verdict == verdict
    )


@pytest.mark.parametrize(
    ("ours", "printed", "verdict"),
    [
        (1.0, Printed(1.0), "holds"),
        (1.1, Printed(1.0), "fails"),
        (1.004, Printed(1.0, rounding=0.005), "holds"),
        (1.006, Printed(1.0, rounding=0.005), "fails"),
        (math.nan, Printed(1.0), "inconclusive"),
        (np.ones(5), Printed(1.0), "holds"),
        (np.ones(5), Printed(1.1), "fails"),
        (np.array([1.0, math.nan, 1.0]), Printed(1.0), "inconclusive"),
        (np.array([1.0]), Printed(1.0), "inconclusive"),
        (around(1.2, 0.1), Printed(1.0), "fails"),
        (around(1.2, 0.1), Printed(1.0, 0.3), "holds"),
        (around(1.2, 0.1), Printed(1.0, 0.1, rounding=0.5), "fails"),
    ],
)
def test_agreement_is_that_no_number_differs_from_print(ours, printed, verdict):
    claim = Agrees("c", "*")
    assert judge(claim, a=(ours, printed)).verdict == verdict
    assert judge(claim, a=(ours, printed), b=(2.0, Printed(2.0))).verdict == verdict


def test_precision_that_is_not_a_number_is_inconclusive():
    values = np.array([1.0, math.nan, 1.0])
    found = judge(Precise("c", "*"), a=(values, Printed(1.0, 0.5)), b=(np.ones(3), Printed(1, 9)))
    assert (found.verdict, found.why) == ("inconclusive", "widest of 2: a, of unknown width")


def test_one_run_is_inconclusive():
    number = np.array([0.5])
    for claim in (Within("c", "a", 0, 1), Close("c", "a", tolerance=9)):
        found = judge(claim, a=(number, Printed(0.5)))
        assert (found.verdict, found.why) == (
            "inconclusive",
            "a: a single value, of unknown spread",
        )
    assert judge(Order("c", ["a", "b"]), a=number, b=number + 1).verdict == "inconclusive"


def test_numbers_of_a_claim_share_its_error():
    # a half width of .4 at 95 % is .57 with two numbers, .72 with ten
    claim = Within("c", "*", 0, 1)
    one = around(0.5, 0.4)
    assert judge(claim, a=one).verdict == "holds"
    assert judge(claim, a=one, b=one).verdict == "holds"
    many = {f"n{i}": one for i in range(10)}
    assert judge(claim, **many).verdict == "inconclusive"
    ratio = stats.norm.ppf(1 - 0.05 / 20) / stats.norm.ppf(0.975)
    just = {f"n{i}": around(0.5, 0.499 / ratio) for i in range(10)}
    assert judge(claim, **just).verdict == "holds"
    over = {f"n{i}": around(0.5, 0.501 / ratio) for i in range(10)}
    assert judge(claim, **over).verdict == "inconclusive"


def test_the_worst_number_decides_and_is_named():
    found = judge(Within("c", "*", 0, 1), a=0.5, b=around(0.0, 0.1), d=2.0, e=3.0)
    assert (found.verdict, found.why) == ("fails", "d: 2, and 1 more")
    found = judge(Within("c", "*", 0, 1), a=0.5, b=around(0.0, 0.1))
    assert found.verdict == "inconclusive"
    reach = 0.1 * stats.norm.ppf(1 - 0.05 / 4) / stats.norm.ppf(0.975)
    assert found.why == f"b: 0 [{-reach:.4g}, {reach:.4g}] at 97.5 %"
    assert judge(Within("c", "*", 0, 1), b=around(0.0, 0.1)).why == "b: 0 [-0.1, 0.1]"
    assert judge(Within("c", "*", 0, 1), a=0.5, b=0.6).why == "all 2"


def test_an_order_of_exact_numbers():
    claim = Order("c", ["a", "b", "d"])
    assert judge(claim, a=1, b=2, d=3).verdict == "holds"
    assert judge(claim, a=1, b=1, d=3).verdict == "fails"
    assert judge(claim, a=1, b=3, d=2).verdict == "fails"
    assert judge(Order("c", ["a", "b"], gap=1), a=1, b=2).verdict == "fails"
    assert judge(Order("c", ["a", "b"], gap=1), a=1, b=2.1).verdict == "holds"


def test_an_order_is_paired_by_runs():
    noise = np.array([0.0, 9.0, -5.0, 3.0, 2.0])
    low, high = noise, noise + 1 + 0.01 * noise
    claim = Order("c", ["a", "b"])
    assert judge(claim, a=low, b=high).verdict == "holds"
    assert judge(claim, a=high, b=low).verdict == "fails"
    # as independent groups they cannot be told apart
    assert judge(claim, a=low, b=np.append(high, high.mean())).verdict == "inconclusive"


def test_a_difference_of_unpaired_numbers_is_by_square_and_add():
    gap = subtract(Number("a", around(1.0, 0.3)), Number("b", around(0.0, 0.4)))
    assert (gap.low, gap.high) == pytest.approx((0.5, 1.5))
    exact = subtract(Number("a", around(1.0, 0.3)), Number("b", 0.25))
    assert (exact.low, exact.high) == pytest.approx((0.45, 1.05))


@pytest.mark.parametrize(
    "claim", [Within("c", "b: *", 0), Close("c", "b: *"), Order("c", ["a", "b"])]
)
def test_missing_numbers_are_inconclusive(claim):
    found = judge(claim, a=1.0)
    assert found.verdict == "inconclusive"
    assert "was" in found.why
    assert "measured" in found.why


@pytest.mark.parametrize(
    "claim",
    [
        Within("c", "a; b*; d", 0),
        Close("c", "a; b*; d"),
        Agrees("c", "a; b*; d"),
        Precise("c", "a; b*; d", 5),
    ],
)
def test_what_one_of_several_patterns_lacks_is_inconclusive(claim):
    values, printed = np.array([0.9, 1.0, 1.1, 1.0]), Printed(1.0, 0.2, rounding=0.5)
    found = judge(claim, a=(values, printed))
    why = "b* was not measured, and 1 more"
    assert (found.verdict, found.why) == ("inconclusive", why)
    found = judge(claim, a=(values, printed), d=(values, printed))
    assert (found.verdict, found.why) == ("inconclusive", "b* was not measured")
    every = dict.fromkeys(("a", "b1", "d"), (values, printed))
    assert judge(claim, **every).verdict == "holds"


def test_a_failure_is_one_whatever_is_lacking():
    assert judge(Within("c", "a; b", 0), a=-1.0).verdict == "fails"


def test_shares_are_judged_by_their_own_intervals():
    claim = Within("c", "a", 0.8)
    assert judge(claim, a=proportion(90, 100)).verdict == "holds"
    assert judge(claim, a=proportion(85, 100)).verdict == "inconclusive"


def test_patterns_are_of_whole_names():
    numbers = {name: Number(name, 0.0) for name in ("a: x(1)", "a: x(10)", "ba: x(1)", "a: y")}
    assert [*select(numbers, "a: x(1)")] == ["a: x(1)"]
    assert [*select(numbers, "a: *")] == ["a: x(1)", "a: x(10)", "a: y"]
    assert [*select(numbers, "a: y; ba: *")] == ["ba: x(1)", "a: y"]
    assert [*select(numbers, "a. *")] == []


def test_a_failure_is_worse_than_doubt():
    doubt, failed, held = (Judgement("", v) for v in ("inconclusive", "fails", "holds"))
    assert find_worst([held, doubt, failed]) == "fails"
    assert find_worst([held, doubt]) == "inconclusive"
    assert find_worst([held]) == "holds"
    assert find_worst([]) == "inconclusive", "nothing is known without claims"
    assert EXIT_CODES == {"holds": 0, "fails": 1, "inconclusive": 3}

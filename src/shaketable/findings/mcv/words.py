"""Sentences about the effects of factors and differences of models; captions of charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.statistics.estimate import Estimate

if TYPE_CHECKING:
    from shaketable.findings.mcv.effects import Effects

MCV = (
    "One point per model: up is more accurate on average, left is steadier. Bars reach from its "
    "lowest to its highest accuracy on any set, rings are its accuracy on clean points, thin lines "
    "95 % intervals of the CV. Dashed lines through the reference separate the groups I (above and "
    "left: better and steadier), II (above and right), III (below and left) and IV."
)
FACTORS = (
    "Accuracy of the sets with a factor minus that of the same sets without it, with 95 % "
    "intervals; left of zero the factor costs accuracy."
)
_CHANCE = ": the difference may be chance"


def describe_main(effects: Effects) -> str:
    """Say which factor costs most accuracy, if that is shown."""
    if not effects.main:
        return "No effect of a factor is known: no set is also in the suite without the factor."
    most, *others = effects.main
    cost, name = _format_points(most.value.subtract_from(0)), most.factor
    if not (most.shown and most.value.high < 0):
        return (
            f"No factor is shown to cost accuracy{_count_judged(effects.main)}; {name} costs most "
            f"as measured, {cost}."
        )
    if not others:
        return f"{name} costs {cost}."
    confidence = 1 - 0.05 / len(others)
    rivals = [
        o.factor
        for o in others
        if effects.difference(name, o.factor, confidence=confidence).high >= 0
    ]
    if rivals:
        return (
            f"{name} costs most as measured, {cost}, but {' and '.join(rivals)} may cost as much."
        )
    return f"{name} costs most: {cost}, on average over the sets that hold it."


def describe_order(effects: Effects) -> str:
    """Say whether the order of factors matters, if that is shown."""
    if not effects.kind_orders:
        return "No effect of the order is known: no two sets differ only in the order of factors."
    most = max(effects.kind_orders, key=lambda o: (o.shown, abs(o.value.value)))
    first, second = (" then ".join(order) for order in (most.first, most.second))
    if not most.shown:
        change = f"{first} minus {second}, {_format_points(most.value, sign='+')}"
        return (
            f"No effect of the order is shown{_count_judged(effects.kind_orders)}; the largest as "
            f"measured is {change}."
        )
    value = most.value
    if value.value < 0:
        first, second, value = second, first, value.subtract_from(0)
    return f"The order matters: {first} is easier than {second} by {_format_points(value)}."


def describe_interaction(effects: Effects) -> str:
    """Say whether two factors cost more or less together than the sum of both, if that is shown."""
    if not effects.interactions:
        return "No interaction is known: no set holds two factors that are also sets alone."
    most = max(effects.interactions, key=lambda i: (i.shown, abs(i.value.value)))
    both, value = f"{most.first} and {most.second}", most.value
    if not most.shown:
        return (
            f"No interaction is shown{_count_judged(effects.interactions)}; the largest as "
            f"measured: {both} together change accuracy by {_format_points(value, sign='+')} "
            "beyond the sum of both."
        )
    word, size = ("more", value.subtract_from(0)) if value.value < 0 else ("less", value)
    return f"Together {both} cost {word} than the sum of both, by {_format_points(size)}."


def describe_changes(mean: Estimate | None, cv: Estimate | None) -> str:
    """Say whether a model is more accurate and steadier than the reference, if that is shown."""
    if mean is None or cv is None:
        return "not paired with the reference"
    of_mean = _compare(mean, "more accurate", "less accurate", "mean")
    of_cv = _compare(cv, "less steady", "steadier", "CV")
    both = of_mean.endswith(_CHANCE) and of_cv.endswith(_CHANCE)
    return f"mean and CV{_CHANCE}" if both else f"{of_mean}; {of_cv}"


def _compare(e: Estimate, more: str, less: str, what: str) -> str:
    return more if e.low > 0 else less if e.high < 0 else f"{what}{_CHANCE}"


def _count_judged(effects: Sequence[object]) -> str:
    """Say that several effects are judged at once, so one interval alone shows nothing."""
    return f" (among {len(effects)} judged together)" if len(effects) > 1 else ""


def _format_points(e: Estimate, *, sign: str = "") -> str:
    value, low, high = (
        f"{round(100 * v, 2) + 0.0:{sign}.2f}"  # no negative zero
        for v in (e.value, e.low, e.high)
    )
    return f"{value} percentage points [{low}, {high}]"

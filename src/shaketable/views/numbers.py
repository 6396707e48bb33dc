"""Words of a report: numbers as they are written, and captions of its figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shaketable.statistics.intervals import Estimate

PLAIN_ACCURACY = "Points are measured accuracies, bars their 95 % intervals."
MSCR = (
    "Points are estimates, bars their 95 % intervals. Left of or below zero, accuracy is lost that "
    "need not be; at zero the model is as robust as the data allow."
)
ACCURACY = (
    f"{PLAIN_ACCURACY} Up to eps_min, the dashed line, no accuracy has to be lost; beyond it, even "
    "a perfect classifier may lose some."
)
LADDER = "A line a training noise, bars are 95 % intervals over runs; the dashed line is eps_min."
MATRIX = (
    "Mean over runs. Dots and bold numbers mark the best training noise for each test noise; "
    "outlined cells have the same noise in training and test."
)
TRADEOFF = (
    "A point a training noise, joined in order of its size. Up and right is better in both; a "
    "curve that only falls is a trade-off."
)
RUNS = (
    "The mean over the first runs, more and more of them, with its 95 % interval. A line that "
    "still moves needs more runs."
)
NEAREST = (
    "Bars count points, the line adds them up. The separation 2r is where both begin: it hangs on "
    "one pair of points."
)
LEFT_OUT = (
    "Each step to the right leaves out one more of the closest pairs. A high first step means that "
    "eps_min hangs on a few points; a flat line, that it does not."
)
SUITE_MEANS = (
    "Points are measured errors, bars their 95 % intervals; dashed lines are errors on clean "
    "points. The farther to the right, the more harm is done."
)
SUITE_ERRORS = (
    "A panel a norm or kind, on one scale. Points are measured errors from the weakest level to "
    "the strongest, bars their 95 % intervals; dashed lines are errors on clean points."
)
MCV = (
    "A point a model: up is better on average, left is steadier. Bars reach from its lowest to its "
    "highest accuracy on any set, rings are its accuracy on clean points, thin lines 95 % "
    "intervals of the CV. Dashed lines go through the reference and make the groups I (above and "
    "left: better and steadier), II (above and right), III (below and left) and IV."
)
FACTORS = (
    "Accuracy of the sets with a factor minus that of the same sets without it, with 95 % "
    "intervals; left of zero the factor costs accuracy."
)
WORST_CASE = (
    "A line a measure, bars are 95 % intervals. A standard measure may have to fall from eps_min "
    "on, the dashed line; a genuine one need not."
)
MAP = (
    "Colours are what the model says, dots the points in the colour of their labels, grey lines "
    "the borders of Voronoi cells. Every cross is a wrong label, joined to the point it was found "
    "for."
)
POINTS = "The rings and the line between them mark the pair of points that sets 2r."


def percent(value: Estimate) -> str:
    """Share in per cent, with as many decimals as its interval supports."""
    return f"{value.value:.{value.percent_digits}%}"


def signed(value: Estimate) -> str:
    """Change in per cent, with its sign."""
    return f"{value.value:+.{value.percent_digits}%}".replace("-0.00%", "0.00%")


def interval(value: Estimate) -> str:
    """Interval of a share or a change, in per cent."""
    digits = value.percent_digits
    sign = "+" if value.low < 0 else ""
    return f"{value.low:{sign}.{digits}%} to {value.high:{sign}.{digits}%}"


def points(value: Estimate) -> str:
    """Difference in percentage points, with its sign and no unit."""
    return signed(value).removesuffix("%")


def points_interval(value: Estimate) -> str:
    """Interval of a difference in percentage points, without a unit."""
    return interval(value).replace("%", "")


def number(value: float | None) -> str:
    """Distance with six digits; a dash where there is none."""
    return "–" if value is None else f"{value:.6g}"


def short(value: float) -> str:
    """Distance with four digits, for tables with many."""
    return f"{value:.4g}"


def sentence(text: str) -> str:
    """Begin with a capital, end with a full stop.

    >>> sentence("no two points coincide")
    'No two points coincide.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def one_line(text: str) -> str:
    """Text with one blank for any white space; charts cannot take all kinds that Unicode has."""
    return " ".join(text.split())


def listed(names: list[str], kind: str) -> str:
    """Up to three names, or how many there are of a kind."""
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def distinct(values: Iterable[Any]) -> str:
    """List every value once, in the order they came."""
    return ", ".join(dict.fromkeys(map(str, values)))

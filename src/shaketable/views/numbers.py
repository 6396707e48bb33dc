"""How numbers are written on pages, in tables and in messages: the one place for it.

Estimates are fractions and are written in per cent. `percent_decimals` chooses the number of
decimals by the width of the interval; `format_brief` and `format_full` always write two.
"""

from __future__ import annotations

import math
import re

from shaketable.statistics.estimate import Estimate


def format_percent(e: Estimate) -> str:
    """Share in per cent, with as many decimals as its interval supports.

    >>> format_percent(Estimate(0.9, 0.824, 0.951, 0.95, "by hand"))
    '90.00%'
    """
    return f"{e.value:.{percent_decimals(e)}%}"


def format_change(e: Estimate) -> str:
    """Change in per cent with its sign, with as many decimals as its interval supports.

    >>> format_change(Estimate(-0.056, -0.125, 0.001, 0.95, "by hand"))
    '-5.60%'
    """
    return f"{e.value:+.{percent_decimals(e)}%}".replace("-0.00%", "0.00%")


def format_interval(e: Estimate) -> str:
    """Interval in per cent, with signs if its lower end is negative.

    >>> format_interval(Estimate(-0.056, -0.125, 0.001, 0.95, "by hand"))
    '-12.50% to +0.10%'
    """
    decimals = percent_decimals(e)
    sign = "+" if e.low < 0 else ""
    return f"{e.low:{sign}.{decimals}%} to {e.high:{sign}.{decimals}%}"


def format_points(e: Estimate) -> str:
    """Difference in percentage points with its sign; the unit stands in the table's heading.

    >>> format_points(Estimate(0.16, 0.077, 0.248, 0.95, "by hand"))
    '+16.00'
    """
    return format_change(e).removesuffix("%")


def format_points_interval(e: Estimate) -> str:
    """Interval of a difference in percentage points, without a unit.

    >>> format_points_interval(Estimate(0.16, 0.077, 0.248, 0.95, "by hand"))
    '7.70 to 24.80'
    """
    return format_interval(e).replace("%", "")


def format_entry(e: Estimate, *, signed: bool = False) -> str:
    """Value and interval for a table in the terminal, whose title names the unit.

    >>> format_entry(Estimate(-0.5, -0.6, 0.0, 0.95, "by hand"), signed=True)
    '-50.00 [-60.00, +0.00]'
    """
    return "{} [{}, {}]".format(*_in_percent(e, percent_decimals(e), signed=signed))


def format_brief(e: Estimate, *, signed: bool = False) -> str:
    """Value and interval for a sentence, with two decimals.

    >>> format_brief(Estimate(0.0735, 0.0577, 0.0924, 0.95, "by hand"))
    '7.35 % [5.77, 9.24]'
    """
    return "{} % [{}, {}]".format(*_in_percent(e, 2, signed=signed))


def format_full(e: Estimate) -> str:
    """Value, confidence and interval, with two decimals.

    >>> format_full(Estimate(0.9, 0.824, 0.951, 0.95, "by hand"))
    '90.00 % (95 % interval 82.40 to 95.10)'
    """
    value, low, high = _in_percent(e, 2)
    return f"{value} % ({100 * e.confidence:g} % interval {low} to {high})"


def format_share(share: float) -> str:
    """Share without an interval, in per cent with two decimals.

    >>> format_share(0.9)
    '90.00 %'
    """
    return f"{100 * share:.2f} %"


def format_bound(share: float) -> str:
    """Upper bound in per cent, rounded up, so that the statement stays true.

    >>> format_bound(0.25887), format_bound(0.00002995)
    ('25.89%', '0.0030%')
    """
    if not share > 0:
        return "0%"
    decimals = max(2, 1 - math.floor(math.log10(100 * share)))
    return f"{math.ceil(100 * share * 10**decimals - 1e-9) / 10**decimals:.{decimals}f}%"


def say_below(share: float) -> str:
    """Upper bound as words; empty for a bound of 100 %, which says nothing.

    >>> say_below(0.25887), say_below(0.99999)
    ('below 25.89%', '')
    """
    bound = format_bound(share)
    return "" if share >= 1 or bound == "100.00%" else f"below {bound}"


def percent_decimals(e: Estimate) -> int:
    """Decimals that the interval supports when it is written in per cent: 2 to 4.

    >>> percent_decimals(Estimate(0.5, 0.4995, 0.5005, 0.95, "by hand"))
    3
    """
    half = 50 * (e.high - e.low)
    return 2 if not half > 0 else min(4, max(2, 1 - math.floor(math.log10(half))))


def format_distance(value: float | None) -> str:
    """Distance with six significant digits; a dash for None.

    >>> format_distance(0.12345678), format_distance(None)
    ('0.123457', '–')
    """
    return "–" if value is None else f"{value:.6g}"


def format_spec(spec: str) -> str:
    """Spec with six significant digits of every number, for tables.

    >>> format_spec("linf(0.010000000000000009) + sp(0.1)")
    'linf(0.01) + sp(0.1)'
    """
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.6g}", spec)


def format_short_distance(value: float) -> str:
    """Distance with four significant digits, for tables with many.

    >>> format_short_distance(0.12345678)
    '0.1235'
    """
    return f"{value:.4g}"


def _in_percent(e: Estimate, decimals: int, *, signed: bool = False) -> list[str]:
    """Value, lower and upper end in per cent, without a unit and without a negative zero."""
    sign = "+" if signed else ""
    return [
        f"{round(100 * v, decimals) + 0.0:{sign}.{decimals}f}" for v in (e.value, e.low, e.high)
    ]


def format_seconds(seconds: float) -> str:
    """Time for people.

    >>> format_seconds(0.0123), format_seconds(75), format_seconds(7300)
    ('12 ms', '75 s', '2.0 h')
    """
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def format_bytes(size: float) -> str:
    """Size for people.

    >>> format_bytes(57344), format_bytes(3.2e9)
    ('57 kB', '3.2 GB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"

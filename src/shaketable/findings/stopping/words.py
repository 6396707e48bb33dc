"""Sentences about where a stopping rule stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaketable.findings.stopping.finding import Stop
    from shaketable.findings.stopping.numbers import Forecast


def describe_stop(stop: Stop) -> str:
    """Say how much was measured, how wide the widest interval is, and what half of it takes."""
    draws = ""
    if stop.recommended_k is not None and stop.recommended_k != stop.k:
        draws = f"; k = {stop.recommended_k} would need fewer answers than k = {stop.k}"
    return (
        f"{stop.label}: stopped after {stop.size} {stop.unit}, intervals of accuracies within "
        f"± {stop.half_width:.2g} percentage points; {describe_forecast(stop.forecast)}{draws}"
    )


def describe_forecast(forecast: Forecast) -> str:
    """Say what an interval of some width takes."""
    width = f"± {forecast.half_width:.2g}"
    if forecast.needed is None:
        return f"no number of {forecast.unit} would give {width}"
    time = "" if forecast.seconds is None else f", about {format_seconds(forecast.seconds)} more"
    return f"{width} would need about {forecast.needed:,} {forecast.unit}{time}"


def format_seconds(seconds: float) -> str:
    """Write a time with two digits.

    >>> [format_seconds(s) for s in (0.3, 12, 90, 7200)]
    ['0.3 s', '12 s', '1.5 min', '2 h']
    """
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"

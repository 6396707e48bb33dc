"""What is shown of where a stopping rule stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.views.blocks import Block, Heading, Sentence
from shaketable.views.numbers import format_seconds

if TYPE_CHECKING:
    from shaketable.findings.stopping.finding import Stop
    from shaketable.findings.stopping.numbers import Forecast

_ABOUT = (
    "The number of points, or of runs, was not fixed beforehand: more were added until enough was "
    "known. All intervals allow for that. They hold for every number at once, so they are wider "
    "than intervals of a fixed number."
)


def make_blocks(stops: Sequence[Stop]) -> list[Block]:
    """Return one sentence per model."""
    return [
        Heading("Where did it stop?", "stopping", "Stopping"),
        Sentence(_ABOUT, level="detail"),
        *(Sentence(_describe_stop(stop), stop.label) for stop in stops),
    ]


def _describe_stop(stop: Stop) -> str:
    """Say how much was measured, how wide the widest interval is, and what half of it takes."""
    draws = ""
    if stop.recommended_k is not None and stop.recommended_k != stop.k:
        draws = f"; k = {stop.recommended_k} would need fewer answers than k = {stop.k}"
    return (
        f"stopped after {stop.size} {stop.unit}, intervals of accuracies within "
        f"± {stop.half_width:.2g} percentage points; {describe_forecast(stop.forecast)}{draws}"
    )


def describe_forecast(forecast: Forecast) -> str:
    """Say what an interval of some width takes."""
    width = f"± {forecast.half_width:.2g}"
    if forecast.needed is None:
        return f"no number of {forecast.unit} would give {width}"
    time = "" if forecast.seconds is None else f", about {format_seconds(forecast.seconds)} more"
    return f"{width} would need about {forecast.needed:,} {forecast.unit}{time}"

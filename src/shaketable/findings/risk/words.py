"""Sentences about the probability of a wrong answer under several corruptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.views.numbers import format_bound, format_percent

if TYPE_CHECKING:
    from shaketable.findings.risk.finding import ModelRisk


def describe_model(risk: ModelRisk) -> str:
    """Say under which corruption a wrong answer is most likely, and what holds under all."""
    worst, n = risk.highest, len(risk.entries)
    below = f"below {format_bound(risk.upper)} with 95 % confidence"
    if n == 1:
        value = format_percent(worst.bound)
        return f"{risk.label}: probability of a wrong answer {value} under {worst.noise}, {below}"
    return (
        f"{risk.label}: probability of a wrong answer {format_percent(worst.bound)} under "
        f"{worst.noise}, the highest of {n} corruptions as measured; under each of them {below}"
    )

"""Sentences about training noise that helps, or does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.training.hardening.result import Hardening


def describe(result: Hardening) -> str:
    """Say whether training with noise helps; it follows from the intervals on the test part."""
    none = "no training noise that helps was found"
    if result.difference is None:
        return (
            f"{none}: of {len(result.candidates)} candidates, none"
            f"{_within(result.price)} was more accurate under {result.target} than plain training "
            "on the points for selection"
        )
    clean, robust = result.difference.clean, result.difference.robust
    if result.outcome == "not shown":
        finding = "falls" if robust.high < 0 else "is not shown to rise"
        return (
            f"{none}: {result.chosen} was the best in the search, but on the test part accuracy "
            f"under {result.target} {finding}: {_format(robust)}"
        )
    gain = (
        f"training with {result.chosen} raises accuracy under {result.target} by {_format(robust)}"
    )
    if result.outcome == "costs more":
        price = f", more than the price of {100 * result.price:g}" if result.price else ""
        return f"{gain}, but clean accuracy falls by {_format(clean.subtract_from(0))}{price}"
    return f"training with noise helps: {gain}; {_describe_cost(clean, result.price)}"


def _describe_cost(clean: Estimate, price: float) -> str:
    """Say what is known about the loss of clean accuracy if it is not shown to exceed the price."""
    if clean.low > 0:
        return f"clean accuracy rises, too, by {_format(clean)}"
    if clean.low >= -price:
        return f"clean accuracy changes by {_format(clean)}, a loss{_within(price)} at most"
    more = f" above the price of {100 * price:g} points" if price else ""
    return (
        f"a loss of clean accuracy{more} is not shown, and one of more than "
        f"{-100 * clean.low:.2f} points is excluded: {_format(clean)}"
    )


def _within(price: float) -> str:
    return f" within the price of {100 * price:g} points" if price else ""


def _format(difference: Estimate) -> str:
    return f"{format_entry(difference, signed=True)} percentage points"

"""Decisions on requirements, in the terminal."""

from __future__ import annotations

from shaketable.findings.requirements.check import Check, Decision
from shaketable.findings.requirements.words import describe_check, describe_confidence, round_up
from shaketable.views.numbers import percent_decimals
from shaketable.views.terminal import print_lines, print_table

_HEADER = ["requirement", "model", "under", "measured", "interval", "verdict", "to decide"]


def print_check(check: Check) -> None:
    """Print one row per decision, and the outcome."""
    rows = [_make_row(decision) for decision in check.decisions]
    header = _HEADER
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    print_table(f"requirements; {describe_confidence(check)}", header, rows)
    print_lines(describe_check(check))


def _make_row(decision: Decision) -> list[str]:
    e = decision.estimate
    value, low, high = (
        f"{round(100 * v, percent_decimals(e)) + 0.0:.{percent_decimals(e)}f}"
        for v in (e.value, e.low, e.high)
    )
    more = ""
    if decision.outcome == "inconclusive":
        more = "at the limit"
        if decision.more is not None:
            more = f"{round_up(decision.more)} more {decision.unit}"
    interval = f"{low} to {high}"
    requirement = decision.requirement.text
    return [requirement, decision.model, decision.under, value, interval, decision.outcome, more]

"""Sentences about which of two models is more accurate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.findings.comparison.finding import Pair


def describe_pair(pair: Pair) -> str:
    """Say which of two models is more accurate: on clean points, on average, and how often."""
    parts = []
    if pair.clean is not None:
        better = pair.clean.better
        on_clean = f"{better} is more accurate" if better else "the difference may be chance"
        parts.append(f"on clean points {on_clean}")
    n = len(pair.corrupted)
    if pair.mean is not None:
        better = pair.first if pair.mean.value > 0 else pair.second
        size = format_entry(pair.mean if better == pair.first else pair.mean.subtract_from(0))
        verdict = f"{better} is more accurate by {size} percentage points"
        parts.append(
            f"on average over {n} corruptions "
            + (verdict if pair.mean_shown else "the difference may be chance")
        )
    if n:
        counts = [(name, pair.count_better(name)) for name in (pair.first, pair.second)]
        shown = [f"{name} under {count}" for name, count in counts if count]
        rest = pair.count_better("")
        one_by_one = f"of {n} corruption{'' if n == 1 else 's'} one by one, "
        chance = [f"{rest} may be chance"] if rest else []
        parts.append(one_by_one + ", ".join([*shown, *chance]))
    return "; ".join(parts)


def describe_judging(number: int) -> str:
    """Say for how many differences together the confidence of a claim holds."""
    if number == 1:
        return "better: the 95 % interval excludes 0"
    return (
        f"better: shown with 95 % confidence for up to {number} differences together (Bonferroni)"
    )

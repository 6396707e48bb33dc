"""What is shown of differences in accuracy: the answer, one row per pair, every condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.views.blocks import Block, Cell, Column, Entry, Heading, Level, Sentence, Table
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.findings.comparison.finding import Comparison
    from shaketable.findings.comparison.pairs import Gap, Pair

FEW_PAIRS, FEW_CONDITIONS = 3, 8
"""Up to so many pairs are described; up to so many conditions, too, the terminal has every
difference rather than one row per pair."""

MAX_PAIRS = 45
"""Pairs that tables have at most."""

_DIFFERENCE = "difference in accuracy"
_TITLE = (
    "accuracy of the first model minus that of the second, in percentage points, on the same "
    "points and noise"
)
_ABOUT = (
    "Both models of a pair met the same noise on the same points, so even small differences show. "
    "Intervals are for one difference at a time."
)


def make_blocks(finding: Comparison, *, is_alone: bool = False) -> list[Block]:
    """Return which model of a few pairs is more accurate, then all differences.

    Alone, without rankings in a summary, every pair is described at the top.
    """
    pairs = finding.pairs
    has_every = len(pairs) <= FEW_PAIRS and len(finding.conditions) <= FEW_CONDITIONS
    level: Level = "headline" if is_alone else "detail"
    place = "comparison" if is_alone else ""
    answers = [
        Sentence(describe_pair(p), f"{p.first} or {p.second}", level=level, place=place)
        for p in pairs
    ]
    return [
        *(answers if is_alone else []),
        Heading("Which model is more accurate?", "comparison", "Comparison"),
        Sentence(_ABOUT, level="detail"),
        *(answers if not is_alone and len(pairs) <= FEW_PAIRS else []),
        _tabulate_pairs(finding, is_detail=has_every),
        _tabulate_conditions(finding, is_detail=not has_every),
    ]


def _tabulate_pairs(finding: Comparison, *, is_detail: bool) -> Table:
    return Table(
        f"{_TITLE}, and under how many corruptions one is better",
        (
            Column("pair"),
            *(Column(h, "points", "", _DIFFERENCE) for h in ("clean", "mean", "largest")),
            *(Column(h, "count") for h in ("first better", "second better", "may be chance")),
        ),
        [
            [
                _name(pair),
                _make_cell(pair.clean),
                _make_mean(pair),
                _make_cell(pair.largest, pair.largest.condition.noise),
                *(pair.count_better(label) for label in (pair.first, pair.second, "")),
            ]
            for pair in finding.pairs
        ],
        level="detail" if is_detail else "summary",
        limit=MAX_PAIRS,
        shown=_describe_judging(finding),
        what="pairs",
    )


def _tabulate_conditions(finding: Comparison, *, is_detail: bool) -> Table:
    pairs = finding.pairs[:MAX_PAIRS]
    rows: list[list[Cell]] = [
        [condition.noise, *(_make_cell(pair.at(condition)) for pair in pairs)]
        for condition in finding.conditions
    ]
    if any(pair.mean is not None for pair in pairs):
        rows.append(["mean over corruptions", *map(_make_mean, pairs)])
    return Table(
        f"{_TITLE}, under every corruption",
        (
            Column("noise"),
            *(Column(_name(pair), "points", "", _DIFFERENCE) for pair in pairs),
        ),
        rows,
        level="detail" if is_detail else "summary",
        limit=200,
        shown=_describe_judging(finding),
        what="corruptions",
    )


def _name(pair: Pair) -> str:
    return f"{pair.first} minus {pair.second}"


def _make_cell(gap: Gap | None, note: str = "") -> Cell:
    return None if gap is None else Entry(gap.value, note, gap.shown)


def _make_mean(pair: Pair) -> Cell:
    return Entry(pair.mean, shown=pair.mean_shown)


def describe_pair(pair: Pair) -> str:
    """Say which of two models is more accurate: on clean points, on average, and how often."""
    parts, chance = [], "the difference may be chance"
    if pair.clean is not None:
        better = pair.clean.better
        parts.append(f"on clean points {f'{better} is more accurate' if better else chance}")
    n = len(pair.corrupted)
    if pair.mean is not None:
        better = pair.first if pair.mean.value > 0 else pair.second
        size = format_entry(pair.mean if better == pair.first else pair.mean.subtract_from(0))
        verdict = f"{better} is more accurate by {size} percentage points"
        average = verdict if pair.mean_shown else chance
        parts.append(f"on average over {n} corruptions {average}")
    counts = {name: pair.count_better(name) for name in (pair.first, pair.second, "")}
    for name, count in counts.items():
        if count:
            answer = f"{name} is more accurate" if name else chance
            parts.append(f"under {_count(count, n, pair)} {answer}")
    return "; ".join(parts)


def _count(count: int, n: int, pair: Pair) -> str:
    """Name the only corruption, or say how many of all."""
    if n == 1:
        return pair.corrupted[0].condition.noise
    return f"{'all' if count == n else f'{count} of'} {n} corruptions"


def _describe_judging(finding: Comparison) -> str:
    """Say for how many differences together the confidence of a claim holds."""
    number = max(gap.judged for pair in finding.pairs for gap in pair.gaps)
    if number == 1:
        return "one is better: the 95 % interval excludes 0"
    return (
        f"one is better: shown with 95 % confidence for up to {number} differences together "
        "(Bonferroni)"
    )

"""What is shown of the probability of a wrong answer: a summary, then all bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shaketable.views.blocks import Block, Cell, Column, Entry, Heading, Sentence, Table
from shaketable.views.numbers import format_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaketable.findings.risk.finding import ModelRisk

_WHAT, _BOUND = "probability of a wrong answer", "with its upper bound of 95 % confidence"
_ABOUT = (
    "The bounds are one-sided: with 95 % confidence the probability of a wrong answer is lower. "
    "They hold for new points of the same kind as the test points, under this noise. They say "
    "nothing about other noise, other data, or an adversary who chooses the noise."
)


def make_blocks(models: Sequence[ModelRisk]) -> list[Block]:
    """Return the summary of all models, then every corruption of each."""
    return [
        Heading("How likely is a wrong answer?", "risk", "Risk"),
        Sentence(_ABOUT, level="detail"),
        _summarize(models),
        *(block for model in models for block in _show_model(model)),
    ]


def _summarize(models: Sequence[ModelRisk]) -> Table:
    return Table(
        f"{_WHAT}, {_BOUND}",
        (
            Column("model"),
            *(
                Column(h, "bound", quantity=_WHAT)
                for h in ("clean", "at eps_min", "worst corruption")
            ),
        ),
        [
            [
                model.label,
                model.clean.bound if model.clean else None,
                model.at_eps_min[0].bound if model.at_eps_min else None,
                _describe_worst(model),
            ]
            for model in models
        ],
        level="detail",
        what="models",
    )


def _describe_worst(model: ModelRisk) -> Cell:
    """Highest share as measured, with the bound that holds under every corruption."""
    worst, n = model.highest, len(model.entries)
    note = worst.noise if n == 1 else f"{worst.noise}; bound for all {n} corruptions"
    return Entry(replace(worst.bound, high=model.upper), note)


def _show_model(model: ModelRisk) -> list[Block]:
    """Return noise of size eps_min, or the worst, then the others, the worst first."""
    chosen = next(iter(model.at_eps_min), model.highest)
    others = sorted(
        (entry for entry in model.entries if entry is not chosen), key=lambda e: -e.bound.value
    )
    error, n = chosen.series.error_probability, chosen.series.first.n
    never_wrong = int(np.count_nonzero(error.by_point <= error.least_provable))
    draws = "1 draw" if error.k == 1 else f"all {error.k} draws"
    table = Table(
        f"{_WHAT} of {model.label}, {_BOUND}",
        (Column("corruption"), Column("points", "count"), Column(_WHAT, "bound")),
        [(e.noise, e.series.first.n, e.bound) for e in (chosen, *others)],
        level="detail",
        limit=200,
        marked=[0],
        what="corruptions",
    )
    return [
        Heading(model.label, level="detail"),
        table,
        Sentence(
            f"Under {chosen.noise}, {never_wrong} of {n} points were classified correctly in "
            f"{draws}. For each of these points, the probability of a wrong answer under new noise "
            f"is below {format_bound(error.least_provable)} with 95 % confidence. Only more draws "
            "can prove a lower bound.",
            level="detail",
        ),
    ]

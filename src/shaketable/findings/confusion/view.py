"""What is shown of confusion: the pairs that grow most, a heat map, and all counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shaketable.views.blocks import Block, Cell, Chart, Column, Entry, Heading, Sentence, Table

if TYPE_CHECKING:
    from shaketable.findings.confusion.finding import ModelConfusion
    from shaketable.findings.confusion.numbers import Confusion, Turn
    from shaketable.views import drawing

TOP, MAX_CLASSES, MAX_CELLS = 5, 12, 20
"""Pairs in the summary; classes up to which whole tables are shown, else so many of their cells."""

_CHART = (
    "Share of the answers of each true class (rows) by answered class (columns), on clean points "
    "and under the corruption with the most errors, on one scale of colours. Right answers are on "
    "the diagonal."
)


def make_blocks(models: Sequence[ModelConfusion]) -> list[Block]:
    """Return the pairs that grow most, then details of every model."""
    turns = [
        (model, confusion, turn)
        for model in models
        for confusion in model.corrupted
        for turn in confusion.turns
    ]
    turns.sort(key=lambda each: each[2].clean - each[2].noisy)
    quiet = Sentence("no class turns into another one more often under noise", tone="quiet")
    noisy = any(model.corrupted for model in models)
    return [
        Heading("Which class turns into which?", "confusion", "Confusion"),
        *([_show_turns(models, turns)] if turns else [quiet] if noisy else []),
        *(block for model in models for block in _show_model(model, len(models) > 1)),
    ]


def _show_turns(
    models: Sequence[ModelConfusion],
    turns: Sequence[tuple[ModelConfusion, Confusion, Turn]],
) -> Table:
    noises = {confusion.noise for _, confusion, _ in turns}
    rows: list[list[Cell]] = [
        [
            model.label if len(models) > 1 else "",
            confusion.noise if len(noises) > 1 else "",
            turn.true,
            turn.answered,
            turn.n,
            turn.clean,
            turn.noisy,
            Entry(turn.growth, shown=turn.shown)
            if turn.growth
            else Entry(turn.noisy - turn.clean, "few points"),
        ]
        for model, confusion, turn in turns[:TOP]
    ]
    judged = turns[0][1].judged
    under = f", under {next(iter(noises))}" if len(noises) == 1 else ""
    return Table(
        f"classes that turn into others most often{under}",
        (
            Column("model"),
            Column("noise"),
            Column("true class"),
            Column("answer"),
            Column("points", "count"),
            Column("clean", "rate"),
            Column("noisy", "rate"),
            Column("difference", "points", "percentage points", "growth of confusion"),
        ),
        rows,
        shown=f"it grows: 95 % confidence for all {judged} pairs together (Bonferroni)",
    )


def _show_model(model: ModelConfusion, several: bool) -> Iterator[Block]:
    def draw() -> list[drawing.Chart]:
        from shaketable.findings.confusion.charts import draw_confusion  # slow to import

        return draw_confusion(model)

    if several:
        yield Heading(f"Confusion of {model.label}", level="detail")
    if len(model.clean.labels) <= MAX_CLASSES:
        yield Chart(draw, _CHART, level="detail", title=f"Answers of {model.label}")
        for confusion in (model.clean, *model.corrupted):
            yield _show_counts(model, confusion)
        return
    for confusion in (model.clean, *model.corrupted):
        yield _show_largest(model, confusion)


def _show_counts(model: ModelConfusion, confusion: Confusion) -> Table:
    used = [*range(len(confusion.labels))]
    if confusion.counts[:, -1].any():
        used.append(len(confusion.labels))
    rows: list[list[Cell]] = [
        [label, *(Entry(int(counts[i]), heat=float(shares[i])) for i in used)]
        for label, counts, shares in zip(
            confusion.labels, confusion.counts, confusion.shares, strict=True
        )
    ]
    columns = [Column(confusion.answered_labels[i], "count") for i in used]
    return Table(
        f"answers of {model.label} by true class (rows), {_name(confusion)}",
        (Column("true class"), *columns),
        rows,
        level="detail",
    )


def _show_largest(model: ModelConfusion, confusion: Confusion) -> Table:
    """Return the wrong answers that are given most often; there are too many classes for all."""
    wrong = confusion.counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CELLS]
    pairs = [divmod(int(place), wrong.shape[1]) for place in order]
    rows: list[list[Cell]] = [
        [
            confusion.labels[i],
            confusion.answered_labels[j],
            int(wrong[i, j]),
            float(confusion.shares[i, j]),
        ]
        for i, j in pairs
        if wrong[i, j]
    ]
    return Table(
        f"most frequent wrong answers of {model.label}, {_name(confusion)}",
        (
            Column("true class"),
            Column("answer"),
            Column("answers", "count"),
            Column("share of the class", "rate"),
        ),
        rows,
        level="detail",
    )


def _name(confusion: Confusion) -> str:
    return "clean points" if confusion.series.first.is_clean else f"under {confusion.noise}"

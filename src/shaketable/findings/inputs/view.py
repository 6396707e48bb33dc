"""What is shown of inputs that flip: rows, the sizes that flip points, features that flip them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.findings.inputs.redrawn_view import show_redrawn
from shaketable.views.blocks import Block, Cell, Column, Heading, Sentence, Table

if TYPE_CHECKING:
    from shaketable.findings.inputs.finding import FlippedInputs
    from shaketable.findings.inputs.numbers import Flips

_SHOWN = 10
_ABOUT = (
    "A point flips if it is right when clean and wrong in more than half of its draws. Points are "
    "listed by their share of wrong draws, among those that are right when clean"
)


def make_blocks(found: FlippedInputs) -> list[Block]:
    """Return the rows under the first corruption of every model, then ladders and features."""
    first: dict[str, Flips] = {}
    for label, flips in found.flips:
        first.setdefault(label, flips)
    rows = [[label, *row] for label, flips in first.items() for row in _list_rows(flips)]
    columns = (
        Column("model"),
        Column("noise"),
        Column("row"),
        Column("class"),
        Column("wrong answer"),
        Column("wrong draws", "rate"),
        Column("confidence when wrong", "rate"),
    )
    ladder_rows: list[list[Cell]] = [
        [label, ladder.levels[i].noise, share]
        for label, ladder in found.ladders
        for i, share in enumerate(ladder.shares.values())
    ]
    feature_rows: list[list[Cell]] = [
        [f.label, f.feature, f.noise, len(f.rows), ", ".join(map(str, f.rows[:5]))]
        for f in found.features
    ]
    ladder_columns = Column("model"), Column("noise"), Column("points that flip", "rate")
    feature_columns = (
        Column("model"),
        Column("feature"),
        Column("noise"),
        Column("points that flip", "count"),
        Column("first rows"),
    )
    tables = [
        Table("points that are wrong most often", columns, rows, "detail", limit=len(rows)),
        Table(
            "points that flip at a size or a smaller one",
            ladder_columns,
            ladder_rows,
            "detail",
            limit=100,
        ),
        Table("points that flip by noise in one feature", feature_columns, feature_rows, "detail"),
    ]
    return [
        Heading("Which inputs flip?", "inputs", "Inputs"),
        Sentence(_ABOUT, level="detail"),
        *(Sentence(_describe(flips), label) for label, flips in first.items()),
        *([] if found.redrawn is None else show_redrawn(found.redrawn)),
        *(table for table in tables if table.rows),
    ]


def _list_rows(flips: Flips) -> list[list[Cell]]:
    points, confidence = flips.cell.points, flips.wrong_confidence
    rows: list[list[Cell]] = []
    for i in flips.rank(_SHOWN):
        code = None if flips.cell.answers is None else int(flips.wrong_answers[i])
        answer = "" if code is None else "another class" if code < 0 else str(points.classes[code])
        sure = None if confidence is None else float(confidence[i])
        label = str(points.classes[points.y[i]])
        row = str(int(points.rows[i]))
        rows.append([flips.noise, row, label, answer, float(flips.wrong[i]), sure])
    return rows


def _describe(flips: Flips) -> str:
    """Say how many points flip, and which class is affected least."""
    right, flipped = int(flips.right_clean.sum()), int(flips.flipped.sum())
    share = f"{flipped:,} of {right:,} points that are right when clean flip under {flips.noise}"
    return f"{share}; class {flips.least_affected_class} is affected least"

"""What is shown of inputs that flip: rows, the sizes that flip points, features that flip them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Return the rows under one corruption of every model, then ladders and features."""
    rows = [[label, *row] for label, flips in found.chosen.items() for row in _list_rows(flips)]
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
        [label, ladder.levels[i].noise, share, _list_some(ladder.list_rows(size))]
        for label, ladder in found.ladders
        for i, (size, share) in enumerate(ladder.shares.items())
    ]
    feature_rows: list[list[Cell]] = [
        [f.label, f.feature, f.noise, len(f.rows), _list_some(f.rows)] for f in found.features
    ]
    ladder_columns = (
        Column("model"),
        Column("noise"),
        Column("points that flip", "rate"),
        Column("rows that this size is the first to flip"),
    )
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
        *_describe(found),
        Sentence(_ABOUT, level="detail"),
        *([] if found.redrawn is None else show_redrawn(found.redrawn)),
        *(table for table in tables if table.rows),
    ]


def _list_rows(flips: Flips) -> list[list[Cell]]:
    points, answers = flips.cell.points, flips.cell.answers
    confidence = flips.wrong_confidence
    rows: list[list[Cell]] = []
    for i in flips.rank(_SHOWN):
        answer = ""
        if answers is not None:
            answer = str(answers.name(int(flips.wrong_answers[i]), points.classes))
        sure = None if confidence is None else float(confidence[i])
        label = str(points.classes[points.y[i]])
        row = str(int(points.rows[i]))
        rows.append([flips.noise, row, label, answer, float(flips.wrong[i]), sure])
    return rows


def _describe(found: FlippedInputs) -> list[Sentence]:
    return [Sentence(text, s) for s in found.labels for text in describe_flips(found, s)]


def describe_flips(found: FlippedInputs, label: str) -> Iterator[str]:
    """Say which points of a model flip most, which do first, and by noise in which feature."""
    first = next((each for name, each in found.flips if name == label), None)
    worst = found.chosen.get(label)
    feature = next((each for each in found.features if each.label == label), None)
    if worst is not None and worst.rows:
        least = f"class {worst.least_affected_class} loses the least accuracy"
        none = f"; none does under {first.noise}" if first and worst is not first else ""
        yield f"{_count_flips(worst)} under {worst.noise}{_name_rows(worst.rows)}{none}; {least}"
    noises = {each.noise for _, each in found.flips}
    for name, ladder in found.ladders:
        flipping = [i for i, size in enumerate(ladder.sizes) if ladder.list_rows(size)]
        if name == label and flipping and ladder.levels[0].noise in noises:
            rows = ladder.list_rows(ladder.sizes[flipping[0]])
            noise = ladder.levels[flipping[0]].noise
            yield f"the first to flip do so at {noise}{_name_rows(rows)}"
    if feature is not None:
        what = f"noise in one feature flips most points if it is in {feature.feature}"
        under = f"under {feature.noise}{_name_rows(feature.rows)}"
        yield f"{what}: {_count_flips(feature.flips)} {under}"
    if worst is not None and not worst.rows:
        yield f"{_count_flips(worst)} under {worst.noise}"


def _count_flips(flips: Flips) -> str:
    count = f"{len(flips.rows):,} of {int(flips.right_clean.sum()):,}"
    return f"{count} points that are right when clean flip"


def _name_rows(rows: Sequence[int]) -> str:
    return f", {'row' if len(rows) == 1 else 'rows'} {_list_some(rows)}" if rows else ""


def _list_some(rows: Sequence[int]) -> str:
    """Write the first five of some rows.

    >>> _list_some([3]), _list_some([1, 2, 3, 4, 5, 6])
    ('3', '1, 2, 3, 4, 5 …')
    """
    return ", ".join(map(str, rows[:5])) + (" …" if len(rows) > 5 else "")

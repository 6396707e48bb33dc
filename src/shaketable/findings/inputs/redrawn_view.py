"""Inputs that flip as images, or as the cells of rows that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.data.dataset import Dataset
from shaketable.data.images import are_images
from shaketable.findings.inputs.redrawn import CORRUPTIONS, Example, Redrawn, RedrawnInputs
from shaketable.views.blocks import Block, Cell, Column, Entry, Picture, Sentence, Table
from shaketable.views.images import to_data_uri
from shaketable.views.numbers import format_share

_WIDTH = 60  # characters of changed cells that are written out
_ABOUT = (
    "Points that are wrong most often are shown in the first draw that was answered wrongly, those "
    "affected least in the first draw. Answer and confidence are those of this draw"
)


def show_redrawn(found: RedrawnInputs) -> list[Block]:
    """Return tables of the points, and that they are shown at all."""
    shown = [each for each in found.redrawn if not each.lacks]
    return [
        *([_warn(found.data), Sentence(_ABOUT, level="detail")] if shown else []),
        *(block for each in found.redrawn for block in _show_points(each, found.data)),
        *(
            Sentence(
                f"inputs are shown under {CORRUPTIONS} of {CORRUPTIONS + number} corruptions, that "
                "of size eps_min first, then those with the lowest accuracy",
                label,
            )
            for label, number in found.left_out.items()
            if number > 0
        ),
    ]


def _warn(data: Dataset) -> Sentence:
    what = "images" if are_images(data) else "rows"
    text = (
        f"{what} of the data are shown here, which may be private: pass this on only to those who "
        "may see them"
    )
    return Sentence(text, tone="alert", level="headline")


def _show_points(each: Redrawn, data: Dataset) -> list[Block]:
    noise, blocks = each.flips.noise, list[Block]()
    if each.lacks:
        return [Sentence(f"no inputs are shown under {noise}: {each.lacks}", each.label)]
    if not each.most:
        blocks.append(Sentence(f"no point is right when clean and wrong under {noise}", each.label))
    tabulate = _tabulate_images if are_images(data) else _tabulate_rows
    for which, examples in (("wrong most often", each.most), ("affected least", each.least)):
        if examples:
            columns, rows = tabulate(each, examples, data)
            title = f"points {which}, {each.label} under {noise}"
            blocks.append(Table(title, columns, rows, limit=len(rows)))
    return blocks


def _tabulate_images(
    each: Redrawn, examples: Sequence[Example], data: Dataset
) -> tuple[Sequence[Column], list[list[Cell]]]:
    rows: list[list[Cell]] = []
    for example in examples:
        name, true = f"Row {_find_row(each, example)}", _name_class(each, example)
        clean = Picture(to_data_uri(example.clean), f"{name}, clean", f"class {true}")
        corrupted = Picture(
            to_data_uri(np.clip(example.corrupted, 0, 1)),
            f"{name} under {each.flips.noise}",
            f"answer {example.answer}",
        )
        shown = Entry(clean, _count_wrong(each, example)), Entry(corrupted, _say_sure(example))
        rows.append([_name_row(each, example, data), *shown])
    return (Column("row"), Column("clean"), Column("corrupted")), rows


def _tabulate_rows(
    each: Redrawn, examples: Sequence[Example], data: Dataset
) -> tuple[Sequence[Column], list[list[Cell]]]:
    rows: list[list[Cell]] = []
    for example in examples:
        about = f"answer {example.answer}", _say_sure(example), _count_wrong(each, example)
        label = Entry(_name_class(each, example), ", ".join(filter(None, about)))
        rows.append([_name_row(each, example, data), label, _list_changes(data, example)])
    return (Column("row"), Column("class"), Column("changed cells")), rows


def _say_sure(example: Example) -> str:
    """Say how sure the model was; nothing without scores."""
    return "" if example.confidence is None else f"confidence {format_share(example.confidence)}"


def _count_wrong(each: Redrawn, example: Example) -> str:
    cell = each.flips.cell
    return f"{cell.k - int(cell.hits[example.place])} of {cell.k} draws wrong"


def _name_row(each: Redrawn, example: Example, data: Dataset) -> Cell:
    row = _find_row(each, example)
    source = data.source_row(row)
    return Entry(str(row), "" if source == row else f"{source} in the file")


def _find_row(each: Redrawn, example: Example) -> int:
    return int(each.flips.cell.points.rows[example.place])


def _name_class(each: Redrawn, example: Example) -> str:
    points = each.flips.cell.points
    return str(points.classes[points.y[example.place]])


def _list_changes(data: Dataset, example: Example) -> Entry:
    """Write the cells that changed, the largest changes first; pages show all on demand."""
    before, after = (
        np.asarray(x, np.float64).reshape(-1) for x in (example.clean, example.corrupted)
    )
    sizes = _measure_changes(data, before, after)
    order = [int(i) for i in np.argsort(-sizes, kind="stable") if sizes[i] > 0]
    texts = [
        f"{data.feature_name(i)}: "
        + _write_pair(_read_value(data, i, before[i]), _read_value(data, i, after[i]))
        for i in order
    ]
    ends = np.cumsum([len(text) + 2 for text in texts])
    shown = texts[: max(1, int((ends <= _WIDTH).sum()))]
    more = [f"and {len(texts) - len(shown)} more"] if len(texts) > len(shown) else []
    return Entry("; ".join([*shown, *more]) or "none", about="; ".join(texts) if more else "")


def _measure_changes(data: Dataset, before: FloatArray, after: FloatArray) -> FloatArray:
    """Changes in standard deviations of the feature; infinite for what is no number."""
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    spread = data.columns.spread
    sizes = np.abs(after - before) / np.where(spread > 0, spread, 1)
    sizes[np.isnan(sizes)] = np.inf  # something missing
    if data.table is not None:
        sizes[~data.table.ordered] = np.inf
    return np.asarray(np.where(same, 0, sizes))


def _read_value(data: Dataset, i: int, number: float) -> Any:
    """Value that a number of a feature stands for, before it was scaled; None if it is missing."""
    schema = data.schema
    if data.scaling is not None:
        number = number * data.scaling.span[i] + data.scaling.low[i]
        schema = None if schema is None else schema.raw
    if schema is None or np.isnan(number):
        return None if np.isnan(number) else float(number)
    return schema.columns[i].read_values(np.array([number]))[0]


def _write_pair(old: Any, new: Any) -> str:
    """Write a change with as many digits as it needs to be seen."""
    for digits in range(6, 18):
        texts = _write_value(old, digits), _write_value(new, digits)
        if texts[0] != texts[1]:
            break
    return f"{texts[0]} → {texts[1]}"


def _write_value(value: Any, digits: int = 6) -> str:
    """Write a value of a cell.

    >>> _write_value(29.853712), _write_value(1234567.8), _write_value(None), _write_value("a")
    ('29.8537', '1234568', 'missing', 'a')
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number | None):
        return str(value)
    number = float("nan" if value is None else value)
    if np.isnan(number):
        return "missing"
    return f"{number:.0f}" if 10**digits <= abs(number) < 1e15 else f"{number:.{digits}g}"

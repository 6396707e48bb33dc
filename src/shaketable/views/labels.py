"""Labels of axes: names in several lines, sizes of noise that do not collide."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

LETTER = 6.8
"""Pixels of a letter of labels, on average."""

_NAME_LETTERS = 22  # of a line of names beside an axis
_COLUMN = 40  # pixels of a column of a matrix, at least


def name_axis(names: Iterable[str], **options: Any) -> alt.Axis:
    """Axis of names beside a chart; long ones are written in several lines, never cut."""
    return alt.Axis(labelExpr=wrap_labels(names, _NAME_LETTERS), **options)


def size_axis(names: Sequence[str] = ()) -> alt.Axis:
    """Axis of a matrix of sizes of noise; `names` are those below it, beside it they need none.

    Names stand side by side if all fit into the narrowest columns, else they are turned. eps_min
    stands apart (`mark_sizes`), and in a second line beside the matrix.
    """
    plain: dict[str, Any] = {"grid": False, "domain": False, "ticks": False, "labelPadding": 6}
    if not names:
        return alt.Axis(**plain, labelExpr="reverse(split(datum.label, ' '))")
    shown = [_split_size(name, len(_list_marked(names)) == 1)[0] for name in names]
    wide = LETTER * max(map(len, shown)) > _COLUMN
    expr = f"({json.dumps(dict(zip(names, shown, strict=True)))})[datum.label] || datum.label"
    return alt.Axis(**plain, labelExpr=expr, labelAngle=-45 if wide else 0)


def mark_sizes(base: alt.Chart, names: Sequence[str]) -> list[alt.Chart]:
    """Return the layer that writes eps_min above its column of a matrix, if it has one alone."""
    if len(marked := _list_marked(names)) != 1:
        return []
    row = alt.Chart(
        {"values": [{"train": marked[0], "text": _split_size(marked[0], apart=True)[1]}]}
    )
    text: alt.Chart = row.mark_text(baseline="bottom", y=-3)
    return [text.encode(x=base.encoding.x, text="text:N")]


def _list_marked(names: Iterable[str]) -> list[str]:
    """Return names of sizes in units of eps_min, such as ``eps_min 0.01``."""
    return [name for name in names if " " in name]


def _split_size(name: str, apart: bool) -> tuple[str, str]:
    mark, _, size = name.rpartition(" ")
    return (size, mark) if apart else (name, "")


def find_height(names: Sequence[str], dots: int) -> int:
    """Return the height of a chart with a row for each name, of one or several lines, and dots.

    >>> find_height(["a", "b"], 2)
    96
    """
    lines = max((len(_wrap_name(name, _NAME_LETTERS)) for name in names), default=1)
    return 20 + len(names) * max(14 + (12 if dots < 10 else 8) * dots, 6 + 14 * lines)


def wrap_labels(names: Iterable[str], letters: int, texts: Iterable[str] = ()) -> Any:
    """Return the expression that writes long names in several lines; undefined without any."""
    names = list(names)
    lines = {n: _wrap_name(t, letters) for n, t in zip(names, texts or names, strict=True)}
    long = {name: parts for name, parts in lines.items() if parts != [name]}
    return f"({json.dumps(long)})[datum.label] || datum.label" if long else alt.Undefined


def _wrap_name(name: str, letters: int) -> list[str]:
    """Break a name after blanks and punctuation, or else where the line is full.

    >>> _wrap_name("wideresnet-28-10(augmix + l2(1))", 22)
    ['wideresnet-28-10', '(augmix + l2(1))']
    """
    parts, lines = re.findall(r"\s*[(]?[^\s,(|*+_-]*[,|*+_-]?", name), [""]
    for part in parts:
        if len(lines[-1]) + len(part) > letters and lines[-1]:
            lines.append("")
        pieces = [part[i : i + letters] for i in range(0, len(part), letters)]
        lines[-1:] = [lines[-1] + "".join(pieces[:1]), *pieces[1:]]
    return [line.strip() for line in lines if line.strip()] or [name]

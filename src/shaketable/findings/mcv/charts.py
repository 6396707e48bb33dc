"""Charts of models over several conditions: the mCV plot, and the effects of factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import altair as alt

from shaketable.findings.mcv.finding import MCVBoard
from shaketable.findings.mcv.variation import Variation, VariationTable
from shaketable.statistics.estimate import Estimate
from shaketable.views import drawing, labels
from shaketable.views.drawing import SHAPES, Chart, Row, make_columns, make_tooltip
from shaketable.views.scatter import Frame, write_names
from shaketable.views.text import to_one_line

_HEIGHT = 420
_Corner: TypeAlias = tuple[Literal["left", "right"], Literal["top", "bottom"]]
_QUADRANTS: dict[str, _Corner] = {
    "I": ("left", "top"),
    "II": ("right", "top"),
    "III": ("left", "bottom"),
    "IV": ("right", "bottom"),
}
_MEANINGS = {
    "I": "better\nand steadier",
    "II": "better,\nless steady",
    "III": "worse,\nsteadier",
    "IV": "worse and\nless steady",
}
_CORNERS = ((100, 38),) * 4  # pixels of these words


def mcv_plot(boards: Sequence[MCVBoard]) -> Chart:
    """Mean accuracy against CV over the sets of a suite: one panel per suite, one point per model.

    Dai & Berleant (2022), Fig. 4. Bars reach from the lowest to the highest accuracy, rings are
    clean accuracies, dashed lines go through the reference; the quadrants are the groups I to IV,
    each with its shape.
    """
    panels = []
    for board in boards:
        spans = {e.label: e.stability.cv for e in board.entries}
        for table in board.table.split():
            panel = _draw_panel(table, score="accuracy, per cent", times=100, spans=spans)
            panels.append(panel.properties(title=_name_panel(board.table, table, board.title)))
    title = "Mean accuracy and its variation"
    if len(boards) == 1:
        title = f"{title}, {boards[0].title}"
    return drawing.stack_panels(
        panels, title=to_one_line(title), otherwise="no model was evaluated under a suite of sets"
    )


def table_plot(table: VariationTable, *, title: str = "Mean score and its variation") -> Chart:
    """Mean score against CV over the conditions of any table; see `mcv_plot`."""
    score = "score, lower is better" if table.lower_is_better else "score"
    panels = [
        _draw_panel(part, score=score, times=1, spans={}).properties(
            title=_name_panel(table, part, "")
        )
        for part in table.split()
    ]
    return drawing.stack_panels(panels, title=to_one_line(title))


def effects_chart(board: MCVBoard) -> Chart:
    """Change of accuracy by every factor and level, one dot per model."""
    rows: list[Row] = [
        {"model": entry.label, "noise": effect.factor, **make_columns(effect.value)}
        for entry in board.entries
        for main in entry.effects.main
        for effect in (main, *main.several_levels)
    ]
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    tips = {"value": "change, points", "low": "95 % interval from", "high": "to"}
    dots = drawing.grouped_dots(
        rows,
        "noise",
        title="change of accuracy, percentage points",
        scale=scale,
        tooltip=make_tooltip(model="model", noise="factor", **tips),
    )
    height = labels.find_height(drawing.list_distinct(rows, "noise"), len(board.results))
    zero = drawing.vertical_rule(0.0, scale=scale)
    panel = alt.layer(zero, *dots).properties(height=height)
    return drawing.stack_panels([panel], title="What every factor costs")


def _name_panel(table: VariationTable, part: VariationTable, title: str) -> str:
    """Return the title of a panel, with its reference if panels have their own."""
    own = "" if table.reference else f"against {to_one_line(part.reference)}"
    return ", ".join(filter(None, (title, own)))


def _draw_panel(
    table: VariationTable, *, score: str, times: float, spans: Mapping[str, Estimate]
) -> Chart:
    """Draw the plot of one table; `spans` are the known intervals of the CV, by label."""
    rows = [_make_row(table, i, times) for i in range(len(table.rows))]
    base = rows[[row.label for row in table.rows].index(table.reference)]
    ends = [r[name] for r in rows for name in ("low", "high", "clean") if r[name] is not None]
    air = 0.06 * (max(ends) - min(ends)) or 0.05 * abs(max(ends)) or 1.0
    for row, model in zip(rows, table.rows, strict=True):
        e = spans.get(model.label)
        limits = (row["cv"], row["cv"]) if e is None else (100 * e.low, 100 * e.high)
        row["cv_low"], row["cv_high"] = limits
    across = _find_range([row[end] for row in rows for end in ("cv_low", "cv_high")])
    up = [min(ends) - air, max(ends) + air]
    up = up[::-1] if table.lower_is_better else up
    frame = Frame(across, up, drawing.WIDTH, _HEIGHT)
    x = alt.Scale(domain=across, nice=False)
    several = len(rows) > 1
    colour, names = write_names(
        [row["model"] for row in rows],
        [(row["cv"], row["mean"], row["model"]) for row in rows],
        frame,
        avoid=[(row["cv"], row["clean"]) for row in rows if row["clean"] is not None],
        corners=_CORNERS if several else (),
    )
    shapes = alt.Scale(domain=list(_QUADRANTS), range=list(SHAPES[: len(_QUADRANTS)]))
    shape = alt.Shape("group:N", title=None, scale=shapes, legend=None)
    tips = make_tooltip(
        model="model",
        group="group",
        cv="CV, %",
        mean=f"mean {score}",
        clean=f"clean {score}",
        low=f"lowest {score}",
        lowest="under",
        high=f"highest {score}",
        highest="under",
    )
    y_title = f"{score} (dot: mean, ring: clean, bar: lowest to highest)"
    lines = ", thin lines: 95 % intervals" if spans else ""
    x_title = f"coefficient of variation, per cent{lines}"
    points = drawing.make_chart(rows).encode(
        x=frame.x("cv", x_title),
        color=colour,
        tooltip=[tip for tip in tips if _is_known(tip, rows)],
    )
    bars = points.mark_rule(strokeWidth=2, opacity=0.55).encode(
        frame.y("low", y_title), alt.Y2("high:Q")
    )
    at_mean = frame.y("mean", y_title)
    means = points.mark_point(filled=True, size=70, opacity=1)
    clean = points.transform_filter("isValid(datum.clean)").mark_point(size=70, strokeWidth=2)
    quadrants = (
        drawing.vertical_rule(base["cv"], "reference", scale=x),
        drawing.horizontal_rule(base["mean"], scale=alt.Scale(domain=up, nice=False)),
        *map(_name_quadrant, _QUADRANTS),
    )
    layers = (
        *(quadrants if several else ()),
        points.mark_rule(strokeWidth=1).encode(
            frame.x("cv_low", x_title), alt.X2("cv_high:Q"), at_mean
        ),
        bars,
        clean.encode(frame.y("clean", y_title), shape),
        *names,
        means.encode(at_mean, shape),
    )
    return alt.layer(*layers).properties(height=_HEIGHT)


def _make_row(table: VariationTable, i: int, times: float) -> Row:
    row = table.rows[i]
    ends = (row.lowest, row.highest) if isinstance(row, Variation) else (None, None)
    return {
        "model": to_one_line(row.label),
        "group": table.groups[row.label],
        "cv": row.cv,
        "mean": times * row.mean,
        "low": times * row.least,
        "high": times * row.most,
        "clean": None if row.clean is None else times * row.clean,
        "lowest": ends[0],
        "highest": ends[1],
    }


def _is_known(tip: alt.Tooltip, rows: Sequence[Row]) -> bool:
    return any(row[str(tip.shorthand).partition(":")[0]] is not None for row in rows)


def _find_range(values: Sequence[float]) -> list[float]:
    """Return a range with room for names on the right, and never below 0."""
    low, high = min(values), max(values)
    width = max(high - low, 0.1 * high, 0.05)
    return [max(0.0, low - 0.08 * width), high + 0.25 * width]


def _name_quadrant(name: str) -> alt.Chart:
    """Write the name of a group and its meaning into its corner of the chart."""
    side, down = _QUADRANTS[name]
    top = down == "top"
    mark = drawing.make_chart([{"text": f"{name}: {_MEANINGS[name]}"}]).mark_text(
        align=side,
        baseline="top",
        dx=6 if side == "left" else -6,
        dy=6 if top else -32,
        fontWeight=600,
        opacity=0.7,
        lineBreak="\n",
    )
    chart: alt.Chart = mark.encode(
        x=alt.value(0 if side == "left" else "width"),
        y=alt.value(0 if top else "height"),
        text="text:N",
    )
    return chart

"""The chart of places: one line per model from notion to notion, the best on top."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from shaketable.views import drawing
from shaketable.views.drawing import COLOURS, SHAPES, Chart, Row, make_tooltip

_ROW = 30  # pixels between two places


def draw_ranks(places: Mapping[str, Mapping[str, float]], families: Mapping[str, str]) -> Chart:
    """Draw places of models by notion; models of a family have one colour and shape.

    >>> chart = draw_ranks({"a": {"m": 1.0, "n": 2.0}, "b": {"m": 2.0, "n": 1.0}}, {"m": "f"})
    >>> type(chart).__name__
    '_LayerChart'
    """
    rows: list[Row] = [
        {"notion": notion, "model": model, "place": place, "family": families.get(model, "others")}
        for notion, ranks in places.items()
        for model, place in ranks.items()
    ]
    notions = [*places]
    shown = [
        each for each in dict.fromkeys(families.values()) if any(r["family"] == each for r in rows)
    ]
    lowest = max(row["place"] for row in rows)
    axis = alt.Axis(labelAngle=-30, grid=False, domain=False, ticks=False, title=None)
    colour = alt.Color(
        "family:N",
        title=None,
        scale=alt.Scale(domain=shown, range=list(COLOURS[: len(shown)])),
        legend=drawing.make_legend(shown),
    )
    base = drawing.make_chart(rows).encode(
        x=alt.X("notion:N", sort=notions, axis=axis, scale=alt.Scale(padding=0.2)),
        y=alt.Y(
            "place:Q",
            title="place, 1 is the best",
            scale=alt.Scale(domain=[lowest + 0.5, 0.5], nice=False),
            axis=alt.Axis(grid=False, tickMinStep=1, tickCount=int(lowest)),
        ),
        color=colour,
        tooltip=make_tooltip(model="model", place="place"),
    )
    shape = alt.Shape(
        "family:N", title=None, scale=alt.Scale(domain=shown, range=list(SHAPES[: len(shown)]))
    )
    ends = {"left": (notions[0], "right", -12), "right": (notions[-1], "left", 12)}
    names = [
        base.transform_filter({"field": "notion", "equal": notion})
        .mark_text(align=align, dx=dx, fontSize=11)
        .encode(text="model:N")
        for notion, align, dx in ends.values()
    ]
    layers = (
        base.mark_line(strokeWidth=1.5, opacity=0.75).encode(detail="model:N"),
        base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape),
        *names,
    )
    panel = alt.layer(*layers).properties(height=_ROW * len(places[notions[0]]))
    return drawing.stack_panels([panel], title="Places of the models by every notion")

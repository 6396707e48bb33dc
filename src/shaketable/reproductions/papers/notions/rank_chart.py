"""The chart of places: one line per model from notion to notion, the best on top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

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
    notions, shown = [*places], drawing.list_distinct(rows, "family")
    lowest = len(places[notions[0]])
    x = alt.X(
        "notion:N",
        sort=notions,
        axis=alt.Axis(labelAngle=-30, grid=False, domain=False, ticks=False, title=None),
        scale=alt.Scale(padding=0.2),
    )
    y = alt.Y(
        "place:Q",
        scale=alt.Scale(domain=[lowest + 0.5, 0.5], nice=False),
        axis=None,  # names are in its place
    )
    colour = alt.Color(
        "family:N",
        title=None,
        scale=alt.Scale(domain=shown, range=list(COLOURS[: len(shown)])),
        legend=drawing.make_legend(shown),
    )
    shape = alt.Shape(
        "family:N", title=None, scale=alt.Scale(domain=shown, range=list(SHAPES[: len(shown)]))
    )
    base = drawing.make_chart(rows).encode(
        x=x, y=y, color=colour, tooltip=make_tooltip(model="model", place="place")
    )
    layers = (
        base.mark_line(strokeWidth=1.5, opacity=0.75).encode(detail="model:N"),
        base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape),
        _write_names(places, notions[0], "right").encode(x=x, y=y),
        _write_names(places, notions[-1], "left").encode(x=x, y=y),
    )
    panel = alt.layer(*layers).properties(height=_ROW * lowest)
    return drawing.stack_panels(
        [panel], title="Places of the models by every notion, the best on top"
    )


def _write_names(
    places: Mapping[str, Mapping[str, float]], notion: str, align: Literal["left", "right"]
) -> alt.Chart:
    """Names of models beside their place by a notion; those that share one, in one line."""
    at: dict[float, list[str]] = {}
    for model, place in places[notion].items():
        at.setdefault(place, []).append(model)
    rows: list[Row] = [
        {"notion": notion, "place": place, "text": ", ".join(models)}
        for place, models in at.items()
    ]
    base = drawing.make_chart(rows).encode(text="text:N")
    names: alt.Chart = base.mark_text(align=align, dx=12 if align == "left" else -12, fontSize=11)
    return names

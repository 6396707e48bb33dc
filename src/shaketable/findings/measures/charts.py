"""Charts of measures beyond accuracy; every number is one of the finding."""

from __future__ import annotations

import altair as alt

from shaketable.findings.measures.finding import MeasuredValue, Measures
from shaketable.findings.measures.numbers import has_interval
from shaketable.views import drawing, labels
from shaketable.views.drawing import Chart, Row, make_tooltip


def draw_measures(found: Measures) -> list[Chart]:
    """One panel per measure: its value on clean points and under corruptions, one dot per model."""
    names = list(dict.fromkeys(name for model in found.models for name in model.names))
    return [panel for name in names if (panel := _draw_panel(found, name)) is not None]


def _draw_panel(found: Measures, name: str) -> Chart | None:
    values = [
        (model.label, model.measure(name, noise, series))
        for model in found.models
        if name in model.names
        for noise, series in (("clean", model.clean), *model.chosen)
    ]
    rows = [_make_row(label, value) for label, value in values if value.value is not None]
    if not rows:
        return None
    measure = values[0][1].measure
    dots = drawing.grouped_dots(
        rows,
        "noise",
        title="per cent" if measure.is_share else "",  # the panel has the name
        scale=alt.Scale(
            domain=drawing.find_domain(rows, at_most=values[0][1].scale * measure.most)
        ),
        tooltip=make_tooltip(
            model="model", noise="noise", value=measure.title, low="95 % interval from", high="to"
        ),
        legend=False,
    )
    height = labels.find_height(drawing.list_distinct(rows, "noise"), len(found.models))
    title = values[0][1].title
    return drawing.finish_chart(alt.layer(*dots).properties(height=height, title=title))


def _make_row(label: str, value: MeasuredValue) -> Row:
    e, scale = value.value, value.scale
    assert e is not None
    ends = (e.low, e.high) if has_interval(e) else (e.value, e.value)
    return {
        "model": label,
        "noise": value.noise,
        "value": scale * e.value,
        "low": scale * ends[0],
        "high": scale * ends[1],
    }

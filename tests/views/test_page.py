"""Figures of pages: one per panel of a chart, each with its own data."""

import altair as alt
import pytest

from shaketable.views import drawing, page
from shaketable.views.blocks import Chart


def make_panel(rows, title):
    return drawing.make_chart(rows).mark_point().encode(x="x:Q", y="y:Q").properties(title=title)


def split(charts, **options):
    def draw():
        return drawing.compose_figure(charts, finding="It is open.", about="Dots.")

    return list(page._make_figures(Chart(draw, "caption", **options)))


@pytest.mark.parametrize("count", [1, 2])
def test_every_panel_has_the_data_that_it_shows(count):
    rows = [[{"x": i, "y": 2 * i}] for i in range(count)]
    figures = split([make_panel(own, f"panel {i}") for i, own in enumerate(rows)])
    assert [figure.title for figure in figures] == [f"It is open: panel {i}" for i in range(count)]
    for figure, own in zip(figures, rows, strict=True):
        spec = figure.spec
        layers = spec.get("layer", [spec])
        names = {layer.get("data", spec.get("data"))["name"] for layer in layers}
        assert [spec["datasets"][name] for name in names] == [own]


def test_panels_that_share_their_data_have_it_each():
    rows = [{"x": 1, "y": 2}]
    figures = split([make_panel(rows, "a"), make_panel(rows, "b")])
    for figure in figures:
        alt.Chart.from_dict({"mark": "point", **figure.spec})
        assert list(figure.spec["datasets"].values()) == [rows]


def test_a_figure_of_its_own_size_keeps_its_width():
    panel = make_panel([{"x": 1, "y": 2}], "square").properties(width=150, height=150)
    (wide,), (square,) = split([panel]), split([panel], own_size=True)
    assert (wide.spec["width"], square.spec["width"]) == ("container", 150)

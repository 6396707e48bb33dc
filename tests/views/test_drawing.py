"""Charts are saved in every format, and in no other."""

import json
import re
from pathlib import Path

import pytest

from helpers.pages import check_policy, read_page
from shaketable.core.errors import InputError
from shaketable.views import drawing, page
from shaketable.views.blocks import Chart, Heading


def test_charts_are_saved_in_every_format(tmp_path: Path) -> None:
    chart = drawing.stack_panels([drawing.horizontal_rule(0)], title="A line")
    begins = {"svg": b"<svg", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF", "json": b"{"}
    for ending, start in begins.items():
        path = drawing.save_chart(chart, tmp_path / f"chart.{ending}")
        assert path.read_bytes().startswith(start)
    assert json.loads((tmp_path / "chart.json").read_text())["title"] == chart.to_dict()["title"]
    assert {f".{ending}" for ending in [*begins, "html"]} == set(drawing.FORMATS)
    width = int.from_bytes((tmp_path / "chart.png").read_bytes()[16:20], "big")
    drawn_width = re.search(r'<svg [^>]*?width="(\d+)', (tmp_path / "chart.svg").read_text())
    assert drawn_width is not None
    assert width == 2 * int(drawn_width[1]), "twice as many pixels, for sharp screens"
    page = drawing.save_chart(chart, tmp_path / "CHART.HTML").read_text()
    assert "vegaEmbed" in page
    assert 'src="http' not in page


def test_names_in_a_page_cannot_end_its_script(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><!--\u2028"
    chart = drawing.make_chart([{"at": 0, "model": name}]).mark_point()
    chart = chart.encode(x="at:Q", color=drawing.model_colour([name]))
    path = drawing.save_chart(drawing.stack_panels([chart], title=name), tmp_path / "m.html")
    page = path.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    outline = read_page(path)
    assert outline.count("script") == page.count("</script") == 3, "libraries and the chart"
    shown = name.replace("\u2028", r"\u2028")
    assert [spec["title"] for spec in outline.specs] == [shown], (
        "the very name, with what does not show written out"
    )


def test_a_page_may_run_its_own_scripts_alone(tmp_path: Path) -> None:
    check_policy(drawing.save_chart(drawing.horizontal_rule(0), tmp_path / "m.html"))
    check_policy(page.write_blocks(tmp_path / "r.html", [], title="", lead=""))


def test_a_chart_cannot_be_saved_as_anything_else(tmp_path: Path) -> None:
    chart = drawing.stack_panels([drawing.horizontal_rule(0)], title="A line")
    with pytest.raises(InputError, match=r"\.html, \.json, \.pdf, \.png, \.svg, got .*chart\.gif"):
        drawing.save_chart(chart, tmp_path / "chart.gif")
    for ending in ("svg", "html"):
        with pytest.raises(InputError, match="name another file"):
            drawing.save_chart(chart, tmp_path / "nowhere" / f"chart.{ending}")


def test_axes_have_a_margin_and_keep_their_limits():
    rows = [{"low": 2.0, "high": 3.0}, {"low": 2.5, "high": 4.0}]
    assert drawing.find_domain(rows) == pytest.approx([1.88, 4.12])
    assert drawing.find_domain(rows, 0.0, at_most=4.1) == pytest.approx([-0.24, 4.1])
    assert drawing.find_domain([{"low": 1.0, "high": 1.0}]) == pytest.approx([0.95, 1.05])


def test_nothing_to_draw_is_an_error():
    for arrange in (drawing.stack_panels, lambda p, **o: drawing.arrange_panels(p, columns=2, **o)):
        with pytest.raises(InputError, match="nothing to draw: no model"):
            arrange([], title="empty", otherwise="no model")


def test_bars_reach_from_the_lower_to_the_upper_end():
    rows = [{"at": 1, "value": 2.0, "low": 1.5, "high": 3.0}]
    scale = drawing.alt.Scale(domain=[0, 4])
    for draw, axis in ((drawing.line_with_bars, "y"), (drawing.dots_with_bars, "x")):
        bars, *marks = (
            chart.to_dict()["encoding"]
            for chart in draw(drawing.make_chart(rows), title="value", scale=scale)
        )
        assert (bars[axis]["field"], bars[f"{axis}2"]["field"]) == ("low", "high")
        assert [mark[axis]["field"] for mark in marks] == ["value"] * len(marks)


def test_figures_of_a_page_are_numbered(tmp_path: Path) -> None:
    panels = [drawing.vertical_rule(at, "here") for at in (1.0, 2.0)]
    charts = [drawing.stack_panels([panel], title="A line") for panel in panels]
    blocks = [Heading("Lines", "lines"), *(Chart(lambda c=c: c, "") for c in charts)]  # type: ignore[misc]
    path = page.write_blocks(tmp_path / "p.html", blocks, title="", lead="")
    assert re.findall(r'<figure id="([^"]+)"', path.read_text("utf-8")) == ["figure-1", "figure-2"]


def test_a_figure_says_what_it_shows_to_those_who_cannot_see_it(tmp_path: Path) -> None:
    panel = drawing.horizontal_rule(0).properties(title="a  Line")
    chart = drawing.compose_figure([panel], finding="a < b.", about="Lines: models.")
    svg = drawing.save_chart(chart, tmp_path / "f.svg").read_text(encoding="utf-8")
    assert 'role="img"><title>a &lt; b. Lines: models.</title>' in svg
    shown = chart._repr_html_()
    assert shown.startswith('<img alt="a &lt; b. Lines: models." src="data:image/svg+xml')

"""Charts are saved in every format, and in no other."""

import json
import re
from pathlib import Path

import pytest

from helpers.drawn import WIDTHS, draw_block
from helpers.pages import check_policy, read_page
from shaketable.core.errors import InputError
from shaketable.views import drawing, labels, page
from shaketable.views.blocks import Chart, Heading
from shaketable.views.describing import describe


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


NARROW = [{"value": v, "low": v - 1.0, "high": v + 1.0} for v in (90.0, 92.0, 94.0)]
WIDE = {"value": 93.0, "low": 20.0, "high": 99.0}


def draw_rows(rows: list[dict[str, object]]) -> drawing.Chart:
    rows = [row | {"model": f"net {i}", "noise": "n"} for i, row in enumerate(rows)]
    scale = drawing.alt.Scale(domain=drawing.find_domain(rows, at_most=100))
    dots = drawing.grouped_dots(rows, "noise", title="accuracy", scale=scale, tooltip=[])
    return drawing.stack_panels([drawing.alt.layer(*dots)], title="Models")


def test_one_wide_interval_does_not_stretch_the_axis_and_an_arrow_says_that_it_goes_on() -> None:
    for rows, arrows in (([*NARROW, WIDE], 2), (NARROW, 0)):
        spec = draw_rows(rows).to_dict()
        points = [layer for layer in spec["layer"] if layer["mark"]["type"] == "point"]
        assert [p["mark"]["shape"] for p in points if "shape" in p["mark"]] == [
            "triangle-left",
            "triangle-right",
        ][:arrows]
        titles = {layer["encoding"]["x"].get("title") for layer in spec["layer"]}
        assert titles == {"accuracy (arrows: intervals go on)" if arrows else "accuracy"}
        low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        assert low > 88
        assert high < 98
        for point in (p for p in points if "shape" in p["mark"]):
            limit = float(point["transform"][0]["filter"].split()[-1])
            assert point["encoding"]["x"]["datum"] == limit
            assert limit in (low, high)
    similar = [{"value": v, "low": v - 9.0, "high": v + 9.0} for v in (50.0, 60.0)]
    assert drawing.find_domain(similar)[0] < 41, "all are whole where all are about as wide"


def test_a_model_has_one_colour_and_shape_on_a_page(tmp_path: Path) -> None:
    def draw(*names: str) -> drawing.Chart:
        rows = [NARROW[0] | {"model": name, "noise": "n"} for name in names]
        scale = drawing.alt.Scale(domain=[0, 100])
        dots = drawing.grouped_dots(rows, "noise", title="a", scale=scale, tooltip=[])
        return drawing.stack_panels([drawing.alt.layer(*dots)], title="Models")

    groups = [["b", "a"], ["a", "c"], [f"net {i}" for i in range(12)], ["c", "net 11", "b"]]
    charts = [Chart(lambda names=names: draw(*names), "") for names in groups]  # type: ignore[misc]
    legend = Chart(lambda: [draw("c")], "", "Small", ("c", "b"))
    path = page.write_blocks(
        tmp_path / "p.html", [Heading("", "p"), *charts, legend], title="", lead=""
    )
    outline = read_page(path)
    looks: dict[str, set[tuple[str, str]]] = {}
    for spec in outline.specs:
        encoding = spec["layer"][-1]["encoding"]
        colour, shape = encoding["color"]["scale"], encoding["shape"]["scale"]
        assert colour["domain"] == shape["domain"]
        for name, *look in zip(colour["domain"], colour["range"], shape["range"], strict=True):
            looks.setdefault(name, set()).add(tuple(look))
    assert all(len(look) == 1 for look in looks.values()), "one look per model"
    assert len({next(iter(look)) for look in looks.values()}) == len(looks) == 15, "and its own"
    assert looks["b"] == {("var(--c1)", "circle")}
    assert looks["c"] == {("var(--c3)", "triangle-up")}
    alone = draw("c").to_dict()["layer"][-1]["encoding"]["color"]["scale"]
    assert alone["range"] == [drawing.COLOURS[0]], "a chart outside a page begins anew"


@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_are_whole_and_apart(width: int) -> None:
    names = [f"wideresnet-28-10 of the second laboratory (augmix + l2({i}.5))" for i in range(5)]
    rows = [NARROW[0] | {"model": n, "noise": f"{n}, blurred"} for n in names]
    scale = drawing.alt.Scale(domain=[0, 100])
    dots = drawing.grouped_dots(rows, "noise", title="a", scale=scale, tooltip=[])
    chart = drawing.stack_panels([drawing.alt.layer(*dots).properties(height=500)], title="M")
    (scene,) = draw_block(Chart(lambda: chart, ""), width)
    for role, wanted in (
        ("legend-label", names),
        ("axis-label", [f"{name}, blurred" for name in names]),
    ):
        shown = "".join(t.text for t in scene.texts if t.role == role).replace(" ", "")
        for name in wanted:
            assert name.replace(" ", "") in shown
    assert (scene.find_overlaps(), scene.find_cut()) == ([], [])


def test_rows_have_room_for_all_lines_of_a_name() -> None:
    one, two = (labels.find_height([name], 1) for name in ("rf", "wideresnet-28-10(augmix + l2)"))
    assert two - one == 8
    assert "".join(labels._wrap_name("x" * 50, 22)) == "x" * 50


def test_words_at_close_values_of_eps_min_do_not_collide() -> None:
    marks = drawing.mark_eps_min([0.1, 0.11, 0.5], among=[0.0, 1.0])
    texts = [list(mark.to_dict()["datasets"].values())[0][0] for mark in marks]  # noqa: RUF015
    assert [(row["at"], row["text"]) for row in texts] == [
        (0.1, "eps_min"),
        (0.11, ""),
        (0.5, "eps_min"),
    ]


@pytest.mark.parametrize(("at", "align"), [(0.0, "left"), (0.5, "center"), (1.0, "right")])
def test_the_text_of_a_line_at_the_end_of_an_axis_is_not_cut(at: float, align: str) -> None:
    rule = drawing.vertical_rule(at, "eps_min", among=[0.0, 1.0]).to_dict()
    assert rule["layer"][1]["mark"]["align"] == align


def test_charts_say_what_they_show_with_their_numbers(tmp_path: Path) -> None:
    chart = draw_rows([*NARROW, WIDE])
    wanted = "Models. accuracy (arrows: intervals go on): net 0 90, net 1 92, net 2 94, net 3 93."
    drawing.save_chart(chart, tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["description"] == wanted
    path = page.write_blocks(
        tmp_path / "p.html", [Heading("", "p"), Chart(lambda: chart, "")], title="", lead=""
    )
    assert read_page(path).specs[0]["description"] == wanted
    many = draw_rows([{"value": v, "low": v, "high": v} for v in range(9)]).to_dict()
    assert describe(many) == "Models. accuracy: 9 models, from 0 (net 0) to 8 (net 8)."

"""Blocks: stated once, shown by every view."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import altair as alt
import pytest

from helpers.pages import read_page
from shaketable.statistics.estimate import Estimate
from shaketable.views import page
from shaketable.views.blocks import (
    Bar,
    Block,
    Card,
    Cards,
    Chart,
    Column,
    Definition,
    Entry,
    Facts,
    Heading,
    Images,
    Picture,
    Sentence,
    Table,
    collect_methods,
    format_cell,
    order_sections,
    split_cell,
)
from shaketable.views.drawing import Chart as Drawn
from shaketable.views.drawing import make_chart, stack_panels
from shaketable.views.formats import Html, Latex, Markdown
from shaketable.views.terminal import print_blocks, render

E = Estimate(-0.056, -0.125, 0.001, 0.95, "by hand")
COLUMNS = (
    Column("model"),
    Column("accuracy", "rate"),
    Column("no value"),
    Column("difference", "points"),
    Column("wrong answer", "bound"),
    Column("n", "count"),
)
ROWS = [
    ["rf", E, None, Entry(E, "paired", shown=True), E, 1200],
    ["1nn", None, "", None, 0.25, 3],
    ["svm", 0.5, None, -0.00001, None, 7],
]
TABLE = Table("all models", COLUMNS, ROWS, limit=2, marked=[0], shown="it is shown", what="models")


def write(tmp_path, *blocks: Block) -> str:
    path = page.write_blocks(
        tmp_path / "p.html",
        [Heading("First", "first", "First"), *blocks],
        title="T",
        lead="L",
        notes=["a note"],
    )
    return path.read_text()


def test_a_table_has_the_same_numbers_in_every_view(tmp_path, capsys):
    print_blocks([TABLE])
    texts = [capsys.readouterr().out, write(tmp_path, TABLE)]
    texts += [render(lambda: print_blocks([TABLE]), f) for f in (Markdown(), Latex(), Html())]
    for text in texts:
        plain = text.replace("$-$", "-")
        for number in ("5.60", "-12.50", "0.10", "1,200", "25.00"):
            assert number in plain
        assert "no value" not in text  # no row has a value
        assert "svm" not in text
        assert "1 more models are left out" in text
        assert "it is shown" in text
        assert "paired" in text


def test_a_data_frame_has_every_number_of_all_rows_with_its_interval():
    frame = TABLE.to_frame()
    assert list(frame["row"].unique()) == ["rf", "1nn", "svm"]
    entries = frame.set_index(["row", "column"])
    ends = ["value", "low", "high", "method", "note"]
    assert entries.loc[("rf", "difference"), ends].tolist() == [
        -0.056,
        -0.125,
        0.001,
        "by hand",
        "paired",
    ]
    assert entries.loc[("rf", "wrong answer"), "high"] == 0.001
    assert math.isnan(entries.loc[("rf", "wrong answer"), "low"])  # its bound has one side
    assert entries.loc[("svm", "n"), "value"] == 7
    assert len(frame) == 4 + 2 + 3
    assert set(frame["table"]) == {"all models"}


def test_terminals_leave_details_charts_and_images_out(capsys):
    def draw() -> alt.Chart:
        raise AssertionError("the terminal draws nothing")

    print_blocks(
        [
            Heading("Section", "place", "Contents"),
            Heading("Part"),
            Sentence("what it says", about="rf"),
            Sentence("only on pages", level="detail"),
            Chart(draw, "caption"),
            Images([Picture("data:,", "an image")]),
            Definition("a = b"),
            Facts([("norm", "L2")], level="summary"),
            Cards([Card("rf", E, "MSCR", "change", ["it loses"], ["an aside"])]),
            Cards([Card("1nn", None, "MSCR")]),
        ]
    )
    assert capsys.readouterr().out.split("\n") == [
        "",
        "Part",
        "rf: what it says",
        "norm  L2",
        "rf: MSCR -5.60% (95 % interval -12.50% to +0.10%)",
        "  it loses",
        "  an aside",
        "1nn: no MSCR",
        "",
    ]


def test_a_page_has_headline_notes_sections_and_methods_in_this_order(tmp_path):
    text = write(
        tmp_path,
        Sentence("first of all", level="headline"),
        Sentence("a detail", level="detail"),
        Heading("Again", "first", "Again"),
        Cards([Card("rf", E, "MSCR", "change")]),
        Heading("How it was made", "method", "Method"),
        Definition("x_{i} < 1", "a source"),
    )
    parts = [
        "First of all.",
        "a note",
        'id="first"',
        "A detail.",
        'id="first-2"',
        "MSCR",
        'id="method"',
    ]
    places = [text.index(part) for part in [*parts, 'id="method"']]
    assert places == sorted(places)
    assert "x<sub>i</sub> &lt; 1" in text
    method = text[text.index('id="method"') :]
    assert "<dt>MSCR</dt><dd>by hand</dd>" in method
    assert re.findall('<a href="#(.*?)">', text) == ["first", "first-2", "method"]


@pytest.mark.parametrize(("rows", "folded"), [(10, False), (11, True)])
def test_long_tables_of_details_are_folded(tmp_path, rows, folded):
    table = Table("t", [Column("a")], [[str(i)] for i in range(rows)], level="detail")
    assert ("<details " in write(tmp_path, table)) is folded


def test_marks_heat_pictures_and_hostile_names_on_a_page(tmp_path):
    rows = [
        ["<b>", Entry(0.5, heat=0.25), Picture("data:,x", "a <dog>", "note")],
        ["c", Entry(0.1, shown=True), None],
    ]
    columns = [Column("a"), Column("<i>", "rate", quantity="accuracy"), Column("image")]
    text = write(tmp_path, Table("t", columns, rows, marked=[1], shown="s"))
    assert '<td class="heat heat-5">50.00%</td>' in text
    assert '<td class="shown">10.00%</td>' in text
    assert text.count('<tr class="mark">') == 1
    assert '<img src="data:,x" alt="a &lt;dog&gt;">note' in text
    assert "<b>" not in text
    assert "<i>" not in text


def test_charts_of_a_page_are_numbered_and_panels_have_one_legend(tmp_path):
    def draw(title: str) -> Callable[[], Drawn]:
        points = make_chart([{"x": 1}]).mark_point()
        return lambda: stack_panels([alt.layer(points)], title=title)

    panels = Chart(lambda: [draw("p")(), draw("q")()], "what to see", "Panels", ["rf", "1nn"])
    text = write(tmp_path, Chart(draw("one"), "caption"), panels)
    assert re.findall('<figure id="(.*?)"', text) == ["figure-1", "figure-2", "figure-3"]
    assert text.count("what to see") == 1
    assert re.findall(r'<li class="c(\d)">(.*?)<', text) == [("1", "rf"), ("2", "1nn")]


def test_methods_are_collected_by_quantity():
    table = Table("t", [Column("rf", "rate", quantity="accuracy")], [[E], [Entry(E)], [None]])
    assert collect_methods([table, Sentence("no number")]) == {"accuracy": ["by hand"]}


def test_sections_stand_in_the_order_of_their_places():
    first = [Sentence("0"), Heading("b", "b"), Sentence("1"), Heading("?", "?")]
    second = [Sentence("3"), Heading("a", "a"), Sentence("2")]
    ordered = order_sections([first, second], ("a", "...", "b"))
    assert [b.text if isinstance(b, Sentence) else b.place for b in ordered] == [
        "0", "3", "a", "2", "?", "b", "1",
    ]  # fmt: skip


def test_words_in_place_of_a_share_have_no_unit() -> None:
    for kind in ("rate", "change", "bound"):
        assert split_cell("undefined", Column("accuracy", kind)) == ("undefined", [])


def test_text_stands_for_images_where_they_are_not_shown() -> None:
    shown = Entry(Picture("data:,x", "a dog", "class dog"), "row 3")
    assert format_cell(shown, Column("point")) == "class dog (row 3)"
    assert split_cell(shown, Column("point")) == ("class dog", ["row 3"])


def test_a_page_without_charts_has_no_library(tmp_path: Path) -> None:
    images = Images([Picture("data:,x", "a dog", "dog")], beneath="data:,y")
    page.write_blocks(tmp_path / "p.html", [Heading("", "images"), images], title="", lead="")
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert text.count("<script") == 1
    assert len(text) < 50_000
    beneath = re.findall(r'\.(beneath-\w+) \.frame { background-image: url\("data:,y"\); }', text)
    assert f'class="panels images has-beneath {beneath[0]}"' in text


def test_badges_bars_and_links_on_a_page(tmp_path: Path) -> None:
    bar = Bar(0.5, 0.25, 2.0, start=0.0, end=1.0, mark=0.75)
    entry = Entry("loses accuracy", tone="lost", bar=bar, place="features")
    text = write(tmp_path, Table("t", [Column("model")], [[entry], ["rf"]]))
    assert '<a href="#features"><span class="badge is-lost">loses accuracy</span></a><svg' in text
    drawn = re.findall(r'<line class="(\w+)" x1="([\d.]+)" x2="([\d.]+)"', text)
    assert drawn == [("zero", "75.0", "75.0"), ("span", "25.0", "100.0")], "ends at the scale's"
    assert '<rect class="at" x="49.0"' in text
    assert text.count("<svg") == 1


def test_numbers_of_charts_are_written_with_seven_digits(tmp_path: Path) -> None:
    value = 100 / 3
    chart = make_chart([{"x": value, "n": 12_345_678, "model": "rf"}]).mark_point().encode(x="x:Q")
    drawn = Chart(lambda: stack_panels([alt.layer(chart)], title="one"), "caption")
    path = page.write_blocks(tmp_path / "p.html", [Heading("a", "a"), drawn], title="", lead="")
    (spec,) = read_page(path).specs
    assert [*spec["datasets"].values()] == [[{"x": 33.33333, "n": 12_345_678, "model": "rf"}]]

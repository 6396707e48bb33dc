"""Pages of the reproductions: current, one per name, with the numbers that were measured."""

import json
import re

import make_reproductions
import pytest
from make_reproductions import FIGURE, FOLDER, LINES, make_pages, show_table, take_results

import shaketable as st
from shaketable.reproductions.claims import Close, Order
from shaketable.reproductions.listing import load_measured
from shaketable.reproductions.registry import PAPERS, REPRODUCTIONS

PAGES = make_pages()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Pages and results of their own."""
    monkeypatch.setattr(make_reproductions, "FOLDER", tmp_path / "pages")
    monkeypatch.setattr(make_reproductions, "MEASURED", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [*PAGES])
def test_pages_are_current(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], (
        "run python docs/make_reproductions.py"
    )


@pytest.mark.parametrize("name", [*PAGES])
def test_pages_are_short(name):
    assert len(PAGES[name].splitlines()) <= LINES


def test_there_is_a_page_for_every_name_and_no_other():
    assert {path.name for path in FOLDER.glob("*.md")} == PAGES.keys()
    assert PAGES.keys() == {"index.md", *(f"{name}.md" for name in REPRODUCTIONS)}


@pytest.mark.parametrize("name", [*REPRODUCTIONS])
def test_the_index_lists_a_name_under_its_paper(name):
    paper = PAPERS[name.partition("-")[0]]
    section = PAGES["index.md"].partition(f"## {paper[0].upper()}{paper[1:]}\n")[2]
    assert f"| [{name}]({name}.md) |" in section.partition("\n## ")[0]


@pytest.mark.parametrize(("name", "form"), [*load_measured()])
def test_a_page_has_the_claims_and_verdicts_that_were_measured(name, form):
    section = PAGES[f"{name}.md"].partition(f"## {form.capitalize()} form\n")[2]
    rows = [line.split(" | ") for line in section.partition("\n## ")[0].splitlines()]
    verdicts = [row[1] for row in rows if len(row) == 3]
    found = load_measured()[name, form]
    expected = [claim["verdict"] for claim in found["claims"]]
    assert [v for v in verdicts if v in ("holds", "fails", "inconclusive")] == expected


def test_every_figure_is_small_and_shown():
    figures = {path.name: path for path in (FOLDER / "images").glob("*")}
    shown = {name for page in PAGES.values() for name in re.findall(r"\]\(images/(.*?)\)", page)}
    assert shown == figures.keys()
    assert all(path.stat().st_size <= FIGURE for path in figures.values())


def test_new_results_are_taken_with_their_figures(elsewhere, capsys):
    found = elsewhere / "found"
    st.reproduce("pnorm-table6", out=found)
    st.reproduce("pnorm-table6", out=found, seed=1)
    (found / "strange.json").write_text("{}")
    make_reproductions.main([str(found)])
    taken = json.loads((elsewhere / "pnorm-table6.full.json").read_text())
    assert taken == json.loads((found / "pnorm-table6.full.json").read_text())
    assert {path.name for path in (elsewhere / "pages").glob("*.md")} == PAGES.keys()
    image = elsewhere / "pages" / "images" / "pnorm-table6.full.svg"
    assert image.exists() == ((found / "pnorm-table6.full.svg").stat().st_size <= FIGURE)
    left = capsys.readouterr().out.splitlines()
    assert left[0] == "pnorm-table6.full.seed1.json: not of the default choices"
    assert left[1].startswith("strange.json: not what this version")


def test_large_figures_are_left_out(elsewhere, monkeypatch):
    monkeypatch.setattr(make_reproductions, "FIGURE", 10)
    found = elsewhere / "found"
    st.reproduce("pnorm-table6", out=found)
    assert take_results(found) == ["pnorm-table6.full.svg: larger than 0 kB"]
    assert not [*(elsewhere / "pages" / "images").iterdir()]


def test_pages_of_names_that_are_gone_are_removed(elsewhere):
    (elsewhere / "pages").mkdir()
    (elsewhere / "pages" / "gone.md").write_text("a name that is gone")
    make_reproductions.main()
    assert {path.name for path in (elsewhere / "pages").glob("*.md")} == PAGES.keys()


def make_number(row, ours, printed=None, column=""):
    return {
        "row": row,
        "column": column,
        "ours": ours,
        "low": None,
        "high": None,
        "printed": printed,
        "z": None,
        "note": "",
    }


def test_long_tables_are_cut_to_what_claims_are_about():
    numbers = [make_number(f"r{i}", float(i), i + 0.5) for i in range(9)]
    table = {"key": "t", "title": "T", "unit": "", "digits": 1, "corner": "row", "against": "law"}
    claims = [Close("close", "t: r7"), Order("order", ["t: r5", "t: r8", "t: r99"])]
    lines = [*show_table({**table, "numbers": numbers}, claims, rows=4)]
    assert lines == [
        "",
        "**T** (6 more rows)",
        "",
        "| row | ours | law |",
        "|---|---|---|",
        "| r5 | 5.0 | 5.5 |",
        "| r7 | 7.0 | 7.5 |",
        "| r8 | 8.0 | 8.5 |",
    ]
    assert len([*show_table({**table, "numbers": numbers}, claims, rows=9)]) == 14
    assert not [*show_table({**table, "numbers": numbers}, claims, rows=0)]


def test_a_table_with_columns_is_a_matrix_of_ours_and_print():
    numbers = [make_number("a", 1.0, 1.25, "x"), make_number("b", 2.0, column="y")]
    table = {"key": "t", "title": "T", "unit": "%", "digits": 2, "numbers": numbers}
    table["against"] = "print"
    assert [*show_table(table, [], rows=5)][1:] == [
        "**T, %**",
        "",
        "| ours (print) | x | y |",
        "|---|---|---|",
        "| a | 1.00 (1.25) |  |",
        "| b |  | 2.00 |",
    ]

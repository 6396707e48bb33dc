"""Results show themselves in notebooks: the numbers of the terminal, with every name escaped."""

import base64
import re
from html import unescape

import pytest

import shaketable as st
from helpers.records import draw_hits, make_records
from shaketable.findings.results import find
from shaketable.views import drawing

HOSTILE = "<script>alert('1')</script>"
SETS = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)", "rotation(30) + sp(0.1)")


@pytest.fixture(scope="module")
def assessment():
    data = st.make_dataset([[0.0], [0.1], [0.9], [1.0]] * 5, [HOSTILE, HOSTILE, "b", "b"] * 5)
    rows = data.x, data.labels
    return st.assess(lambda x: [HOSTILE if v < 0.5 else "b" for v in x[:, 0]], rows, rows)


def numbers(text):
    return re.findall(r"\d+\.\d+", text)


def results():
    cells = make_records(draw_hits(0, SETS), k=4, model="a")
    cells += make_records(draw_hits(1, SETS), k=4, model="b")
    return find(cells)


def everything(assessment):
    found = results()
    yield from (assessment, assessment.data, assessment.records, assessment.results, found)
    yield from assessment.results.findings.values()
    yield from found.findings.values()


def test_results_have_the_numbers_of_the_terminal_and_no_markup_of_names(assessment, capsys):
    kinds = set()
    for thing in everything(assessment):
        html = thing._repr_html_()
        kinds.add(type(thing).__name__)
        if hasattr(thing, "print"):
            thing.print()
            printed = capsys.readouterr()
            assert numbers(html) == numbers(printed.out + printed.err)
        tags = set(re.findall(r"<(\w+)", html))
        assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "p"}, tags
    assert kinds > {"Dataset", "Records", "Assessment", "Results", "Robustness", "SetVariation"}
    assert "&lt;script&gt;" in assessment.data._repr_html_()


def test_assessments_and_data_are_tables_of_facts(assessment):
    assert numbers(assessment._repr_html_()) == numbers(str(assessment))
    html = assessment.data._repr_html_()
    assert "40 (20 training, 20 test)" in html
    assert "b (20)" in html


def test_many_cells_are_cut(capsys):
    records = make_records({"clean": [1, 0], **{f"sp({i})": [1, 1] for i in range(30)}})
    html = records._repr_html_()
    assert html.count("<tr>") == 21
    assert "11 more cells" in html


@pytest.mark.parametrize("panels", [1, 2])
def test_a_chart_is_an_image_without_scripts(panels):
    chart = drawing.stack_panels([drawing.horizontal_rule(0)] * panels, title=HOSTILE)
    html = chart._repr_mimebundle_()["text/html"]
    image = re.fullmatch(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([\w+/=]+)">', html)
    assert image is not None
    assert unescape(image[1]) == HOSTILE + "."
    svg = base64.b64decode(image[2]).decode()
    assert svg.startswith("<svg")
    assert "<script" not in svg


def test_every_chart_of_a_finding_is_an_image():
    plot = results().findings["mcv"].plot()
    assert plot._repr_html_().startswith("<img ")
    grid = drawing.arrange_panels([drawing.horizontal_rule(0)], title="grid", columns=1)
    assert grid._repr_html_().startswith("<img ")


def test_reprs_are_short(assessment):
    # notebooks keep them beside the HTML
    for thing in [*assessment.results.findings.values(), *results().findings.values()]:
        assert len(repr(thing)) < 100, type(thing)
    assert repr(assessment.records).startswith("<Records: 2 cells")


def test_galleries_are_images_with_their_names():
    shown = st.gallery([[[0.5, 0.1], [0.2, 1.0]]], ["linf(0.1)"])._repr_html_()
    assert shown.count('src="data:image/png;base64,') == 2
    assert re.findall(r"<figcaption[^>]*>(.*?)<", shown) == ["original", "linf(0.1)"]

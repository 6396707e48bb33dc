"""Tables in Markdown, LaTeX and HTML hold the text of the terminal, whatever names there are."""

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from shaketable.cli.main import main
from shaketable.views.formats import TABLE_FORMATS, Html, Latex, Markdown
from shaketable.views.terminal import (
    print_lines,
    print_list,
    print_notes,
    print_table,
    render,
    write_as,
)

HOSTILE = [
    "a|b",
    "*bold* _it_ `code`",
    "<script>alert(1)</script>",
    "[link](javascript:1)",
    "$x$ ~~gone~~",
    "back\\slash \\| and &amp;",
    "100 %, a_b #1 {x} ^",
    "\x1b[2J\nnext",
]
HEADER = ["model", "error, %", "about"]
ROWS = [[name, "-1.00 [-2.00, +0.00] *", name] for name in HOSTILE]


class Cells(HTMLParser):
    """Texts of all table cells and paragraphs, and the tags that were met."""

    def __init__(self):
        super().__init__()
        self.texts, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th", "p"):
            self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


def read_html(text):
    parser = Cells()
    parser.feed(text)
    return [t.strip() for t in parser.texts], parser.tags


def visible(text):
    return text.replace("\x1b", "\\x1b").replace("\n", "\\n")


@pytest.mark.parametrize("format_", ["markdown", "html"])
def test_no_name_becomes_markup(format_):
    if format_ == "html":
        html = render(lambda: print_table(HOSTILE[2], HEADER, ROWS), Html())
    else:
        text = render(lambda: print_table(HOSTILE[2], HEADER, ROWS), Markdown())
        html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    texts, tags = read_html(html)
    cells = [HOSTILE[2], *HEADER, *(visible(cell) for row in ROWS for cell in row)]
    assert texts == cells
    assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "p"}


@pytest.mark.parametrize("line", [*HOSTILE, "# title", "- item", "1. first", "> quote", "[a]: b"])
def test_a_line_is_a_paragraph_in_markdown(line):
    text = render(lambda: print_lines(line), Markdown())
    assert read_html(MarkdownIt("commonmark").render(text)) == ([visible(line)], {"p"})


def test_latex_is_escaped():
    rows = [["[a] 5 % & b_c", "-1.50 [-2.00, 0.10]"], ["* best", "1 *"], ["x\\y{z}~^<|>$#", "–"]]
    text = render(lambda: print_table("90 % of a_b", ["model", "error, %"], rows), Latex())
    assert r"\caption{90 \% of a\_b}" in text
    assert r"\begin{tabular}{lr}" in text
    assert r"{[}a] 5 \% \& b\_c & $-$1.50 [$-$2.00, 0.10] \\" in text
    assert (
        r"x\textbackslash{}y\{z\}\textasciitilde{}\textasciicircum{}\textless{}\textbar{}"
        r"\textgreater{}\$\# & – \\" in text
    )
    assert r"{*} best & 1 * \\" in text
    assert text.count("{") == text.count("}")


def test_text_columns_are_aligned_left():
    text = render(lambda: print_list({"a": "first", "b": "second"}), Markdown())
    assert text.splitlines() == [
        "| name | description |",
        "|:---|:---|",
        "| a | first |",
        "| b | second |",
    ]


@pytest.mark.parametrize(
    ("entries", "align"),
    [
        (["-1.00 [-2.00, +0.00]", "", "undefined"], "---:"),
        (["[-22.32, 1.00]", "1e-05", "0.5%", "–", "75.000*"], "---:"),
        (["1nn", "12nn"], ":---"),
        (["1", "10-NN", "b"], ":---"),
    ],
)
def test_only_numbers_are_aligned_right(entries, align):
    text = render(lambda: print_table("", ["x"], [[e] for e in entries]), Markdown())
    assert text.splitlines()[1] == f"|{align}|"


def test_notes_are_rendered_but_not_printed(capsys):
    def show():
        print_lines("", "result")
        print_notes(["look out"])

    assert render(show, Html()) == "<p>result</p>\n<p>note: look out</p>"
    assert capsys.readouterr() == ("", "")
    with write_as(Markdown()):
        show()
    assert capsys.readouterr() == ("result\n\n", "note: look out\n")


def test_after_an_error_tables_are_text_again(capsys):
    with pytest.raises(ZeroDivisionError), write_as(Latex()):
        raise ZeroDivisionError
    print_lines("50 %")
    assert capsys.readouterr().out == "50 %\n"


COMMANDS = [
    ["separation", "bands(n=40)", "--quiet"],
    ["evaluate", "--data", "bands(n=40)", "--model", "1nn", "--model", "rf", "--quiet"],
    ["figure", "balls-volumes"],
    ["list", "suites"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("format_", TABLE_FORMATS)
def test_every_table_of_the_terminal_has_the_same_numbers(command, format_, capsys):
    assert main(command) == 0
    text = capsys.readouterr().out
    assert main([*command, "--format", format_]) == 0
    other = capsys.readouterr().out

    def numbers(output):
        return re.findall(r"\d+(?:\.\d+)?", output)

    assert numbers(other) == numbers(text)
    assert numbers(text)
    assert ("---" if format_ == "markdown" else r"\toprule") in other


def test_format_and_json_exclude_each_other(capsys):
    assert main(["list", "models", "--json", "--format", "latex"]) == 2
    assert "not allowed with" in capsys.readouterr().err
    assert main(["list", "models", "--format", "word"]) == 2
    assert "unknown format 'word'" in capsys.readouterr().err

"""The documentation: its code runs and prints what it says, and its pages are short."""

import re

import pytest
from run_pages import ROOT, PageError, list_pages, run_page

PAGES = [page.relative_to(ROOT).as_posix() for page in list_pages()]


@pytest.mark.parametrize("page", PAGES)
def test_outputs_on_the_page_are_real(page, one_thread):
    run_page(ROOT / page)


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_short_and_wrapped(page):
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        assert len(line) <= 100 or fenced or line.startswith("|"), line
        assert fenced or not line.lstrip().startswith("%"), f"a comment, which is not shown: {line}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_are_not_broken(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (path.parent / link).exists()] == []


def list_places(page):
    """Places of a page that links can name, as GitHub and MyST make them of its headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_to_places_are_not_broken(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", path.read_text(encoding="utf-8"))
    for name, place in links:
        if "://" not in name:
            assert place in list_places(path.parent / name if name else path), f"{name}#{place}"


def read_rows(page, head):
    """Rows of the table whose head begins like this."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = text.partition(f"\n{head}")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_speeds_of_the_comparison_are_those_that_were_measured():
    measured = read_rows("benchmarks/results/peers.md", "| package | kinds | fails |")
    shown = read_rows("docs/comparison.md", "| package | kinds | its time |")
    assert len(shown) == 2
    assert [row[1:] for row in shown] == [[row[1], *row[3:]] for row in measured]


@pytest.mark.parametrize(
    "block",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nraise ValueError\n```\n",
        "```console\n$ echo 1\n2\n```\n",
        "```console\n$ shaketable list nothing\n```\n",
        "```sh\nshaketable demo\n```\n",
        "<!-- not run: a test -->\n```sh\nshaketable demo --nothing\n```\n",
    ],
)
def test_wrong_pages_are_noticed(tmp_path, block):
    page = tmp_path / "page.md"
    page.write_text(block)
    with pytest.raises((PageError, ValueError)):
        run_page(page)


def test_outputs_are_written_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n>>> 1 + 1\n3\n>>> 4\n4\n```\nand\n```console\n$ echo a; echo b\n```\n"
    )
    text = run_page(page, write=True)
    assert text == (
        "```python\n>>> 1 + 1\n2\n>>> 4\n4\n```\nand\n```console\n$ echo a; echo b\na\nb\n```\n"
    )

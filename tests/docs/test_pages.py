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

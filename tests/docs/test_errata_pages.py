"""Pages of the errata: current, one per paper, and every entry is on one."""

import make_errata
import pytest
from make_errata import FOLDER, make_pages
from run_pages import ROOT

from shaketable.findings.errata.errata import load_errata

PAGES = make_pages()


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_current(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], (
        "run python docs/make_errata.py"
    )


def test_there_is_a_page_for_every_paper_and_no_other():
    assert {path.name for path in FOLDER.glob("*.md")} == PAGES.keys()
    assert len(PAGES) == 1 + len({erratum.paper for erratum in load_errata().values()})


@pytest.mark.parametrize("erratum", load_errata().values(), ids=lambda e: e.id)
def test_an_entry_is_on_the_page_of_its_paper(erratum):
    page = PAGES[f"{erratum.group}.md"]
    assert page.splitlines()[1] == f"# {erratum.paper}"
    section = page.partition(f"## {erratum.id}\n")[2].partition("\n## ")[0]
    words = " ".join(section.replace("`", "").split())
    assert words.startswith(f"**{erratum.kind.capitalize()}:** {erratum.place}. - Printed: ")
    assert all(each in words for each in (erratum.printed, erratum.right, erratum.see))
    assert words.endswith(f"Command: {erratum.command}")


def test_the_index_counts_them():
    assert (
        "[Siedel et al. (2022), class separation](mscr.md): 8 slips and 4 claims"
        in (PAGES["index.md"])
    )
    assert "(genuine.md): 4 slips\n" in PAGES["index.md"]


def test_the_measurements_of_claims_are_there():
    for name in ("table2", "table3", "twofactor_training"):
        assert f"results/{name}.md" in PAGES["index.md"]
        assert (ROOT / "benchmarks" / "results" / f"{name}.md").exists()


def test_pages_of_papers_that_are_gone_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(make_errata, "FOLDER", tmp_path)
    (tmp_path / "gone.md").write_text("a paper that is gone")
    make_errata.main()
    assert {path.name for path in tmp_path.iterdir()} == PAGES.keys()

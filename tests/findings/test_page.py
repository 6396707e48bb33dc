"""A report is one file that needs nothing else, and escapes every name."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.findings import find_once
from helpers.pages import EVIL, read_page, rename_to_markup
from shaketable.core.errors import InputError
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.page import report, write_report
from shaketable.separations.separation import separation
from shaketable.views.text import make_visible


def test_page_is_semantic(tmp_path: Path, mixed_records: Records) -> None:
    page = read_page(write_report(tmp_path / "r.html", find_once(mixed_records)))
    assert ("html", {"lang": "en"}) in page.elements
    assert page.count("h1") == 1
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels)), "no level of headings is left out"
    assert page.count("figure") == page.count("figcaption") == len(page.specs) > 5
    assert all("scope" in attrs for tag, attrs in page.elements if tag == "th")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert links
    assert all(link is not None and link[1:] in ids for link in links)


def test_page_loads_nothing(tmp_path: Path, noise_records: Records) -> None:
    path = write_report(tmp_path / "r.html", find_once(noise_records))
    page = read_page(path)
    assert not any({"src", "srcset", "action", "data"} & attrs.keys() for _, attrs in page.elements)
    assert not {"link", "iframe", "img", "object", "base"} & {tag for tag, _ in page.elements}
    text = path.read_text(encoding="utf-8")
    assert "@import" not in text
    assert "url(http" not in text
    assert "http" not in json.dumps(page.specs)
    policy = [
        a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy[0] is not None
    assert policy[0].startswith("default-src 'none'")


def test_names_are_escaped(tmp_path: Path, data: Dataset, noise_records: Records) -> None:
    records, named = rename_to_markup(noise_records, data)
    path = write_report(tmp_path / "r.html", records, dataset=named, title=EVIL, notes=[EVIL])
    plain, evil = (
        read_page(write_report(tmp_path / "p.html", find_once(noise_records), dataset=data)),
        read_page(path),
    )
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert evil.count("script") == plain.count("script")
    assert evil.text.count(make_visible(EVIL)) > 5
    named_in = [spec["description"] for spec in evil.specs if "<script>alert" in str(spec)]
    assert len(named_in) == len(evil.specs) - 2, "all charts but those of distances name something"


def test_dataset_of_other_results_is_not_drawn(tmp_path: Path, noise_records: Records) -> None:
    page = read_page(
        write_report(tmp_path / "r.html", find_once(noise_records), dataset=build("bands(n=100)"))
    )
    assert "not the data of these results" in page.text


def test_report_refuses_what_it_cannot_write(tmp_path: Path, noise_records: Records) -> None:
    with pytest.raises(InputError, match="at least one cell"):
        write_report(tmp_path / "r.html", Records(()))
    with pytest.raises(InputError, match="name another file"):
        write_report(tmp_path / "no" / "r.html", find_once(noise_records))
    with pytest.raises(InputError, match=r"must end in \.html, .*\.pdf, got .*s\.png'; rename it"):
        write_report(tmp_path / "s.png", find_once(noise_records))
    assert not list(tmp_path.iterdir())
    assert write_report(tmp_path / "R.HTM", find_once(noise_records)).exists()


def test_page_needs_no_distances_of_points_and_class_pairs(
    tmp_path: Path, data: Dataset, noise_records: Records
) -> None:
    bare = tuple(replace(s, nearest=None, by_class=None) for s in noise_records.separations)
    full = read_page(write_report(tmp_path / "r.html", find_once(noise_records), dataset=data))
    page = read_page(
        write_report(tmp_path / "b.html", replace(noise_records, separations=bare), dataset=data)
    )
    assert len(page.specs) == len(full.specs) - 1
    assert "How far apart the classes are" in page.text


@pytest.mark.parametrize(
    "chart",
    [
        "mscr.charts.mscr_chart",
        "mscr.charts.accuracy_chart",
        "study.charts.matrix_chart",
        "study.charts.tradeoff_chart",
        "study.charts.draw_convergence",
    ],
)
def test_a_chart_that_fails_is_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mixed_records: Records,
    chart: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InputError("the chart failed")

    monkeypatch.setattr(f"shaketable.findings.{chart}", fail)
    with pytest.raises(InputError, match="the chart failed"):
        write_report(tmp_path / "r.html", find_once(mixed_records))
    assert not (tmp_path / "r.html").exists()


def test_a_separation_and_a_results_file_are_reported(
    noise_records: Records, tmp_path: Path
) -> None:
    data = build("bands(n=60)")
    path = report(separation(data), tmp_path / "s.html", dataset=data)
    assert read_page(path).count("section") > 2
    with pytest.raises(InputError, match="dataset must be the data"):
        report(separation(data), tmp_path / "s.html")
    with Store(tmp_path / "r.sqlite") as store:
        store.add(list(noise_records))
    path = report(tmp_path / "r.sqlite", tmp_path / "r.html", title="Mine")
    assert "Mine" in read_page(path).text

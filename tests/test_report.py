"""A report is one file that needs nothing else, says what the metrics say, and trusts no name."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shaketable import metrics
from shaketable.data import Dataset
from shaketable.datasets import build
from shaketable.errors import InputError
from shaketable.evaluation import evaluate
from shaketable.models import builtin, fit
from shaketable.records import Records
from shaketable.report import words, write_report
from shaketable.statistics import at_most
from shaketable.studies import study

EVIL = "<script>alert('x')</script></script><!--<script>&\"\u2028"


@pytest.fixture(scope="module")
def grid(data: Dataset) -> Records:
    return study(data, ["logistic", "1nn"], train_eps=[0, "eps_min", 0.04], test_eps=[0.03], runs=3)


class Outline(HTMLParser):
    """Elements of a page with their attributes, its JSON scripts, and the text outside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.specs: list[dict[str, Any]] = []
        self.text = ""
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = None if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.text += data
        elif self._inside == "script" and self.elements[-1][1].get("type") == "application/json":
            self.specs.append(json.loads(data))

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def read(path: Path) -> Outline:
    return Outline(path.read_text(encoding="utf-8"))


def renamed(records: Records, data: Dataset) -> tuple[Records, Dataset]:
    """The same results under names that try to break out of the page."""
    classes = (EVIL, "b")
    data = replace(data, name=EVIL, features=(EVIL, "b"), classes=classes)
    changes: dict[str, Any] = {"model": EVIL, "data": EVIL, "fingerprint": data.fingerprint}
    cells = (replace(c, **changes, points=replace(c.points, classes=classes)) for c in records)
    separation = replace(records.separations[0], classes=classes, fingerprint=data.fingerprint)
    return Records(tuple(cells), (separation,)), data


def test_page_of_fixed_models_says_what_the_metrics_say(
    tmp_path: Path, data: Dataset, fixed: Records
) -> None:
    page = read(write_report(tmp_path / "r.html", fixed, dataset=data, notes=["mind the gap"]))
    text = " ".join(page.text.split())
    assert "mind the gap" in text
    for model in fixed.models:
        mine = fixed.select(model=model)
        mscr = metrics.mscr(mine)
        assert metrics.verdict(mscr) in text
        assert words.signed(mscr) + "MSCR, 95 % interval " + words.interval(mscr) in text
        for s in metrics.series(mine):
            assert words.interval(metrics.accuracy(s)) in text
        error = metrics.error_probability(next(s for s in metrics.series(mine) if s.at_eps_min))
        assert at_most(error.overall.high) in text
        assert all(at_most(e.high) in text for e in error.by_class.values())
        assert f"below {at_most(error.least_provable)}" in text
        assert error.overall.method in text
    difference = metrics.mscr_difference(*(fixed.select(model=m) for m in fixed.models))
    assert words.signed(difference) in text
    assert data.fingerprint in text
    assert repr(fixed.separations[0].two_r) in text


def test_page_of_a_study_shows_the_matrix_and_mscr_below(tmp_path: Path, grid: Records) -> None:
    text = " ".join(read(write_report(tmp_path / "r.html", grid)).text.split())
    for s in metrics.series(grid):
        e = metrics.accuracy(s)
        assert words.percent(e) + words.interval(e) in text
        if s.at_eps_min:
            e = metrics.mscr(s)
            assert words.signed(e) + words.interval(e) in text


def test_page_is_semantic(tmp_path: Path, fixed: Records, grid: Records) -> None:
    both = Records((*fixed, *grid), fixed.separations)
    page = read(write_report(tmp_path / "r.html", both))
    assert ("html", {"lang": "en"}) in page.elements
    assert page.count("h1") == 1
    assert page.count("figure") == page.count("figcaption") == len(page.specs) > 5
    assert all("scope" in attrs for tag, attrs in page.elements if tag == "th")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert links
    assert all(link is not None and link[1:] in ids for link in links)


def test_page_loads_nothing(tmp_path: Path, fixed: Records) -> None:
    path = write_report(tmp_path / "r.html", fixed)
    page = read(path)
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


def test_names_cannot_break_out(tmp_path: Path, data: Dataset, fixed: Records) -> None:
    records, named = renamed(fixed, data)
    path = write_report(tmp_path / "r.html", records, dataset=named, title=EVIL, notes=[EVIL])
    plain, evil = read(write_report(tmp_path / "p.html", fixed, dataset=data)), read(path)
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert evil.count("script") == plain.count("script")
    assert evil.text.count(EVIL) > 5
    named_in = [spec["description"] for spec in evil.specs if "<script>alert" in str(spec)]
    assert len(named_in) == len(evil.specs) - 1, "all charts but that of distances name something"


@pytest.mark.parametrize("corruptions", [[], ["linf(0.01)"], ["linf(0.01) + l2(0.01)"]])
def test_model_without_mscr_says_why(tmp_path: Path, data: Dataset, corruptions: list[str]) -> None:
    records = evaluate(fit(builtin("1nn"), data, np.arange(9), seed=0), data, corruptions)
    page = read(write_report(tmp_path / "r.html", records))
    assert "MSCR is not known" in page.text


def test_model_that_is_always_wrong_says_why(tmp_path: Path, data: Dataset) -> None:
    truth = dict(zip(map(tuple, data.x.tolist()), data.labels, strict=True))
    other = {"lower": "upper", "upper": "lower"}

    def wrong(x: Any) -> Any:
        return np.array([other[truth.get(tuple(row), "lower")] for row in x.tolist()])

    records = evaluate(wrong, data, ["linf(eps_min)"], name="liar")
    page = read(write_report(tmp_path / "r.html", records))
    assert "No MSCR: clean accuracy is 0" in page.text


def test_dataset_of_other_results_is_not_drawn(tmp_path: Path, fixed: Records) -> None:
    page = read(write_report(tmp_path / "r.html", fixed, dataset=build("bands(n=100)")))
    assert "not the data of these results" in page.text


def test_report_refuses_what_it_cannot_write(tmp_path: Path, fixed: Records) -> None:
    with pytest.raises(InputError, match="at least one cell"):
        write_report(tmp_path / "r.html", Records(()))
    with pytest.raises(InputError, match="name another file"):
        write_report(tmp_path / "no" / "r.html", fixed)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (chromium and driver and find_spec("selenium")):
        message = "needs Chromium, chromedriver and selenium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
        "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
        f"user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driven = webdriver.Chrome(options=options, service=Service(driver))
    yield driven
    driven.quit()


@pytest.fixture(scope="module")
def page_with_all(
    tmp_path_factory: pytest.TempPathFactory, data: Dataset, fixed: Records, grid: Records
) -> Path:
    evil, named = renamed(fixed, data)
    records = Records((*fixed, *grid, *evil), (*fixed.separations, *evil.separations))
    return write_report(tmp_path_factory.mktemp("page") / "r.html", records, dataset=named)


@pytest.mark.parametrize("width", [1200, 360])
def test_every_chart_is_drawn_in_a_browser(browser: Any, page_with_all: Path, width: int) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page_with_all.as_uri())
    every = "return [...document.querySelectorAll('figure')].every(f => f.dataset.drawn)"
    WebDriverWait(browser, 20).until(lambda b: b.execute_script(every))
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure')]"
        ".map(f => f.querySelector('svg')?.getBoundingClientRect())"
        ".map(box => box ? [box.width, box.height] : [0, 0])"
    )
    assert len(sizes) > 8
    assert all(w > 200 and h > 50 for w, h in sizes)
    marks = browser.execute_script(
        "return [...document.querySelectorAll('figure')]"
        ".map(f => f.querySelectorAll('g.role-mark > :is(path, text, line)').length)"
    )
    assert all(n > 3 for n in marks), marks
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []
    fetched = "return performance.getEntriesByType('resource').length"
    assert browser.execute_script(fetched) == 0

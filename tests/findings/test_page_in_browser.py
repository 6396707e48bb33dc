"""Pages in a browser: every chart and image is shown, fits, and fetches nothing."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.pages import make_image_data, rename_to_markup, run_study
from shaketable.adversary.worst_case import WorstCase, worst_case
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.models.builtin import oracle
from shaketable.separations.audit import audit
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import separation
from shaketable.views import drawing


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
    tmp_path_factory: pytest.TempPathFactory, data: Dataset, noise_records: Records
) -> Path:
    grid = run_study(data)
    evil, named = rename_to_markup(noise_records, data)
    records = Records(
        (*noise_records, *grid, *evil), (*noise_records.separations, *evil.separations)
    )
    return write_report(tmp_path_factory.mktemp("page") / "r.html", records, dataset=named)


@pytest.fixture(scope="module")
def page_of_separation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_image_data(24, 6, 5, 3)
    three = replace(
        data, classes=(*data.classes, "c" * 40), y=np.where(data.y, data.y, [0, 2] * 12)
    )
    three = replace(three, y=np.where(np.arange(24) < 2, 0, three.y))
    path = tmp_path_factory.mktemp("page") / "s.html"
    return audit(separation(three), three, one_nn=one_nn(three)).report(path)


def open_page(browser: Any, page: Path, width: int) -> None:
    """Show a page, its charts drawn, no wider than the window, and in peace."""
    from selenium.webdriver.support.wait import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    every = "return [...document.querySelectorAll('figure')].every(f => f.dataset.drawn)"
    WebDriverWait(browser, 300).until(lambda b: b.execute_script(every))
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure')]"
        ".map(f => f.querySelector('svg')?.getBoundingClientRect())"
        ".map(box => box ? [box.width, box.height] : [0, 0])"
    )
    assert len(sizes) > 1
    assert all(w > 200 and h > 50 for w, h in sizes)
    marks = browser.execute_script(
        "return [...document.querySelectorAll('figure')]"
        ".map(f => f.querySelectorAll('g.role-mark > :is(path, text, line)').length)"
    )
    assert all(n > 1 for n in marks), marks
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [1200, 360])
def test_every_chart_is_drawn_in_a_browser(browser: Any, page_with_all: Path, width: int) -> None:
    open_page(browser, page_with_all, width)
    assert browser.execute_script("return document.querySelectorAll('figure').length") > 8
    fetched = "return performance.getEntriesByType('resource').length"
    assert browser.execute_script(fetched) == 0


@pytest.mark.parametrize("screen", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("page", ["noise_page", "suite_page"])
def test_the_verdict_on_a_model_is_on_the_first_screen(
    browser: Any, request: pytest.FixtureRequest, page: str, screen: tuple[int, int]
) -> None:
    width, height = screen
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(request.getfixturevalue(page).as_uri())
    boxes = browser.execute_script(
        "return [...document.querySelector('header table.short').querySelectorAll('.badge')]"
        ".map(c => [c.textContent, c.getBoundingClientRect()])"
    )
    assert len(boxes) == 2, "of two models"
    for text, box in boxes:
        assert text in ("loses accuracy", "inconclusive", "robust as far as shown")
        assert 0 <= box["left"] < box["right"] <= width, text
        assert 0 <= box["top"] < box["bottom"] <= height, text


@pytest.mark.parametrize(("width", "columns"), [(1200, 3), (360, 1)])
def test_panels_of_a_suite_fit_the_window(
    browser: Any, suite_page: Path, width: int, columns: int
) -> None:
    open_page(browser, suite_page, width)
    lefts = browser.execute_script(
        "return [...document.querySelector('.panels').querySelectorAll('figure')]"
        ".map(f => Math.round(f.getBoundingClientRect().left))"
    )
    assert len(lefts) == 9
    assert len(set(lefts)) == columns
    first = "document.querySelector('.panels')"
    legends = f"return {first}.querySelectorAll('svg .role-legend').length"
    assert browser.execute_script(legends) == 0, "there is one for all"
    named = browser.execute_script(
        "return [...document.querySelectorAll('.legend li')]"
        ".map(i => [i.textContent, getComputedStyle(i, '::before').color])"
    )
    drawn = browser.execute_script(
        "return [...document.querySelector('.panels').querySelectorAll('.mark-line path')]"
        ".map(p => getComputedStyle(p).stroke)"
    )
    assert [name for name, _ in named] == ["half", "whole"]
    assert [colour for _, colour in named] == drawn[:2]


@pytest.mark.parametrize("width", [1200, 360])
def test_every_image_is_shown_in_a_browser(
    browser: Any, page_of_separation: Path, width: int
) -> None:
    open_page(browser, page_of_separation, width)
    images = browser.execute_script(
        "return [...document.images].map(i => [i.complete, i.naturalWidth, i.naturalHeight,"
        " i.getBoundingClientRect().height])"
    )
    assert len(images) == 20
    assert all(i[:3] == [True, 5, 6] and i[3] > 50 for i in images), images
    fetched = "return performance.getEntriesByType('resource').map(r => r.name.slice(0, 5))"
    assert set(browser.execute_script(fetched)) <= {"data:"}
    heat = "return getComputedStyle(document.querySelector('td.heat.shown')).backgroundColor"
    assert browser.execute_script(heat) not in ("", "rgba(0, 0, 0, 0)")


@pytest.fixture(scope="module")
def sunset() -> WorstCase:
    kinds = ["none", "genuine-max"]
    return worst_case(oracle, "sunset(n=30)", [0.05, 0.2], constraints=kinds, random=5)


@pytest.mark.parametrize("width", [1200, 360])
def test_the_worst_case_is_drawn_in_a_browser(
    browser: Any, tmp_path: Path, sunset: WorstCase, width: int
) -> None:
    open_page(browser, sunset.report(tmp_path / "w.html"), width)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('#maps svg')]"
        ".map(s => s.querySelector('.background').getBoundingClientRect())"
        ".map(box => box.width / box.height)"
    )
    wide, high = np.ptp(sunset.data.x, axis=0) + 0.4
    assert len(boxes) == 2
    assert all(abs(box / (wide / high) - 1) < 0.05 for box in boxes), "cells are not squeezed"


def test_a_chart_alone_is_drawn_and_runs_no_name(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    name = "</script><script>window.ran = true</script>"
    chart = drawing.make_chart([{"at": i, "model": name} for i in range(3)]).mark_point()
    chart = chart.encode(x="at:Q", color=drawing.model_colour([name]))
    path = drawing.save_chart(drawing.stack_panels([chart], title=name), tmp_path / "m.html")
    browser.get(path.as_uri())
    drawn = "return document.querySelector('#vis :is(svg, canvas)')?.clientWidth > 200"
    WebDriverWait(browser, 300).until(lambda b: b.execute_script(drawn))
    assert browser.execute_script("return window.ran") is None
    assert browser.get_log("browser") == []
    fetched = "return performance.getEntriesByType('resource').length"
    assert browser.execute_script(fetched) == 0

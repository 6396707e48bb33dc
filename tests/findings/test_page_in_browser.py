"""Pages in a browser: every chart and image is shown, fits, and fetches nothing."""

import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest

from helpers.browsers import WIDTHS, find_faults, find_missing, show, start_browser, wait
from helpers.pages import make_image_data, read_page, rename_to_markup, run_study
from shaketable.adversary.worst_case import WorstCase, worst_case
from shaketable.corruptions.gallery import gallery
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.models.builtin import oracle
from shaketable.separations.audit import audit
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import separation
from shaketable.views import drawing, page
from shaketable.views.blocks import Chart, Heading


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    missing = find_missing()
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    driven = start_browser(tmp_path_factory.mktemp("chromium"))
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


@pytest.fixture(scope="module")
def page_of_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shown = gallery(make_image_data(8, 16, 16, 3), ["fog(1)", "linf(0.1)", "gaussian_blur(1)"])
    return shown.save(tmp_path_factory.mktemp("page") / "g.html")


@pytest.fixture(scope="module")
def page_of_worst_case(tmp_path_factory: pytest.TempPathFactory, sunset: WorstCase) -> Path:
    return sunset.report(tmp_path_factory.mktemp("page") / "w.html")


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("page_with_all", 20),
        ("suite_page", 10),
        ("page_of_separation", 2),
        ("page_of_worst_case", 3),
        ("page_of_images", 0),
    ],
)
def test_a_page_has_no_fault_at_any_width(
    browser: Any, request: pytest.FixtureRequest, page: str, figures: int
) -> None:
    path = request.getfixturevalue(page)
    faults = {}
    for width in WIDTHS:
        show(browser, path, width, dark=width == 768)
        faults[width] = find_faults(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert faults == {width: [] for width in WIDTHS}
    assert browser.execute_script("return document.querySelectorAll('figure').length") >= figures
    ink, paper = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    )
    assert ink != paper


def test_labels_and_titles_of_axes_are_made_to_fit(browser: Any, tmp_path: Path) -> None:
    long = "a title that is far longer than a small chart is wide or a flat chart is high, per cent"

    def draw(names: list[str], height: int) -> drawing.Chart:
        rows = [{"name": name, "value": i, "model": name} for i, name in enumerate(names)]
        base = drawing.make_chart(rows).mark_point().properties(height=height)
        x = alt.X("name:N", title=long, axis=alt.Axis(labelAngle=0))
        marks = base.encode(x, alt.Y("value:Q", title=long), drawing.model_colour(names))
        return drawing.stack_panels([alt.layer(marks)], title="t")

    def turn(names: list[str]) -> drawing.Chart:
        rows = [{"name": name, "value": i} for i, name in enumerate(names)]
        base = drawing.make_chart(rows).mark_point().properties(height=120)
        return drawing.stack_panels([alt.layer(base.encode(y="name:N", x="value:Q"))], title="u")

    blocks = [
        Heading("a", "a"),
        *(Chart(partial(draw, [f"linf({i}, of a name)" for i in range(n)], h), "caption")
          for n, h in ((3, 300), (6, 100), (30, 300))),
        Chart(partial(turn, [f"name {i}" for i in range(20)]), "caption"),
    ]  # fmt: skip
    path = page.write_blocks(tmp_path / "p.html", blocks, title="t", lead="l")
    for width in WIDTHS:
        show(browser, path, width)
        assert find_faults(browser) == []
        labels = (
            "return [...document.querySelectorAll('figure')].map(f =>"
            " [...f.querySelectorAll('.role-axis-label')].map(a => [...a.children].filter(t =>"
            " getComputedStyle(t).opacity === '1' && t.textContent.includes('name')).length))"
        )
        drawn = browser.execute_script(labels)
        assert [max(axes) for axes in drawn[2:]] == [30, 20], "no name is left out"


def test_dark_pages_are_dark(browser: Any, suite_page: Path) -> None:
    colours = []
    for dark in (False, True):
        show(browser, suite_page, 1280, dark=dark)
        paper = "return getComputedStyle(document.body).backgroundColor"
        label = "return getComputedStyle(document.querySelector('.role-axis-label text')).fill"
        colours.append([browser.execute_script(paper), browser.execute_script(label)])
    assert colours[0][0] == "rgb(255, 255, 255)"
    assert colours[1][0] != colours[0][0]
    assert colours[1][1] != colours[0][1], "charts follow"


def test_the_numbers_of_every_chart_are_listed(browser: Any, noise_page: Path) -> None:
    show(browser, noise_page, 1280)
    browser.execute_script("document.querySelectorAll('.numbers').forEach(d => { d.open = true })")
    wait(browser, "[...document.querySelectorAll('.numbers')].every(d => d.querySelector('td'))")
    listed = browser.execute_script(
        "return [...document.querySelectorAll('figure')].map(f => [f.querySelector('script').text,"
        " [...f.querySelectorAll('.numbers tbody tr')]"
        ".map(r => [...r.cells].map(c => c.textContent))])"
    )
    specs = read_page(noise_page).specs
    assert [json.loads(text) for text, _ in listed] == specs
    for spec, (_, rows) in zip(specs, listed, strict=True):
        estimates = [row for data in spec["datasets"].values() for row in data if "low" in row]
        assert len(rows) >= min(len(estimates) or 1, 200)
        known = {f"{v:.6g}" for d in spec["datasets"].values() for r in d for v in r.values()
                 if isinstance(v, float | int)}  # fmt: skip
        shown = [float(cell) for row in rows for cell in row if cell[-1:].isdigit()
                 and cell.replace(".", "").lstrip("-").isdigit()]  # fmt: skip
        assert shown
        assert {f"{number:.6g}" for number in shown} <= known | {"1", "0"}


def test_a_model_can_be_hidden_by_keyboard(browser: Any, suite_page: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, suite_page, 1280)
    boxes = browser.find_elements(By.CSS_SELECTOR, "#models input")
    names = [box.get_attribute("value") for box in boxes]
    assert names == ["half", "whole"]
    count = (
        "return [[...document.querySelectorAll('tbody tr')].filter(r => r.checkVisibility()"
        " && r.cells[0].firstChild.textContent === 'half').length,"
        " [...document.querySelectorAll('.role-mark > *')]"
        ".filter(m => m.__data__?.datum?.model === 'half').length,"
        " [...document.querySelectorAll('.role-mark > *')]"
        ".filter(m => m.__data__?.datum?.model === 'whole').length]"
    )
    before = browser.execute_script(count)
    assert min(before) > 0
    boxes[0].send_keys(Keys.SPACE)
    wait(browser, "![...document.querySelectorAll('figure:not([hidden]) .role-mark > *')]"
         ".some(m => m.__data__?.datum?.model === 'half')")  # fmt: skip
    assert browser.execute_script(count)[::2] == [0, before[2]]
    assert (
        browser.find_element(By.CSS_SELECTOR, "#models output").text == "1 of 2 models are shown."
    )
    boxes[0].send_keys(Keys.SPACE)
    wait(browser, f"[...document.querySelectorAll('.role-mark > *')]"
         f".filter(m => m.__data__?.datum?.model === 'half').length === {before[1]}")  # fmt: skip
    assert browser.execute_script(count) == before
    assert browser.get_log("browser") == []


def test_the_first_key_leads_past_the_head(browser: Any, suite_page: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, suite_page, 1280)
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    focus = "return document.activeElement"
    first = browser.execute_script(focus)
    assert first.text == "Skip to the results"
    assert first.rect["x"] >= 0, "it is seen while it has the focus"
    first.send_keys(Keys.ENTER)
    wait(browser, "document.activeElement.id === 'results'")


def test_all_of_a_page_is_in_print(browser: Any, page_with_all: Path) -> None:
    show(browser, page_with_all, 1280)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    size = {"width": 688, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    closed = "return document.querySelectorAll('details:not([open]):not(#models *)').length"
    assert browser.execute_script(closed) > 5
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(closed) == 0
    wide = (
        "return [...document.querySelectorAll('table, .plot svg, img')]"
        ".filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 690)"
        ".map(e => [e.outerHTML.slice(0, 200), e.getBoundingClientRect().width])"
    )
    assert browser.execute_script(wide) == []
    whole = (
        "return [...document.querySelectorAll('table.whole')].map(t => ["
        "[...t.tHead.rows[0].cells].map(c => c.textContent),"
        "[...t.parentElement.querySelectorAll('table.part')]"
        ".flatMap((p, i) => [...p.tHead.rows[0].cells].slice(i ? 1 : 0).map(c => c.textContent))])"
    )
    for columns, printed in browser.execute_script(whole):
        assert printed == columns
    before = browser.execute_script("return document.querySelectorAll('table.part').length")
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(closed) > 5
    assert before == 0 or not browser.execute_script("return document.querySelector('.part')")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_page_is_printed_to_pdf_with_its_charts(
    browser: Any, tmp_path: Path, noise_records: Records
) -> None:
    content = write_report(tmp_path / "r.pdf", noise_records).read_bytes()
    assert content.startswith(b"%PDF")
    drawn = b""
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        with suppress(zlib.error):
            drawn += zlib.decompressobj().decompress(stream)
    strokes = set(re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) RG", drawn))
    rounded = {tuple(round(255 * float(part)) for part in stroke) for stroke in strokes}
    for colour in drawing.COLOURS[:2]:
        assert tuple(bytes.fromhex(colour[1:])) in rounded, "the lines of the models are drawn"


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
    show(browser, suite_page, width)
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
        "return [...document.querySelector('.legend').querySelectorAll('li')]"
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
    show(browser, page_of_separation, width)
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
    browser: Any, page_of_worst_case: Path, sunset: WorstCase, width: int
) -> None:
    show(browser, page_of_worst_case, width)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('#maps svg')]"
        ".map(s => s.querySelector('.background').getBoundingClientRect())"
        ".map(box => box.width / box.height)"
    )
    wide, high = np.ptp(sunset.data.x, axis=0) + 0.4
    assert len(boxes) == 2
    assert all(abs(box / (wide / high) - 1) < 0.05 for box in boxes), "cells are not squeezed"


def test_a_chart_alone_is_drawn_and_runs_no_name(browser: Any, tmp_path: Path) -> None:
    name = "</script><script>window.ran = true</script>"
    chart = drawing.make_chart([{"at": i, "model": name} for i in range(3)]).mark_point()
    chart = chart.encode(x="at:Q", color=drawing.model_colour([name]))
    path = drawing.save_chart(drawing.stack_panels([chart], title=name), tmp_path / "m.html")
    browser.get(path.as_uri())
    wait(browser, "document.querySelector('figure[data-drawn] svg')?.clientWidth > 200")
    assert browser.execute_script("return window.ran") is None
    assert browser.get_log("browser") == []
    fetched = "return performance.getEntriesByType('resource').length"
    assert browser.execute_script(fetched) == 0

"""Sections about suites show the numbers of the metrics."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers.findings import score_boards
from helpers.pages import EVIL, read_page
from shaketable import make_dataset
from shaketable.corruptions.suites.suite import suite
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.views import numbers
from shaketable.views.text import to_sentence


def test_page_of_suites_says_what_the_metrics_say(suite_page: Path, suite_records: Records) -> None:
    page = read_page(suite_page)
    text = " ".join(page.text.split())
    titles = {str(a["title"]) for _, a in page.elements if "title" in a}
    for board in score_boards(suite_records):
        assert f"suite {board.suite.name} ({len(board.suite.specs)} corruptions, sizes der" in text
        assert f"Their sizes are {board.suite.derived}" in text
        for score in board.scores:
            assert score.value is not None
            value = numbers.format_change if score.metric == "iCE" else numbers.format_percent
            interval = numbers.format_interval(score.value)
            assert f"{value(score.value)}{score.metric}, 95 % interval {interval}" in text
            assert to_sentence(score.meaning) in text
            assert score.value.method in text
            for ladder in score.ladders:
                assert (
                    numbers.format_percent(ladder.mean) + numbers.format_interval(ladder.mean)
                    in text
                )
                for level in ladder.levels if board.levels > 1 else ():
                    e = level.error
                    shown = (
                        f"{numbers.format_percent(e)}, 95 % interval {numbers.format_interval(e)}"
                    )
                    assert f"{level.spec}: {shown}" in titles
                    assert (
                        f"{100 * e.value:.2f}%{numbers.format_short_distance(level.size)}" in text
                    )
                if board.levels == 1:
                    e = ladder.levels[0].change
                    assert numbers.format_points(e) + numbers.format_points_interval(e) in text
        for d in board.differences:
            shown = numbers.format_points(d.value) + numbers.format_points_interval(d.value)
            assert f"{shown}{d.words}" in text
    assert "A point’s noise was drawn once per norm and scaled to all sizes." in text
    assert "L0 noise begins with level 2" in text
    assert "l5(0.0138)" not in text.rpartition("How it was made")[2], "the suite is named instead"


def test_suites_are_not_in_the_verdict(
    tmp_path: Path, suite_page: Path, ice_records: Records, tiles: Dataset
) -> None:
    alone = read_page(suite_page)
    assert ("section", {"id": "verdict", "aria-label": "Verdict"}) not in alone.elements
    assert "MSCR" not in alone.text.replace("MSCR and mCE of the papers", "")
    ids = [attrs["id"] for _, attrs in alone.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {str(attrs["href"])[1:] for tag, attrs in alone.elements if tag == "a"}
    of_answers = {"measures", "confusion", "inputs"}
    others = {"comparison", "summary", "suite", "suite-2", "risk", "groups", "accuracy", "method"}
    assert links == others | of_answers | {"results", "missing", "notes", "errata"}
    assert links <= set(ids)
    assert all("scope" in attrs for tag, attrs in alone.elements if tag == "th")
    charts = 1 + 2 + 9 + 1 + 4 + 4
    assert alone.count("figure") == alone.count("figcaption") == len(alone.specs) == charts
    more = evaluate(lambda x: x[:, 0, 0] > 0.5, tiles, [suite("ice"), "linf(eps_min)"], name="dot")
    page = read_page(write_report(tmp_path / "m.html", ice_records + more))
    verdict = page.text.partition("p-norm noise")[0]
    assert verdict.count("MSCR, 95 % interval") == 1
    assert "dot" in verdict
    assert all(name in page.text.rpartition("Models")[2] for name in ("half", "whole", "dot"))


def test_published_sizes_and_independent_draws_are_stated(tmp_path: Path) -> None:
    x = np.zeros((4, 32, 32, 3), np.float32)
    data = make_dataset(x + 0.1 * np.arange(4)[:, None, None, None], [0, 1, 0, 1], bounds=(0, 1))
    model = {"name": "pixel", "model_id": "p", "draws": "independent"}
    records = evaluate(lambda x: x[:, 0, 0, 0] * 10 % 2 > 0.5, data, suite("pnorm"), **model)
    page = read_page(write_report(tmp_path / "r.html", records))
    assert "Their sizes are the published ones." in page.text
    assert "A point’s noise was drawn anew for every size." in page.text
    assert "derived" not in page.text.lower()
    perfect = evaluate(lambda x: x[:, 0, 0, 0] * 10 % 2 > 0.5, data, suite("ice"), name="pixel")
    cells = tuple(replace(c, hits=np.ones_like(c.hits)) for c in perfect)
    page = read_page(write_report(tmp_path / "i.html", replace(perfect, cells=cells)))
    assert "no iCE" in page.text
    assert "There is no error on clean points to compare with" in page.text


def test_names_are_escaped_in_suites(
    tmp_path: Path, suite_page: Path, suite_records: Records
) -> None:
    named = tuple(replace(c, model=EVIL, data=EVIL) for c in suite_records)
    path = write_report(tmp_path / "r.html", replace(suite_records, cells=named))
    evil, plain = read_page(path), read_page(suite_page)
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert evil.count("script") == plain.count("script")
    assert evil.text.count("<script>alert") > 5

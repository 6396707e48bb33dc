"""A report is one file that needs nothing else, says what the metrics say, and trusts no name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.findings import score_boards
from helpers.pages import EVIL, read_page, rename_to_markup, run_study
from shaketable import make_dataset, metrics
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit
from shaketable.views import numbers
from shaketable.views.numbers import format_bound
from shaketable.views.text import to_sentence


@pytest.fixture(scope="module")
def grid(data: Dataset) -> Records:
    return run_study(data)


def test_page_of_fixed_models_says_what_the_metrics_say(
    tmp_path: Path, data: Dataset, noise_records: Records
) -> None:
    page = read_page(
        write_report(tmp_path / "r.html", noise_records, dataset=data, notes=["mind the gap"])
    )
    text = " ".join(page.text.split())
    assert "mind the gap" in text
    for model in noise_records.models:
        mine = noise_records.select(model=model)
        mscr = metrics.mscr(mine)
        assert metrics.verdict(mscr) in text
        assert (
            numbers.format_change(mscr) + "MSCR, 95 % interval " + numbers.format_interval(mscr)
            in text
        )
        for s in metrics.series(mine):
            assert numbers.format_interval(metrics.accuracy(s)) in text
        error = metrics.error_probability(next(s for s in metrics.series(mine) if s.at_eps_min))
        assert format_bound(error.overall.high) in text
        assert all(format_bound(e.high) in text for e in error.by_class.values())
        assert f"below {format_bound(error.least_provable)}" in text
        assert error.overall.method in text
    difference = metrics.mscr_difference(
        *(noise_records.select(model=m) for m in noise_records.models)
    )
    assert numbers.format_points(difference) in text
    assert data.fingerprint in text
    assert repr(noise_records.separations[0].two_r) in text


def test_page_of_a_study_shows_the_matrix_and_mscr_below(tmp_path: Path, grid: Records) -> None:
    text = " ".join(read_page(write_report(tmp_path / "r.html", grid)).text.split())
    for s in metrics.series(grid):
        e = metrics.accuracy(s)
        assert numbers.format_percent(e) + numbers.format_interval(e) in text
        if s.at_eps_min:
            e = metrics.mscr(s)
            assert numbers.format_change(e) + numbers.format_interval(e) in text


def test_page_is_semantic(tmp_path: Path, noise_records: Records, grid: Records) -> None:
    both = Records((*noise_records, *grid), noise_records.separations)
    page = read_page(write_report(tmp_path / "r.html", both))
    assert ("html", {"lang": "en"}) in page.elements
    assert page.count("h1") == 1
    assert page.count("figure") == page.count("figcaption") == len(page.specs) > 5
    assert all("scope" in attrs for tag, attrs in page.elements if tag == "th")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert links
    assert all(link is not None and link[1:] in ids for link in links)


def test_page_loads_nothing(tmp_path: Path, noise_records: Records) -> None:
    path = write_report(tmp_path / "r.html", noise_records)
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


def test_names_cannot_break_out(tmp_path: Path, data: Dataset, noise_records: Records) -> None:
    records, named = rename_to_markup(noise_records, data)
    path = write_report(tmp_path / "r.html", records, dataset=named, title=EVIL, notes=[EVIL])
    plain, evil = (
        read_page(write_report(tmp_path / "p.html", noise_records, dataset=data)),
        read_page(path),
    )
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert evil.count("script") == plain.count("script")
    assert evil.text.count(EVIL) > 5
    named_in = [spec["description"] for spec in evil.specs if "<script>alert" in str(spec)]
    assert len(named_in) == len(evil.specs) - 1, "all charts but that of distances name something"


def test_page_of_suites_says_what_the_metrics_say(tmp_path: Path, suite_records: Records) -> None:
    page = read_page(write_report(tmp_path / "r.html", suite_records))
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
                    assert f"{100 * e.value:.1f}{numbers.format_short_distance(level.size)}" in text
                if board.levels == 1:
                    e = ladder.levels[0].change
                    assert numbers.format_points(e) + numbers.format_points_interval(e) in text
        for d in board.differences:
            assert (
                numbers.format_points(d.value) + numbers.format_points_interval(d.value) + d.words
                in text
            )
    assert "A point’s noise was drawn once per norm and scaled to all sizes." in text
    assert "L0 noise begins with level 2" in text
    assert "l5(0.0138)" not in text.partition("How it was made")[2], "the suite is named instead"


def test_suites_do_not_flood_the_verdict(
    tmp_path: Path, suite_records: Records, tiles: Dataset
) -> None:
    alone = read_page(write_report(tmp_path / "a.html", suite_records))
    assert ("section", {"id": "verdict", "aria-label": "Verdict"}) not in alone.elements
    assert "MSCR" not in alone.text
    ids = [attrs["id"] for _, attrs in alone.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {str(attrs["href"])[1:] for tag, attrs in alone.elements if tag == "a"}
    assert {"suite-1", "suite-2", "method"} == links
    assert links <= set(ids)
    assert all("scope" in attrs for tag, attrs in alone.elements if tag == "th")
    assert alone.count("figure") == alone.count("figcaption") == len(alone.specs) == 2 + 9
    more = evaluate(lambda x: x[:, 0, 0] > 0.5, tiles, [suite("ice"), "linf(eps_min)"], name="dot")
    page = read_page(write_report(tmp_path / "m.html", suite_records + more))
    verdict = page.text.partition("p-norm noise")[0]
    assert verdict.count("MSCR, 95 % interval") == 1
    assert "dot" in verdict
    assert all(name in page.text.rpartition("Models")[2] for name in ("half", "whole", "dot"))


def test_published_and_independent_noise_is_said_so(tmp_path: Path) -> None:
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
    assert "iCE is undefined" in page.text
    assert "There is no error on clean points to compare with" in page.text


def test_names_cannot_break_out_of_suites(tmp_path: Path, suite_records: Records) -> None:
    named = tuple(replace(c, model=EVIL, data=EVIL) for c in suite_records)
    path = write_report(tmp_path / "r.html", replace(suite_records, cells=named))
    evil, plain = read_page(path), read_page(write_report(tmp_path / "p.html", suite_records))
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert evil.count("script") == plain.count("script")
    assert evil.text.count("<script>alert") > 5


@pytest.mark.parametrize("corruptions", [[], ["linf(0.01)"], ["linf(0.01) + l2(0.01)"]])
def test_model_without_mscr_says_why(tmp_path: Path, data: Dataset, corruptions: list[str]) -> None:
    records = evaluate(fit(builtin("1nn"), data, np.arange(9), seed=0), data, corruptions)
    page = read_page(write_report(tmp_path / "r.html", records))
    assert "MSCR is not known" in page.text


def test_model_that_is_always_wrong_says_why(tmp_path: Path, data: Dataset) -> None:
    truth = dict(zip(map(tuple, data.x.tolist()), data.labels, strict=True))
    other = {"lower": "upper", "upper": "lower"}

    def wrong(x: Any) -> Any:
        return np.array([other[truth.get(tuple(row), "lower")] for row in x.tolist()])

    records = evaluate(wrong, data, ["linf(eps_min)"], name="liar")
    page = read_page(write_report(tmp_path / "r.html", records))
    assert "MSCR is undefined: it gets no clean point right" in page.text


def test_dataset_of_other_results_is_not_drawn(tmp_path: Path, noise_records: Records) -> None:
    page = read_page(
        write_report(tmp_path / "r.html", noise_records, dataset=build("bands(n=100)"))
    )
    assert "not the data of these results" in page.text


def test_report_refuses_what_it_cannot_write(tmp_path: Path, noise_records: Records) -> None:
    with pytest.raises(InputError, match="at least one cell"):
        write_report(tmp_path / "r.html", Records(()))
    with pytest.raises(InputError, match="name another file"):
        write_report(tmp_path / "no" / "r.html", noise_records)


def test_page_of_results_does_without_every_point_and_class_pair(
    tmp_path: Path, data: Dataset, noise_records: Records
) -> None:
    bare = tuple(replace(s, nearest=None, by_class=None) for s in noise_records.separations)
    full = read_page(write_report(tmp_path / "r.html", noise_records, dataset=data))
    page = read_page(
        write_report(tmp_path / "b.html", replace(noise_records, separations=bare), dataset=data)
    )
    assert len(page.specs) == len(full.specs) - 1
    assert "How far apart the classes are" in page.text

"""Losses by feature: ranked, paired, the same in JSON, terminal, page and chart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.findings import print_results
from helpers.pages import chart_rows, read_page
from helpers.records import make_records
from shaketable import evaluate, make_dataset, metrics
from shaketable.corruptions import per_feature
from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.evaluation.records import Records
from shaketable.findings.features.charts import features_chart
from shaketable.findings.features.finding import Features
from shaketable.findings.features.view import describe_model, note_unnoticed
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.statistics import intervals
from shaketable.views.blocks import Sentence, Table
from shaketable.views.numbers import format_entry, format_points

K, N = 5, 200
SPECS = tuple(f'jitter(0.5, only="{name}")' for name in ("tiny", "big", "mid"))


def make_hits(*lost: int) -> dict[str, np.ndarray]:
    """Hits of points, of which so many lose all draws under noise in each feature."""
    place = np.arange(N)
    noisy = {s: np.where(place < n, 0, K) for s, n in zip(SPECS, lost, strict=True)}
    return {"clean": np.ones(N, int), **noisy}


def make_both(first: tuple[int, ...], second: tuple[int, ...]) -> Records:
    records = make_records(make_hits(*first), k=K, metric=METRIC, sets=SPECS)
    return records + make_records(make_hits(*second), k=K, model="b", metric=METRIC, sets=SPECS)


@pytest.fixture(scope="module")
def records() -> Records:
    return make_both((1, 40, 12), (0, 1, 2))


def take(records: Records) -> Features:
    finding = find(records).findings["features"]
    assert isinstance(finding, Features)
    return finding


def test_losses_are_paired_ranked_and_judged_together(records: Records) -> None:
    first, second = find(records).json()["feature_losses"]
    assert [f["feature"] for f in first["features"]] == ["big", "mid", "tiny"]
    assert [f["feature"] for f in second["features"]] == ["mid", "big", "tiny"]
    for entry in (first, second):
        for feature in entry["features"]:
            (cell,) = records.select(model=entry["model"], corruption=feature["corruption"])
            expected = intervals.mean_difference(np.full(N, K), cell.hits, K)
            loss = feature["loss"]
            assert {key: loss[key] for key in expected.json()} == pytest.approx(expected.json())
            strict = expected.again(confidence=1 - 0.05 / 6)
            assert loss["shown"] == (strict.low > 0)
            assert feature["noise"] == "jitter(0.5)"
    assert [f["loss"]["shown"] for f in first["features"]] == [True, True, False]
    assert (first["most_fragile"], second["most_fragile"]) == (["big"], [])


def test_features_that_cannot_be_told_apart_may_all_be_the_most_fragile() -> None:
    finding = take(make_both((30, 31, 2), (30, 30, 30)))
    names = [[x.feature for x in m.most_fragile] for m in finding.boards[0].models]
    assert names == [["big", "tiny"], ["tiny", "big", "mid"]]


def test_a_gain_is_no_loss() -> None:
    hits = make_hits(0, 0, 0) | {"clean": np.repeat([0, 1], N // 2)}
    (board,) = take(make_records(hits, k=K, metric=METRIC, sets=SPECS)).boards
    assert board.models[0].losses[0].value.high < 0
    assert not any(loss.shown for loss in board.models[0].losses)
    assert board.models[0].most_fragile == ()


def test_terminal_page_and_chart_have_the_losses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, records: Records
) -> None:
    out = print_results(capsys, records)
    page = read_page(write_report(tmp_path / "p.html", records))
    finding = take(records)
    (board,) = finding.boards
    (table,) = (block for block in finding.blocks() if isinstance(block, Table))
    rows = page.tables[table.title]
    assert [row[0] for row in rows[1:]] == ["big", "mid", "tiny"]
    for row, first in zip(rows[1:], board.rows, strict=True):
        (line,) = [li for li in out.splitlines() if li.split()[:1] == [first.feature]]
        for cell, loss in zip(row[1:], board.at(first), strict=True):
            assert format_points(loss.value) in cell
            assert format_entry(loss.value, signed=True) + (" *" if loss.shown else "") in line
    sentence = ": the most fragile of 3 features under jitter(0.5) is big: 20.00 ["
    assert sentence in out
    assert page.text.index(sentence) > page.text.index("Which feature is fragile?")
    none = (
        "b: no feature shows a loss under jitter(0.5) with 95 % confidence for all 6 losses "
        "together; the largest of 3 measured losses is 1.00"
    )
    assert none in out
    drawn = [row for row in chart_rows(features_chart(board)) if "model" in row]
    assert {(r["model"], r["group"], r["value"]) for r in drawn} == {
        (m.label, x.feature, 100 * x.value.value) for m in board.models for x in m.losses
    }
    assert "ranked apart" not in out + page.text
    assert "no answer changes" not in out + page.text


def test_losses_under_different_noise_are_ranked_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lost = {'swap(0.1, only="job")': 30, 'jitter(0.5, only="age")': 60}
    lost |= {'swap(0.1, only="flag")': 45, 'jitter(0.5, only="rooms")': 0}
    hits = {spec: np.where(np.arange(N) < n, 0, K) for spec, n in lost.items()}
    records = make_records({"clean": np.ones(N, int), **hits}, k=K, metric=METRIC, sets=tuple(lost))
    swap, jitter = find(records).json()["feature_losses"]
    assert (swap["noise"], [f["feature"] for f in swap["features"]]) == (
        "swap(0.1)",
        ["flag", "job"],
    )
    assert (jitter["noise"], [f["feature"] for f in jitter["features"]]) == (
        "jitter(0.5)",
        ["age", "rooms"],
    )
    assert (swap["most_fragile"], jitter["most_fragile"]) == (["flag"], ["age"])
    assert list(metrics.feature_losses(records)) == ["flag", "job", "age", "rooms"]
    boards = take(records).boards
    assert [board.judged for board in boards] == [4, 4]
    out = print_results(capsys, records)
    page = read_page(write_report(tmp_path / "p.html", records))
    for text in (out, page.text):
        assert "the most fragile of 2 features under swap(0.1) is flag" in text
        assert "the most fragile of 2 features under jitter(0.5) is age" in text
        assert text.count("eatures under different noise are ranked apart") == 1
        assert "o answer changes under jitter(0.5) in rooms: models do not use" in text
    for board in boards:
        title = f"accuracy lost under {board.noise} in one feature at a time, by hand, the largest"
        rows = page.tables[f"{title} mean first"]
        assert [row[0] for row in rows[1:]] == [loss.feature for loss in board.rows]
        assert {r["noise"] for r in chart_rows(features_chart(board)) if "noise" in r} == {
            loss.noise for loss in board.rows
        }


def test_the_section_answers_for_every_model() -> None:
    specs = ('swap(0.1, only="job")', 'jitter(0.5, only="age")')
    hits = {"clean": np.ones(N, int)} | {spec: np.full(N, K) for spec in specs}
    made = [make_records(hits, k=K, model=m, metric=METRIC, sets=specs) for m in "abcdef"]
    blocks = take(sum(made, start=Records(()))).blocks()
    answers = [b for b in blocks if isinstance(b, Sentence) and b.about]
    assert [b.about for b in answers] == [*"abcdef", *"abcdef"]


@pytest.mark.parametrize(
    ("lost", "end"),
    [(40, "20.00 [14.60, 26.06] percentage points of accuracy are lost"), (0, "no loss is shown;")],
)
def test_one_feature_under_a_noise_is_not_called_the_most_fragile(lost: int, end: str) -> None:
    spec = 'swap(0.1, only="flag")'
    hits = {"clean": np.ones(N, int), spec: np.where(np.arange(N) < lost, 0, K)}
    (board,) = take(make_records(hits, k=K, metric=METRIC, sets=(spec,))).boards
    assert describe_model(board.models[0]).startswith(f"under swap(0.1) in flag, {end}")


def test_answers_that_change_are_not_called_unchanged() -> None:
    def note(*models: tuple[int, ...]) -> str:
        return note_unnoticed(take(make_both(*models)).boards[0])

    assert "jitter(0.5) in tiny:" in note((0, 4, 5), (0, 0, 9))
    assert "jitter(0.5) in tiny, mid:" in note((0, 4, 0), (0, 0, 0))
    assert note((1, 4, 5), (0, 9, 0)) == ""


def test_a_flag_of_0_and_1_loses_what_the_same_text_loses() -> None:
    def answer(x: Any) -> Any:
        values = x["flag"] if hasattr(x, "columns") else pd.Series(x[:, 1])
        return values.isin(["yes", 1]).astype(int)

    rng = np.random.default_rng(0)
    flag, age = rng.integers(0, 2, 1500), rng.normal(size=1500)
    y = np.where(rng.random(1500) < 0.1, 1 - flag, flag)
    text = pd.DataFrame({"age": age, "flag": np.where(flag == 1, "yes", "no")})
    losses = []
    for x in (text, text.assign(flag=flag), text.assign(flag=flag).to_numpy(float)):
        data = make_dataset(x, y)
        records = evaluate(answer, data, per_feature(data), k=3)
        losses.append(metrics.feature_losses(records).values())
    # one row of ten is flipped, and the model is right in nine of ten
    for moved, flipped in losses:
        assert moved.value == 0
        assert flipped.value == pytest.approx(0.1 * (0.9 - 0.1), abs=0.015)


def test_the_feature_that_a_model_uses_is_the_fragile_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3))
    data = make_dataset(x, (x[:, 1] > 0).astype(int), features=("a", "b", "c"))
    records = evaluate(
        lambda x: (x[:, 1] > 0).astype(int), data, per_feature(data, "jitter(0.5)"), k=4
    )
    losses = metrics.feature_losses(records)
    assert next(iter(losses)) == "b"
    assert losses["b"].low > 0.05
    assert losses["a"].value == losses["c"].value == 0
    (entry,) = find(records).json()["feature_losses"]
    assert entry["most_fragile"] == ["b"]
    # the verdict and the table of corruptions leave these to the finding
    assert find(records).groups.subjects[0].noisy == ()


def test_a_date_that_a_model_uses_is_ranked() -> None:
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200), "D")
    frame = pd.DataFrame({"age": np.linspace(20, 70, 200), "since": day})
    y = (day > day[99]).astype(int)
    data = make_dataset(frame, y)
    records = evaluate(lambda x: (x["since"] > day[99]).astype(int), data, per_feature(data), k=4)
    losses = metrics.feature_losses(records)
    assert list(losses) == ["since", "age"]
    assert losses["since"].low > 0.05
    assert losses["age"].value == 0


def test_a_part_of_the_features_has_no_ranking(records: Records) -> None:
    part = tuple(cell for cell in records if cell.corruption != SPECS[0])
    assert "features" not in find(replace(records, cells=part)).findings

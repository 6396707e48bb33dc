"""Charts of suites show the errors of all cells."""

from dataclasses import replace

import pytest

from helpers.findings import score_boards
from helpers.pages import chart_rows
from shaketable.evaluation.records import Records
from shaketable.findings.mce.charts import draw_error_panels, means_chart


def test_means_chart_shows_every_norm_and_the_clean_error(suite_records: Records) -> None:
    boards = score_boards(suite_records)
    rows = [row for board in boards for row in chart_rows(means_chart(board))]
    by_noise = {(r["model"], r["noise"]): r for r in rows if "noise" in r}
    scores = [score for board in boards for score in board.scores]
    for score in scores:
        for ladder in score.ladders:
            noise = ladder.title if len(ladder.levels) > 1 else ladder.levels[0].spec
            r = by_noise.pop((score.label, noise))
            e = ladder.mean
            assert (r["value"], r["low"], r["high"]) == (100 * e.value, 100 * e.low, 100 * e.high)
    assert not by_noise
    clean = {r["model"]: r["value"] for r in rows if r.keys() == {"model", "value"}}
    assert clean == {score.label: 100 * score.clean.value for score in scores}


def test_errors_have_one_panel_per_norm_and_one_row_per_cell(suite_records: Records) -> None:
    charts = draw_error_panels(score_boards(suite_records)[0])
    panels = [chart.to_dict() for chart in charts]
    assert [p["title"] for p in panels] == [
        "L0", "L0.5", "L1", "L2", "L5", "L10", "L50", "L200", "L-inf",
    ]  # fmt: skip
    rows = {(r["model"], r["noise"]): r for c in charts for r in chart_rows(c) if "noise" in r}
    assert len(rows) == 2 * 89
    for cell in suite_records:
        if (row := rows.get((cell.model, cell.corruption))) is not None:
            assert row["value"] == pytest.approx(100 * (1 - cell.accuracy))
            assert row["low"] < row["value"] < row["high"]
            assert row["epsilon"] == cell.epsilon
    levels = {r["level"] for (_, noise), r in rows.items() if noise.startswith("l0(")}
    assert levels == set(range(2, 11))
    domains = [p["layer"][-1]["encoding"]["y"]["scale"]["domain"] for p in panels]
    assert all(d == domains[0] for d in domains), "norms are compared on one scale"
    highest = max(r["high"] for r in rows.values())
    assert domains[0][0] == 0
    assert highest < domains[0][1] < 1.2 * highest


def test_charts_name_the_source_of_the_sizes(suite_records: Records) -> None:
    board = score_boards(suite_records)[0]
    title = means_chart(board).to_dict()["title"]
    assert "sizes derived from pnorm-cifar for 64 values" in title


def test_suites_of_one_size_have_one_row_per_noise(suite_records: Records) -> None:
    (board,) = score_boards(replace(suite_records, suites=suite_records.suites[1:]))
    rows = [r for r in chart_rows(means_chart(board)) if "noise" in r]
    assert {r["noise"] for r in rows} == set(suite_records.suites[1].specs)

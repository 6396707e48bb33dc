"""Charts show the metrics' numbers, and Vega-Lite can draw every one of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.findings import find_subjects, score_boards
from helpers.pages import chart_rows
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.evaluation.study import study
from shaketable.findings.mce.charts import errors_chart, means_chart
from shaketable.findings.mscr.charts import accuracy_chart, mscr_chart
from shaketable.findings.study.charts import convergence_chart, matrix_chart, tradeoff_chart
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit


@pytest.fixture(scope="module")
def grid(data: Dataset) -> Records:
    return study(data, ["logistic", "1nn"], train_eps=[0, "eps_min", 0.04], test_eps=[0.03], runs=3)


def test_accuracy_shows_the_metric_and_its_interval(noise_records: Records) -> None:
    rows = {
        (r["model"], r["epsilon"]): r
        for r in chart_rows(accuracy_chart(find_subjects(noise_records)))
        if "value" in r
    }
    assert len(rows) == 8
    for s in metrics.series(noise_records):
        expected, row = metrics.accuracy(s), rows[s.first.model, s.first.epsilon]
        shown = (row["value"], row["low"], row["high"])
        assert shown == (100 * expected.value, 100 * expected.low, 100 * expected.high)


def test_accuracy_marks_eps_min(noise_records: Records) -> None:
    marks = [
        r
        for r in chart_rows(accuracy_chart(find_subjects(noise_records)))
        if r.get("text") == "eps_min"
    ]
    assert [r["at"] for r in marks] == [noise_records.separations[0].two_r / 2]


def test_axis_of_accuracies_spans_the_intervals_and_not_zero(noise_records: Records) -> None:
    chart = accuracy_chart(find_subjects(noise_records)).to_dict()
    (low, high) = chart["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    least = min(
        r["low"] for r in chart_rows(accuracy_chart(find_subjects(noise_records))) if "low" in r
    )
    assert 0 < low < least
    assert high <= 100


def test_mscr_of_fixed_models_and_studies(noise_records: Records, grid: Records) -> None:
    for records in (noise_records, grid):
        rows = [r for r in chart_rows(mscr_chart(find_subjects(records))) if "value" in r]
        expected = [100 * metrics.mscr(s).value for s in metrics.series(records) if s.at_eps_min]
        assert [r["value"] for r in rows] == expected


def test_matrix_holds_every_cell_its_diagonal_and_the_best_of_each_row(grid: Records) -> None:
    rows = [r for r in chart_rows(matrix_chart(find_subjects(grid))) if r.get("model") == "1nn"]
    assert len(rows) == 3 * 3
    assert sum(r["diagonal"] for r in rows) == 2
    for noise in {r["noise"] for r in rows}:
        same = [r for r in rows if r["noise"] == noise]
        assert {r["value"] for r in same if r["best"]} == {max(r["value"] for r in same)}


def test_tradeoff_sets_clean_accuracy_against_mscr(grid: Records) -> None:
    rows = [r for r in chart_rows(tradeoff_chart(find_subjects(grid))) if "clean" in r]
    found = [s for s in metrics.series(grid) if s.at_eps_min]
    assert [r["value"] for r in rows] == [100 * metrics.mscr(s).value for s in found]
    clean = [np.mean([c.accuracy for c in s.clean]) for s in found]
    np.testing.assert_allclose([r["clean"] for r in rows], 100 * np.array(clean))


def test_runs_end_at_the_mean_of_all_runs(grid: Records) -> None:
    rows = [r for r in chart_rows(convergence_chart(find_subjects(grid))) if "runs" in r]
    last = [r["value"] for r in rows if r["runs"] == 3]
    assert last == [100 * metrics.mscr(s).value for s in metrics.series(grid) if s.at_eps_min]


def test_suite_means_show_every_norm_and_the_clean_error(suite_records: Records) -> None:
    rows = chart_rows(means_chart(score_boards(suite_records)))
    found = {(r["model"], r["noise"]): r for r in rows if "noise" in r}
    scores = [score for board in score_boards(suite_records) for score in board.scores]
    for score in scores:
        for ladder in score.ladders:
            noise = ladder.title if len(ladder.levels) > 1 else ladder.levels[0].spec
            r = found.pop((score.label, noise))
            e = ladder.mean
            assert (r["value"], r["low"], r["high"]) == (100 * e.value, 100 * e.low, 100 * e.high)
    assert not found
    clean = {r["model"]: r["value"] for r in rows if r.keys() == {"model", "value"}}
    assert clean == {score.label: 100 * score.clean.value for score in scores}


def test_suite_errors_have_a_panel_a_norm_and_a_row_a_cell(suite_records: Records) -> None:
    chart = errors_chart(score_boards(suite_records))
    panels = chart.to_dict()["concat"]
    assert [p["title"] for p in panels] == [
        "L0", "L0.5", "L1", "L2", "L5", "L10", "L50", "L200", "L-inf",
    ]  # fmt: skip
    rows = {(r["model"], r["noise"]): r for r in chart_rows(chart) if "noise" in r}
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


def test_charts_of_suites_say_where_sizes_are_from(suite_records: Records) -> None:
    only = replace(suite_records, suites=suite_records.suites[:1])
    for records, draw in ((suite_records, means_chart), (only, means_chart),
                          (suite_records, errors_chart)):  # fmt: skip
        spec = draw(score_boards(records)).to_dict()
        titles = str([spec["title"], *(p["title"] for p in spec.get("vconcat", ()))])
        assert "sizes derived from pnorm-cifar for 64 values" in titles


def test_suites_on_several_data_are_told_apart(suite_records: Records) -> None:
    other = tuple(
        replace(c, data="more", fingerprint="m", key=f"{c.key}m", points=replace(c.points, id="m"))
        for c in suite_records
    )
    suites = tuple(replace(s, fingerprint="m") for s in suite_records.suites)
    both = suite_records + Records(other, suites=suites)
    titles = [p["title"] for p in errors_chart(score_boards(both)).to_dict()["concat"]]
    assert len(set(titles)) == 2 * 9
    assert titles[0] == "L0, tiles"
    assert titles[-1] == "L-inf, more"
    assert chart_rows(errors_chart(score_boards(both)))
    assert len(means_chart(score_boards(both)).to_dict()["vconcat"]) == 4


def test_suites_that_are_not_there_cannot_be_drawn(
    suite_records: Records, noise_records: Records
) -> None:
    with pytest.raises(InputError, match="no model was evaluated under a whole suite"):
        means_chart(score_boards(noise_records))
    ice = replace(suite_records, suites=suite_records.suites[1:])
    with pytest.raises(InputError, match="several sizes per norm"):
        errors_chart(score_boards(ice))
    assert {r["noise"] for r in chart_rows(means_chart(score_boards(ice))) if "noise" in r} == set(
        suite_records.suites[1].specs
    )


def test_what_is_not_there_cannot_be_drawn(noise_records: Records) -> None:
    for draw in (matrix_chart, tradeoff_chart, convergence_chart):
        with pytest.raises(InputError, match="nothing to draw"):
            draw([s for s in find_subjects(noise_records) if s.is_study])
    with pytest.raises(InputError, match="eps_min"):
        mscr_chart(find_subjects(noise_records.select(corruption="clean")))


def test_one_level_one_model_and_other_corruptions(data: Dataset) -> None:
    model = fit(builtin("1nn"), data, np.arange(120), seed=0)
    for corruptions in ([], ["linf(0.01)"], ["linf(0.01) + l2(0.01)"], ["linf(0.01)", "l2(0.01)"]):
        records = evaluate(model, data, corruptions)
        noises = {
            r["noise"] for r in chart_rows(accuracy_chart(find_subjects(records))) if "noise" in r
        }
        assert len(noises) == 1 + len({c.partition("(")[2] for c in corruptions})


def test_subjects_are_told_apart(noise_records: Records) -> None:
    def renamed(records: Records, **changes: Any) -> Records:
        return replace(records, cells=tuple(replace(c, **changes) for c in records))

    same_name = [s.label for s in find_subjects(renamed(noise_records, model="net"))]
    assert len(set(same_name)) == 2
    assert all(label.startswith("net #") for label in same_name)
    other_k = tuple(
        replace(c, k=20, key=c.key + "k") if c.corruption != "clean" else c for c in noise_records
    )
    both = replace(noise_records, cells=(*noise_records, *(c for c in other_k if c.k == 20)))
    assert [s.label for s in find_subjects(both)] == [
        "svm, k = 10", "1nn, k = 10", "svm, k = 20", "1nn, k = 20",
    ]  # fmt: skip

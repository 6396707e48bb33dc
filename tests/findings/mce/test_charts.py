"""Charts of suites show the errors of all cells."""

from dataclasses import replace

import pytest

from helpers.findings import score_boards
from helpers.pages import chart_rows
from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.mce.charts import errors_chart, means_chart


def test_means_chart_shows_every_norm_and_the_clean_error(suite_records: Records) -> None:
    rows = chart_rows(means_chart(score_boards(suite_records)))
    by_noise = {(r["model"], r["noise"]): r for r in rows if "noise" in r}
    scores = [score for board in score_boards(suite_records) for score in board.scores]
    for score in scores:
        for ladder in score.ladders:
            noise = ladder.title if len(ladder.levels) > 1 else ladder.levels[0].spec
            r = by_noise.pop((score.label, noise))
            e = ladder.mean
            assert (r["value"], r["low"], r["high"]) == (100 * e.value, 100 * e.low, 100 * e.high)
    assert not by_noise
    clean = {r["model"]: r["value"] for r in rows if r.keys() == {"model", "value"}}
    assert clean == {score.label: 100 * score.clean.value for score in scores}


def test_errors_chart_has_one_panel_per_norm_and_one_row_per_cell(suite_records: Records) -> None:
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


def test_charts_name_the_source_of_the_sizes(suite_records: Records) -> None:
    only = replace(suite_records, suites=suite_records.suites[:1])
    for records, draw in ((suite_records, means_chart), (only, means_chart),
                          (suite_records, errors_chart)):  # fmt: skip
        spec = draw(score_boards(records)).to_dict()
        titles = str([spec["title"], *(p["title"] for p in spec.get("vconcat", ()))])
        assert "sizes derived from pnorm-cifar for 64 values" in titles


def test_suites_on_several_data_have_different_titles(suite_records: Records) -> None:
    other = tuple(
        replace(
            c, data="more", fingerprint="m", key=f"{c.key}m", points=replace(c.points, order="m")
        )
        for c in suite_records.select(model="half")
    )
    suites = tuple(replace(s, fingerprint="m") for s in suite_records.suites)
    both = score_boards(suite_records.select(model="half") + Records(other, suites=suites))
    chart = errors_chart(both)
    titles = [p["title"] for p in chart.to_dict()["concat"]]
    assert len(set(titles)) == 2 * 9
    assert titles[0] == "L0, tiles"
    assert titles[-1] == "L-inf, more"
    assert chart_rows(chart)
    assert len(means_chart(both).to_dict()["vconcat"]) == 4


def test_suites_without_results_cannot_be_drawn(
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

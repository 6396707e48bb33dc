"""Charts show the metrics' numbers, and Vega-Lite can draw them."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.findings import find_subjects
from helpers.pages import chart_rows
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.corruptions.suites.catalogue import MULTIPLES
from shaketable.corruptions.suites.suite import suite
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.findings.mscr.charts import accuracy_chart, mscr_chart
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit


def test_accuracy_chart_shows_the_metric_and_its_interval(noise_records: Records) -> None:
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


def test_accuracy_chart_marks_eps_min(noise_records: Records) -> None:
    marks = [
        r
        for r in chart_rows(accuracy_chart(find_subjects(noise_records)))
        if r.get("text") == "eps_min"
    ]
    assert [r["at"] for r in marks] == [noise_records.separations[0].two_r / 2]


def test_accuracy_chart_of_multiples_of_eps_min_has_them_on_its_axis(data: Dataset) -> None:
    def lower(x: Array) -> Array:
        return np.full(len(x), "lower")

    records = evaluate(lower, data, suite("mscr-ladder"), k=1)
    ten_times = replace(data, x=10 * data.x, name="ten times")
    records += evaluate(lower, ten_times, suite("mscr-ladder"), k=1)
    chart = accuracy_chart(find_subjects(records))
    assert "epsilon / eps_min" in chart.to_json()
    rows = chart_rows(chart)
    sizes = [r["size"] for r in rows if "size" in r]
    assert sizes == pytest.approx(2 * [0, *MULTIPLES], rel=1e-12)
    assert [r["at"] for r in rows if r.get("text") == "eps_min"] == [1]
    assert {r["noise"].split()[0] for r in rows if r.get("size") == 0.5} == {"0.5*eps_min"}
    noise = evaluate(lower, data, ["linf(eps_min)", "linf(0.07)"], k=1)
    assert "size epsilon" in accuracy_chart(find_subjects(noise)).to_json()


def test_axis_of_accuracies_spans_the_intervals_and_not_zero(noise_records: Records) -> None:
    chart = accuracy_chart(find_subjects(noise_records)).to_dict()
    (low, high) = chart["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    least = min(
        r["low"] for r in chart_rows(accuracy_chart(find_subjects(noise_records))) if "low" in r
    )
    assert 0 < low < least
    assert high <= 100


def test_mscr_chart_shows_the_metric_of_fitted_models_and_studies(
    noise_records: Records, study_records: Records
) -> None:
    for records in (noise_records, study_records):
        rows = [r for r in chart_rows(mscr_chart(find_subjects(records))) if "value" in r]
        expected = [100 * metrics.mscr(s).value for s in metrics.series(records) if s.at_eps_min]
        assert [r["value"] for r in rows] == expected


def test_accuracy_chart_of_one_level_and_of_other_corruptions(data: Dataset) -> None:
    model = fit(builtin("1nn"), data, np.arange(120), seed=0)
    for corruptions in ([], ["linf(0.01)"], ["linf(0.01) + l2(0.01)"], ["linf(0.01)", "l2(0.01)"]):
        records = evaluate(model, data, corruptions)
        noises = {
            r["noise"] for r in chart_rows(accuracy_chart(find_subjects(records))) if "noise" in r
        }
        assert len(noises) == 1 + len({c.partition("(")[2] for c in corruptions})


def test_without_noise_of_size_eps_min_there_is_no_mscr_to_draw(noise_records: Records) -> None:
    with pytest.raises(InputError, match="eps_min"):
        mscr_chart(find_subjects(noise_records.select(corruption="clean")))

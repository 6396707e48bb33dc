"""The page shows the numbers of the metrics, or says why there are none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.pages import read_page
from shaketable import metrics
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit
from shaketable.views import numbers
from shaketable.views.numbers import format_bound


def test_page_of_fixed_models_says_what_the_metrics_say(
    tmp_path: Path, data: Dataset, noise_records: Records
) -> None:
    page = read_page(
        write_report(tmp_path / "r.html", noise_records, dataset=data, notes=["mind the gap"])
    )
    text = " ".join(page.text.split())
    assert "Mind the gap" in text
    for model in noise_records.models:
        records = noise_records.select(model=model)
        mscr = metrics.mscr(records)
        assert metrics.describe_mscr(mscr) in text
        assert (
            numbers.format_change(mscr) + "MSCR, 95 % interval " + numbers.format_interval(mscr)
            in text
        )
        for s in metrics.series(records):
            assert numbers.format_interval(metrics.accuracy(s)) in text
        error = metrics.error_probability(next(s for s in metrics.series(records) if s.at_eps_min))
        assert format_bound(error.overall.high) in text
        assert all(format_bound(e.high) in text for e in error.by_class.values())
        assert f"below {format_bound(error.least_provable)}" in text
        assert error.overall.method in text
    difference = metrics.mscr_difference(
        *(noise_records.select(model=m) for m in noise_records.models)
    )
    assert numbers.format_points(difference) in text
    assert data.fingerprint in text
    assert f"{data.name}: {next(iter(noise_records)).n} test points" in text  # unchanged
    assert repr(noise_records.separations[0].two_r) in text


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

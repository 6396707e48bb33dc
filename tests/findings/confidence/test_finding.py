"""The finding about confidence: its numbers, words and charts."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import shaketable as st
from helpers.commands import check_schema
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.evaluation.records import Records
from shaketable.findings.confidence import numbers
from shaketable.findings.confidence.charts import MAX_LINES, draw_reliability, draw_selective
from shaketable.findings.confidence.finding import Confidences
from shaketable.findings.results import Results
from shaketable.views.blocks import Chart, Heading, Sentence, Table

X = np.arange(40.0)[:, None]
Y = np.arange(40) % 4 > 0  # one in four is False


class Fixed(ClassifierMixin, BaseEstimator):
    """Always answers True with one confidence, but False below a value."""

    def __init__(self, sure: float = 0.5, swapped: float = -9.0) -> None:
        self.sure, self.swapped = sure, swapped
        self.classes_ = np.array([False, True])

    def fit(self, x: Any, y: Any) -> "Fixed":
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, x: Any) -> Any:
        return np.tile([1 - self.sure, self.sure], (len(x), 1))

    def predict(self, x: Any) -> Any:
        return np.asarray(x)[:, 0] >= self.swapped


@pytest.fixture(scope="module")
def records() -> Records:
    x, y = load_iris(return_X_y=True)
    return st.evaluate(GaussianNB().fit(x[::2], y[::2]), (x, y), ["linf(0.5)", "linf(1)"], k=7)


def find_entries(records: Records) -> dict[str, Any]:
    return {e["corruption"]: e for e in st.find(records).json()["confidence"]}


def get_finding(results: Results) -> Confidences:
    finding = results.findings["confidence"]
    assert isinstance(finding, Confidences)
    return finding


def list_sentences(records: Records) -> list[str]:
    blocks = get_finding(st.find(records)).blocks()
    return [b.text for b in blocks if isinstance(b, Sentence) and b.level != "detail"]


def test_numbers_are_those_of_the_metrics(records: Records) -> None:
    entries = find_entries(records)
    assert [*entries] == ["clean", "linf(1)", "linf(0.5)"]
    for series in st.metrics.series(records):
        e = entries[series.first.corruption]
        assert e["accuracy"] == pytest.approx(series.accuracy.json())
        for norm in ("l1", "l2"):
            expected = numbers.estimate_calibration(series, norm=norm)
            assert e[f"calibration_error_{norm}"] == pytest.approx(expected.json())
        expected = numbers.estimate_sure_and_wrong(series)
        assert e["sure_and_wrong"] == pytest.approx(expected.json())
        assert e["sure_errors"] == pytest.approx(numbers.estimate_sure_errors(series).json())
        for part in e["selective_accuracy"]:
            accuracy = numbers.estimate_selective_accuracy(series, refused=part["refused"] / 100)
            assert part["accuracy"] == pytest.approx(accuracy.json())
        if not series.first.is_clean:
            gap = numbers.subtract_calibration(series, series.on_clean).json()
            assert e["difference_from_clean"] == pytest.approx(
                {**gap, "shown": e["difference_from_clean"]["shown"]}
            )
    assert entries["clean"]["difference_from_clean"] is None
    assert entries["linf(1)"]["difference_from_clean"]["shown"]


def test_bins_add_up_to_accuracy_and_confidence(records: Records) -> None:
    for e in find_entries(records).values():
        bins = e["reliability"]
        shares = np.array([b["share"] for b in bins])
        assert shares.sum() == pytest.approx(100)
        means = [b["accuracy"]["mean"] for b in bins]
        assert np.dot(shares, means) / 100 == pytest.approx(e["accuracy"]["mean"])
        sure = [b["confidence"] for b in bins]
        assert np.dot(shares, sure) / 100 == pytest.approx(e["mean_confidence"])
        assert all(b["from"] <= b["confidence"] <= b["to"] + 1e-4 for b in bins)
        assert all(a["to"] <= b["from"] + 1e-9 for a, b in pairwise(bins))
        assert e["bins"] == 15


def test_closed_form_of_one_confidence() -> None:
    e = find_entries(st.evaluate(Fixed(0.95), (X, Y), "clean"))["clean"]
    (only,) = e["reliability"]
    assert only["share"] == 100
    assert only["accuracy"]["mean"] == 75
    assert e["mean_confidence"] == pytest.approx(95)
    assert e["calibration_error_l1"]["mean"] == pytest.approx(20, abs=0.1)
    assert e["sure_and_wrong"]["mean"] == 100
    assert e["sure_errors"]["mean"] == 25
    selective = [part["accuracy"]["mean"] for part in e["selective_accuracy"]]
    assert selective == pytest.approx([75] * 10), "of equally sure answers a share is refused"
    e = find_entries(st.evaluate(Fixed(0.9), (X, Y), "clean"))["clean"]
    assert e["sure_and_wrong"]["mean"] == e["sure_errors"]["mean"] == 0, "sure is above 0.9"


def test_scores_that_disagree_with_predict_are_counted() -> None:
    records = st.evaluate(Fixed(0.75, swapped=6), (X, Y), "linf(0.1)", k=3)
    entries = find_entries(records)
    assert entries["clean"]["disagreeing"] == 6
    noisy = next(c for c in records if not c.is_clean)
    assert noisy.answers is not None
    count = int((noisy.answers.predicted == 0).sum())
    assert entries["linf(0.1)"]["disagreeing"] == count > 0
    said = f"in 6 of 40 answers on clean points and {count} of 120 answers under linf(0.1)"
    assert any(said in text for text in list_sentences(records))
    agreeing = st.evaluate(Fixed(0.75), (X, Y), "clean")
    assert not any("higher score" in text for text in list_sentences(agreeing))


def test_a_sentence_says_how_many_wrong_answers_are_sure(records: Records) -> None:
    entries = find_entries(records)
    clean, worst = (entries[c]["sure_and_wrong"]["mean"] for c in ("clean", "linf(1)"))
    (text,) = list_sentences(records)
    assert text == (
        f"of its wrong answers, {clean:.2f}% on clean points and {worst:.2f}% under linf(1) are "
        "sure, with a confidence above 0.9; under linf(1), 40% of these are of class 0"
    )


@pytest.mark.parametrize("n", [2, 40])
def test_a_model_that_is_always_sure_and_right(n: int) -> None:
    def model(x: Any) -> Any:
        return np.eye(2)[(x[:, 0] > 0.5).astype(int)]

    records = st.evaluate(model, (np.arange(n)[:, None] % 2, np.arange(n) % 2), "linf(0.1)", k=2)
    entries = find_entries(records)
    assert [e["sure_and_wrong"] for e in entries.values()] == [None, None]
    assert [e["sure_errors"]["mean"] for e in entries.values()] == [0, 0]
    assert [e["calibration_error_l1"]["mean"] for e in entries.values()] == [0, 0]
    assert list_sentences(records) == ["no wrong answer on clean points or under linf(0.1)"]
    json.dumps(st.find(records).json(), allow_nan=False)


def test_a_model_that_is_wrong_under_noise_only() -> None:
    def model(x: Any) -> Any:
        return np.eye(2)[(x[:, 0] > 0.5).astype(int)]

    data = np.arange(40)[:, None] % 2, np.arange(40) % 2
    (text,) = list_sentences(st.evaluate(model, data, "linf(2)", k=2))
    assert text == (
        "no wrong answer on clean points; of its wrong answers, 100.00% under linf(2) are sure, "
        "with a confidence above 0.9; under linf(2), 55% of these are of class 0"
    )


def test_models_without_scores_are_left_out() -> None:
    def labels(x: Any) -> Any:
        return x[:, 0] > 4

    results = st.find(st.evaluate(labels, (X, Y), "linf(0.1)"))
    assert "confidence" not in results.json()
    places = [b.place for b in results.blocks() if isinstance(b, Heading)]
    assert "confidence" not in places
    both = st.find(st.evaluate({"labels": labels, "fixed": Fixed(0.8)}, (X, Y), "linf(0.1)"))
    assert {e["label"] for e in both.json()["confidence"]} == {"fixed"}
    hits = st.find(st.evaluate(Fixed(0.8), (X, Y), "linf(0.1)", record="hits"))
    assert "confidence" not in hits.json()


def test_the_summary_is_short_with_many_models(capsys: pytest.CaptureFixture[str]) -> None:
    models = {f"m{i}": Fixed(0.6 + 0.1 * i) for i in range(4)}
    sizes = [f"linf({size})" for size in (0.1, 0.2, 0.3)]
    finding = get_finding(st.find(st.evaluate(models, (X, Y), sizes, k=2)))
    finding.print()
    table = capsys.readouterr().out.partition("confidence, calibration error")[2]
    assert len(table.strip().splitlines()) <= 12
    tables = [b for b in finding.blocks() if isinstance(b, Table)]
    assert len(tables[0].rows) == 8
    assert len(tables[1].rows) == tables[1].limit == 16, "details have all"


def test_charts_show_the_numbers_and_are_valid(records: Records) -> None:
    (model,) = get_finding(st.find(records)).models
    entries = find_entries(records)
    panels = [chart.to_dict() for chart in draw_reliability(model)]  # checks the schema
    assert [panel["title"] for panel in panels] == ["clean", "linf(1)"]
    for panel in panels:
        drawn = [rows for rows in panel["datasets"].values() if "share" in rows[0]]
        expected = entries[panel["title"]]["reliability"]
        assert [row["value"] for row in drawn[0]] == [b["accuracy"]["mean"] for b in expected]
    curve = draw_selective(model).to_dict()
    (rows,) = curve["datasets"].values()
    assert len(rows) == 3 * 10
    assert {row["noise"] for row in rows} == {"clean", "linf(0.5)", "linf(1)"}
    assert "layer" in curve
    values = [p["accuracy"]["mean"] for p in entries["clean"]["selective_accuracy"]]
    assert [row["value"] for row in rows if row["noise"] == "clean"] == values


def test_a_curve_has_as_many_lines_as_colours() -> None:
    sizes = [f"linf({size})" for size in range(1, 9)]
    (model,) = get_finding(st.find(st.evaluate(Fixed(0.8), (X, Y), sizes, k=1))).models
    assert len(model.corrupted) == 8
    (rows,) = draw_selective(model).to_dict()["datasets"].values()
    assert len({row["noise"] for row in rows}) == MAX_LINES


def test_json_page_and_text(
    records: Records, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = st.find(records)
    check_schema("report", {"schema_version": SCHEMA_VERSION, **results.json()})
    results.print()
    out = capsys.readouterr().out
    assert "confidence, calibration error (l1, 15 bins), sure answers (above 0.9)" in out
    assert "refused" not in out, "details are left to pages"
    page = st.report(results, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Is it as sure as it is right?" in page
    assert "the least sure, is refused" in page
    charts = [b for b in get_finding(results).blocks() if isinstance(b, Chart)]
    assert len(charts) == 2
    frame = results.to_frame()
    means = frame[frame["quantity"] == "confidence.sure_errors"]["mean"].tolist()
    assert means == [e["sure_errors"]["mean"] for e in results.json()["confidence"]]


def test_the_class_that_is_wrong_and_sure_is_counted_and_named() -> None:
    found = st.evaluate(Fixed(0.95), (X, Y), "linf(0.1)", k=3)
    entries = find_entries(found)
    assert entries["clean"]["sure_errors_by_class"] == [{"class": False, "count": 10}]
    assert entries["linf(0.1)"]["sure_errors_by_class"] == [{"class": False, "count": 30}]
    assert "100% of these are of class False" in list_sentences(found)[0]
    unsure = st.evaluate(Fixed(0.6), (X, Y), "linf(0.1)", k=3)
    assert find_entries(unsure)["clean"]["sure_errors_by_class"] == []
    assert "of class" not in list_sentences(unsure)[0]

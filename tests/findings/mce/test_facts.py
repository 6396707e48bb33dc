"""Numbers of a suite in JSON, on the page and in charts, against counts by hand."""

import math
from itertools import pairwise

import numpy as np
import pytest

from helpers.pages import chart_rows, find_shades, read_page
from helpers.records import make_records
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.findings.mce import charts, numbers
from shaketable.findings.mce.numbers import error_change, mean_error_difference
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.findings.suite_results import group_suites
from shaketable.statistics import intervals
from shaketable.views import web

K, N = 4, 60
NORMS = ("l2(0.5)", "l2(1)", "linf(0.1)", "linf(0.2)", "linf(0.3)")
KINDS = tuple(f"{kind}({level}, cifar)" for kind in ("fog", "snow") for level in range(1, 6))


def draw(specs, seed, strength=0.12):
    """Hits of every point; each corruption costs more than the one before."""
    rng = np.random.default_rng(seed)
    hits = {"clean": rng.binomial(1, 0.9, N)}
    return hits | {s: rng.binomial(K, 0.9 - strength * i, N) for i, s in enumerate(specs, start=1)}


def make(specs, metric, **models):
    records = None
    for model, hits in models.items():
        of_model = make_records(hits, k=K, model=model, metric=metric, sets=specs)
        records = of_model if records is None else records + of_model
    return records


A, B = draw(NORMS, 0), draw(NORMS, 1, 0.05)


@pytest.fixture(scope="module")
def results():
    return find(make(NORMS, "mce_lp", one=A, two=B))


def expect(wrong, draws):
    """Mean error and its interval in per cent, from wrong answers of every point."""
    e = intervals.mean_share(wrong, draws)
    assert e.low < e.value < e.high
    return pytest.approx({"mean": 100 * e.value, "low": 100 * e.low, "high": 100 * e.high})


def test_json_has_the_errors_of_the_counts(results):
    scores = results.json()["suites"]
    assert [s["model"] for s in scores] == ["one", "two"]
    for score, hits in zip(scores, (A, B), strict=True):
        wrong = {spec: K - h for spec, h in hits.items() if spec != "clean"}
        assert score["clean"] == expect(1 - hits["clean"], 1)
        total = expect(sum(wrong.values()), K * len(NORMS))
        assert {name: score["metric"][name] for name in ("mean", "low", "high")} == total
        ladders = {ladder.pop("name"): ladder for ladder in score["ladders"]}
        assert [ladder.pop("p") for ladder in ladders.values()] == [2, "inf"]
        assert ladders["L2"] == expect(wrong["l2(0.5)"] + wrong["l2(1)"], 2 * K)
        parts = [wrong[spec] for spec in NORMS[2:]]
        assert ladders["L-inf"] == expect(sum(parts), 3 * K)
        for cell, spec in zip(score["cells"], NORMS, strict=True):
            assert (cell["corruption"], cell["k"]) == (spec, K)
            assert cell["epsilon"] == float(spec.partition("(")[2][:-1])
            assert cell["p"] == (2 if spec.startswith("l2") else "inf")
            assert cell["error"] == expect(wrong[spec], K)
        assert (score["n"], score["k"], score["seed"]) == (N, K, 0)


def test_differences_are_first_minus_second_and_fewer_errors_are_better(results):
    (gap,) = results.json()["suite_differences"]
    wrong = [sum(K - h for s, h in hits.items() if s != "clean") for hits in (A, B)]
    assert (gap["first"], gap["second"]) == ("one", "two")
    expected = intervals.mean_difference(*wrong, K * len(NORMS))
    assert gap["mean"] == pytest.approx(100 * (wrong[0] - wrong[1]).mean() / (K * len(NORMS)))
    assert (gap["low"], gap["high"]) == pytest.approx((100 * expected.low, 100 * expected.high))
    (board,) = results.findings["mce"].boards
    assert expected.low > 0
    assert [d.words for d in board.differences] == ["two makes fewer errors"]


def test_severities_and_kinds_are_named_and_the_worst_kind_comes_first():
    hits = draw(KINDS, 0, 0.07)
    (score,) = find(make(KINDS, "mce", net=hits)).json()["suites"][:1]
    assert [ladder["name"] for ladder in score["ladders"]] == ["snow", "fog"]
    for first, second in pairwise(score["ladders"]):
        assert first["mean"] >= second["mean"]
    assert [c["severity"] for c in score["cells"]] == [1, 2, 3, 4, 5] * 2
    assert not any("epsilon" in c or "p" in c for c in score["cells"])
    (board,) = find(make(KINDS, "mce", net=hits)).findings["mce"].boards
    assert board.scores[0].worst.title == "snow"


def test_changes_are_errors_minus_clean_errors_paired_by_point():
    (result,) = group_suites(make(NORMS, "mce_lp", one=A))
    wrong, clean = sum(K - A[s] for s in NORMS), 1 - A["clean"]
    draws = K * len(NORMS)
    change = error_change(result)
    assert change.value == pytest.approx(wrong.mean() / draws - clean.mean())
    expected = intervals.mean_difference(wrong, draws * clean, draws)
    assert (change.low, change.high) == pytest.approx((expected.low, expected.high))


def test_results_of_other_points_are_not_compared():
    one, two = (
        group_suites(make_records(A, k=K, metric="mce_lp", sets=NORMS, run=r))[0] for r in (0, 1)
    )
    with pytest.raises(InputError, match="same suite on the same points"):
        mean_error_difference(one, two)
    other = group_suites(make_records(B, k=K, model="b", metric="mce_lp", sets=NORMS))[0]
    assert mean_error_difference(one, other).value > 0


# Table 1 of Hendrycks & Dietterich (2019), typed in apart: AlexNet's errors in per cent
ALEXNET = {
    "gaussian_noise": 88.6, "shot_noise": 89.4, "impulse_noise": 92.3, "defocus_blur": 82.0,
    "glass_blur": 82.6, "motion_blur": 78.6, "zoom_blur": 79.8, "snow": 86.7, "frost": 82.7,
    "fog": 81.9, "brightness": 56.5, "contrast": 85.3, "elastic_transform": 64.6,
    "pixelate": 71.8, "jpeg_compression": 60.7,
}  # fmt: skip


def test_errors_are_compared_with_those_of_alexnet_kind_by_kind():
    specs = tuple(f"{kind}({s}, imagenet)" for kind in ALEXNET for s in range(1, 6))
    rng = np.random.default_rng(0)
    clean = rng.binomial(1, 0.8, N)
    hits = {"clean": clean} | {s: rng.binomial(K, rng.uniform(0.1, 0.7), N) for s in specs}
    (result,) = group_suites(make(specs, "mce_15", net=hits))
    errors = {s: 100 * (1 - hits[s].mean() / K) for s in specs}
    by_kind = {k: np.mean([errors[f"{k}({s}, imagenet)"] for s in range(1, 6)]) for k in ALEXNET}
    plain = np.mean([by_kind[kind] / ALEXNET[kind] for kind in ALEXNET])
    assert metrics.mce_alexnet(result).value == pytest.approx(plain, rel=2e-3)
    before = 100 * (1 - clean.mean())
    grown = np.mean([(by_kind[kind] - before) / (ALEXNET[kind] - 43.5) for kind in ALEXNET])
    relative = metrics.relative_mce_alexnet(result)
    assert relative.value == pytest.approx(grown, rel=5e-3)
    assert relative.low < relative.value < relative.high
    # paired by point: an error on a clean point is no growth where the point stays wrong
    same = {"clean": clean} | dict.fromkeys(specs, K * clean)
    (still,) = group_suites(make(specs, "mce_15", net=same))
    unmoved = metrics.relative_mce_alexnet(still)
    assert unmoved.value == pytest.approx(0, abs=1e-12)
    assert unmoved.high - unmoved.low < 0.5 * (relative.high - relative.low)
    assert set(numbers._ALEXNET) == set(ALEXNET)
    assert all(abs(100 * numbers._ALEXNET[kind] - ALEXNET[kind]) < 0.1 for kind in ALEXNET)


def test_the_page_has_the_errors_of_the_counts(results, tmp_path):
    page = read_page(write_report(tmp_path / "p.html", results))
    name = next(name for name in page.tables if name.startswith("error in % under every norm"))
    rows = page.tables[name]
    assert rows[0] == ["model", "norm", "mean", "1", "2", "3"]
    assert [row[:2] for row in rows[1:]] == [
        ["one", "L2"], ["one", "L-inf"], ["two", "L2"], ["two", "L-inf"],
    ]  # fmt: skip
    for row, hits, specs in (
        (rows[1], A, [None, *NORMS[:2]]),
        (rows[2], A, NORMS[2:]),
        (rows[3], B, [None, *NORMS[:2]]),
        (rows[4], B, NORMS[2:]),
    ):
        wrong = [K - hits[s] for s in specs if s]
        e = intervals.mean_share(sum(wrong), K * len(wrong))
        assert row[2] == f"{e.value:.2%} {e.low:.2%} to {e.high:.2%}"
        for cell, spec in zip(row[3:], specs, strict=True):
            error, _, size = cell.partition(" ")
            assert size == ("" if spec is None else spec.partition("(")[2][:-1])
            shown = None if error == "–" else float(error.rstrip("%"))
            expected = None if spec is None else 100 * (1 - hits[spec].mean() / K)
            assert shown == pytest.approx(expected, abs=0.0051)
    shades = find_shades(page)
    errors = {s: 1 - A[s].mean() / K for s in NORMS} | {f"B{s}": 1 - B[s].mean() / K for s in NORMS}
    assert max(shades) == 1
    expected = sorted(e / max(errors.values()) for e in errors.values())
    assert sorted(shades) == pytest.approx(expected, abs=0.5 / web.HEATS + 1e-9)


def test_charts_have_the_intervals_of_the_counts(results):
    (board,) = results.findings["mce"].boards
    rows = [row for panel in charts.draw_error_panels(board) for row in chart_rows(panel)]
    levels = {(r["model"], r["noise"]): r for r in rows if "low" in r and "noise" in r}
    for model, hits in (("one", A), ("two", B)):
        for spec in NORMS:
            e = intervals.mean_share(K - hits[spec], K)
            row = levels[model, spec]
            assert [row[name] for name in ("value", "low", "high")] == pytest.approx(
                [100 * e.value, 100 * e.low, 100 * e.high]
            )
        clean = 100 * (1 - hits["clean"].mean())
        assert any(
            r["model"] == model and math.isclose(r["value"], clean) for r in rows if "low" not in r
        )

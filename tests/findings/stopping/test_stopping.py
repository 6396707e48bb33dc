import math
from dataclasses import replace

import numpy as np
import pytest

import shaketable as st
from helpers.commands import check_schema
from helpers.records import make_records
from shaketable.core.errors import InputError
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.evaluation.records import Points, Records

NOISE = "linf(0.1)"
SUITES = {"mce_lp": ["suites"], "ice": ["suites"], "mcv": ["mcv"]}
"""JSON keys of the results of suites, by metric."""


def make_stopped(n, *, model="net", k=4, seed=0, errors=0.1, metric=""):
    """Records of the first n of 2,000 points, whose number a rule chose."""
    rng = np.random.default_rng(seed)
    order = Points("order", (0, 1), rng.permutation(2000), rng.integers(2, size=2000))
    clean = rng.random(2000) > errors
    hits = np.where(rng.random(2000) < 0.9, clean * k, rng.binomial(k, 0.5, size=2000))
    counts = {"clean": clean[:n], NOISE: hits[:n]}
    if metric:
        counts["linf(0.2)"] = hits[:n] // 2
    records = make_records(counts, k=k, model=model, metric=metric, sets=tuple(counts)[1:])
    cells = tuple(replace(c, points=order.first(n), seconds=n / 100) for c in records)
    return replace(records, cells=cells, suites=records.suites if metric else ())


def forget_rule(records):
    """Return the same counts, as of a number that was fixed beforehand."""
    cells = tuple(replace(c, points=replace(c.points, stopped=None)) for c in records)
    return replace(records, cells=cells)


@pytest.mark.parametrize("metric", ["", "mce_lp", "ice", "mcv"])
def test_every_interval_of_a_result_allows_for_the_rule(metric):
    stopped = make_stopped(500, metric=metric)
    stopped += make_stopped(500, model="old", seed=1, metric=metric)
    now, fixed = (st.find(r).json() for r in (stopped, forget_rule(stopped)))

    def list_widths(value, path=""):
        if isinstance(value, dict):
            if "low" in value:
                yield path, value["high"] - value["low"]
            if {"mean", "upper"} <= value.keys():
                yield path, value["upper"] - value["mean"]
            for key, part in value.items():
                yield from list_widths(part, f"{path}/{key}")
        elif isinstance(value, list):
            for i, part in enumerate(value):
                yield from list_widths(part, f"{path}/{i}")

    now.pop("stopping")
    assert "stopping" not in fixed
    widths = dict(list_widths(now))
    assert len(widths) > 20
    for path, before in list_widths(fixed):
        assert widths[path] > 1.2 * before, path
    names = {key for path in widths for key in path.split("/")}
    assert {"models", "accuracy_differences", "groups", *SUITES.get(metric, ())} <= names


def test_regimes_allow_for_the_rule_on_the_points_of_both():
    def find_error(n, change=lambda records: records):
        records = make_stopped(n, model="net(clean)") + make_stopped(400, model="net(C1)", seed=1)
        _, noisy = st.find(change(records)).json()["regimes"]["rows"]
        return noisy["metrics"][0]

    same = find_error(400)
    assert find_error(500)["difference"] == same["difference"], "only the first 400 are compared"
    fixed = find_error(400, forget_rule)
    for kind in ("value", "difference"):
        now, before = (each[kind]["high"] - each[kind]["low"] for each in (same, fixed))
        assert now > 1.2 * before


def test_models_that_stop_elsewhere_are_compared_on_the_points_of_both():
    first, second = make_stopped(500), make_stopped(300, model="old", seed=0, errors=0.2)
    at_300 = Records(tuple(c.first(300) for c in first))
    for compare in (st.metrics.accuracy_difference, st.metrics.mscr_difference):
        longer = compare(first, second, corruption=NOISE)
        shorter = compare(at_300, second, corruption=NOISE)
        assert (longer.low, longer.high) == (shorter.low, shorter.high)
    (pair,) = st.find(first + second).findings["comparison"].pairs
    assert len(pair.gaps) == 2
    assert pair.gaps[0].condition.series["net"].first.n == 500  # its own accuracy uses all


def test_a_suite_is_scored_on_the_points_that_all_its_corruptions_have():
    records = make_stopped(500, metric="mce_lp")
    clean, weak, strong = records.cells
    mixed = replace(records, cells=(clean.first(300), strong.first(300), clean, weak))
    shorter = replace(records, cells=tuple(c.first(300) for c in records))
    assert st.metrics.mce_lp(mixed) == st.metrics.mce_lp(shorter)


def test_precision_is_half_the_width_of_the_widest_interval():
    records = make_stopped(1000)
    widths = [
        50 * (e.high - e.low)
        for e in (st.metrics.accuracy(records, corruption=c) for c in ("clean", NOISE))
    ]
    assert st.Precision(max(widths) + 1e-9).forecast(records) == 1
    assert 1 < st.Precision(max(widths) * 0.99).forecast(records) < 1.1
    loss = st.metrics.relative_loss(records)
    half = 50 * (loss.high - loss.low)
    assert st.Precision(half + 1e-9, of="relative_loss").forecast(records) == 1
    assert st.Precision(half / 2, of=f"relative_loss[{NOISE}]").forecast(records) > 3
    with pytest.raises(
        InputError, match=r"half_width must be above 0 percentage points, such as 0.5, got 0"
    ):
        st.Precision(0)
    with pytest.raises(InputError, match="precision of 'mscr >=' cannot be read"):
        st.Precision(1, of="mscr >=")


def test_ratios_of_hardly_any_right_answers_are_not_precise():
    records = make_stopped(1000, errors=0.995)
    assert st.Precision(100).forecast(records) == 1
    assert st.Precision(1000, of="relative_loss").forecast(records) == math.inf
    never = make_stopped(1000, errors=1)
    assert st.Precision(1000, of="relative_loss").forecast(never) == math.inf


def test_requirements_are_decided_together():
    records = make_stopped(1000)  # an accuracy of about 90 %
    assert st.Decided("accuracy >= 80").forecast(records) == 1
    assert st.Decided("accuracy >= 99").forecast(records) == 1
    assert st.Decided("accuracy >= 89").forecast(records) > 2
    alone = st.Decided("accuracy >= 88").forecast(records)
    assert st.Decided("accuracy >= 88", models=10).forecast(records) > alone > 1
    others = st.Decided(["model(other).accuracy >= 99", "accuracy >= 80"], models=2)
    assert others.forecast(records) == 1
    check = st.check(records, "accuracy >= 80")
    assert "any number of points" in check.decisions[0].estimate.method


def test_a_forecast_says_what_it_takes():
    records = make_stopped(1000)
    found = st.forecast(records, 1.0)
    assert (found.unit, found.size) == ("points", 1000)
    assert st.Precision(1.0).forecast(records) == pytest.approx(found.needed / 1000, rel=1e-3)
    # 1,000 points took 10 s under each of two corruptions
    assert found.seconds == pytest.approx((found.needed - 1000) * 0.02)
    assert str(found).startswith(f"± 1 would need about {found.needed:,} points, about ")
    fixed = st.forecast(forget_rule(records), 1.0)
    assert fixed.needed < 0.6 * found.needed
    cells = tuple(replace(c, seconds=math.nan) for c in records)
    untimed = st.forecast(replace(records, cells=cells), 1.0)
    assert (untimed.needed, untimed.seconds) == (found.needed, None)


def test_where_it_stopped_is_told(capsys):
    records = make_stopped(500)
    results = st.find(records)
    (stop,) = results.json()["stopping"]
    assert (stop["unit"], stop["size"]) == ("points", 500)
    assert stop["forecast"]["half_width"] == pytest.approx(stop["half_width"] / 2)
    assert stop["forecast"]["needed"] > 1500
    assert stop["recommended_k"] == 1
    check_schema("report", {"schema_version": SCHEMA_VERSION, **results.json()})
    results.print()
    assert (
        "net: stopped after 500 points, intervals of accuracies within" in capsys.readouterr().out
    )


def test_the_pace_of_runs_leaves_out_breaks():
    runs = [
        make_records({"clean": [1, 1, 0, 1] * 5, NOISE: [1, 0, 0, 1] * 4 + [1] * 4}, run=run)
        for run in range(6)
    ]
    minutes = [0, 1, 2, 3, 120, 121]
    cells = [
        replace(c, created=f"2026-01-01T{m // 60:02}:{m % 60:02}:00+00:00")
        for m, records in zip(minutes, runs, strict=True)
        for c in records
    ]
    found = st.forecast(Records(tuple(cells)), 1e-3)
    assert found.unit == "runs"
    assert found.seconds == pytest.approx((found.needed - 6) * (4 * 60 + 5 * 60) / 5)

"""Which model is more accurate: every corruption, paired, and judged together."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from helpers.findings import print_results
from helpers.pages import read_page
from helpers.records import draw_hits, make_records
from shaketable import metrics
from shaketable.evaluation.records import Records
from shaketable.findings.comparison.finding import Comparison
from shaketable.findings.comparison.view import describe_pair
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Table
from shaketable.views.numbers import format_points

SPECS = ("clean", "linf(0.1)", "l2(0.2)", "fog(1)")
COST = {"linf": 0.1, "l2": 0.2, "fog": 0.4}


def compare(records: Records, *, reference: str = "") -> Comparison:
    finding = find(records, reference=reference).findings["comparison"]
    assert isinstance(finding, Comparison)
    return finding


def join(*names: str, specs: tuple[str, ...] = SPECS, n: int = 50) -> Records:
    """Records of models that differ by chance."""
    records = Records(())
    for seed, name in enumerate(names):
        records += make_records(draw_hits(seed, specs, COST, n=n), k=4, model=name)
    return records


def test_json_has_the_paired_difference_of_every_two_models_under_every_corruption() -> None:
    records = join("a", "b", "c")
    found = find(records).json()["accuracy_differences"]
    assert {(d["first"], d["second"]) for d in found} == set(combinations("abc", 2))
    assert len(found) == 3 * len(SPECS)
    for d in found:
        pair = (records.select(model=d[side]) for side in ("first", "second"))
        gap = metrics.accuracy_difference(*pair, corruption=d["corruption"])
        assert (d["mean"], d["low"], d["high"]) == (100 * gap.value, 100 * gap.low, 100 * gap.high)
        assert d["k"] == (1 if d["corruption"] == "clean" else 4)


def test_the_mean_over_corruptions_is_paired_by_point() -> None:
    records = join("a", "b")
    (mean,) = find(records).json()["mean_accuracy_differences"]
    assert (mean["first"], mean["second"], mean["corruptions"]) == ("a", "b", 3)
    gaps = [d["mean"] for d in find(records).json()["accuracy_differences"][1:]]
    assert mean["mean"] == pytest.approx(np.mean(gaps))
    assert mean["low"] < mean["mean"] < mean["high"]
    few = find(join("a", "b", specs=SPECS[:2])).json()
    assert few["mean_accuracy_differences"] == [], "of one corruption it says nothing more"


def test_the_best_mscr_may_have_the_worst_accuracy_and_both_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    n = 200
    good = {"clean": [1] * 196 + [0] * 4, "linf(0.1)": [4] * 170 + [0] * 30}
    flat = {"clean": [1] * 100 + [0] * 100, "linf(0.1)": [4] * 100 + [0] * 100}
    both = make_records(good, k=4, model="good") + make_records(flat, k=4, model="flat")
    separation = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
    records = Records(both.cells, (separation,))
    mscr = {m: metrics.mscr(records.select(model=m)).value for m in ("good", "flat")}
    assert mscr["flat"] > mscr["good"]
    assert len(records.cells[0].hits) == n
    (pair,) = compare(records).pairs
    assert [gap.better for gap in pair.gaps] == ["good", "good"]
    assert describe_pair(pair) == (
        "on clean points good is more accurate; under linf(eps_min) good is more accurate"
    )
    out = print_results(capsys, records)
    assert "difference in MSCR" in out
    row = next(line for line in out.splitlines() if line.startswith(" linf(eps_min)"))
    assert row.strip().endswith("*")


def test_differences_of_a_kind_are_judged_together() -> None:
    """Eight equal differences, so small that each is shown alone, but not among eight."""

    def estimate(lost: int, confidence: float) -> Estimate:
        hits = np.array([0] * lost + [4] * (120 - lost))
        return intervals.mean_difference(np.full(120, 4), hits, 4, confidence=confidence)

    lost = next(n for n in range(1, 120) if estimate(n, 0.95).low > 0)
    assert estimate(lost, 1 - 0.05 / 8).low <= 0
    specs = [f"linf({i / 100})" for i in range(1, 9)]
    clean = {"clean": [1] * 110 + [0] * 10}

    def make(model: str, lost: int) -> Records:
        hits = np.array([0] * lost + [4] * (120 - lost))
        return make_records({**clean, **dict.fromkeys(specs, hits)}, k=4, model=model)

    (close,) = compare(make("a", 0) + make("b", lost)).pairs
    assert {gap.judged for gap in close.corrupted} == {8}
    assert close.clean is not None
    assert close.clean.judged == 1
    assert all(gap.value.low > 0 for gap in close.corrupted)
    assert (close.count_better("a"), close.count_better("")) == (0, 8)
    (far,) = compare(make("a", 0) + make("b", 40)).pairs
    assert (far.count_better("a"), far.count_better("")) == (8, 0)


def test_many_models_are_compared_with_one_reference(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"m{i}" for i in range(6)]
    records = join(*names, n=30)
    assert {pair.second for pair in compare(records).pairs} == {"m0"}
    finding = compare(records, reference="m3")
    assert [(p.first, p.second) for p in finding.pairs] == [
        (name, "m3") for name in names if name != "m3"
    ]
    out = print_results(capsys, records)
    assert "first better" in out
    pairs, conditions = (b for b in compare(records).blocks() if isinstance(b, Table))
    assert [row[0] for row in pairs.rows] == [f"{name} minus m0" for name in names[1:]]
    assert (pairs.level, conditions.level) == ("summary", "detail")
    assert len(compare(join(*names[:5], n=30)).pairs) == 10


def test_few_differences_are_printed_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    records = join("a", "b")
    out = print_results(capsys, records).partition("accuracy of the first model minus")[2]
    (pair,) = compare(records).pairs
    for gap in pair.gaps:
        assert f" {gap.condition.noise} " in out
        assert f"{100 * gap.value.value:+.2f} [" in out
    assert "mean over corruptions" in out
    *_, table = compare(records).blocks()
    assert isinstance(table, Table)
    assert "up to 3 differences together" in table.shown


def test_the_page_answers_first_and_folds_the_rest(tmp_path: Path) -> None:
    records = join("a", "b")
    page = read_page(write_report(tmp_path / "r.html", records, notes=["mind the gap"]))
    text = " ".join(page.text.split())
    (pair,) = compare(records).pairs
    (ranking, _) = compare(records).rankings
    said = ranking.under, f"{ranking.words}.", f"a or b: {describe_pair(pair)}.", "ind the gap"
    places = [text.index(part) for part in said]
    assert places == sorted(places)
    for gap in pair.gaps:
        assert format_points(gap.value) in text.partition("Which model is more accurate?")[2]
    many = join("a", "b", specs=("clean", *(f"linf({i / 100})" for i in range(1, 11))), n=20)
    (table,) = (b for b in compare(many).blocks() if isinstance(b, Table) and len(b.rows) > 10)
    page = read_page(write_report(tmp_path / "m.html", many))
    assert table.level == "detail"
    assert table.title in page.text


def test_models_of_studies_are_compared_at_equal_training_and_with_the_weakest(
    study_records: Records,
) -> None:
    finding = compare(study_records)
    names = [(pair.first, pair.second) for pair in finding.pairs]
    same = [n for n in names if n[0].partition(", ")[2] == n[1].partition(", ")[2]]
    assert len(same) == 3, "two models with three training noises"
    rest = [n for n in names if n not in same]
    assert len(rest) == 4
    assert all(n[0].partition(", ")[0] == n[1].partition(", ")[0] for n in rest)
    assert all(any("training noise clean" in label for label in n) for n in rest)
    gap = finding.pairs[0].gaps[-1]
    assert "runs" in gap.value.method
    assert finding.pairs[0].mean is None


def test_models_that_share_no_noise_are_not_compared() -> None:
    a = make_records(draw_hits(0, SPECS, COST), k=4, model="a")
    b = make_records(draw_hits(1, SPECS, COST, k=2), k=2, model="b")
    (pair,) = compare(a + b).pairs
    assert [gap.condition.noise for gap in pair.gaps] == ["clean"]
    assert "comparison" not in find(a).findings


def test_differences_that_are_computed_together_are_those_of_each_pair() -> None:
    names = ("a", "b", "c", "d", "e", "f", "g")
    records = join(*names, n=60)
    worse = make_records(draw_hits(1, SPECS, COST | {"linf": 0.6}, n=60), k=4, model="h")
    records += worse
    together, alone = compare(records, reference="a"), compare(records, reference="a")
    found = together.json()["accuracy_differences"]
    gaps = [gap for pair in alone.pairs for gap in pair.gaps]  # each computes its own
    assert len(found) == len(gaps) == 7 * 4
    assert [d["shown"] for d in found] == [gap.shown for gap in gaps]
    assert {d["shown"] for d in found} == {True, False}
    for d, gap in zip(found, gaps, strict=True):
        assert (d["first"], d["second"], d["corruption"]) == (
            gap.first, gap.second, gap.condition.first.corruption
        )  # fmt: skip
        wanted = gap.value.json()
        assert {name: d[name] for name in wanted} == pytest.approx(wanted)
    gap = together.pairs[0].gaps[1]
    assert gap.judged == 21
    # a difference whose own interval excludes 0 may be chance among so many
    assert sum(g.value.low > 0 or g.value.high < 0 for g in gaps) > sum(g.shown for g in gaps)

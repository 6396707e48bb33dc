"""Training regimes: means over networks and data, paired differences, and what is shown."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from helpers.commands import check_schema
from helpers.records import make_records
from shaketable.core.errors import InputError
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.core.types import IntArray
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.evaluation.study import study
from shaketable.findings.regimes.finding import Regimes
from shaketable.findings.results import find
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Sentence, Table

SPECS = ("l2(1)", "linf(0.1)")
N = 60


def draw(model: str, run: int, skill: float) -> dict[str, IntArray]:
    """Hits of all points on clean points and under the suite of SPECS, with two draws."""
    rng = np.random.default_rng([run, *map(ord, model)])
    clean = rng.binomial(1, skill, N)
    return {"clean": clean, **{spec: rng.binomial(2, 0.9 * skill, N) for spec in SPECS}}


def make(
    skills: Mapping[str, float], *, runs: int = 3, data: str = "f", metric: str = "mce_lp"
) -> Records:
    """Records of models on some data, each with the share of points that it classifies."""
    records = Records(())
    for model, skill in skills.items():
        for run in range(runs):
            hits = draw(model + data, run, skill)
            records += make_records(hits, k=2, model=model, run=run)
    cells = (
        replace(
            c,
            key=c.key + data,
            points=replace(c.points, order=c.points.order + data),
            data=f"set {data}",
            fingerprint=data,
            recipe=c.model + data,
            model_id=c.model_id + data,
        )
        for c in records
    )
    return Records(tuple(cells), (), (SuiteRecord(data, "by-hand", metric, "", SPECS),))


FOUR = {"a(clean)": 0.7, "b(clean)": 0.8, "a(C1)": 0.9, "b(C1)": 0.95}


def get(records: Records, **options: object) -> Regimes:
    finding = find(records, **options).findings["regimes"]  # type: ignore[arg-type]
    assert isinstance(finding, Regimes)
    return finding


def get_errors(records: Records, model: str, *specs: str) -> list[IntArray]:
    """Wrong answers of every point in all draws of these corruptions, by run."""
    runs = sorted({c.run for c in records})
    cells = [records.select(model=model, run=run) for run in runs]
    return [np.sum([c.k - c.hits for c in run if c.corruption in specs], axis=0) for run in cells]


def close(a: Estimate, b: Estimate) -> bool:
    return bool(np.allclose((a.value, a.low, a.high), (b.value, b.low, b.high)))


def test_errors_are_means_over_networks_paired_by_point_and_run() -> None:
    records = make(FOUR)
    table = get(records).table
    assert [g.label for g in table.groups] == ["clean", "C1"]
    assert table.metrics == ["e_clean", "mce_lp"]
    for metric, specs, k in (("e_clean", ("clean",), 1), ("mce_lp", SPECS, 4)):
        plain, noisy = (
            list(np.sum([get_errors(records, f"{n}({r})", *specs) for n in "ab"], axis=0))
            for r in ("clean", "C1")
        )
        assert close(table.values["C1", metric], intervals.mean_share_over_runs(noisy, 2 * k))
        gap = table.differences["C1", metric]
        assert close(gap, intervals.mean_difference_over_runs(noisy, plain, 2 * k))
        assert gap.method.startswith("mean over 2 networks, for these alone; ")
    assert len(get(records).parts) == 2


def test_one_run_has_intervals_over_points() -> None:
    records = make({"a(clean)": 0.7, "a(C1)": 0.9}, runs=1)
    table = get(records).table
    (plain,), (noisy,) = (get_errors(records, f"a({r})", "clean") for r in ("clean", "C1"))
    assert close(table.differences["C1", "e_clean"], intervals.mean_difference(noisy, plain, 1))
    assert "for these fitted models" in table.title
    assert get(records).parts == []


def test_data_sets_are_averaged_as_independent() -> None:
    skills = {"a(clean)": 0.7, "a(C1)": 0.9}
    parts = [make(skills, data=data) for data in "fg"]
    whole = get(parts[0] + parts[1]).table.differences["C1", "e_clean"]
    each = [get(part).table.differences["C1", "e_clean"] for part in parts]
    assert whole.value == pytest.approx(np.mean([e.value for e in each]))
    below = np.hypot(*(e.value - e.low for e in each)) / 2
    assert whole.low == pytest.approx(whole.value - below)
    assert "2 data sets" in whole.method


def test_ice_is_the_mean_of_ratios() -> None:
    records = make(FOUR, metric="ice")
    table = get(records).table
    sets = ("clean",), SPECS
    ratios = {
        model: [
            (noisy.sum() / 4 - clean.sum()) / clean.sum()
            for clean, noisy in zip(*(get_errors(records, model, *x) for x in sets), strict=True)
        ]
        for model in FOUR
    }
    means = {r: np.mean([ratios[f"{n}({r})"] for n in "ab"]) for r in ("clean", "C1")}
    assert table.values["C1", "ice"].value == pytest.approx(means["C1"])
    gap = table.differences["C1", "ice"]
    assert gap.value == pytest.approx(means["C1"] - means["clean"])
    assert gap.low < gap.value < gap.high


def test_only_networks_that_have_both_regimes_are_compared() -> None:
    records = make(FOUR | {"c(C1)": 0.5})
    table, pure = get(records).table, get(make(FOUR)).table
    assert close(table.differences["C1", "e_clean"], pure.differences["C1", "e_clean"])
    assert table.values["C1", "e_clean"].value > pure.values["C1", "e_clean"].value
    assert not table.is_balanced
    assert pure.is_balanced


def test_results_under_other_noise_are_not_subtracted() -> None:
    records = make({"a(clean)": 0.7, "a(C1)": 0.9})
    cells = tuple(
        replace(c, setting=replace(c.setting, seed=1)) if c.model == "a(C1)" else c for c in records
    )
    table = get(replace(records, cells=cells)).table
    assert ("C1", "mce_lp") in table.values
    assert list(table.differences) == [("C1", "e_clean")], "clean points have no noise"


def test_clean_accuracy_is_tested_and_answered(capsys: pytest.CaptureFixture[str]) -> None:
    records = make({"a(clean)": 0.7, "a(C1)": 0.95, "a(C2)": 0.7, "a(C3)": 0.4})
    table = get(records).table
    by_label = {test.label: test for test in table.clean_tests}
    assert [by_label[x].shown for x in ("C1", "C2", "C3")] == [True, False, True]
    assert all(t.p_adjusted >= t.p_value for t in table.clean_tests)
    assert by_label["C1"].value.value > 0
    get(records).print()
    out = capsys.readouterr().out
    assert "does noise in training raise clean accuracy? yes, C1 by +" in out
    assert "it is lower for C3 by -" in out
    assert "may be chance for C2 (p-values adjusted for 3 tests, Holm)" in out
    assert ("C1", "e_clean") in table.shown
    assert ("C2", "e_clean") not in table.shown


def test_models_are_grouped_by_network_or_pattern() -> None:
    records = make(FOUR)
    networks = get(records, group="network").table
    assert (networks.baseline, [g.label for g in networks.groups]) == ("a", ["a", "b"])
    errors = {m: np.mean(get_errors(records, m, "clean")) for m in FOUR}
    gap = np.mean([errors[f"b({r})"] - errors[f"a({r})"] for r in ("clean", "C1")])
    assert networks.differences["b", "e_clean"].value == pytest.approx(gap)
    patterns = get(records, group={"noisy": "*(C?)", "plain": "*"}, baseline="plain").table
    assert [len(g.members) for g in patterns.groups] == [2, 2]
    uneven = get(records, group={"one": "a(C1)", "rest": "*"}, baseline="rest").table
    rest = np.mean([errors[m] for m in FOUR if m != "a(C1)"])
    gap = errors["a(C1)"] - rest
    assert uneven.differences["one", "e_clean"].value == pytest.approx(gap)
    regimes = get(records).table
    assert close(patterns.differences["noisy", "mce_lp"], regimes.differences["C1", "mce_lp"])


def test_what_does_not_fit_is_refused() -> None:
    records = make(FOUR)
    with pytest.raises(InputError, match="unknown baseline 'C4'"):
        find(records, baseline="C4")
    with pytest.raises(InputError, match=r"group 'x' must have a model.*'y\*'"):
        find(records, group={"x": "y*"})
    with pytest.raises(InputError, match="unknown group 'colour'"):
        find(records, group="colour")
    alone = make({"net": 0.7, "other(x)": 0.8})
    assert "regimes" not in find(alone).findings, "a name in brackets alone is no regime"
    with pytest.raises(InputError, match="two groups of models to compare, got"):
        find(alone, baseline="clean")


def test_the_page_and_the_json_have_the_table_and_its_parts() -> None:
    finding = get(make(FOUR, runs=1))
    content = finding.json()
    check_schema("report", {"schema_version": SCHEMA_VERSION, "notes": [], **content})
    found = content["regimes"]
    assert (found["group_by"], found["baseline"]) == ("regime", "clean")
    assert [part["part"] for part in found["parts"]] == ["a on set f", "b on set f"]
    tables = [b for b in finding.blocks() if isinstance(b, Table) and "minus clean" in b.title]
    assert [table.level for table in tables] == ["summary", "detail", "detail"]
    (row,) = tables[0].rows
    assert row[0] == "C1"
    (answer, *_) = (b for b in finding.blocks() if isinstance(b, Sentence))
    assert answer.text.startswith("does noise in training raise clean accuracy? yes, C1 by +")


def test_a_study_by_size_has_regimes(study_records: Records) -> None:
    table = get(study_records).table
    assert table.groups[0].label == "clean"
    assert len(table.groups) == 3
    assert table.metrics == ["e_clean", "mscr"]
    assert {m.network for g in table.groups for m in g.members} == set(study_records.models)


def test_a_study_with_several_k_is_one_network_with_the_largest(data: Dataset) -> None:
    options = {"train_eps": [0, 0.05], "runs": 2}
    few, many = (study(data, "1nn", k=k, **options) for k in (1, 2))
    both = find(few + many)
    table = both.findings["regimes"].json()
    assert table == find(many).findings["regimes"].json() != find(few).findings["regimes"].json()
    assert table["regimes"]["networks"] == ["1nn"]
    assert "training regimes and correlations are those with the largest k alone" in both.notes


def test_regimes_in_units_of_eps_min_are_averaged_over_data_sets(data: Dataset) -> None:
    options = {"train_eps": [0, "eps_min"], "runs": 2, "k": 1}
    both = study(data, "1nn", **options) + study("bands(n=100)", "1nn", **options)
    table = get(both).table
    assert [g.label for g in table.groups] == ["clean", "linf(eps_min)"]
    assert [len(g.members) for g in table.groups] == [2, 2]
    assert "mean over 2 data sets" in table.differences["linf(eps_min)", "e_clean"].method


def test_a_mean_allows_for_a_rule_that_stopped_any_of_its_models(data: Dataset) -> None:
    options = {"train_eps": [0, 0.1], "k": 1, "runs": 6}
    for stopped in ("1nn", "tree"):
        parts = [
            study(
                data,
                {name: KNeighborsClassifier(1) if name == "1nn" else DecisionTreeClassifier()},
                until=st.Precision(90) if name == stopped else None,
                **options,
            )
            for name in ("1nn", "tree")
        ]
        table = get(parts[0] + parts[1]).table
        assert "holds for any number of runs" in table.values["clean", "e_clean"].method


def test_the_answer_on_clean_accuracy_says_what_copies_may_have_done() -> None:
    options = {"train": ["clean", "linf(0)", "linf(0.01)"], "runs": 2, "n_jobs": 1}
    noisy = {"corruptions": ["linf(0.01)"], **options}
    tree = DecisionTreeClassifier()
    twice = study("bands(n=60)", tree, **noisy, k=2)
    assert "estimators were trained on k copies of every" in get(twice).table.clean_words
    assert "copies" not in get(twice, baseline="linf(0)").table.clean_words
    assert "copies" not in get(study("bands(n=60)", tree, **noisy, k=1)).table.clean_words
    suite = st.corruptions.Suite(
        "two", "two sizes", ("linf(0.01)", "linf(0.3)"), k=1, metric="mce_lp"
    )
    scored = study("bands(n=60)", tree, corruptions=[suite], **options)
    assert "estimators were trained on k copies of every" in get(scored).table.clean_words


def test_networks_get_no_copies() -> None:
    pytest.importorskip("torch")
    network = st.training.UntrainedNetwork("mlp(width=8)", epochs=1, device="cpu")
    records = study(
        "bands(n=60)", network, train=["clean", "linf(0.01)"], corruptions=["l2(1)"], runs=1, k=2
    )
    assert "copies" not in get(records).table.clean_words

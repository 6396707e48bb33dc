import fnmatch
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import shaketable as st
from helpers.trainings import TINY_PLAN, write_images
from shaketable.reproductions.claims import Within, find_worst
from shaketable.reproductions.numbers import Numbers
from shaketable.reproductions.papers.images import OTHER_IMAGES
from shaketable.reproductions.papers.pnorm import regime_tables, regimes
from shaketable.reproductions.papers.pnorm.regime_claims import EXACT, GAINS, NOISE_IN_RANGE
from shaketable.reproductions.papers.pnorm.regime_tables import (
    METRICS,
    RELEASED,
    Study,
    follow_arrows,
    follow_noise,
    follow_slip,
    spell,
    tabulate_deltas,
    tabulate_leads,
    tabulate_metrics,
    tabulate_pairs,
    tabulate_transfer,
)
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import REPRODUCTIONS, Asked
from shaketable.training.regimes import make_regime

REGIMES = ("Standard", "l2(1)", "C2")


def ask(path, **more):
    """Ask for a form with the images of a file, in one process."""
    return Asked(data=str(path), jobs=1, **more)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """File of 40 training images and 10 test images."""
    folder = tmp_path_factory.mktemp("images")
    return write_images(folder / "images.npz", n_train=40, n_test=10)


@pytest.fixture(scope="module")
def study(images):
    """Three regimes in two runs."""
    whole = st.load(images)
    plan = replace(TINY_PLAN, runs=2)
    found, left, settings = regimes.carry_out(ask(images), whole, [plan], REGIMES, "study")
    assert (left, settings["Runs"]) == ("", 2)
    return found


class Invented(Study):
    """A study whose metrics are made up: those of plain training, plus a change by regime."""

    def __init__(self, changes):
        spread = np.array([-0.1, 0.0, 0.1, 0.05, -0.05])
        plain = dict.fromkeys(("E_clean", "mCE", "mCE_xN", "mCE_Lp", "iCE"), 30.0)
        regimes_ = ["Standard", *changes]
        object.__setattr__(self, "specs", dict.fromkeys(regimes_, ""))
        object.__setattr__(self, "records", [SimpleNamespace(run=run) for run in range(5)])
        object.__setattr__(self, "values", {
            regime: {m: v + changes.get(regime, {}).get(m, 0.0) + spread for m, v in plain.items()}
            for regime in regimes_
        })  # fmt: skip

    def average(self, regime, metric):
        return self.values[regime][metric]


def judge(tables, claims):
    return [claim.judge(Numbers(tables).by_name) for claim in claims]


def test_regimes_are_spelled_as_the_package_knows_them():
    data = st.load("shapes(n=60)")
    for plan in regimes.PLANS.values():
        for regime in plan.list_regimes("CIFAR-10"):
            if regime[0] != "l":
                assert make_regime(spell(regime), data, data.bounds).spec
    assert spell("RA") == RELEASED["RA"] == "tv-randaugment"
    assert spell("AM+C2") == "tv-augmix + C2"


def test_regimes_are_those_of_the_printed_tables():
    full = regimes.PLANS["full"].list_regimes("CIFAR-100")
    assert set(load_published("pnorm-table3").rows) <= set(full)
    rows = {row.partition(" ")[2] for row in load_published("pnorm-table5").rows}
    assert rows <= set(full)
    tiny = regimes.PLANS["full"].list_regimes("TinyImageNet")
    assert tiny[1:5] == ["l0(0.02)", "l0.5(1200000)", "l2(2)", "linf(0.04)"]


def test_clean_error_and_means_are_those_of_the_records(study):
    table = tabulate_metrics(study, "pnorm-table3", REGIMES)
    for run in (0, 1):
        cells = [r for r in study.records if r.run == run and r.train == study.specs["C2"]]
        wrong = {c.corruption: 100 * (1 - c.hits.mean() / c.k) for c in cells}
        suites = {s.metric: s.specs for s in study.records.suites}
        numbers = table.by_name
        expected = {
            "E_clean": wrong["clean"],
            "mCE": np.mean([wrong[spec] for spec in suites["mce"]]),
            "mCE_Lp": np.mean([wrong[spec] for spec in suites["mce_lp"]]),
            "mCE_xN": np.mean(
                [wrong[s] for s in suites["mce"] if not s.partition("(")[0].endswith("_noise")]
            ),
        }
        for metric, value in expected.items():
            assert numbers[f"metrics: C2 / {metric}"].ours[run] == pytest.approx(value), metric
        imperceptible = np.mean([wrong[spec] for spec in suites["ice"]])
        change = 100 * (imperceptible / wrong["clean"] - 1)
        assert numbers["metrics: C2 / iCE"].ours[run] == pytest.approx(change)


def test_differences_are_paired_by_run(study):
    metrics = tabulate_metrics(study, "pnorm-table3", REGIMES).by_name
    deltas = tabulate_deltas(study, "CIFAR ", REGIMES).by_name
    for metric in ("E_clean", "mCE_Lp"):
        ours, plain = (metrics[f"metrics: {r} / {metric}"].ours for r in ("C2", "Standard"))
        assert list(deltas[f"delta: C2 / {metric}"].ours) == pytest.approx(list(ours - plain))
    assert deltas["delta: C2 / mCE_Lp"].printed.value == -27.86
    assert deltas["delta: C2 / iCE"].printed is None


def test_a_single_run_decides_nothing(study):
    one = Study(study.records.select(run=0), study.specs, study.image_set)
    tables = [tabulate_deltas(one, None, REGIMES), tabulate_leads(one)]
    both = study.compare("C2", "Standard", "mCE_Lp")
    assert list(one.compare("C2", "Standard", "mCE_Lp")) == pytest.approx([both[0]])
    claims = [
        Within("it falls", "delta: C2 / mCE_Lp", high=0),
        Within("it rises", "lead: *", low=0),
    ]
    assert {j.verdict for j in judge(tables, claims)} == {"inconclusive"}


def test_leads_compare_two_regimes(study):
    leads, deltas = tabulate_leads(study), tabulate_deltas(study, None, REGIMES).by_name
    assert len(leads.numbers) == len(METRICS)
    first, second = (deltas[f"delta: {regime} / mCE"].ours for regime in ("C2", "l2(1)"))
    lead = leads.by_name["lead: C2 and l2(1) / mCE"].ours
    assert list(lead) == pytest.approx(list(first - second))


def test_transfer_has_the_best_at_100(study):
    table = tabulate_transfer(study).by_name
    assert {n.partition(": ")[2].partition(" /")[0] for n in table} == {"no noise", "L2"}
    values = np.array([table[f"transfer: {t} / L2"].ours for t in ("no noise", "L2")])
    assert values.shape == (2, 2)
    assert (values.max(axis=0) > 99).all()  # the best under most of the ten sizes
    assert (values <= 100).all()


def test_arrows_are_the_differences_of_their_ends(study):
    pairs = tabulate_pairs(study, [("Standard", "C2")]).by_name
    deltas = tabulate_deltas(study, None, REGIMES).by_name
    for metric in ("E_clean", "mCE"):
        ours = pairs[f"arrow: Standard to C2 / {metric}"].ours
        assert list(ours) == pytest.approx(list(deltas[f"delta: C2 / {metric}"].ours))


def test_figure_has_the_models_of_its_arrows(study):
    chart = regimes._draw_arrows(study, [("Standard", "C2")]).to_dict()
    rows = [row for rows in chart["datasets"].values() for row in rows]
    models = {row["model"] for row in rows if "clean_low" in row}
    assert models == {"resnet9(width=1)(clean)", "resnet9(width=1)(C2(cifar))"}


def test_noise_error_follows_from_print():
    """By hand: (19 x 25.38 - 15 x 20.72) / 4 = 42.855."""
    table = follow_noise("pnorm-table5")
    assert table.by_name["noise: densenet Standard / CIFAR-10"].value == pytest.approx(42.855)
    assert len(table.numbers) == 63
    assert judge([table], [NOISE_IN_RANGE])[0].verdict == "holds"


def test_claim_fails_with_another_number_of_noises(monkeypatch):
    from shaketable.corruptions.common import corruption

    monkeypatch.setattr(corruption, "NO_NOISE", corruption.NAMES[1:])
    assert judge([follow_noise("pnorm-table5")], [NOISE_IN_RANGE])[0].verdict == "fails"


def test_slip_of_table_5():
    gaps = {name: number.value for name, number in follow_slip().by_name.items()}
    assert gaps["slip: wrn TA"] == pytest.approx(77.92 - 77.88)
    assert gaps["slip: least of all others"] == pytest.approx(66.42 - 49.13)


def test_what_follows_from_print_holds():
    tables = [follow_slip(), follow_arrows(), follow_noise("pnorm-table3")]
    tables.append(regimes._repeat_standard())
    assert find_worst(judge(tables, EXACT)) == "holds"


CHANGES = {
    regime: {
        "E_clean": 1.0,
        "mCE": -2.0,
        "mCE_xN": -1.5,
        "mCE_Lp": -9.0 if regime[0] == "C" else -1.0,
    }
    for regime in ("C1", "C2", "C3", "l0(0.01)", "l0.5(75000)", "l2(1)", "linf(0.02)")
}


def judge_gains(changes):
    invented = Invented(changes)
    tables = [tabulate_deltas(invented, None, list(changes)), tabulate_leads(invented)]
    return judge(tables, GAINS)


def test_claims_hold_of_gains_as_in_print():
    assert {j.verdict for j in judge_gains(CHANGES)} == {"holds"}


@pytest.mark.parametrize("regime", ["C1", "C2"])
@pytest.mark.parametrize("metric", ["E_clean", "mCE", "mCE_xN", "mCE_Lp"])
def test_claims_fail_if_a_gain_is_a_loss(metric, regime):
    changes = {**CHANGES, regime: {**CHANGES[regime], metric: -CHANGES[regime][metric]}}
    assert find_worst(judge_gains(changes)) == "fails"


def test_claims_fail_if_one_norm_alone_does_not_help():
    changes = {**CHANGES, "l2(1)": {**CHANGES["l2(1)"], "mCE_Lp": 1.0}}
    assert find_worst(judge_gains(changes)) == "fails"


NAMES = ["pnorm-table3", "pnorm-table4", "pnorm-table5", "pnorm-fig4"]


@pytest.mark.parametrize("form", ["fast", "gpu", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_claims_name_numbers_that_exist(name, form):
    plan = regimes.PLANS[form].list_regimes("CIFAR-10")
    invented = Invented({regime: {} for regime in plan[1:]})
    object.__setattr__(invented, "image_set", "CIFAR-10")
    pairs = [pair for pair in regimes.PAIRS if set(pair) <= set(plan)]
    tables = [
        tabulate_deltas(invented, "CIFAR ", plan),
        tabulate_leads(invented),
        tabulate_pairs(invented, pairs),
        follow_noise("pnorm-table5"),
        follow_slip(),
        follow_arrows(),
        regimes._repeat_standard(),
    ]
    known = set(Numbers(tables).by_name)
    for claim in REPRODUCTIONS.get(name).forms[form].claims:
        patterns = claim.numbers.split(";") if isinstance(claim.numbers, str) else claim.numbers
        for pattern in map(str.strip, patterns):
            if not pattern.startswith("metrics"):
                assert fnmatch.filter(known, pattern.replace("[", "[[]")), pattern


def test_recipe_rows_stand_beside_print(images, monkeypatch):
    monkeypatch.setattr(regimes, "RECIPE_PLAN", TINY_PLAN)
    monkeypatch.setattr(regimes, "RECIPE_ROWS", ("AM+C2",))
    monkeypatch.setattr(regime_tables, "_PUBLISHED_NETWORKS", {"resnet9": "wrn"})
    found = regimes.measure_table5(ask(images, form="gpu"))
    table = found.tables[0].by_name
    assert [*table] == [f"metrics: wrn AM+C2 / {metric}" for metric in regime_tables.METRICS]
    error = table["metrics: wrn AM+C2 / mCE"]
    assert error.printed.value == 13.39
    assert (error.runs, error.estimate) == (1, None)
    assert found.notes == ["Augmentations by their specs: AM is tv-augmix."]


def test_curves_are_those_of_the_networks(images, monkeypatch):
    monkeypatch.setattr(regimes, "CURVE_PLANS", {"fast": replace(TINY_PLAN, epochs=2)})
    monkeypatch.setattr(regimes, "CURVES", ("Standard", "TA"))
    found = regimes.measure_curves(ask(images))
    last, loss = (table.by_name for table in found.tables)
    ours, plain = (last[f"last: {regime} / held out"].value for regime in ("TA", "Standard"))
    assert loss["loss: TA / held out"].value == pytest.approx(plain - ours)
    data = st.load(images)
    network = TINY_PLAN.make_network(ask(images))
    again = replace(network, epochs=2, validate=True).train_on(
        data, data.parts()[0], noise="clean", bounds=data.bounds, seed=st_seed()
    )
    assert last["last: Standard / training"].value == pytest.approx(100 * again.curve[-1].accuracy)


def test_curves_are_not_those_of_another_seed(images, monkeypatch, tmp_path):
    plan = replace(TINY_PLAN, runs=2)
    monkeypatch.setattr(regimes, "CURVE_PLANS", {"fast": plan})
    monkeypatch.setattr(regimes, "CURVES", ("Standard", "TA"))
    alone = regimes.measure_curves(ask(images, seed=1)).tables[0].by_name
    regimes.measure_curves(ask(images, folder=tmp_path))
    beside = regimes.measure_curves(ask(images, folder=tmp_path, seed=1)).tables[0].by_name
    for name, number in alone.items():
        assert list(beside[name].ours) == list(number.ours)


def st_seed():
    """Seed of the first run, as studies have it."""
    from shaketable.core.keys import digest

    return digest("fit", 0, 0)


def test_other_images_have_no_claims_but_those_on_print(study):
    other = Study(study.records, study.specs, "TinyImageNet")
    found = regimes._finish(other, "", {}, [follow_slip()])
    exact = [claim for claim in EXACT if claim.numbers.startswith("slip")]
    assert found.claims == [*exact, OTHER_IMAGES]
    assert find_worst(judge(found.tables, found.claims)) == "inconclusive"

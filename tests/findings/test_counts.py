"""Numbers of models in several settings, against those counted by hand from the records.

Models are evaluated with several k, seeds, data sets, trainings and runs at once: every number of
the JSON must be that of the cells that it names, and a model counts once whatever its settings are.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from helpers.records import make_records
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.groups import RecordGroups
from shaketable.findings.results import find

N = 40
SPECS = ("linf(0.1)", "fog(1)")
SETTINGS = {
    "k": [{"k": 2}, {"k": 4}],
    "seed": [{"seed": 0}, {"seed": 1}],
    "data": [{"data": "one"}, {"data": "two"}],
    "bounds": [{"bounds": "[0, 1]"}, {"bounds": "none"}],
}


def make(model, *, k=4, seed=0, run=0, data="one", bounds="[0, 1]", train="as given"):
    """Records of one model in one setting, with chance hits that follow from these words."""
    text = f"{model} {k} {seed} {run} {data} {bounds} {train}"
    rng = np.random.default_rng(list(text.encode()))
    hits = {spec: rng.binomial(k, rng.uniform(0.5, 0.9), N) for spec in SPECS}
    own = np.random.default_rng(list(f"{model} {data} {run} {train}".encode()))
    hits = {"clean": own.binomial(1, 0.8, N), **hits}
    studied = train != "as given"
    recipe = f"{model} {data} {k}" if studied else f"{model} {data}"
    cells = []
    for cell in make_records(hits, k=k, model=model, seed=seed, run=run):
        clean = cell.corruption == "clean"
        points = replace(cell.points, order=f"{data} {run}", y=np.arange(N) % 2)
        key = f"{recipe} {run} {train} clean" if clean else f"{text} {cell.corruption}"
        setting = replace(
            cell.setting,
            bounds="none" if clean else bounds,
            seed=0 if clean and not studied else seed,
        )
        cells.append(
            replace(
                cell,
                key=key,
                points=points,
                data=data,
                fingerprint=data,
                train=train,
                setting=setting,
                recipe=recipe,
                model_id=f"{recipe} {train} {run}",
            )
        )
    return Records(tuple(cells))


def share(records, **fields):
    """Share of right answers in per cent, of all cells with these fields, by hand."""
    cells = [c for c in records if all(c.get(name) == v for name, v in fields.items())]
    assert cells, fields
    return 100 * np.mean([c.hits.sum() / (c.k * len(c.hits)) for c in cells])


def evaluate_in(setting):
    records = Records(())
    for model, options in product("ab", SETTINGS[setting]):
        records += make(model, **options)
    return records


@pytest.mark.parametrize("setting", SETTINGS)
def test_models_in_two_settings_have_the_numbers_of_their_own_cells(setting):
    records = evaluate_in(setting)
    found = find(records).json()
    rows = [(entry, cell) for entry in found["models"] for cell in entry["cells"]]
    # two settings of two models: L-inf noise and a corruption without a norm, each beside clean
    assert len(found["models"]) == 2 * 2 * 2
    assert len({entry["label"] for entry in found["models"]}) == 8
    for entry, cell in rows:
        where = {"model": entry["model"], "data": entry["data"], "corruption": cell["corruption"]}
        if cell["corruption"] != "clean":
            where |= {"k": entry["k"], "seed": entry["seed"], "bounds": entry["bounds"]}
        assert cell["mean"] == pytest.approx(share(records, **where))
        assert cell["low"] < cell["mean"] < cell["high"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_errors_and_groups_are_those_of_their_own_cells(setting):
    records = evaluate_in(setting)
    found = find(records).json()
    models = 4 if setting == "data" else 2
    corruptions = 2 if setting == "data" else 4
    assert len(found["error_probabilities"]) == models
    for entry in found["error_probabilities"]:
        assert entry["corruptions"] == corruptions
        own = [c for c in records if (c.model, c.data) == (entry["model"], entry["data"])]
        wrong = sorted(100 - share([c]) for c in own if c.corruption != "clean")
        noisy = [c for c in entry["cells"] if c["corruption"] != "clean"]
        assert sorted(c["mean"] for c in noisy) == pytest.approx(wrong)
        assert entry["highest"]["mean"] == pytest.approx(max(wrong))
        assert entry["upper"] == max(c["upper"] for c in noisy)
    assert len(found["groups"]) == models * (1 + corruptions)
    for entry in found["groups"]:
        own = [
            c
            for c in records
            if (c.model, c.data, c.corruption, c.k)
            == (entry["model"], entry["data"], entry["corruption"], entry["k"])
        ]
        by_class = [
            {group: 100 * c.hits[c.points.y == group].mean() / c.k for group in (0, 1)} for c in own
        ]
        shown = {int(g["group"]): g["accuracy"]["mean"] for g in entry["groups"]}
        assert any(shown == pytest.approx(each) for each in by_class)
        assert entry["worst"] == str(min(shown, key=shown.get))


@pytest.mark.parametrize("setting", SETTINGS)
def test_differences_are_between_cells_with_the_same_noise(setting):
    records = evaluate_in(setting)
    found = find(records).json()
    expected = {"data": 2 * 3}.get(setting, 1 + 2 * 2)  # clean points are the same but for data
    assert len(found["accuracy_differences"]) == expected
    for entry in found["accuracy_differences"]:
        where = {name: entry[name] for name in ("data", "corruption", "k")}
        if entry["corruption"] != "clean":
            where["seed"] = entry["seed"]
        gaps = [
            share(records, model="a", **where, bounds=b)
            - share(records, model="b", **where, bounds=b)
            for b in {c.setting.bounds for c in records if c.corruption == entry["corruption"]}
        ]
        assert entry["first"].partition(",")[0] == "a"
        assert any(entry["mean"] == pytest.approx(gap) for gap in gaps)
    means = found["mean_accuracy_differences"]
    assert [m["corruptions"] for m in means] == ([2, 2] if setting == "data" else [4])
    for entry in means:
        gaps = [
            d["mean"]
            for d in found["accuracy_differences"]
            if d["corruption"] != "clean" and d["data"] == entry["data"]
        ]
        assert entry["mean"] == pytest.approx(np.mean(gaps))


def study_with(ks, *, models="ab", trainings=("clean", "linf(0.1)"), runs=3, data=("one",)):
    records = Records(())
    for model, k, train, run, each in product(models, ks, trainings, range(runs), data):
        records += make(model, k=k, train=train, run=run, data=each)
    suites = tuple(SuiteRecord(each, "by-hand", "mce_lp", "", SPECS) for each in data)
    return replace(records, suites=suites)


@pytest.mark.parametrize("ks", [(4,), (2, 4), (4, 2, 1)])
def test_a_network_counts_once_however_many_copies_it_was_trained_with(ks):
    records = study_with(ks)
    regimes, alone = (find(r).json()["regimes"] for r in (records, study_with((4,))))
    assert regimes == alone, "those with the most copies"
    assert regimes["networks"] == ["a", "b"]
    for row in regimes["rows"]:
        assert (row["models"], row["runs"]) == (["a", "b"], 3)
        cells = [c for c in records if c.train == row["group"] and c.recipe.endswith(" 4")]
        errors = {m["metric_name"]: m["value"]["mean"] for m in row["metrics"]}
        clean = [c for c in cells if c.corruption == "clean"]
        assert len(clean) == 6
        assert errors["e_clean"] == pytest.approx(100 - share(clean))
        noisy = [c for c in cells if c.corruption != "clean"]
        assert errors["mce_lp"] == pytest.approx(100 - share(noisy))


def test_models_that_come_fitted_are_kept_beside_those_of_several_copies():
    given = make("c", k=1)
    records = study_with((2, 4)) + given
    kept = RecordGroups(records).with_most_copies.records
    assert {(c.model, c.recipe) for c in kept} == {
        ("a", "a one 4"),
        ("b", "b one 4"),
        ("c", "c one"),
    }
    assert len(kept) == 2 * 2 * 3 * 3 + 3
    once = RecordGroups(study_with((2,)) + given)
    assert once.with_most_copies is once
    mixed = study_with((2, 4), models="a") + study_with((2,), models="b")
    kept = RecordGroups(mixed).with_most_copies.records
    assert {c.recipe for c in kept} == {"a one 4", "b one 2"}, "the largest of each model"


def test_errors_on_clean_points_are_those_of_all_runs():
    records = study_with((4,), runs=5, models="a")
    fewer = tuple(c for c in records if c.corruption != SPECS[0] or c.run < 2)
    for cells in (fewer, tuple(reversed(fewer))):
        rows = find(replace(records, cells=cells, suites=())).json()["regimes"]["rows"]
        assert [row["runs"] for row in rows] == [5, 5]
        for row in rows:
            clean = [c for c in fewer if (c.train, c.corruption) == (row["group"], "clean")]
            assert row["metrics"][0]["value"]["mean"] == pytest.approx(100 - share(clean))


def test_means_over_data_sets_weigh_them_alike():
    records = study_with((4,), data=("one", "two"))
    for row in find(records).json()["regimes"]["rows"]:
        errors = {m["metric_name"]: m["value"]["mean"] for m in row["metrics"]}
        for name, clean in (("e_clean", True), ("mce_lp", False)):
            cells = [
                c for c in records if c.train == row["group"] and (c.corruption == "clean") == clean
            ]
            assert errors[name] == pytest.approx(100 - share(cells))


def test_cells_of_a_study_are_means_over_its_runs():
    records = replace(study_with((2, 4)), suites=())
    cells = find(records).json()["cells"]
    noisy = [c for c in cells if c["test_eps"]]
    assert len(noisy) == 2 * 2 * 2
    for entry in cells:
        name, _, k = entry["model"].partition(",")[0], *entry["model"].rpartition("k = ")[1:]
        where = {"model": name, "recipe": f"{name} one {k}"}
        where["train"] = "clean" if entry["train_eps"] == 0 else "linf(0.1)"
        if entry["test_eps"] is None:
            continue
        where["corruption"] = "linf(0.1)" if entry["test_eps"] else "clean"
        assert entry["mean"] == pytest.approx(share(records, **where))
        own = [share([c]) for c in records if all(getattr(c, n) == v for n, v in where.items())]
        assert entry["sd"] == pytest.approx(np.std(own, ddof=1))
        assert entry["runs"] == 3


def test_models_trained_with_other_numbers_of_copies_are_told_apart():
    records = replace(study_with((2, 4)), suites=())

    def read(label):
        """Fields of the cells that a label such as `a, training noise clean, k = 2` is of."""
        name, training, k = label.split(", ")
        recipe = f"{name} one {k.removeprefix('k = ')}"
        return {"recipe": recipe, "train": training.removeprefix("training noise ")}

    entries = find(records).json()["accuracy_differences"]
    assert len({entry[side] for entry in entries for side in ("first", "second")}) == 8
    for entry in entries:
        first, second = (
            share(records, **read(entry[side]), corruption=entry["corruption"])
            for side in ("first", "second")
        )
        assert entry["mean"] == pytest.approx(first - second)


def test_suites_that_are_not_finished_and_parts_that_are_fixed_are_named():
    suite = SuiteRecord("one", "three", "mce_lp", "", (*SPECS, "snow(1)"))
    groups = RecordGroups(replace(make("a"), suites=(suite,)))
    (sentence,) = groups.unfinished
    assert sentence.startswith("suite three is not finished, 2 of 3 corruptions were evaluated")
    assert RecordGroups(study_with((4,))).unfinished == []
    assert RecordGroups(study_with((4,))).fixed_parts == []
    records = study_with((4,), data=("one", "two"))
    same = tuple(
        replace(c, points=replace(c.points, order="always")) if c.data == "two" else c
        for c in records
    )
    (sentence,) = RecordGroups(replace(records, cells=same)).fixed_parts
    assert sentence.startswith("two has a fixed test part")

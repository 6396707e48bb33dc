"""Worst cases in results files: the same numbers come back, and nothing but numbers is kept."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from helpers.pages import read_page
from shaketable.adversary.finding import join, make_results
from shaketable.adversary.kept import list_records, restore
from shaketable.adversary.worst_case import worst_case
from shaketable.core.errors import InputError, StoreError
from shaketable.evaluation.merging import merge_stores
from shaketable.evaluation.store import Store
from shaketable.findings.results import find
from shaketable.views.blocks import Table

KINDS = ["none", "genuine-max", "genuine-exact"]
X = np.stack([np.arange(12.0), np.arange(12.0) % 3], axis=1)
DATA = st.make_dataset(X, (X[:, 0] > 5.5).astype(int), name="line")


def early(x):
    return (x[:, 0] > 4.4).astype(int)


def late(x):
    return (x[:, 0] > 7.2).astype(int)


def attack(model, name, path=None, ladder=("eps_min", 1.2, 3.0), **given):
    return worst_case(
        model, DATA, ladder, constraints=KINDS, random=7, seed=3, name=name, store=path, **given
    )


def read(path):
    with Store(path, must_exist=True) as store:
        return store.records()


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "w.sqlite"
    nearest = KNeighborsClassifier(1).fit(DATA.x, DATA.y)
    found = attack(early, "early", path) + attack(nearest, "1nn", path)
    return path, found + attack(late, "late", path)


def tables(found):
    return [
        (block.title, [*block.texts()])
        for block in found.blocks()
        if isinstance(block, Table) and not block.title.startswith("examples")
    ]


def test_all_numbers_come_back(filled):
    path, found = filled
    (back,) = restore(read(path).attacks)
    assert back.json() == found.json()
    assert tables(back) == tables(found)
    assert [str(a) for m in back.models for a in back.avoidable(m)] == [
        str(a) for m in found.models for a in found.avoidable(m)
    ]
    kept = st.find(read(path)).json()["worst_cases"][0]
    assert {**back.json(), "notes": back.notes} == kept
    assert {a.proven for c in back.curves for a in c} > {""}  # of both kinds


def test_examples_come_back_with_the_data_and_not_without(filled):
    path, found = filled

    def list_examples(worst):
        return [
            (b.title, [*b.texts()])
            for b in worst.blocks()
            if isinstance(b, Table) and b.title.startswith("examples")
        ]

    back = find(read(path))
    assert list_examples(back) == []
    again = back.with_data(DATA)
    assert list_examples(again) == list_examples(found) != []
    assert again.json() == back.json()
    other = st.make_dataset(X + 1, DATA.y, name="other")
    assert list_examples(back.with_data(other)) == []
    (bare,) = back.findings["worst_case"].found
    with pytest.raises(InputError, match="which no results file holds; attack again"):
        bare.save_examples("e.npz")


def test_examples_of_images_come_back_as_they_were(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.3, 0.6, (40, 6, 6)).astype(np.float32)
    y = np.arange(40) % 2
    x[y == 1, 3:] += 0.1
    model = LogisticRegression(C=100).fit(x.reshape(40, -1), y)
    data = st.make_dataset(x, y, bounds=(0, 1))
    found = worst_case(model, data, [0.3, 1.0], name="lr", store=tmp_path / "i.sqlite")
    (back,) = restore(read(tmp_path / "i.sqlite").attacks, data)
    first = next(a for a in found.curves[0] if len(a.examples))
    again = next(a for a in back.curves[0] if len(a.examples))
    drawn = again.examples.draw(data)
    order = np.argsort(first.examples.distances(data, 2), kind="stable")[:6]
    np.testing.assert_array_equal(drawn.rows, first.examples.rows[order])
    np.testing.assert_array_equal(drawn.moved, first.examples.moved[order])
    np.testing.assert_array_equal(drawn.codes, first.examples.codes[order])


def test_the_file_holds_no_point(tmp_path):
    x = X + np.array([0.123456789, 0.987654321])
    data = st.make_dataset(x, DATA.y)
    found = worst_case(early, data, 3.0, store=tmp_path / "w.sqlite", name="early")
    assert len(found.curves[0].accuracies[0].examples)
    for record in read(tmp_path / "w.sqlite").attacks:
        kept = [v for v in vars(record).values() if isinstance(v, np.ndarray) and v.dtype == float]
        assert kept
        assert not set(np.concatenate([v.ravel() for v in kept])) & set(x.ravel())


def test_the_same_attack_again_takes_the_place_of_the_first(filled):
    path, _ = filled
    before = read(path).attacks
    attack(early, "early", path)
    attack(early, "early", path, attacks="random(5)")
    after = read(path).attacks
    assert {a.key for a in after} == {a.key for a in before}
    assert len(after) == len(before)
    (again,) = (a for a in after if (a.model, a.epsilon, a.kind) == ("early", 3.0, "none"))
    assert [t["spec"] for t in again.trials] == ["random(queries=5)"]


def test_models_attacked_otherwise_are_worst_cases_of_their_own(filled):
    path, _ = filled
    attack(late, "other", path, ladder=(0.3,))
    found = restore(read(path).attacks)
    assert [worst.models for worst in found] == [["early", "1nn", "late"], ["other"]]


def test_two_models_with_one_name_are_told_apart(tmp_path):
    for train in (DATA.x, DATA.x[::2]):
        model = KNeighborsClassifier(1).fit(train, (train[:, 0] > 5.5).astype(int))
        attack(model, "1nn", tmp_path / "w.sqlite")
    (found,) = restore(read(tmp_path / "w.sqlite").attacks)
    assert found.models == ["1nn", "1nn (2)"]
    assert [*found.random] == found.models


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE attacks SET withstood = remains WHERE rowid = 1",
        "UPDATE attacks SET proven = 'x' WHERE rowid = 2",
        "UPDATE attacks SET trials = '[]' WHERE rowid = 1",
        "DELETE FROM attacks WHERE rowid = 3",
        "UPDATE data SET n = 13",
    ],
)
def test_damage_is_refused(filled, statement):
    path, _ = filled
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)
    with pytest.raises(StoreError, match="is damaged"):
        read(path)
    with pytest.raises(StoreError, match="is damaged"):
        Store(path)


def test_files_are_merged_with_what_found_most(tmp_path):
    paths = [tmp_path / f"{i}.sqlite" for i in range(3)]
    few, many = (
        attack(early, "early", path, attacks=attacks)
        for path, attacks in zip(paths, ("random(1)", None), strict=False)
    )
    assert [a.withstood.sum() for a in few.curves[0]] > [a.withstood.sum() for a in many.curves[0]]
    attack(late, "late", paths[1])
    merge_stores(paths[:2], paths[2])
    records = read(paths[2])
    (found,) = restore(records.attacks)
    assert found.models == ["early", "late"]
    for a, b in zip(found.curves[0], many.curves[0], strict=True):
        assert a.json() == b.json()
    assert records.data == read(paths[0]).data


def test_a_page_of_a_worst_case_just_computed_has_the_others_of_its_file(filled):
    path, found = filled
    whole = join(find(read(path)), replace(found, curves=found.curves[:3]))
    first, second = whole.findings["worst_case"].found
    assert first.models == ["early"]
    assert first.data is DATA
    assert second.models == ["1nn", "late"]
    assert make_results(found).records.attacks[0].key == list_records(found)[0].key


def test_command_and_page_of_its_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["adversary", "--data", "bands(n=60)", "--model", "rf", "--model", "1nn", "--quiet"]
    found = run_json(capsys, *argv, "--eps", "eps_min,0.05", "--random", 3, "--store", "r.sqlite")
    assert run_json(capsys, "report", "r.sqlite")["worst_cases"][0] == {
        key: value for key, value in found.items() if key != "schema_version"
    }
    code, out, err = run_command(capsys, "report", "r.sqlite", "-o", "r.html")
    assert code == 0, err
    assert "Attacks" not in out  # a heading without a table
    page = read_page(tmp_path / "r.html")
    assert "accuracy of rf by L2 epsilon, with 95 % intervals" in page.tables
    assert "examples are shown where the data are given" in page.text
    run_command(capsys, "report", "r.sqlite", "--data", "bands(n=60)", "-o", "d.html")
    shown = read_page(tmp_path / "d.html")
    assert sum("rows counted" in name for name in shown.tables) >= 1
    assert "maps need the model" in shown.text
    assert "needs at least one cell" in run_failing(
        capsys, "check", "r.sqlite", "--require", "accuracy >= 1"
    ).replace("need at", "needs at")


def test_what_an_adversary_takes_though_1nn_keeps_it_is_a_problem_of_the_summary(filled):
    path, found = filled
    st.evaluate(early, DATA, "linf(0.1)", k=2, name="early", model_id="early", store=path)
    results = find(read(path))
    (problem,) = (p for p in results.findings["summary"].problems if p.kind == "worst case")
    most = max(found.avoidable("early"), key=lambda a: a.lost / a.of)
    assert most.lost
    assert problem.size.value == most.lost / most.of
    assert f"early loses {most.lost} of {most.of} correct answers" in problem.text
    assert "also shown for late" in problem.text
    assert problem.place == "worst-case"

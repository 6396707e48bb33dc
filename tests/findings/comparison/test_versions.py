"""Two results files: differences are those of one file, paired, and what is not shared is named."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from helpers.commands import check_schema, run_command, run_failing, run_json
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.store import Store
from shaketable.evaluation.study import study
from shaketable.findings.comparison.versions import compare_stores
from shaketable.findings.results import find

X = np.random.default_rng(0).uniform(size=(300, 2))
DATA = make_dataset(X, (X.sum(axis=1) > 1).astype(int), name="squares")


def make_model(slope):
    return lambda x: (x[:, 0] + slope * x[:, 1] > (1 + slope) / 2).astype(int)


def fill(path, slope, *, name="net", specs=("linf(0.1)", "l2(0.1)"), data=DATA, **options):
    evaluate(make_model(slope), data, specs, store=path, name=name, model_id=f"{slope}", **options)
    return path


@pytest.fixture
def files(tmp_path):
    return fill(tmp_path / "old.sqlite", 0.2), fill(tmp_path / "new.sqlite", 0.9)


def test_differences_are_those_of_one_file_with_both(files, tmp_path):
    together = tmp_path / "both.sqlite"
    fill(together, 0.9, name="second")
    fill(together, 0.2, name="first")
    with Store(together) as store:
        expected = find(store.records()).findings["comparison"].json()
    found = compare_stores(*files).json()
    assert found["notes"] == []
    assert {d["first"] for d in found["accuracy_differences"]} == {"net in new.sqlite"}
    assert {d["second"] for d in found["accuracy_differences"]} == {"net in old.sqlite"}
    for key in ("accuracy_differences", "mean_accuracy_differences"):
        names = {"first": "second", "second": "first"}
        assert [d | names for d in found[key]] == expected[key]
        assert all(d["mean"] > 0 for d in found[key]), "new is better"
    turned = compare_stores(*files[::-1]).json()
    assert turned["accuracy_differences"][1]["mean"] == -found["accuracy_differences"][1]["mean"]


def test_models_of_other_names_are_compared_if_there_is_one_each(files, tmp_path):
    other = fill(tmp_path / "other.sqlite", 0.9, name="net v2")
    (pair,) = compare_stores(files[0], other).comparison.pairs
    assert (pair.first, pair.second) == ("net v2", "net")
    fill(other, 0.5, name="third")
    with pytest.raises(InputError, match="got net in 'old.sqlite' and net v2, third in 'other"):
        compare_stores(files[0], other)


def test_what_only_one_file_holds_is_named(files):
    fill(files[1], 0.7, name="extra")
    fill(files[1], 0.9, specs=["linf(0.3)"])
    fill(files[0], 0.2, specs=["linf(0.1)"], seed=5)
    versions = compare_stores(*files)
    assert [gap.condition.noise for gap in versions.comparison.pairs[0].gaps] == [
        "clean",
        "linf(0.1), seed 0",
        "l2(0.1)",
    ]
    assert list(versions.notes) == [
        "only old.sqlite has results under linf(0.1), seed 5, not compared",
        "only new.sqlite has extra, not compared",
        "only new.sqlite has results under linf(0.3), not compared",
    ]


def test_the_same_model_differs_by_nothing(files, tmp_path):
    again = fill(tmp_path / "again.sqlite", 0.2)
    versions = compare_stores(files[0], again)
    assert versions.notes == ("model net is the same in both files",)
    assert {gap.value.value for gap in versions.comparison.pairs[0].gaps} == {0}


def test_studies_are_compared_by_training_noise(tmp_path, capsys):
    sizes = {"train_eps": (0, 0.05), "test_eps": (0, 0.05), "runs": 3, "k": 2}
    paths = [tmp_path / f"{depth}.sqlite" for depth in (1, 3)]
    for path, depth in zip(paths, (1, 3), strict=True):
        models = {"tree": DecisionTreeClassifier(max_depth=depth), "1nn": KNeighborsClassifier(1)}
        study(DATA, models, store=path, **sizes)
    versions = compare_stores(*paths)
    assert len(versions.comparison.pairs) == 4, "two models with two training noises each"
    assert versions.notes == ("model 1nn is the same in both files",)
    for pair in versions.comparison.pairs:
        assert pair.first.replace("3.sqlite", "1.sqlite") == pair.second
        shift = pair.clean.value.value
        assert shift > 0 if pair.first.startswith("tree") else shift == 0
    versions.print()
    out = capsys.readouterr().out
    assert all(f"{pair.first} or {pair.second}: " in out for pair in versions.comparison.pairs)


def test_files_without_anything_in_common_are_refused(files, tmp_path):
    moved = fill(tmp_path / "moved.sqlite", 0.2, data=make_dataset(X + 1, DATA.y, name="moved"))
    with pytest.raises(InputError, match="their data differ: squares, and moved; evaluate both on"):
        compare_stores(files[0], moved)
    part = fill(tmp_path / "part.sqlite", 0.2, data=DATA)
    with Store(part) as store:
        records = store.records()
    other = tmp_path / "rows.sqlite"
    with Store(other) as store:
        points = replace(records.cells[0].points, order="another")
        store.add([replace(c, points=points, key=f"x{c.key}") for c in records])
    with pytest.raises(InputError, match="their points differ; evaluate both on the same test"):
        compare_stores(files[0], other)
    with pytest.raises(InputError, match=r"got '.*old.sqlite' twice; name another"):
        compare_stores(files[0], files[0])
    with Store(tmp_path / "empty.sqlite"):
        pass
    with pytest.raises(InputError, match="must hold at least one cell, got none"):
        compare_stores(files[0], tmp_path / "empty.sqlite")


def test_the_command_prints_tables_and_json(files, capsys):
    code, out, err = run_command(capsys, "compare", *files)
    assert (code, err) == (0, "")
    assert "net in new.sqlite minus net in old.sqlite" in out
    assert ": on clean points net in new.sqlite is more accurate" in out
    found = run_json(capsys, "compare", *files)
    check_schema("compare", found)
    assert (found["old"], found["new"]) == tuple(map(str, files))
    assert "does not exist; check the path" in run_failing(capsys, "compare", files[0], "gone")

"""Results files joined into one: nothing is lost, and contradictions are named."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.commands import run_command, run_failing
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.merging import merge_stores
from shaketable.evaluation.records import FailureRecord
from shaketable.evaluation.store import Store

X = np.random.default_rng(0).uniform(size=(60, 2))
DATA = make_dataset(X, (X[:, 0] > 0.5).astype(int), name="squares")
BY_SIDE = DATA.grouped({"side": np.where(X[:, 1] > 0.5, "left", "right")})


def model(x):
    return (x[:, 0] > 0.5).astype(int)


def fill(path, specs, *, name="net", model_id="net", data=DATA):
    evaluate(model, data, specs, store=path, name=name, model_id=model_id, k=2)
    return path


def read(path):
    with Store(path, must_exist=True) as store:
        return store.everything()


@pytest.fixture
def files(tmp_path):
    return (
        fill(tmp_path / "a.sqlite", ["linf(eps_min)", "l2(0.1)"], data=BY_SIDE),
        fill(tmp_path / "b.sqlite", ["l2(0.1)", "l1(eps_min)"]),
    )


def test_all_that_the_files_hold_is_in_the_new_one(files, tmp_path):
    fill(files[1], ["linf(0.3)"], name="other", model_id="other")
    out = tmp_path / "c.sqlite"
    merged = merge_stores(files, out)
    assert (merged.cells, merged.shared, merged.models) == (6, 2, ("net", "other"))
    first, second, both = map(read, (*files, out))
    assert {c.key for c in both} == {c.key for c in (*first, *second)}
    measured = {c.key: c for c in (*first, *second)}
    for cell in both:
        same = measured[cell.key]
        np.testing.assert_array_equal(cell.hits, same.hits)
        np.testing.assert_array_equal(cell.points.rows, same.points.rows)
        for field in ("model", "recipe", "model_id", "corruption", "setting", "data", "versions"):
            assert getattr(cell, field) == getattr(same, field)
    assert sorted(s.norm for s in both.separations) == [1, np.inf]
    assert [g.name for g in both.groupings] == ["side"]
    evaluate(refuse, DATA, ["linf(eps_min)", "l1(eps_min)"], store=out, model_id="net", k=2)


def refuse(x):
    raise AssertionError("what a merged file holds is not measured again")


def test_separations_of_data_without_cells_are_kept(files, tmp_path):
    with Store(tmp_path / "d.sqlite") as store:
        (separation, *_) = read(files[0]).separations
        store.add_separation(replace(separation, fingerprint="alone"))
    merge_stores([*files, tmp_path / "d.sqlite"], tmp_path / "c.sqlite")
    assert "alone" in {s.fingerprint for s in read(tmp_path / "c.sqlite").separations}


def test_what_failed_is_kept_unless_another_file_has_it(files, tmp_path):
    (measured, *_) = read(files[1])
    with Store(files[0]) as store:
        for key in (measured.key, "0" * 32):
            store.add_failure(FailureRecord(key, DATA.fingerprint, f"no luck with {key}", "today"))
    merge_stores(files, tmp_path / "m.sqlite")
    with Store(tmp_path / "m.sqlite") as store:
        assert [failure.key for failure in store.everything().failures] == ["0" * 32]


def test_a_cell_with_other_counts_is_refused_by_name(files, tmp_path):
    records = read(files[1])
    for change, message in [
        (lambda c: replace(c, hits=np.minimum(c.hits, 1)), "and 60 of 120 draws correct, "),
        (lambda c: replace(c, hits=np.roll(c.hits, 1)), "draws correct, "),
    ]:
        changed = tmp_path / "changed.sqlite"
        changed.unlink(missing_ok=True)
        (noisy,) = [c for c in records if c.corruption == "l2(0.1)"]
        clean = [c for c in records if c.corruption == "clean"]
        with Store(changed) as store:
            store.add([*clean, change(noisy)])
        with pytest.raises(InputError, match=f"net under l2.0.1. on squares .k 2, .*{message}"):
            merge_stores([files[0], changed], tmp_path / "c.sqlite")
        assert not (tmp_path / "c.sqlite").exists()


def test_other_predictions_separations_and_groups_are_refused(files, tmp_path):
    first = read(files[0])
    changed = tmp_path / "changed.sqlite"
    clean = first.cells[0]
    with Store(changed) as store:
        store.add([replace(clean, predictions=1 - clean.predictions)])
    with pytest.raises(InputError, match="net under clean on squares"):
        merge_stores([files[0], changed], tmp_path / "c.sqlite")
    changed.unlink()
    with Store(changed) as store:
        store.add_separation(replace(first.separations[0], two_r=7.0))
    with pytest.raises(InputError, match="the L-inf separation of the data"):
        merge_stores([files[0], changed], tmp_path / "c.sqlite")
    changed.unlink()
    with Store(changed) as store:
        store.add_grouping(replace(first.groupings[0], codes=1 - first.groupings[0].codes))
    with pytest.raises(InputError, match="the groups by side of the data"):
        merge_stores([files[0], changed], tmp_path / "c.sqlite")


def test_a_model_has_the_name_of_the_last_file(files, tmp_path, capsys):
    renamed = fill(tmp_path / "renamed.sqlite", ["linf(0.3)"], name="newer")
    fill(renamed, ["linf(0.3)"], name="net", model_id="another")
    out = tmp_path / "c.sqlite"
    code, printed, notes = run_command(capsys, "merge", files[0], renamed, "-o", out)
    assert code == 0
    assert printed == f"{out}: 6 cells of 2 models, 1 of them in more than one file\n"
    assert notes == "note: model net is called newer in a later file, and so here\n"
    assert {(c.model, c.model_id) for c in read(out)} == {("newer", "net"), ("net", "another")}
    fill(tmp_path / "e.sqlite", ["linf(0.3)"], name="net", model_id="third")
    _, _, notes = run_command(
        capsys, "merge", out, tmp_path / "e.sqlite", "-o", tmp_path / "f.sqlite"
    )
    assert "2 different models are called net; evaluate with --model NAME=MODEL" in notes


def test_what_cannot_be_merged_is_one_line(files, tmp_path, capsys):
    out = tmp_path / "c.sqlite"
    assert "two results files or more" in run_failing(capsys, "merge", files[0], "-o", out)
    assert "exists already" in run_failing(capsys, "merge", *files, "-o", files[0])
    assert "does not exist" in run_failing(capsys, "merge", files[0], "gone", "-o", out)
    (tmp_path / "text.sqlite").write_text("no results")
    assert "is damaged or not" in run_failing(
        capsys, "merge", files[0], tmp_path / "text.sqlite", "-o", out
    )
    assert not out.exists()


def test_answers_are_kept_from_the_file_that_has_them(files, tmp_path):
    hits = tmp_path / "h.sqlite"
    evaluate(model, DATA, ["l2(0.1)"], store=hits, name="net", model_id="net", k=2, record="hits")
    for number, order in enumerate([(hits, files[1]), (files[1], hits)]):
        merge_stores(order, tmp_path / f"{number}.sqlite")
        assert all(cell.answers is not None for cell in read(tmp_path / f"{number}.sqlite"))


def test_other_answers_with_the_same_hits_are_refused(tmp_path):
    three = make_dataset(X, (3 * X[:, 0]).astype(int), name="thirds")
    for name, wrong in (("a", 1), ("b", 2)):
        answer = lambda x, wrong=wrong: np.full(len(x), wrong)  # noqa: E731
        evaluate(answer, three, [], store=tmp_path / name, name="net", model_id="net", k=2)
    paths = (tmp_path / "a", tmp_path / "b")
    first, second = (read(path).cells[0] for path in paths)
    same = replace(second, hits=first.hits, predictions=first.predictions)
    with Store(tmp_path / "c") as store:
        store.add([same])
    with pytest.raises(InputError, match="must agree in what both hold"):
        merge_stores((paths[0], tmp_path / "c"), tmp_path / "d")

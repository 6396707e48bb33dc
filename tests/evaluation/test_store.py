import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError, StoreError
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.store import Store
from shaketable.separations.record import SeparationRecord

X = np.random.default_rng(0).uniform(size=(40, 2))
Y = np.where(X[:, 0] > 0.5, "right", "left")


def model(x):
    return np.where(x[:, 0] > 0.5, "right", "left")


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "r.sqlite"
    evaluate(model, (X, Y), ["linf(0.1)", "linf(eps_min)"], store=path, model_id="m", k=300)
    return path


def test_records_come_back_as_they_went_in(tmp_path, filled):
    kept = evaluate(model, (X, Y), ["linf(0.1)", "linf(eps_min)"], model_id="m", k=300)
    with Store(filled, must_exist=True) as store:
        back = store.records()
    for a, b in zip(kept, back, strict=True):
        np.testing.assert_array_equal(a.hits, b.hits)
        np.testing.assert_array_equal(a.points.y, b.points.y)
        assert (a.key, a.corruption, a.k, a.points.classes) == (
            b.key,
            b.corruption,
            b.k,
            b.points.classes,
        )
        assert a.versions == b.versions
    np.testing.assert_array_equal(back.cells[0].predictions, kept.cells[0].predictions)
    assert back.separations[0].two_r == kept.separations[0].two_r
    np.testing.assert_array_equal(back.separations[0].nearest, kept.separations[0].nearest)


def test_what_of_a_separation_was_not_measured_comes_back_so(tmp_path):
    only = st.separation(X, Y, points=False)
    kept = SeparationRecord.of(replace(only, by_class=None), "data")
    with Store(tmp_path / "r.sqlite") as store:
        store.add_separation(kept)
        back = store.separation("data", kept.norm)
    assert back.two_r == kept.two_r
    assert back.nearest is None
    assert back.by_class is None


def test_another_schema_version_is_refused(filled):
    with sqlite3.connect(filled) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="schema version 2, got 99"):
        Store(filled)


def test_a_file_that_is_something_else_is_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like one " * 30)
    with pytest.raises(StoreError, match="damaged or not a results file"):
        Store(text)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(StoreError, match="no shaketable file"):
        Store(other)


def test_a_damaged_file_is_named(filled):
    data = bytearray(filled.read_bytes())
    data[4096:] = b"\x00" * (len(data) - 4096)
    filled.write_bytes(data)
    with pytest.raises(StoreError, match=r"r\.sqlite' is damaged"), Store(filled) as store:
        store.records()


def test_a_blob_that_does_not_add_up_is_damage(filled):
    with sqlite3.connect(filled) as db:
        db.execute("UPDATE cells SET correct = correct + 1")
    with pytest.raises(StoreError, match="does not add up"), Store(filled) as store:
        store.records()


def test_a_full_disk_says_so_and_keeps_what_was_there(filled):
    with Store(filled) as store:
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        before = store.records()
        big = before.cells[0]
        copies = [_renamed(big, f"copy {i} " + "x" * 2000) for i in range(50)]
        with pytest.raises(StoreError, match="free some space"):
            store.add(copies)
        assert len(store.records()) == len(before)


def _renamed(record, key):
    return replace(record, key=key)


def test_a_read_only_file_says_so_before_any_work(filled, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(
        "shaketable.evaluation.store.sqlite3.connect",
        lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options),
    )
    with pytest.raises(StoreError, match="make it writable"):
        Store(filled)
    with Store(filled, must_exist=True) as store:  # reading is fine
        assert len(store.records()) == 3


def test_only_the_separations_of_its_own_cells_come_with_records(tmp_path, filled):
    other = evaluate(model, (X + 1, Y), ["linf(eps_min)"], store=filled, model_id="m")
    assert len(other.separations) == 1
    assert other.separations[0].fingerprint == other.cells[0].fingerprint


def test_many_may_make_the_file_at_once(tmp_path):
    path = tmp_path / "new.sqlite"
    code = f"from shaketable.evaluation.store import Store; Store({str(path)!r}).close()"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)
    ]
    assert [process.wait() for process in both] == [0] * 4
    for process in both:
        process.stderr.close()


def test_a_missing_folder_or_file_is_named(tmp_path):
    with pytest.raises(StoreError, match="check that its folder exists"):
        Store(tmp_path / "no" / "r.sqlite")
    with pytest.raises(InputError, match="does not exist"):
        Store(tmp_path / "r.sqlite", must_exist=True)

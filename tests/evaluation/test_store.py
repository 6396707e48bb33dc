import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError, StoreError
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import FailureRecord, Points, Record, SuiteRecord
from shaketable.evaluation.store import Store
from shaketable.evaluation.store_columns import decode, encode
from shaketable.separations.separation import SeparationRecord

X = np.random.default_rng(0).uniform(size=(40, 2))
Y = np.where(X[:, 0] > 0.5, "right", "left")

TRIGGER = "AFTER INSERT ON cells BEGIN DELETE FROM cells; END"


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


@pytest.mark.parametrize("version", [6, 99])
def test_another_schema_version_is_refused(filled, version):
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(StoreError, match=f"schema version 8, got {version}"):
        Store(filled)


def test_a_file_that_is_something_else_is_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like one " * 30)
    with pytest.raises(StoreError, match="damaged or not a results file"):
        Store(text)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as db, db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(StoreError, match="no shaketable file"):
        Store(other)


def test_a_damaged_file_is_named(filled):
    data = bytearray(filled.read_bytes())
    data[4096:] = b"\x00" * (len(data) - 4096)
    filled.write_bytes(data)
    with pytest.raises(StoreError, match=r"r\.sqlite' is damaged"), Store(filled) as store:
        store.records()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE cells SET correct = correct + 1", "row 1 of table cells was changed"),
        ("UPDATE cells SET model = 'other' WHERE rowid = 2", "row 2 of table cells was changed"),
        ("UPDATE cells SET rowid = 7 WHERE rowid = 2", "row 7 of table cells was changed"),
        ("UPDATE cells SET checksum = NULL", "row 1 of table cells was changed"),
        ("UPDATE points SET classes = '[]'", "row 1 of table points was changed"),
        ("UPDATE separations SET two_r = 2 * two_r", "row 1 of table separations was changed"),
        ("DELETE FROM cells WHERE rowid = 3", "rows of table cells are missing"),
        ("DELETE FROM separations", "rows of table separations are missing"),
        ("DELETE FROM totals", "rows of table points are missing"),
        ("ALTER TABLE cells RENAME bounds TO limits", "its tables have other columns"),
        ("CREATE VIEW more AS SELECT * FROM cells", "its tables have other columns"),
        (f"CREATE TRIGGER more {TRIGGER}", "its tables have other columns"),
    ],
)
@pytest.mark.parametrize("must_exist", [False, True])
def test_a_changed_or_lost_row_is_damage(filled, statement, message, must_exist):
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute(statement)
    with (
        pytest.raises(StoreError, match=rf"{message}\); restore it from a copy, or name another"),
        Store(filled, must_exist=must_exist) as store,
    ):
        store.records()


def test_a_trigger_does_not_hide_behind_the_name_of_a_table(filled):
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute(f"CREATE TRIGGER totals {TRIGGER}")
        db.execute("PRAGMA writable_schema = ON")  # the trigger comes before the table
        db.execute("UPDATE sqlite_master SET rowid = rowid + 99 WHERE tbl_name = 'totals'")
        kinds = db.execute("SELECT type FROM sqlite_master WHERE name = 'totals'").fetchall()
    assert kinds == [("trigger",), ("table",)]
    with pytest.raises(StoreError, match="its tables have other columns"):
        Store(filled)


def test_a_file_opened_for_writing_is_checked_before_any_work(filled):
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute("UPDATE cells SET corruption = 'linf(0.2)' WHERE rowid = 3")
    with pytest.raises(StoreError, match="row 3 of table cells was changed"):
        Store(filled)


def flip_letter(file, earlier, rng):
    letters = [i for i, byte in enumerate(file) if chr(byte).isascii() and chr(byte).isalnum()]
    file[rng.choice(letters)] ^= 1


def flip_bit(file, earlier, rng):
    file[rng.integers(len(file))] ^= 1 << int(rng.integers(8))


def copy_page(file, earlier, rng):
    source, target = rng.choice(len(file) // 4096, 2, replace=False) * 4096
    file[target : target + 4096] = file[source : source + 4096]


def swap_pages(file, earlier, rng):
    a, b = rng.choice(len(file) // 4096, 2, replace=False) * 4096
    file[a : a + 4096], file[b : b + 4096] = file[b : b + 4096], file[a : a + 4096]


def restore_page(file, earlier, rng):
    start = int(rng.integers(len(earlier) // 4096)) * 4096
    file[start : start + 4096] = earlier[start : start + 4096]


def list_content(path):
    with Store(path, must_exist=True) as store:
        records = store.records()
    cells = [(c.model, c.corruption, c.k, c.run, c.data, c.hits.tolist()) for c in records]
    groupings = [(g.name, g.labels, g.codes.tolist()) for g in records.groupings]
    return cells, [s.two_r for s in records.separations], records.suites, groupings


@pytest.mark.parametrize("damage", [flip_letter, flip_bit, copy_page, swap_pages, restore_page])
def test_damage_anywhere_is_refused_or_changes_nothing(filled, damage):
    earlier = filled.read_bytes()
    names = [f"linf(0.{i})" for i in range(2, 9)]
    evaluate(
        model,
        (X, Y),
        [*names, st.grid(["missing(0.1)"], ["jitter(0.1)"])],
        store=filled,
        model_id="m",
        by={"side": ["left"] * len(X)},
    )
    intact, content, rng = filled.read_bytes(), list_content(filled), np.random.default_rng(1)
    refused = 0
    for _ in range(60):
        file = bytearray(intact)
        damage(file, earlier, rng)
        filled.write_bytes(file)
        try:
            assert list_content(filled) == content
        except StoreError:
            refused += 1
    assert refused > 1, "most of the bytes are of empty space"


def test_rows_in_another_order_are_damage(filled):
    with Store(filled) as store:
        cell = store.records().cells[0]
        store.add([replace(cell, key=f"{i}", data="d" * 900) for i in range(40)])
    intact = filled.read_bytes()
    pages = [intact[i : i + 4096] for i in range(0, len(intact), 4096)]
    leaves = [i for i, page in enumerate(pages) if page[0] == 0x0D and b"d" * 900 in page]
    for a, b in pairwise(leaves):
        swapped = list(pages)
        swapped[a], swapped[b] = pages[b], pages[a]
        filled.write_bytes(b"".join(swapped))
        with pytest.raises(StoreError, match="of table cells was changed"):
            list_content(filled)
    assert len(leaves) > 3


def test_a_damaged_index_is_refused_before_any_work(filled):
    content, intact = list_content(filled), filled.read_bytes()
    with Store(filled, must_exist=True) as store:
        key = store.records().cells[0].key.encode()
    places = [match.start() for match in re.finditer(key, intact)]
    assert len(places) == 2, "in the table and in its index"
    for place in places:
        file = bytearray(intact)
        file[place] ^= 1
        filled.write_bytes(file)
        with pytest.raises(StoreError, match="is damaged"):
            Store(filled)
    filled.write_bytes(intact)
    assert list_content(filled) == content


def test_parts_and_failures_are_kept_and_checked(filled):
    failure = FailureRecord("some cell", "data", "model m: no luck", "now")
    with Store(filled) as store:
        assert store.part("a") is None
        store.add_part("a", b"1")
        store.add_part("a", b"12")
        store.add_failure(failure)
        store.add_failure(failure)
    with Store(filled, must_exist=True) as store:
        assert store.part("a") == b"12"
        assert store.everything().failures == (failure,)
        cell = store.records().cells[0]
    with Store(filled) as store:
        store.add([replace(cell, key="some cell")])
        assert store.everything().failures == (), "it was measured"
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute("UPDATE parts SET content = x'31'")
    with Store(filled, must_exist=True) as store, pytest.raises(StoreError, match="was changed"):
        store.part("a")
    with pytest.raises(StoreError, match="was changed"):
        Store(filled)


def test_groups_by_another_column_are_added_and_by_the_same_one_replaced(filled):
    def run(**by):
        found = evaluate(model, (X, Y), ["linf(0.1)"], store=filled, model_id="m", k=300, by=by)
        with Store(filled, must_exist=True) as store:
            kept = store.records()
        return [[(g.name, g.labels) for g in r.groupings] for r in (found, kept)]

    n = len(X)
    first, second, third = ("side", ("a",)), ("side", ("b", "c")), ("hue", ("red",))
    assert run(side=["a"] * n) == [[first], [first]]
    assert run(side=["b"] * (n - 1) + ["c"]) == [[second], [second]]
    assert run(hue=["red"] * n) == [[third], [second, third]]
    with closing(sqlite3.connect(filled)) as db, db:
        db.execute("UPDATE groupings SET labels = '[\"x\"]' WHERE name = 'hue'")
    with pytest.raises(StoreError, match="was changed"):
        Store(filled)


def test_counts_that_do_not_add_up_are_refused(filled):
    with Store(filled, must_exist=True) as store:
        cell = store.records().cells[0]
    row = encode(cell) | {"points": cell.points}
    assert decode(Record, row).correct == cell.correct
    with pytest.raises(sqlite3.DatabaseError, match="does not add up"):
        decode(Record, row | {"correct": cell.correct + 1})


@pytest.mark.parametrize("stopped", [None, "points", "runs"])
def test_points_say_what_a_stopping_rule_chose(stopped):
    points = Points("order", ("a", "b"), np.arange(4), np.arange(4) % 2, stopped)
    again = decode(Points, encode(points))
    assert (again.order, again.stopped, again.id) == ("order", stopped, points.id)
    assert len({replace(points, stopped=unit).id for unit in (None, "points", "runs")}) == 3
    assert points.first(2).id != points.first(3).id


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


def test_many_may_add_at_once(filled):
    code = (
        "import sys; from dataclasses import replace; from shaketable.evaluation.store import Store"
        f"\nwith Store({str(filled)!r}) as store:"
        "\n    cell = store.records().cells[0]"
        "\n    for i in range(40):"
        "\n        store.add([replace(cell, key=f'{sys.argv[1]} {i}'), replace(cell, key=f'{i}')])"
        "\n        assert len(store.records()) > i"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "ab"]
    assert [process.wait() for process in both] == [0, 0]
    with Store(filled) as store:
        assert len(store.records()) == 3 + 3 * 40


def test_a_cell_stays_where_it_was_first_added(filled):
    with Store(filled) as store:
        cells = store.records().cells
        store.add([replace(cells[0], run=5), replace(cells[2], key="new")])
        again = store.records()
    assert [cell.key for cell in again] == [*(cell.key for cell in cells), "new"]
    assert again.cells[0].run == cells[0].run


def test_a_suite_is_replaced_by_a_new_record_of_it(filled):
    with Store(filled) as store:
        fingerprint = store.records().cells[0].fingerprint
        for metric in ("", "mcv", "mcv"):
            store.add_suite(SuiteRecord(fingerprint, "mine", metric, "", ("linf(0.1)",)))
        assert [suite.metric for suite in store.records().suites] == ["mcv"]
    Store(filled).close()


def test_a_missing_folder_or_file_is_named(tmp_path):
    with pytest.raises(StoreError, match="check that its folder exists"):
        Store(tmp_path / "no" / "r.sqlite")
    with pytest.raises(InputError, match="does not exist"):
        Store(tmp_path / "r.sqlite", must_exist=True)


def test_records_come_in_the_order_added_or_in_the_order_asked_for(filled):
    with Store(filled) as store:
        keys = [cell.key for cell in store.records()]
        assert [c.corruption for c in store.records()][:2] == ["clean", "linf(0.1)"]
        for wanted in (keys, keys[::-1], [keys[2], keys[0]], []):
            assert [cell.key for cell in store.records(wanted)] == wanted


def test_separations_are_found_by_data_and_norm(filled):
    evaluate(model, (X, Y), ["l2(eps_min)"], store=filled, model_id="m")
    evaluate(model, (X + 1, Y), ["l2(eps_min)"], store=filled, model_id="m")
    first, second = (st.make_dataset(x, Y).fingerprint for x in (X, X + 1))
    with Store(filled) as store:
        for data, norm in ((first, 2.0), (first, np.inf), (second, 2.0)):
            found = store.separation(data, norm)
            assert (found.fingerprint, found.norm) == (data, norm)
        assert store.separation(second, np.inf) is None
        assert store.separation(first, 1.0) is None
        assert store.separation("other", 2.0) is None


@pytest.mark.parametrize("must_exist", [False, True])
def test_damage_where_the_tables_are_declared_is_refused(filled, must_exist):
    whole = filled.read_bytes()
    declared = [place.start() for place in re.finditer(b"CREATE (TABLE|INDEX)", whole)]
    refused = 0
    for at in range(min(declared) - 20, max(declared) + 20, 7):
        filled.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        try:
            Store(filled, must_exist=must_exist).close()
        except StoreError as error:
            refused += "is damaged or not a results file" in str(error)
    assert refused > 200


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (":memory:", "must be named, got ':memory:'; name a file, or leave it out to keep none"),
        ("", "must be named, got ''; name a file"),
        ("/dev/null", "'/dev/null' is a device or a pipe; name a file"),
        ("/", "'/' is a folder; name a file in it"),
    ],
)
def test_what_is_no_file_is_refused(path, message):
    for must_exist in (False, True):
        with pytest.raises(InputError, match=f"^results file {message}"):
            Store(path, must_exist=must_exist)
    data = (np.zeros((4, 1)), [0, 1, 0, 1])
    with pytest.raises(InputError, match=f"^results file {message}"):
        evaluate(model, data, "linf(0.1)", k=1, store=path)

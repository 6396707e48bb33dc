"""Findings and records go to pandas, CSV, Parquet and JSON without losing a digit."""

import json

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.commands import check_schema, run_command, run_failing
from helpers.records import draw_hits, make_records
from shaketable.core.writing import restore_texts
from shaketable.findings.export import make_frame
from shaketable.views.blocks import Table

SETS = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)", "rotation(30) + sp(0.1)")


@pytest.fixture(scope="module")
def records():
    return make_records(draw_hits(0, SETS), k=4, model="=a") + make_records(
        draw_hits(1, SETS), k=4, model="b"
    )


@pytest.fixture(scope="module")
def results(records):
    return st.find(records)


def list_estimates(node):
    """All values of JSON that have an interval or a bound."""
    if isinstance(node, dict):
        if node.get("mean") is not None and not isinstance(node["mean"], dict):
            yield node["mean"]
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from list_estimates(part)


def test_every_value_is_one_row(results):
    frame = results.to_frame()
    expected = list(list_estimates(results.json()))
    assert len(expected) > 40
    assert sorted(frame["mean"]) == sorted(expected)
    assert frame[["finding", "quantity"]].notna().all(axis=None)
    cv = frame[(frame.quantity == "mcv.models.cv") & (frame.label == "b")].iloc[0]
    board = results.json()["mcv"][0]
    (entry,) = [model for model in board["models"] if model["label"] == "b"]
    assert (cv["mean"], cv["low"], cv["high"]) == tuple(
        entry["cv"][name] for name in ("mean", "low", "high")
    )
    assert (cv["suite"], cv["model"], cv["method"]) == ("by-hand", "b", entry["cv"]["method"])


def test_points_have_their_hits(records):
    frame = records.to_frame(points=True)
    assert len(frame) == sum(cell.n for cell in records)
    for cell in records:
        part = frame[frame.key == cell.key]
        assert np.array_equal(part.hits, cell.hits)
        assert np.array_equal(part.row, cell.points.rows)
        assert set(part["class"]) == {0}
    assert list(frame.columns[:9]) == list(records.to_frame().columns[:9])
    assert list(st.Records(()).to_frame(points=True)) == list(frame.columns)


@pytest.mark.parametrize("content", ["findings", "cells", "points"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".json"])
def test_files_hold_the_frame(tmp_path, results, content, ending):
    path = st.export(results, tmp_path / f"r{ending}", content=content)
    frame = make_frame(results, content)
    if ending == ".json":
        written = json.loads(path.read_text())
        assert written["schema_version"] == 1
        if content == "findings":
            assert written == json.loads(json.dumps({"schema_version": 1, **results.json()}))
            check_schema("report", written)
            return
        check_schema("export", written)
        back = pd.DataFrame(written[content])
    elif ending == ".parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        back = pd.read_parquet(path)
    else:
        texts = {name: str for name in frame if frame[name].dtype == "string"}  # such as class "0"
        back = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=texts)
        back = restore_texts(back)
    assert list(back.columns) == list(frame.columns)
    for name in frame:
        given = frame[name].notna() & (frame[name] != "").fillna(True)  # CSV has no empty text
        expected, read = frame[name][given].tolist(), back[name][given].tolist()
        if isinstance(expected[0] if expected else None, float):
            expected = pytest.approx(expected, rel=1e-14, abs=0)
        assert read == expected, name


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_norms_are_numbers_also_the_largest(tmp_path, ending):
    data = st.make_dataset(np.eye(6) / 2, [0, 1, 0, 1, 0, 1], bounds=(0, 1))
    records = st.evaluate(lambda x: x[:, 1] > 0.2, data, st.suite("pnorm"), k=1)
    path = st.export(records, tmp_path / f"findings{ending}")
    table = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
    assert set(table["p"].dropna()) >= {0.5, 1.0, 2.0, np.inf}


def test_models_with_a_formula_as_name_stay_text(tmp_path, records):
    text = st.export(records, tmp_path / "r.csv", content="cells").read_text()
    assert ",'=a," in text
    assert ",=a," not in text


def test_the_command_writes_a_results_file(tmp_path, records, capsys):
    store = tmp_path / "r.sqlite"
    with st.Store(store) as results_file:
        results_file.add(records)
    out = tmp_path / "r.csv"
    code, stdout, err = run_command(capsys, "export", store, "--content", "cells", "-o", out)
    assert (code, stdout) == (0, "")
    assert err == f"cells: {out}\n"
    assert len(pd.read_csv(out)) == len(records)
    assert "must end in .csv" in run_failing(capsys, "export", store, "-o", tmp_path / "r.xlsx")
    err = run_failing(capsys, "export", store, "--content", "cell", "-o", out)
    assert "unknown content 'cell'; did you mean 'cells'?" in err
    with pytest.raises(st.InputError, match="unknown content 'rows'"):
        st.export(records, out, content="rows")
    with pytest.raises(st.InputError, match="ending of an exported file"):
        st.export(records, tmp_path / "r.txt")


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        (None, None, "path must name a file, such as results.csv"),
        (None, "json", "path must name a file, such as results.json"),
        ("r.csv", "card", "path must end in .md for card"),
        ("r.csv", "mlflow", "path must be left out for mlflow"),
        ("r.csv", "excel", "unknown target"),
    ],
)
def test_the_file_must_suit_what_is_written(records, path, to, message):
    with pytest.raises(st.InputError, match=message):
        st.export(records, path, to=to)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("card.md", {"content": "cells"}, "content is for csv, parquet and json, got 'cells'"),
        (None, {"to": "mlflow", "content": "points"}, "got 'points' for mlflow; leave it out"),
        ("x.csv", {"task": "image-classification"}, "task is for a card, got csv; leave it out"),
    ],
)
def test_options_of_another_target_are_refused(records, path, options, message):
    with pytest.raises(st.InputError, match=message):
        st.export(records, path, **options)


def test_tables_are_those_of_the_page(results, tmp_path):
    st.export(results, tmp_path / "t.csv", content="tables")
    path = st.export(results, tmp_path / "t.json", content="tables")
    check_schema("export", json.loads(path.read_text()))
    frame = pd.read_csv(tmp_path / "t.csv")
    tables = {b.title: b for b in results.blocks() if isinstance(b, Table)}
    assert set(frame["table"]) <= set(tables)
    (title,) = (name for name in tables if name.startswith("accuracy and its change"))
    shown = frame[(frame["table"] == title) & (frame["column"] == "accuracy")]
    expected = [row[2].value for row in tables[title].rows]
    assert shown["value"].tolist() == pytest.approx(expected)

"""No text of a CSV file is a formula to a spreadsheet, and every text is read as it was."""

import csv
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shaketable
from shaketable.core.table_files import protect_text, restore_text, restore_texts, write_table
from shaketable.data.files import load
from shaketable.data.writing import write_dataset

TEXTS = ["=cmd|' /C calc'!A0", "+1+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-a"]
SAFE = ["-1", "+2.5e-3", ".5", "-.5", "a=b", "it's", "'quoted'", "", "–1", "'"]


@pytest.mark.parametrize("text", [*TEXTS, *SAFE])
def test_text_that_would_be_a_formula_gets_an_apostrophe(text):
    assert protect_text(text) == (f"'{text}" if text in TEXTS else text)


@given(st.text(alphabet="'=+-@\t\r1a.e", max_size=6))
def test_every_text_is_restored(text):
    protected = protect_text(text)
    assert restore_text(protected) == text
    assert protected[:1] not in "=+-@\t\r" or not protected or float(protected) is not None


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_a_frame_is_written_safely_and_restored(tmp_path, dtype):
    table = pd.DataFrame(
        {
            "=name": pd.Series(TEXTS, dtype=dtype),
            "n": -1.5 * np.arange(len(TEXTS)),
            "kept": pd.Series([None, *TEXTS[1:]], dtype=dtype),
        }
    )
    path = tmp_path / "t.csv"
    write_table(table, path)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=name", "n", "kept"]
    assert [row[0] for row in rows] == [f"'{text}" for text in TEXTS]
    assert rows[1][1] == "-1.5", "numbers stay numbers"
    assert rows[0][2] == ""
    back = restore_texts(pd.read_csv(path))
    assert back["=name"].tolist() == TEXTS
    assert back["n"].tolist() == table["n"].tolist()
    assert list(table.columns) == ["=name", "n", "kept"], "the frame itself is unchanged"


@pytest.mark.parametrize("label", ["label", "=y"])
def test_a_data_set_survives_a_file(tmp_path, label):
    data = shaketable.make_dataset(
        [[0.0, -1.0], [1.0, -2.0], [2.0, -3.0]],
        ["=a", "-b", "=a"],
        features=("@u", "v"),
        name="formulas",
    )
    path = write_dataset(tmp_path / "d.csv", data, label=label)
    assert not any(line.startswith(("=", "@", "-b")) for line in path.read_text().splitlines())
    back = load(path, label=label)
    assert (back.classes, back.features) == (data.classes, data.features)
    assert np.array_equal(back.x, data.x)
    assert np.array_equal(back.y, data.y)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    with pytest.raises(shaketable.InputError, match="pip install 'shaketable\\[parquet\\]'"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.parquet")

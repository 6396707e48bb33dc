"""Every file is written beside its place first, so that a failure leaves the old one."""

import csv
import os
import stat
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shaketable
from helpers.disks import limit_file_size
from shaketable.core.errors import InputError
from shaketable.core.writing import (
    protect_text,
    restore_text,
    restore_texts,
    write_beside,
    write_table,
)
from shaketable.corruptions.gallery import gallery
from shaketable.data.arrays import make_dataset
from shaketable.data.files import load
from shaketable.data.writing import write_dataset
from shaketable.views.drawing import horizontal_rule, save_chart

TABLE = make_dataset(np.random.default_rng(0).uniform(size=(400, 3)), np.arange(400) % 2)


def write_examples(path):
    worst = shaketable.worst_case(
        lambda x: np.zeros(len(x)), TABLE, [0.5], attacks=["random(queries=2)"]
    )
    return worst.save_examples(path)


def draw_image(path):
    noise = np.random.default_rng(0).uniform(size=(2, 30, 30, 3))
    return gallery(noise, ["linf(0.1)"]).save(path)


WRITERS = {
    "data.npz": lambda path: write_dataset(path, TABLE),
    "data.csv": lambda path: write_dataset(path, TABLE),
    "data.csv.gz": lambda path: write_dataset(path, TABLE),
    "data.parquet": lambda path: write_dataset(path, TABLE),
    "chart.svg": lambda path: save_chart(horizontal_rule(0), path),
    "chart.png": lambda path: save_chart(horizontal_rule(0), path),
    "chart.html": lambda path: save_chart(horizontal_rule(0), path),
    "gallery.png": draw_image,
    "examples.npz": write_examples,
    "gallery.html": draw_image,
}


@pytest.mark.filterwarnings("ignore:.*ZipFile.__del__")  # numpy before 2 does not close it
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file(tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / name
    assert WRITERS[name](path) == path  # whatever it needs is loaded before the disk is full
    path.write_text("the old one")
    with (
        limit_file_size(64),
        pytest.raises(InputError, match=r"cannot be written to '.*' \(.*\); name another file"),
    ):
        WRITERS[name](path)
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == [name]
    WRITERS[name](path)
    assert path.read_bytes() != b"the old one"


def test_what_interrupts_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("the old one")

    def write_half():
        with write_beside(path, "text") as beside:
            beside.write_text("half of")
            assert path.read_text() == "the old one"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_links_modes_and_endings_are_kept(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.csv.gz", tmp_path / "link.csv.gz"
    target.write_text("the old one")
    target.chmod(0o640)
    link.symlink_to(target)
    with write_beside(link, "text") as beside:
        assert beside.suffixes[-2:] == [".csv", ".gz"]
        beside.write_text("the new one")
    assert link.is_symlink()
    assert target.read_text() == "the new one"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "plain.txt").write_text("")
    with write_beside(tmp_path / "new.txt", "text") as beside:
        beside.write_text("")
    assert (tmp_path / "new.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_a_pipe_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with write_beside(pipe, "text") as beside:
        beside.write_text("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_name_of_full_length_can_be_written(tmp_path):
    path = tmp_path / ("x" * 251 + ".txt")
    with write_beside(path, "text") as beside:
        beside.write_text("fits")
    assert path.read_text() == "fits"


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

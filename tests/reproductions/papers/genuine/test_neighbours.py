"""Table 3 on small data."""

import struct

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_failing
from shaketable.core.errors import InputError
from shaketable.reproductions.papers.genuine import neighbours


def judge(found):
    return {j.claim: j.verdict for j in found.judgements}


def make_file(path, shape, classes=10):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (60, *shape), dtype=np.uint8)
    y = np.arange(60) % classes
    np.savez(path, x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])


def test_both_sets_of_a_folder_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "_PART", 10)
    monkeypatch.setitem(neighbours._LEFT_OUT, "MNIST", 5)
    make_file(tmp_path / "a.npz", (28, 28))
    make_file(tmp_path / "b.npz", (32, 32, 3))
    found = st.reproduce("genuine-table3", data=tmp_path)
    assert len(found.judgements) == 6
    assert found.verdict == "fails"  # these are no images
    only = st.reproduce("genuine-table3", data=tmp_path / "b.npz", form="full")
    assert len(only.judgements) == 3
    assert only.measured.unfinished == "not given: MNIST"
    (print_,) = [t for t in only.measured.tables if t.key == "print"]
    assert [n.printed.value for n in print_.numbers[1:]] == [0.1722, 0.2427, 0.1773, 0.2242]


def write_idx(folder):
    """Two parts of made-up MNIST, loose in a folder."""
    rng = np.random.default_rng(0)
    for part, n in (("train", 40), ("t10k", 20)):
        images = struct.pack(">4I", 0x803, n, 28, 28) + rng.bytes(n * 28 * 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        labels = struct.pack(">2I", 0x801, n) + bytes(i % 10 for i in range(n))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)


def test_loose_files_beside_an_archive_are_taken(tmp_path):
    write_idx(tmp_path)
    make_file(tmp_path / "b.npz", (32, 32, 3))
    make_file(tmp_path / "unrelated.npz", (8, 8))
    (tmp_path / "unrelated").mkdir()
    (tmp_path / "notes.txt").write_text("no data")
    found = neighbours._load_sets(str(tmp_path))
    assert {name: data.shape for name, data in found.items()} == {
        "MNIST": (28, 28),
        "CIFAR-10": (32, 32, 3),
    }
    (tmp_path / "b.npz").unlink()
    assert [*neighbours._load_sets(str(tmp_path))] == ["MNIST"]


def test_what_was_not_given_leaves_it_open(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "_PART", 10)
    monkeypatch.setattr(neighbours, "_claim_table3", lambda *_, **__: [])
    make_file(tmp_path / "b.npz", (32, 32, 3))
    found = st.reproduce("genuine-table3", data=tmp_path)
    assert (found.verdict, found.measured.unfinished) == ("inconclusive", "not given: MNIST")


def test_other_data_are_refused(tmp_path, capsys):
    make_file(tmp_path / "a.npz", (8, 8))
    with pytest.raises(InputError, match="28 x 28"):
        st.reproduce("genuine-table3", data=tmp_path / "a.npz")
    with pytest.raises(InputError, match="has neither"):
        st.reproduce("genuine-table3", data=tmp_path)
    with pytest.raises(InputError, match="MNIST"):
        st.reproduce("genuine-table3")
    np.savez(tmp_path / "plane.npz", x=np.random.default_rng(0).random((9, 2)), y=[0, 1, 0] * 3)
    plane = ("--data", str(tmp_path / "plane.npz"))
    out = ("--out", str(tmp_path / "out"))
    message = run_failing(capsys, "reproduce", "genuine-table3", *plane, *out)
    assert "32 x 32 x 3 values (CIFAR-10)" in message

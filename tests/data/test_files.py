"""Files, arrays and names become data sets, and what is no data is refused."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.tables import TABLE, write_table
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset, load


def dataset(n: int = 50, *, n_train: int | None = None, name: str = "data") -> Dataset:
    return make_dataset(
        np.arange(2.0 * n).reshape(n, 2), [0, 1] * (n // 2), name=name, n_train=n_train
    )


def npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "data.npz"
    np.savez(path, **arrays)
    return path


def test_as_dataset_takes_what_users_hold(tmp_path: Path) -> None:
    data = dataset()
    assert as_dataset(data) is data
    assert as_dataset((data.x, data.y), name="mine").name == "mine"
    assert as_dataset("toy1d(n=10)").n == 10
    assert as_dataset((data.x, data.y), test=data).n_train == 50
    path = npz(tmp_path, x=data.x, y=data.y)
    assert as_dataset(path).fingerprint == data.fingerprint
    assert as_dataset(str(path), test=path).n_train == 50
    with pytest.raises(InputError, match=r"data must be a Dataset, a pair \(x, y\), .* got list"):
        as_dataset([data.x, data.y])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InputError, match="both be files or both be in memory"):
        as_dataset(path, test=data)


@pytest.mark.parametrize("letter", ["x", "X"])
def test_npz_files_round_trip(tmp_path: Path, letter: str) -> None:
    data = dataset()
    path = npz(tmp_path, **{letter: data.x, "y": data.y, "unrelated": np.zeros(3)})
    assert load(path).fingerprint == data.fingerprint
    assert load(str(path)).name == "data.npz"
    (tmp_path / "test.npz").write_bytes(path.read_bytes())
    assert load(path, test=tmp_path / "test.npz").name == "test.npz (training part data.npz)"
    assert load(path, test=path).name == "data.npz"
    parts = {
        f"{letter}_train": data.x[:40],
        "y_train": data.labels[:40],
        f"{letter}_test": data.x[40:],
        "y_test": data.labels[40:],
    }
    assert load(npz(tmp_path, **parts)).fingerprint == replace(data, n_train=40).fingerprint


def test_uint8_archives_stay_uint8_only_where_they_hold_images(tmp_path: Path) -> None:
    pixels = np.arange(128, dtype=np.uint8).reshape(2, 8, 8)
    data = load(npz(tmp_path, x=pixels, y=np.array(["a", "b"])))
    assert np.array_equal(data.x, pixels)
    assert data.bounds == Bounds(0, 1)
    table = load(npz(tmp_path, x=pixels[:, 0], y=np.array(["a", "b"])))
    assert table.x.dtype == np.float64
    assert table.x.max() == 71


def test_options_of_load_drop_clashes_first_and_scale_then(tmp_path: Path) -> None:
    path = write_table(tmp_path, "t.csv", "a,y\n0,0\n2,0\n4,1\n9,0\n9,1\n")
    data = load(path, label="y", drop_clashes=True, scale=True)
    assert data.x.ravel().tolist() == [0, 0.5, 1]


def test_truncated_and_undecodable_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode() * 1000)[:-20])
    with pytest.raises(InputError, match=r"a\.csv\.gz' cannot be read"):
        load(path, label="kind")
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,kind\n1,a\n2,b\n".encode("latin-1"))
    with pytest.raises(InputError, match="cannot be read: 'utf-8' codec"):
        load(path, label="kind")
    whole = npz(tmp_path, x=np.zeros((100, 2)), y=np.arange(100) % 2).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:-50])
    with pytest.raises(InputError, match="cannot be read: File is not a zip file"):
        load(tmp_path / "cut.npz")
    (tmp_path / "bad.npz").write_bytes(whole[:300] + b"damage" + whole[306:])
    with pytest.raises(InputError, match="cannot be read: Bad CRC-32"):
        load(tmp_path / "bad.npz")
    with pytest.raises(InputError, match="cannot be read: File is not a zip file"):
        load(write_table(tmp_path, "text.npz"))


def test_archives_without_the_right_arrays_are_refused(tmp_path: Path) -> None:
    x, y = np.arange(8.0), np.arange(8) % 2
    with pytest.raises(InputError, match=r"must hold x and y, or .* holds: data, target"):
        load(npz(tmp_path, data=x, target=y))
    with pytest.raises(InputError, match="holds: nothing"):
        load(npz(tmp_path))
    with pytest.raises(InputError, match=r"it holds Python objects; .* y.astype\(str\)"):
        load(npz(tmp_path, x=x, y=y.astype(object)))
    split = npz(tmp_path, x_train=x, y_train=y, x_test=x, y_test=y)
    with pytest.raises(InputError, match="has a test part already"):
        load(split, test=split)
    with pytest.raises(InputError, match=r"label and tables do not go with the file"):
        load(split, label="y")
    with pytest.raises(InputError, match=r"label and tables do not go with the file"):
        load(split, test=write_table(tmp_path, "a.csv"))


def test_sources_that_are_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*gone.csv' does not exist"):
        load(tmp_path / "gone.csv", label="y")
    with pytest.raises(InputError, match="must hold one subfolder per class with images"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"this is neither: .* 'brands'; did you mean 'bands'"):
        load("brands(n=3)")
    with pytest.raises(InputError, match=r"label must name .*; its columns: width, height, kind"):
        load(write_table(tmp_path, "a.csv"))
    with pytest.raises(InputError, match="label and test are for files"):
        load("iris", label="species")


def write_set(folder: Path, manifest: Any, codes: Any = (0, 1, 1)) -> Path:
    np.save(folder / "x.npy", np.arange(3.0))
    np.save(folder / "labels.npy", np.array(codes, np.uint8))
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / "manifest.json").write_text(text)
    return folder / "x.npy"


def test_the_manifest_names_the_classes_and_keeps_their_types(tmp_path: Path) -> None:
    assert load(write_set(tmp_path, {"classes": ["a", "b"]})).classes == ("a", "b")
    assert load(write_set(tmp_path, {"classes": [1.5, 7]})).classes == (1.5, 7)
    assert load(write_set(tmp_path, {"data": "of another tool"})).classes == (0, 1)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", r"manifest\.json' cannot be read"),
        ("[" * 100_000, r"manifest\.json' cannot be read"),
        ("true", r"manifest\.json' must name the classes"),
        ("null", "must name the classes"),
        ([], "must name the classes"),
        ({"classes": None}, "must name the classes"),
        ({"classes": "ab"}, "must name the classes"),
        ({"classes": {"a": 0}}, "must name the classes"),
        ({"classes": [["a"], ["b"]]}, "must name the classes"),
        ({"classes": ["a", "a"]}, "different"),
        ({"classes": ["a"]}, "holds the code 1, and manifest.json beside it names 1 classes"),
        ({"classes": ["a", "a\0"]}, "must not end in a NUL"),
    ],
)
def test_odd_manifests_are_refused(tmp_path: Path, manifest: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(write_set(tmp_path, manifest))

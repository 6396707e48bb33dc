"""idx files: pairs in a folder or by the file of images, and what is damaged or missing."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.data.arrays import join, make_dataset
from shaketable.data.files import load
from shaketable.data.readers.idx_files import read_idx

RNG = np.random.default_rng(0)
X, Y = RNG.integers(256, size=(30, 5, 4), dtype=np.uint8), (np.arange(30) % 3).astype(np.uint8)
CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def encode(array: np.ndarray) -> bytes:
    head = bytes([0, 0, CODES[array.dtype.str[1:]], array.ndim])
    return (
        head
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(array.dtype.newbyteorder(">")).tobytes()
    )


def write(path: Path, array: np.ndarray) -> Path:
    content = encode(array)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_pair(folder: Path, part: str, rows: slice, ending: str = "", sign: str = "-") -> Path:
    write(folder / f"{part}-labels{sign}idx1-ubyte{ending}", Y[rows])
    return write(folder / f"{part}-images{sign}idx3-ubyte{ending}", X[rows])


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_arrays_of_every_type_are_read(tmp_path: Path, kind: str, ending: str) -> None:
    array = RNG.integers(100, size=(3, 4, 2)).astype(kind)
    found = read_idx(write(tmp_path / f"a-images-idx3-ubyte{ending}", array))
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype, "of this machine's byte order"


@pytest.mark.parametrize(("ending", "sign"), [(".gz", "-"), ("", ".")])
def test_a_folder_holds_both_parts(tmp_path: Path, ending: str, sign: str) -> None:
    train = write_pair(tmp_path, "train", slice(20), ending, sign)
    test = write_pair(tmp_path, "t10k", slice(20, 30), ending, sign)
    expected = join((X[:20], Y[:20]), (X[20:], Y[20:]))
    data = load(tmp_path)
    assert (data.fingerprint, data.name) == (expected.fingerprint, tmp_path.name)
    assert load(train, test=test).fingerprint == expected.fingerprint
    part = load(test)
    assert part.fingerprint == make_dataset(X[20:], Y[20:]).fingerprint
    some = load(tmp_path, points=6)
    assert some.fingerprint == expected.sample(6).fingerprint
    with pytest.raises(InputError, match="test must be left out"):
        load(tmp_path, test=test)
    with pytest.raises(InputError, match="label is for tables, and this is an idx file"):
        load(tmp_path, label="y")


def test_a_folder_of_several_sets_needs_a_name(tmp_path: Path) -> None:
    for name in ("emnist-digits", "emnist-letters"):
        write_pair(tmp_path, f"{name}-train", slice(20))
        write_pair(tmp_path, f"{name}-test", slice(20, 30))
    with pytest.raises(InputError, match="one training and one test part in idx files, got emnist"):
        load(tmp_path)
    pair = (tmp_path / f"emnist-letters-{part}-images-idx3-ubyte" for part in ("train", "test"))
    assert load(next(pair), test=next(pair)).n_train == 20


def test_pairs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    write_pair(tmp_path, "train", slice(20))
    labels = tmp_path / "train-labels-idx1-ubyte"
    write(labels, Y[:19])
    with pytest.raises(InputError, match=r"one label per point, got shape \(19,\)"):
        load(tmp_path)
    labels.unlink()
    with pytest.raises(InputError, match="the labels to 'train-images-idx3-ubyte' are not in"):
        load(tmp_path)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_damaged_files_are_refused(tmp_path: Path, ending: str) -> None:
    write_pair(tmp_path, "train", slice(20), ending)
    images, content = tmp_path / f"train-images-idx3-ubyte{ending}", encode(X[:20])
    huge = content[:4] + b"\xff" * 12 + content[16:]
    for damaged, message in [
        (content[:-1], "declares 400 bytes, and it"),
        (content + b"0", "declares 400 bytes, and it holds more"),
        (b"\0\0\7" + content[3:], "does not begin as idx files do"),
        (content[:9], "cannot be read"),
        (b"", "does not begin"),
        (huge, "it cannot hold them"),
    ]:
        images.write_bytes(gzip.compress(damaged) if ending else damaged)
        with pytest.raises(InputError, match=message):
            load(tmp_path)
    if ending:
        images.write_bytes(gzip.compress(content)[:-9])
        with pytest.raises(InputError, match="cannot be read"):
            load(tmp_path)


@pytest.mark.skipif(
    "SHAKETABLE_FASHION_MNIST" not in os.environ,
    reason="SHAKETABLE_FASHION_MNIST must name the folder of Debian's dataset-fashion-mnist",
)
def test_fashion_mnist_is_read_as_published() -> None:
    data = load(os.environ["SHAKETABLE_FASHION_MNIST"])
    assert (data.x.shape, data.x.dtype, data.n_train) == ((70_000, 28, 28), np.uint8, 60_000)
    assert data.classes == tuple(range(10))
    assert np.bincount(data.y[data.n_train :]).tolist() == [1000] * 10
    assert data.y[:4].tolist() == [9, 0, 0, 3], "an ankle boot, a top, a top, a dress"
    assert data.fingerprint == "91a4510270918e69114fd49dbab88975"

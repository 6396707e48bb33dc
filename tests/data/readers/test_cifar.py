"""CIFAR batches: folders and archives, and pickles that name functions are refused unrun."""

import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.data.arrays import join
from shaketable.data.files import load

RNG = np.random.default_rng(0)
X = RNG.integers(256, size=(30, 3072), dtype=np.uint8)
Y = [int(v) for v in RNG.permutation(30) % 3]
IMAGES = X.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
EXPECTED = join((IMAGES[:20], Y[:20]), (IMAGES[20:], Y[20:]))


def write(path: Path, content: Any, protocol: int = 2) -> None:
    path.write_bytes(pickle.dumps(content, protocol=protocol))


def write_cifar10(folder: Path, protocol: int = 2, encode: Any = str.encode) -> None:
    """Batches whose texts are bytes, as those of Python 2 are for Python 3."""
    folder.mkdir(exist_ok=True)
    for name, rows in (("data_batch_1", slice(10)), ("data_batch_2", slice(10, 20))):
        batch = {encode("data"): X[rows], encode("labels"): Y[rows], encode("filenames"): ["a"]}
        write(folder / name, batch, protocol)
    write(folder / "test_batch", {encode("data"): X[20:], encode("labels"): Y[20:]}, protocol)
    write(folder / "batches.meta", {encode("label_names"): ["x", "y", "z"]}, protocol)


@pytest.mark.parametrize("encode", [str.encode, str], ids=["bytes", "text"])
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_folders_and_archives_hold_the_same(tmp_path: Path, protocol: int, encode: Any) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    write_cifar10(folder, protocol, encode)
    data = load(folder)
    assert (data.fingerprint, data.name) == (EXPECTED.fingerprint, folder.name)
    archive = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, folder.name)
    assert load(archive).fingerprint == EXPECTED.fingerprint
    part = load(folder / "test_batch")
    np.testing.assert_array_equal(part.x, IMAGES[20:])
    assert load(folder, points=5).fingerprint == EXPECTED.sample(5).fingerprint


def test_a_batch_that_python_2_has_written_is_read(tmp_path: Path) -> None:
    # what cPickle.dump({'data': array, 'labels': [...]}, file, 2) of Python 2 writes
    raw, n = X[:4].tobytes(), len(X[:4].tobytes())
    content = (
        b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\n"
        b"q\x04K\x00\x85U\x01b\x87Rq\x05(K\x01K\x04M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K"
        b"\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + n.to_bytes(4, "little")
        + raw
        + b"tbU\x06labelsq\x08]q\x09(K\x00K\x01K\x02K\x00eu."
    )
    (tmp_path / "data_batch_1").write_bytes(content)
    data = load(tmp_path)
    np.testing.assert_array_equal(data.x, IMAGES[:4])
    assert data.labels.tolist() == [0, 1, 2, 0]


def test_cifar_100_has_fine_and_coarse_labels(tmp_path: Path) -> None:
    coarse = [v % 2 for v in Y]
    for name, rows in (("train", slice(20)), ("test", slice(20, 30))):
        labels = {b"fine_labels": Y[rows], b"coarse_labels": np.array(coarse[rows])}
        write(tmp_path / name, {b"data": X[rows], **labels})
    write(tmp_path / "meta", {})
    assert load(tmp_path).fingerprint == EXPECTED.fingerprint
    assert load(tmp_path, label="coarse_labels").labels.tolist() == coarse
    with pytest.raises(InputError, match="fine_labels or coarse_labels, got 'species'; correct it"):
        load(tmp_path, label="species")


class Call:
    """Runs a command when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_no_function_is_called(tmp_path: Path) -> None:
    mark = tmp_path / "called"
    write(tmp_path / "data_batch_1", {b"data": X[:4], b"labels": Call(mark)})
    with pytest.raises(InputError, match="it names .*mkdir, and only arrays and numbers are read"):
        load(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([1], "no dictionary but a list"),
        ({b"labels": [0, 1]}, "its data must be an array"),
        ({b"data": X[:2].astype(float), b"labels": [0, 1]}, "array of 'f8', not of whole numbers"),
        ({b"data": X[:2, :5], b"labels": [0, 1]}, "not uint8 rows of 3072"),
        ({b"data": X[:2], b"labels": [0]}, "2 images and labels of shape"),
        ({b"data": X[:2], b"labels": ["a", "b"]}, "its labels must be an array or a list of whole"),
        ({b"data": X[:2]}, "label must name the classes in batch data_batch_1"),
    ],
)
def test_batches_of_other_content_are_refused(tmp_path: Path, batch: Any, message: str) -> None:
    write(tmp_path / "data_batch_1", batch)
    with pytest.raises(InputError, match=message):
        load(tmp_path)


def test_damaged_batches_and_archives_are_one_line(tmp_path: Path) -> None:
    content = pickle.dumps({b"data": X[:4], b"labels": Y[:4]}, protocol=2)
    lengths = b"\x80\x04\x8e" + (1 << 62).to_bytes(8, "little") + b"."
    for damaged in (content[:-700], content[700:], b"", lengths, content[:40] + b"\xff" * 40):
        (tmp_path / "data_batch_1").write_bytes(damaged)
        with pytest.raises(InputError, match="batch data_batch_1 of '.*' cannot be read") as caught:
            load(tmp_path)
        assert "\n" not in str(caught.value)
    archive = tmp_path / "other.tar.gz"
    archive.write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read"):
        load(archive)
    with tarfile.open(archive, "w:gz") as file:
        file.addfile(tarfile.TarInfo("readme"), io.BytesIO(b""))
    with pytest.raises(InputError, match="holds no batches of CIFAR-10 or CIFAR-100"):
        load(archive)
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "gone.tar.gz")


def test_a_folder_of_the_test_part_alone_is_read(tmp_path: Path) -> None:
    write(tmp_path / "test", {b"data": X[:6], b"fine_labels": Y[:6]})
    write(tmp_path / "meta", {})
    data = load(tmp_path)
    np.testing.assert_array_equal(data.x, IMAGES[:6])
    assert data.labels.tolist() == list(Y[:6])

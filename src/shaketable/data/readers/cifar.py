"""CIFAR-10 and CIFAR-100 as published: batches for Python, in a folder or in the archive.

The batches are pickles, and a pickle can name any function to be called when it is loaded. These
are read by an unpickler that calls none: it admits dictionaries, lists, text, numbers, and arrays,
whose bytes are taken as they are. So they need not be trusted.
"""

from __future__ import annotations

import io
import pickle
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data.arrays import join, make_dataset
from shaketable.data.dataset import Dataset
from shaketable.data.readers.reader import READERS, DataReader, Options
from shaketable.data.sources import explain_read_errors

_ARCHIVES = (".tar.gz", ".tgz", ".tar")
_BATCH = re.compile(r"data_batch_\d+|test_batch|train|test")
_TEST = ("test_batch", "test")
_LABELS = ("labels", "fine_labels")
_SIDE, _MAX_BYTES = 32, 1 << 30


class _Type:
    """Type of an array in a pickle."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code, self.order = code.decode() if isinstance(code, bytes) else code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = state[1]
        self.order = order.decode() if isinstance(order, bytes) else order


class _Array:
    """Array in a pickle: its shape, its type and its bytes."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.dtype, self.columns_first, self.content = state

    def to_numpy(self) -> Array:
        """Return the array; only whole numbers are admitted."""
        if not re.fullmatch("[iu][1248]", self.dtype.code):
            raise ValueError(f"it holds an array of {self.dtype.code!r}, not of whole numbers")
        dtype = np.dtype(self.dtype.code).newbyteorder(self.dtype.order.replace("|", "="))
        values = np.frombuffer(self.content, dtype)
        return values.reshape(self.shape, order="F" if self.columns_first else "C")


def _start_array(*_: object) -> _Array:
    return _Array()


def _make_array(content: bytes, dtype: _Type, shape: tuple[int, ...], order: str) -> _Array:
    """Array in pickles of protocol 5."""
    array = _Array()
    array.__setstate__((1, shape, dtype, order == "F", content))
    return array


def _encode(text: str, _: object) -> bytes:
    """Bytes in pickles that Python 3 has written in the format of Python 2."""
    return text.encode("latin1")


_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _start_array,
    ("numpy.core.numeric", "_frombuffer"): _make_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    """Unpickler that calls nothing but the functions above."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a function or class of numpy; all others are refused."""
        key = module.replace("numpy._core", "numpy.core"), name
        if key not in _ADMITTED:
            raise ValueError(f"it names {module}.{name}, and only arrays and numbers are read")
        return _ADMITTED[key]


def _takes(source: Any) -> bool:
    if not isinstance(source, Path):
        return False
    if source.is_dir():
        return any(
            all((source / name).is_file() for name in names)
            for names in (["data_batch_1"], ["test_batch"], ["train", "meta"], ["test", "meta"])
        )
    name = source.name.lower()
    return name.endswith(_ARCHIVES) or (source.is_file() and bool(_BATCH.fullmatch(name)))


def _read(source: Path, options: Options) -> Dataset:
    """Images as uint8, (n, 32, 32, 3), and the numbers of their classes."""
    parts: dict[bool, list[tuple[Array, Array]]] = {}
    for name, content in sorted(_list_batches(source)):
        batch = _read_batch(source, name, content, options.label)
        parts.setdefault(name in _TEST, []).append(batch)
    if not parts:
        raise InputError(
            f"{str(source)!r} holds no batches of CIFAR-10 or CIFAR-100 for Python, such as "
            "data_batch_1 or train; get the version for Python"
        )
    pairs = {
        is_test: (np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches]))
        for is_test, batches in parts.items()
    }
    name = source.resolve().name
    if len(pairs) == 2:
        return join(pairs[False], pairs[True], name=name)
    return make_dataset(*pairs.popitem()[1], name=name)


def _list_batches(source: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the batches in a folder or an archive, or of one batch."""
    with explain_read_errors(source):
        if source.is_dir():
            paths = [path for path in source.iterdir() if _BATCH.fullmatch(path.name)]
            yield from ((path.name, path.read_bytes()) for path in paths if path.is_file())
        elif not source.name.lower().endswith(_ARCHIVES):
            yield source.name, source.read_bytes()
        else:
            with tarfile.open(source) as archive:
                for member in archive:
                    name = PurePosixPath(member.name).name
                    if not member.isfile() or not _BATCH.fullmatch(name):
                        continue
                    if member.size > _MAX_BYTES:
                        raise ValueError(f"{name} declares {member.size} bytes")
                    file = archive.extractfile(member)
                    assert file is not None, "it is a file"
                    yield name, file.read()


def _read_batch(source: Path, name: str, content: bytes, label: str | None) -> tuple[Array, Array]:
    """Images and labels of one batch."""
    with explain_read_errors(source, f"batch {name} of"):
        try:
            batch = _Unpickler(io.BytesIO(content), encoding="bytes").load()
        except MemoryError as error:  # for lengths that the content does not have
            raise ValueError("it declares more than it holds") from error
        if not isinstance(batch, dict):
            raise ValueError(f"it holds no dictionary but a {type(batch).__name__}")
        entries = {k.decode() if isinstance(k, bytes) else k: v for k, v in batch.items()}
        x = _to_array(entries.get("data"), "data")
        if x.dtype != np.uint8 or x.ndim != 2 or x.shape[1] != 3 * _SIDE**2:
            raise ValueError(f"its data are {x.dtype} of shape {x.shape}, not uint8 rows of 3072")
    names = [k for k in entries if isinstance(k, str) and k.endswith("labels")]
    key = label or next((k for k in _LABELS if k in names), "")
    if key not in names:
        raise InputError(
            f"label must name the classes in batch {name} of {str(source)!r}, {' or '.join(names)}"
            f", got {key!r}; correct it"
        )
    with explain_read_errors(source, f"batch {name} of"):
        y = _to_array(entries[key], key)
        if y.shape != (len(x),):
            raise ValueError(f"it holds {len(x)} images and {key} of shape {y.shape}")
    planes = x.reshape(-1, 3, _SIDE, _SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), y


def _to_array(values: Any, name: str) -> Array:
    if isinstance(values, _Array):
        return values.to_numpy()
    if isinstance(values, list) and all(type(value) is int for value in values):
        return np.array(values, np.int64)
    raise ValueError(f"its {name} must be an array or a list of whole numbers")


READERS.add(
    "cifar",
    DataReader("CIFAR-10 and CIFAR-100 for Python: folder, .tar.gz or batch", _takes, _read),
)

"""Data sets in idx files, the format of MNIST and the sets made after it; gzipped or not."""

from __future__ import annotations

import gzip
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError, either
from shaketable.core.types import Array
from shaketable.data.array_files import MAX_DEFLATED
from shaketable.data.arrays import join, make_dataset
from shaketable.data.dataset import Dataset
from shaketable.data.readers.reader import READERS, DataReader, Options
from shaketable.data.sources import explain_read_errors

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_NAME = re.compile(r"(.*?)[-_.]?(images|labels)[-_.]idx\d+.*", re.DOTALL)
_PART = re.compile(r"(.*?)[-_.]?(train|t10k|test)", re.DOTALL)


def read_idx(path: Path) -> Array:
    """Array in an idx file; what its header declares is checked before it is believed."""
    zipped, size = path.suffix.lower() == ".gz", path.stat().st_size
    with explain_read_errors(path), (gzip.open if zipped else open)(path, "rb") as file:
        start = file.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
            raise ValueError("it does not begin as idx files do")
        shape = struct.unpack(f">{start[3]}I", file.read(4 * start[3]))
        dtype = np.dtype(_TYPES[start[2]])
        needed = math.prod(shape) * dtype.itemsize
        if needed > size * (MAX_DEFLATED if zipped else 1):
            raise ValueError(f"its header declares {needed} bytes, and it cannot hold them")
        content = file.read(needed + 1)
        if len(content) != needed:
            rest = "more" if len(content) > needed else f"{len(content)}"
            raise ValueError(f"its header declares {needed} bytes, and it holds {rest}")
    return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _takes(source: Any) -> bool:
    if not isinstance(source, Path):
        return False
    return bool(_list_parts(source)) if source.is_dir() else bool(_NAME.fullmatch(source.name))


def _list_parts(folder: Path) -> dict[str, dict[str, Path]]:
    """Files with images and with labels of every part, such as ``train`` and ``t10k``.

    Of a file and its gzipped copy, the file is taken.
    """
    parts: dict[str, dict[str, Path]] = {}
    try:
        paths = sorted(folder.iterdir(), key=lambda path: path.name, reverse=True)
    except OSError:
        return {}
    for path in paths:
        if (match := _NAME.fullmatch(path.name)) and path.is_file():
            parts.setdefault(match[1], {})[match[2]] = path
    return parts


def _read(source: Path, options: Options) -> Dataset:
    """Images and labels: both parts that a folder holds, or the part that a file belongs to."""
    options.refuse_label("an idx file")
    if not source.is_dir():
        match = _NAME.fullmatch(source.name)
        assert match is not None, "such files are taken"
        files = {**_list_parts(source.parent).get(match[1], {}), match[2]: source}
        return make_dataset(*_read_part(files, source.parent), name=source.name)
    parts = _list_parts(source)
    ends = {part: match[2] for part in parts if (match := _PART.fullmatch(part))}
    test = [part for part, end in ends.items() if end != "train"]
    train = [part for part, end in ends.items() if end == "train"]
    name = source.resolve().name
    if len(parts) == 1:
        return make_dataset(*_read_part(next(iter(parts.values())), source), name=name)
    if len(parts) > 2 or not (train and test):
        raise InputError(
            f"folder {str(source)!r} must hold one training and one test part in idx files, got "
            f"{list_names(sorted(parts))}; name the two files of images, the second as "
            + either("--test", "test=")
        )
    first, second = (_read_part(parts[part], source) for part in (*train, *test))
    return join(first, second, name=name)


def _read_part(files: dict[str, Path], folder: Path) -> tuple[Array, Array]:
    """Points and labels of one part."""
    for kind, other in (("images", "labels"), ("labels", "images")):
        if kind not in files:
            raise InputError(
                f"idx files come in pairs, and the {kind} to {files[other].name!r} are not in "
                f"folder {str(folder)!r}; put them there"
            )
    x, y = read_idx(files["images"]), read_idx(files["labels"])
    if x.ndim == 0 or y.shape != x.shape[:1]:
        raise InputError(
            f"file {str(files['labels'])!r} must hold one label per point, got shape {y.shape} for "
            f"points of shape {x.shape} in {files['images'].name!r}; get both again"
        )
    return x, y


READERS.add(
    "idx", DataReader("idx files, as of MNIST: a folder, or the file of images", _takes, _read)
)

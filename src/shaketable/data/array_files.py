"""Arrays in ``.npy`` and ``.npz`` files; what they declare is checked before it is believed."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from shaketable.core.arrays import measure_memory
from shaketable.core.types import Array
from shaketable.data.sources import explain_read_errors

MAX_DEFLATED = 1032
"""Bytes that one byte of a deflated stream can stand for."""

_MAX_CHARACTER = 0x10FFFF


def read_npy(path: Path) -> Array:
    """Array in an ``.npy`` file."""
    with explain_read_errors(path), path.open("rb") as file:
        return _read_array(file, path.stat().st_size)


def map_npy(path: Path) -> Array:
    """Array in an ``.npy`` file, which stays on disk."""
    with explain_read_errors(path):
        size = path.stat().st_size
        with path.open("rb") as file:
            _check_header(file, size)
        # compiled functions have another version for arrays that cannot be written; the file is
        # never written, but a system may refuse to map so a file that is larger than its memory
        small = size <= (measure_memory() or 0) // 2
        return np.lib.format.open_memmap(path, mode="c" if small else "r")


def list_npz(path: Path) -> list[str]:
    """Names of the arrays in an ``.npz`` file."""
    with explain_read_errors(path), zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_npz(path: Path, name: str) -> Array:
    """One array in an ``.npz`` file."""
    with explain_read_errors(path), zipfile.ZipFile(path) as archive:
        member = next(i for i in archive.infolist() if i.filename.removesuffix(".npy") == name)
        size = member.file_size
        if member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            size = min(size, MAX_DEFLATED * path.stat().st_size)
        with archive.open(member) as file:
            return _read_array(file, size)


def _read_array(file: IO[bytes], size: int) -> Array:
    """Array in a file that holds at most `size` bytes."""
    _check_header(file, size)
    file.seek(0)
    array: Array = np.lib.format.read_array(file, allow_pickle=False)
    if array.dtype.kind == "U":
        codes = np.ascontiguousarray(array).reshape(-1).view(array.dtype.str[0] + "u4")
        if codes.max(initial=0) > _MAX_CHARACTER:
            raise ValueError("its text holds codes that are no characters")
    return array


def _check_header(file: IO[bytes], size: int) -> None:
    """Raise a `ValueError` unless the header can be parsed, and the file holds what it declares."""
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"its format has version {version}; save it again with numpy.save")
    try:
        shape, _, dtype = readers[version](file)
    except MemoryError as error:  # Python's parser, for brackets or signs within each other
        raise ValueError("its header cannot be parsed") from error
    if dtype.hasobject:
        raise ValueError(
            "it holds Python objects; save x as numbers and y for example as y.astype(str)"
        )
    if min(shape, default=0) < 0:
        raise ValueError(f"its header declares the shape {shape}")
    needed, there = math.prod(shape) * max(1, dtype.itemsize), size - file.tell()
    if needed > there:
        raise ValueError(
            f"its header declares {needed} bytes, {dtype} of shape {shape}, and there are {there}"
        )

"""The two layouts of a suite of corrupted copies: one array per set, or PNG files.

A set is what one file or folder holds: the points under one corruption, or for common corruptions
under all severities of one kind.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.core.types import Array, IntArray
from shaketable.core.writing import write_beside
from shaketable.corruptions import Corruption
from shaketable.corruptions.common.corruption import CommonCorruption
from shaketable.corruptions.images import find_layout, move_channels_last, to_levels
from shaketable.corruptions.published import SEVERITIES, image_names
from shaketable.corruptions.suites.suite import Suite
from shaketable.data import images
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be written, in whichever layout."""

    folder: Path
    data: Dataset
    suite: Suite
    members: Sequence[Corruption]
    bounds: Bounds | None

    @property
    def is_common(self) -> bool:
        """Whether the suite is written like the published ones: by kinds and severities."""
        return self.suite.kind == "common"

    @cached_property
    def rows(self) -> IntArray:
        """Rows of the suite's part of the data, or all."""
        first = self.data.n_train or 0
        if self.suite.part == "train":
            return np.arange(first or self.data.n)
        return np.arange(first, self.data.n)

    @cached_property
    def sets(self) -> dict[str, list[Corruption]]:
        """Corruptions by the name of the file or folder that holds them."""
        sets: dict[str, list[Corruption]] = {}
        for c in self.members:
            name = re.sub(r"[^\w.-]+", "_", display_name(c.spec)).strip("_")
            if self.is_common and isinstance(c, CommonCorruption):
                name = c.name
            sets.setdefault(name, []).append(c)
        return sets

    @cached_property
    def as_uint8(self) -> bool:
        """Whether all values are levels of uint8."""
        levels = self.is_common or self.data.x.dtype == np.uint8
        return levels and all(c.traits.on_steps for c in self.members)

    def to_written(self, x: Array) -> Array:
        """Return values as they are written."""
        if not self.as_uint8:
            return x
        assert self.bounds is not None, "corruptions on steps need a value range"
        return to_levels(x, self.bounds)


class Put(Protocol):
    """Writes some points of a set."""

    def __call__(self, number: int, rows: IntArray, values: Array) -> None:
        """Write the points at these rows of the data, under corruption `number` of the set."""


class SuiteLayout(Protocol):
    """A way to write the sets of a plan."""

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of the files written so far, by path relative to the folder."""

    def start(self) -> None:
        """Make the folder, and the files that all sets share."""

    def open_set(self, name: str) -> AbstractContextManager[Put]:
        """Context manager for writing a set; the set is complete when it exits."""

    def file(self, name: str) -> str:
        """File whose checksum stands for a set."""


@dataclass(frozen=True, eq=False)
class ArrayLayout:
    """One array per set; common corruptions as in CIFAR-10-C."""

    plan: Plan
    checksums: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        """Array of a set."""
        return f"{name}.npy"

    def start(self) -> None:
        """Make the folder, and write the labels."""
        data, folder = self.plan.data, self.plan.folder
        folder.mkdir(parents=True, exist_ok=True)
        dtype = np.uint8 if len(data.classes) <= 256 else np.uint16
        times = SEVERITIES if self.plan.is_common else 1
        np.save(folder / "labels.npy", np.tile(data.y[self.plan.rows], times).astype(dtype))
        self.checksums["labels.npy"] = _checksum(folder / "labels.npy")

    @contextmanager
    def open_set(self, name: str) -> Iterator[Put]:
        """Context manager for writing an array; the file gets its name when it exits."""
        plan, shape = self.plan, self.plan.data.shape
        n, first = len(plan.rows), plan.rows[0]
        if plan.is_common:
            shape = find_layout(shape, name)[: len(shape)]
        path = plan.folder / self.file(name)
        dtype = np.dtype(np.uint8) if plan.as_uint8 else plan.data.rows(slice(0, 1)).dtype
        header = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": (len(plan.sets[name]) * n, *shape),
        }
        done = 0
        with write_beside(path, "set") as beside, beside.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)

            def put(number: int, rows: IntArray, values: Array) -> None:
                nonlocal done
                assert number * n + rows[0] - first == done, "points come in order"
                done += len(rows)
                ordered = _channels_last(values) if plan.is_common else values
                file.write(np.ascontiguousarray(ordered, dtype).data)

            yield put
        self.checksums[path.name] = _checksum(path)


@dataclass(frozen=True, eq=False)
class PngLayout:
    """One folder of PNG files per set; common corruptions as in ImageNet-C."""

    plan: Plan
    checksums: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        """List of the checksums of a set."""
        return f"{name}.sha256"

    def start(self) -> None:
        """Make the folder, if the data are images of 256 levels."""
        find_layout(self.plan.data.shape, "a PNG file")
        if not self.plan.as_uint8:
            raise InputError(
                "image files hold 256 levels, and these values are others; write arrays, or load "
                "the data as uint8 and choose corruptions that keep to its levels"
            )
        images.import_pillow()
        groups, files = (dict.fromkeys(names) for names in zip(*self._names, strict=True))
        check_names(self.plan.folder, "class", groups, "rename it, or write arrays")
        check_names(self.plan.folder, "file", files, "rename it", merge_case=False)
        self.plan.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def open_set(self, name: str) -> Iterator[Put]:
        """Context in which files are written; their list of checksums follows at the end."""
        plan, first = self.plan, self.plan.rows[0]
        lists: dict[str, list[str]] = {}

        def put(number: int, rows: IntArray, values: Array) -> None:
            place = f"{name}/{number + 1}" if plan.is_common else name
            for group in {self._names[row - first][0] for row in rows}:
                (plan.folder / place / group).mkdir(parents=True, exist_ok=True)
            for row, image in zip(rows, _channels_last(values), strict=True):
                file = "/".join(self._names[row - first]) + ".png"
                content = images.encode_png(image.reshape(*image.shape[:2], -1))
                (plan.folder / place / file).write_bytes(content)
                checksum = hashlib.sha256(content).hexdigest()
                lists.setdefault(place, []).append(f"{checksum}  {file}")

        yield put
        for place, lines in lists.items():
            path = plan.folder / f"{place}.sha256"
            path.write_bytes(os.fsencode("\n".join([*lines, ""])))  # names as they are on disk
            self.checksums[f"{place}.sha256"] = _checksum(path)

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """Class and file name of every image."""
        data, rows = self.plan.data, self.plan.rows
        files = data.files or [f"{row:06d}" for row in range(data.n)]
        return image_names(data.labels[rows], files[rows[0] : rows[-1] + 1])


def check_names(
    folder: Path, kind: str, names: Iterable[str], remedy: str, *, merge_case: bool = True
) -> None:
    """Raise an error for a name that leads out of `folder`, and for two that differ by case only.

    Parameters
    ----------
    folder
        Where files or folders are to get these names; it need not exist.
    kind, remedy
        What is named, and what to do about a bad name, for messages.
    merge_case
        Whether names that differ only by case count as one, as on macOS and Windows.
    """
    root, seen = folder.resolve(), dict[str, str]()
    for name in names:
        if not _is_entry(root, name):
            raise InputError(f"{kind} {name!r} cannot name a file or folder; {remedy}")
        twin = seen.setdefault(name.lower(), name)
        if merge_case and twin != name:
            raise InputError(
                f"{kind} {name!r} and {kind} {twin!r} differ only by case, and some systems would "
                f"put them into one folder; {remedy}"
            )


def _is_entry(root: Path, name: str) -> bool:
    """Whether `name` is the name of a file or folder directly in `root`, on every system."""
    if name in ("", ".", "..") or re.search(r"[/\\\x00-\x1f]", name):
        return False
    try:
        return (root / name).resolve().parent == root
    except ValueError:  # characters that the file system cannot encode
        return False


def _channels_last(values: Array) -> Array:
    return move_channels_last(values, find_layout(values.shape[1:], "an image"))


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

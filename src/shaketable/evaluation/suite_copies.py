"""Suites of corrupted copies, a folder with a file or a folder of pictures for every set."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.progress import steps
from shaketable.core.spec import display_name
from shaketable.core.types import Array, IntArray
from shaketable.core.versions import versions
from shaketable.corruptions import Corruption
from shaketable.corruptions.common.corruption import CommonCorruption
from shaketable.corruptions.images import find_layout
from shaketable.corruptions.published import find_published_folder
from shaketable.corruptions.published_files import SEVERITIES, image_names
from shaketable.corruptions.suites.suite import Suite
from shaketable.data import images
from shaketable.data.bounds import Bounds, BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import BATCH_VALUES, Draws, Noise, range_of, resolve
from shaketable.evaluation.store import Store

Form: TypeAlias = Literal["arrays", "pictures"]


def write_suite(
    folder: str | Path,
    data: Dataset,
    suite: Suite,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "ladder",
    form: Form | None = None,
    progress: bool = False,
) -> Path:
    """Write the data under every corruption of a suite, without loss.

    They are the points of the suite's part, the test part for all but training sets, or all where
    there are no parts; and what `evaluate` meets in the first draw of the suite.

    Every set of a suite such as ``two-factor`` becomes an array ``<set>.npy``, uint8 for uint8
    data, beside ``labels.npy``; or a folder of PNG files, ``<set>/<class>/<file>.png``. Suites of
    common corruptions are laid out as the published ones: ``<kind>.npy``, the severities one behind
    the other, as in CIFAR-10-C, or ``<kind>/<severity>/<class>/<file>.png``, as in ImageNet-C, and
    ``suite.published(folder)`` reads them. ``manifest.json`` tells how all was made and has
    checksums: of the arrays, or of the lists ``<folder>.sha256``, which hold those of the pictures.

    Parameters
    ----------
    folder
        Where to write; it must be new or empty.
    data
        Pictures, or for suites that suit them any other points.
    suite
        Such as ``suite("two-factor")``.
    seed, bounds, draws
        As in `evaluate`.
    form
        By default pictures for data that were read from a folder of pictures, else arrays.
    progress
        Show a bar on stderr.
    """
    check_target(folder, suite)
    limits = range_of(data, bounds)
    with Store(None) as store:
        members = resolve(suite, data, store, limits)
    noise = Noise(k=1, seed=seed, draws=draws, bounds=limits)
    plan = _Plan(Path(folder), data, suite, members, limits)
    pictures = data.files is not None if form is None else form == "pictures"
    files: _Layout = _Files(plan) if pictures else _Arrays(plan)
    _try_out(plan, noise)
    size = max(1, BATCH_VALUES // data.d)
    parts = [plan.rows[i : i + size] for i in range(0, len(plan.rows), size)]
    about, total = f"corrupting {data.name}", len(members) * len(parts)
    try:
        files.begin()
        with steps(about, total=total, enabled=progress) as step:
            for name, levels in plan.sets.items():
                with files.written(name) as put:
                    for number, c in enumerate(levels):
                        for rows in parts:
                            keys = noise.keys(data, c, rows, np.arange(1))[:, 0]
                            put(number, rows, plan.values(c.bind(limits)(data.rows(rows), keys)))
                            step()
        manifest = _manifest(plan, noise, files)
        _write_text(plan.folder / "manifest.json", json.dumps(manifest, indent=1))
    except OSError as error:
        raise InputError(
            f"folder {str(folder)!r} cannot be written ({error.strerror or error}); name another"
        ) from error
    return Path(folder)


def check_target(folder: str | Path, suite: Suite) -> None:
    """Refuse a folder that holds something, and suites that are files already."""
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        what = "is not empty" if path.is_dir() else "is a file"
        raise InputError(f"folder {str(folder)!r} {what}; name a new one")
    if path.name.lower().endswith((".npz", ".npy", ".csv", ".parquet")):
        raise InputError(f"a suite is written to a folder, got {str(folder)!r}; name a folder")
    if find_published_folder(suite.names):
        raise InputError(f"suite {suite.name!r} is a folder of pictures already; copy that")


def _try_out(plan: _Plan, noise: Noise) -> None:
    """Corrupt one point in every way: what cannot be done is told before anything is written."""
    rows = plan.rows[:1]
    for name, levels in plan.sets.items():
        if len(levels) > 1 and not plan.is_common:
            raise InputError(f"sets must have names of their own, got two called {name!r}")
        for c in levels:
            keys = noise.keys(plan.data, c, rows, np.arange(1))[:, 0]
            c.bind(plan.bounds)(plan.data.rows(rows), keys)


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is to be written, whatever the layout."""

    folder: Path
    data: Dataset
    suite: Suite
    members: Sequence[Corruption]
    bounds: Bounds | None

    @property
    def is_common(self) -> bool:
        """Whether its pictures are laid out by kinds and severities."""
        return self.suite.kind == "common"

    @cached_property
    def rows(self) -> IntArray:
        """Rows of the suite's part, or of all."""
        first = self.data.n_train or 0
        if self.suite.part == "train":
            return np.arange(first or self.data.n)
        return np.arange(first, self.data.n)

    @cached_property
    def sets(self) -> dict[str, list[Corruption]]:
        """Corruptions by the file or folder that holds them."""
        found: dict[str, list[Corruption]] = {}
        for c in self.members:
            name = _file_name(display_name(c.spec))
            if self.is_common and isinstance(c, CommonCorruption):
                name = c.name
            found.setdefault(name, []).append(c)
        return found

    @cached_property
    def as_bytes(self) -> bool:
        """Whether all values are levels of uint8."""
        levels = self.is_common or self.data.x.dtype == np.uint8
        return levels and all(c.on_steps for c in self.members)

    def values(self, x: Array) -> Array:
        """Values as they are written."""
        if not self.as_bytes:
            return x
        assert self.bounds is not None, "such corruptions refuse to work without"
        span = self.bounds.high - self.bounds.low
        return np.rint((x - self.bounds.low) * (255 / span)).astype(np.uint8)


class _Put(Protocol):
    def __call__(self, number: int, rows: IntArray, values: Array) -> None:
        """Write the points at these rows of the data, under corruption `number` of a set."""


class _Layout(Protocol):
    """A way to write points."""

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 by file, relative to the folder."""

    def begin(self) -> None:
        """Make the folder, and what all sets share."""

    def written(self, name: str) -> Any:
        """Context to write a set in: what it gives is a `_Put`."""

    def file(self, name: str) -> str:
        """File that has the checksum of a set."""


@dataclass(frozen=True, eq=False)
class _Arrays:
    """An array a set; of common corruptions as in CIFAR-10-C."""

    plan: _Plan
    checksums: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        return f"{name}.npy"

    def begin(self) -> None:
        data, folder = self.plan.data, self.plan.folder
        folder.mkdir(parents=True, exist_ok=True)
        kind = np.uint8 if len(data.classes) <= 256 else np.uint16
        times = SEVERITIES if self.plan.is_common else 1
        np.save(folder / "labels.npy", np.tile(data.y[self.plan.rows], times).astype(kind))
        self.checksums["labels.npy"] = _checksum(folder / "labels.npy")

    @contextmanager
    def written(self, name: str) -> Iterator[_Put]:
        plan, shape = self.plan, self.plan.data.shape
        n, first = len(plan.rows), plan.rows[0]
        if plan.is_common:
            shape = find_layout(shape, name)[: len(shape)]
        path = plan.folder / self.file(name)
        unfinished = path.with_suffix(".npy.part")  # a file of this size need not be complete
        kind = np.dtype(np.uint8) if plan.as_bytes else plan.data.rows(slice(0, 1)).dtype
        blocks = len(plan.sets[name])
        array = np.lib.format.open_memmap(
            unfinished, mode="w+", dtype=kind, shape=(blocks * n, *shape)
        )

        def put(number: int, rows: IntArray, values: Array) -> None:
            start = number * n + rows[0] - first
            moved = _channels_last(values) if plan.is_common else values
            array[start : start + len(rows)] = moved.reshape(-1, *shape)

        yield put
        array.flush()
        unfinished.rename(path)
        self.checksums[path.name] = _checksum(path)


@dataclass(frozen=True, eq=False)
class _Files:
    """A folder of PNG files a set; of common corruptions as in ImageNet-C."""

    plan: _Plan
    checksums: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        return f"{name}.sha256"

    def begin(self) -> None:
        find_layout(self.plan.data.shape, "a PNG file")
        if not self.plan.as_bytes:
            raise InputError(
                "pictures hold 256 levels, and these values are others; write arrays, or load the "
                "data as uint8 and take corruptions that keep to its levels"
            )
        images.import_pillow()
        self.plan.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def written(self, name: str) -> Iterator[_Put]:
        plan, first = self.plan, self.plan.rows[0]
        lists: dict[str, list[str]] = {}

        def put(number: int, rows: IntArray, values: Array) -> None:
            place = f"{name}/{number + 1}" if plan.is_common else name
            for group in {self._names[row - first][0] for row in rows}:
                (plan.folder / place / group).mkdir(parents=True, exist_ok=True)
            for row, picture in zip(rows, _channels_last(values), strict=True):
                file = "/".join(self._names[row - first]) + ".png"
                content = images.encode_png(picture.reshape(*picture.shape[:2], -1))
                (plan.folder / place / file).write_bytes(content)
                checksum = hashlib.sha256(content).hexdigest()
                lists.setdefault(place, []).append(f"{checksum}  {file}")

        yield put
        for place, lines in lists.items():
            path = plan.folder / f"{place}.sha256"
            _write_text(path, "\n".join(lines))
            self.checksums[f"{place}.sha256"] = _checksum(path)

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """Class and file name of every picture."""
        data, rows = self.plan.data, self.plan.rows
        files = data.files or [f"{row:06d}" for row in range(data.n)]
        return image_names(data.labels[rows], files[rows[0] : rows[-1] + 1])


def _manifest(plan: _Plan, noise: Noise, files: _Layout) -> dict[str, Any]:
    """How the copies were made."""
    data = plan.data
    about: dict[str, Any] = {
        "made_by": "shaketable",
        "versions": versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": data.name,
        "fingerprint": data.fingerprint,
        "first_row": int(plan.rows[0]),
        "points": len(plan.rows),
        "classes": list(data.classes),
        "suite": plan.suite.name,
        "corruptions": [c.spec for c in plan.members],
        "seed": noise.seed,
        "draws": noise.draws,
        "bounds": str(noise.bounds or "none"),
    }
    if plan.is_common:
        about |= _about_common([c for c in plan.members if isinstance(c, CommonCorruption)])
    else:
        about["sets"] = [
            {
                "name": display_name(c.spec),
                "spec": c.spec,
                "seed": noise.seed,
                "file": files.file(name),
                "sha256": files.checksums[files.file(name)],
            }
            for name, (c, *_) in plan.sets.items()
        ]
    return about | {"sha256": files.checksums}


def _about_common(members: Sequence[CommonCorruption]) -> Mapping[str, Any]:
    """What is to be known of common corruptions alone."""
    about: dict[str, Any] = {"severities": "interpolated" if members[0].derived else "published"}
    if frost := [c for c in members if c.name == "frost"]:
        from shaketable.corruptions.common.textures import fingerprint

        source = frost[0].textures
        about["frost"] = {
            "textures": source or "drawn by shaketable",
            "fingerprint": fingerprint(source),
        }
    return about


def _file_name(name: str) -> str:
    """Name of a set as a file can have it."""
    return re.sub(r"[^\w.-]+", "_", name).strip("_")


def _channels_last(pictures: Array) -> Array:
    first = find_layout(pictures.shape[1:], "a picture")[3]
    return np.moveaxis(pictures, 1, -1) if first else pictures


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_text(path: Path, text: str) -> None:
    path.write_text(f"{text}\n", encoding="utf-8")

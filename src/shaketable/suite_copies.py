"""Suites of corrupted pictures, written as the published sets are laid out: see `published`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from shaketable import images
from shaketable.corruptions import Bounds, BoundsLike
from shaketable.corruptions.common import CommonCorruption, layout
from shaketable.corruptions.published import SEVERITIES, picture_names, published_in
from shaketable.data import Dataset
from shaketable.errors import InputError
from shaketable.evaluation import BATCH_VALUES, Draws, Noise, range_of, resolve, versions
from shaketable.progress import steps
from shaketable.store import Store
from shaketable.suites import COMMON_METRICS, Suite
from shaketable.types import Array, IntArray


def write_suite(
    folder: str | Path,
    data: Dataset,
    suite: Suite,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "ladder",
    progress: bool = False,
) -> Path:
    """Write the pictures of a suite of common corruptions, uint8, without loss.

    They are those of the test part, or all where there is none, and what `evaluate` meets in the
    first draw of the suite: its hits are the same for ``suite`` and ``suite.published(folder)``.

    Data without file names become ``<kind>.npy``, the severities one behind the other, and
    ``labels.npy``, as in CIFAR-10-C. Pictures from a folder become
    ``<kind>/<severity>/<class>/<file>.png``, as in ImageNet-C, which has JPEG files instead.
    ``manifest.json`` tells how all was made and has checksums: of the arrays, or of the lists
    ``<kind>/<severity>.sha256``, which hold those of the pictures.

    Parameters
    ----------
    folder
        Where to write; it must be new or empty.
    data
        Pictures.
    suite
        Such as ``suite("common-19")``.
    seed, bounds, draws
        As in `evaluate`.
    progress
        Show a bar on stderr.
    """
    check_target(folder, suite)
    limits = range_of(data, bounds)
    with Store(None) as store:
        found = resolve(suite, data, store, limits)
    members = [c for c in found if isinstance(c, CommonCorruption)]  # all are
    if limits is None:
        raise InputError(
            f"suite {suite.name!r} needs the value range of the pictures, and none is declared; "
            "give bounds=(low, high), or --range LOW,HIGH"
        )
    noise = Noise(k=1, seed=seed, draws=draws, bounds=limits)
    files: _Layout = (_Arrays if data.files is None else _Files)(Path(folder), data)
    size = max(1, BATCH_VALUES // data.d)
    parts = [np.arange(i, min(data.n, i + size)) for i in range(_first(data), data.n, size)]
    about, total = f"corrupting {data.name}", len(members) * len(parts)
    try:
        files.begin()
        with steps(about, total=total, enabled=progress) as step:
            for kind, levels in _by_kind(members).items():
                with files.written(kind) as put:
                    for c, rows in product(levels, parts):
                        keys = noise.keys(data, c, rows, np.arange(1))[:, 0]
                        pictures = c.bind(limits)(data.rows(rows), keys)
                        put(c.severity, rows, _as_bytes(pictures, limits))
                        step()
        manifest = _manifest(data, suite, members, noise) | {"sha256": files.checksums}
        _write_text(Path(folder) / "manifest.json", json.dumps(manifest, indent=1))
    except OSError as error:
        raise InputError(
            f"folder {str(folder)!r} cannot be written ({error.strerror or error}); name another"
        ) from error
    return Path(folder)


def check_target(folder: str | Path, suite: Suite) -> None:
    """Refuse a folder that holds something, and suites that have no layout or are files already."""
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        what = "is not empty" if path.is_dir() else "is a file"
        raise InputError(f"folder {str(folder)!r} {what}; name a new one")
    if suite.metric not in COMMON_METRICS or published_in(suite.names):
        raise InputError(
            "a folder can hold suites of common corruptions alone, common-19, common-15 or "
            f"common-xn, got {suite.name!r}; write other noise to a file, with --corruption"
        )


class _Put(Protocol):
    def __call__(self, severity: int, rows: IntArray, pictures: Array) -> None:
        """Write pictures, (rows, height, width, channels), of these rows of the data."""


class _Layout(Protocol):
    """A way to write pictures."""

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 by file, relative to the folder."""

    def begin(self) -> None:
        """Make the folder, and what all kinds share."""

    def written(self, kind: str) -> Any:
        """Context to write a kind in: what it gives is a `_Put`."""


@dataclass(frozen=True, eq=False)
class _Arrays:
    """Layout of CIFAR-10-C."""

    folder: Path
    data: Dataset
    checksums: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        codes = self.data.y[_first(self.data) :]
        kind = np.uint8 if len(self.data.classes) <= 256 else np.uint16
        np.save(self.folder / "labels.npy", np.tile(codes, SEVERITIES).astype(kind))
        self.checksums["labels.npy"] = _checksum(self.folder / "labels.npy")

    @contextmanager
    def written(self, kind: str) -> Iterator[_Put]:
        first, n = _first(self.data), self.data.n - _first(self.data)
        height, width, channels, _ = layout(self.data.shape, kind)
        shape = (height, width, channels) if len(self.data.shape) == 3 else (height, width)
        path = self.folder / f"{kind}.npy"
        unfinished = path.with_suffix(".npy.part")  # a file of this size need not be complete
        array = np.lib.format.open_memmap(
            unfinished, mode="w+", dtype=np.uint8, shape=(SEVERITIES * n, *shape)
        )

        def put(severity: int, rows: IntArray, pictures: Array) -> None:
            start = (severity - 1) * n + rows[0] - first
            array[start : start + len(rows)] = _channels_last(pictures, kind).reshape(-1, *shape)

        yield put
        array.flush()
        unfinished.rename(path)
        self.checksums[path.name] = _checksum(path)


@dataclass(frozen=True, eq=False)
class _Files:
    """Layout of ImageNet-C."""

    folder: Path
    data: Dataset
    checksums: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        images.pillow()
        self.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def written(self, kind: str) -> Iterator[_Put]:
        first = _first(self.data)
        assert self.data.files is not None, "the layout is for data that have them"
        names = picture_names(self.data.labels[first:], self.data.files[first:])
        lists: dict[int, list[str]] = {}

        def put(severity: int, rows: IntArray, pictures: Array) -> None:
            place = self.folder / kind / str(severity)
            for group in {names[row - first][0] for row in rows}:
                (place / group).mkdir(parents=True, exist_ok=True)
            for row, picture in zip(rows, _channels_last(pictures, kind), strict=True):
                name = "/".join(names[row - first]) + ".png"
                content = images.png(picture.reshape(*picture.shape[:2], -1))
                (place / name).write_bytes(content)
                checksum = hashlib.sha256(content).hexdigest()
                lists.setdefault(severity, []).append(f"{checksum}  {name}")

        yield put
        for severity, lines in lists.items():
            name = f"{kind}/{severity}.sha256"
            _write_text(self.folder / name, "\n".join(lines))
            self.checksums[name] = _checksum(self.folder / name)


def _manifest(
    data: Dataset, suite: Suite, members: list[CommonCorruption], noise: Noise
) -> dict[str, Any]:
    """How the pictures were made."""
    first = _first(data)
    about = {
        "made_by": "shaketable",
        "versions": versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": data.name,
        "fingerprint": data.fingerprint,
        "first_row": first,
        "pictures": data.n - first,
        "classes": list(data.classes),
        "suite": suite.name,
        "severities": "interpolated" if members[0].derived else "published",
        "corruptions": [c.spec for c in members],
        "seed": noise.seed,
        "draws": noise.draws,
        "bounds": str(noise.bounds),
    }
    if frost := [c for c in members if c.name == "frost"]:
        from shaketable.corruptions.common.textures import fingerprint

        source = frost[0].textures
        about["frost"] = {
            "textures": source or "drawn by shaketable",
            "fingerprint": fingerprint(source),
        }
    return about


def _by_kind(members: list[CommonCorruption]) -> dict[str, list[CommonCorruption]]:
    kinds: dict[str, list[CommonCorruption]] = {}
    for c in members:
        kinds.setdefault(c.name, []).append(c)
    return kinds


def _first(data: Dataset) -> int:
    """First row of the test part, or of all."""
    return data.n_train or 0


def _as_bytes(x: Array, bounds: Bounds) -> Array:
    """Levels from 0 to 255 of values that are such levels."""
    return np.rint((x - bounds.low) * (255 / (bounds.high - bounds.low))).astype(np.uint8)


def _channels_last(pictures: Array, kind: str) -> Array:
    first = layout(pictures.shape[1:], kind)[3]
    return np.moveaxis(pictures, 1, -1) if first else pictures


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_text(path: Path, text: str) -> None:
    path.write_text(f"{text}\n", encoding="utf-8")

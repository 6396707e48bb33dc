"""Corrupted copies of data sets, one or a whole suite, with the noise that `evaluate` uses.

A suite has one of two layouts: one array per set, or PNG files. A set is what one file or folder
holds: the points under one corruption, or for common corruptions under all severities of one kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.spec import display_name
from shaketable.core.types import Array, IntArray
from shaketable.core.versions import list_versions
from shaketable.core.writing import write_beside
from shaketable.corruptions import Corruption
from shaketable.corruptions.common.corruption import CommonCorruption
from shaketable.corruptions.corrupt import check_noisy
from shaketable.corruptions.images import find_layout, move_channels_last, to_levels
from shaketable.corruptions.published import SEVERITIES, find_published_folder, image_names
from shaketable.corruptions.suites.suite import Suite
from shaketable.data import images
from shaketable.data.bounds import Bounds, BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import DataLike, as_dataset
from shaketable.evaluation.cells import BATCH_VALUES
from shaketable.evaluation.noise import Draws, Noise, choose_range
from shaketable.evaluation.resolve import resolve
from shaketable.views.progress import count_steps


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


def corrupted(
    data: DataLike,
    corruption: str | Corruption,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "independent",
) -> Dataset:
    """Return a copy of a data set with every point corrupted, as float32 or float64.

    The noise is the first draw of `evaluate` with the same corruption, seed and draws; within
    suites `draws` is ``"ladder"``. Values keep their units.

    Parameters
    ----------
    data
        Data set to copy, ``(x, y)``, or what `load` takes; if it has a training and a test part,
        both are corrupted.
    corruption
        Spec such as ``l2(1)`` or ``linf(eps_min)``, or a corruption.
    seed
        Seed of the noise.
    bounds, draws
        As in `evaluate`.

    Returns
    -------
    Dataset
        The copy, with a name that tells the corruption.

    Examples
    --------
    >>> from shaketable import load
    >>> data = load("bands(n=100)")
    >>> moved = abs(corrupted(data, "linf(0.1)").x - data.x)
    >>> bool(0.09 < moved.max() <= 0.1)
    True
    """
    data = as_dataset(data)
    limits = choose_range(data, bounds)
    (resolved,) = resolve([corruption], data, limits).corruptions
    if resolved.traits.by_row:
        raise InputError(f"{resolved.spec} is read from files of images; copy those files instead")
    noise = Noise(k=1, seed=seed, draws=draws, bounds=limits)
    x = np.empty(data.x.shape, data.rows(slice(0, 1)).dtype)
    step = max(1, BATCH_VALUES // data.d)
    with np.errstate(over="ignore"):
        for start in range(0, data.n, step):
            rows = np.arange(start, min(data.n, start + step))
            x[rows] = _corrupt(data, noise, resolved, rows)
    check_noisy(x if data.table is None else np.where(np.isnan(x), 0, x), resolved)
    schema = data.schema
    if schema is not None and resolved.traits.leaves_gaps:
        schema = replace(schema, complete=False)
    return replace(data, name=f"{data.name} under {resolved.spec}", x=x, schema=schema)


Form: TypeAlias = Literal["arrays", "pictures"]

_RENAME = "name it otherwise, as in 'rotation(30) as RO30'"


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
    """Write the data under every corruption of a suite to a folder, without loss.

    Written are the points of the suite's part (the test part, for training sets the training part),
    or all points if the data have no parts. The noise is the first draw of `evaluate` with the same
    suite.

    Every set of a suite such as ``two-factor`` becomes an array ``<set>.npy``, uint8 for uint8
    data, beside ``labels.npy``; or a folder of PNG files, ``<set>/<class>/<file>.png``. Suites of
    common corruptions have the layouts of the published ones, which ``suite(name,
    published=folder)`` reads: ``<kind>.npy`` with all severities in order, as in CIFAR-10-C, or
    ``<kind>/<severity>/<class>/<file>.png``, as in ImageNet-C. ``manifest.json`` records how all
    was made and holds checksums: of the arrays, or of the lists ``<folder>.sha256``, which hold
    those of the images.

    Parameters
    ----------
    folder
        Where to write; it must be new or empty, and is so again if writing fails.
    data
        Images, or any other points if the suite applies to them.
    suite
        Such as ``suite("two-factor")``.
    seed, bounds, draws
        As in `evaluate`.
    form
        ``"arrays"`` or ``"pictures"``, which are PNG files; by default PNG files for data read from
        a folder of images, else arrays.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    Path
        Path of the folder.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> data = st.load("bands(n=40)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = st.write_suite(Path(folder) / "sets", data, st.suite("mscr-2d"))
    ...     print(sorted(path.name for path in written.iterdir())[:3])
    ['labels.npy', 'linf_0.001.npy', 'linf_0.002.npy']
    """
    check_target(folder, suite)
    if data.table is not None and data.table.decodes:
        raise InputError(
            "a suite is written as arrays of plain numbers, and these data are a frame of several "
            "kinds; write one corruption at a time "
            f"({either('--corruption … -o noisy.csv', 'corrupt(…)')})"
        )
    limits = choose_range(data, bounds)
    members = resolve(suite, data, limits).corruptions
    noise = Noise(k=1, seed=seed, draws=draws, bounds=limits)
    plan = Plan(Path(folder), data, suite, members, limits)
    as_files = data.files is not None if form is None else form == "pictures"
    layout: SuiteLayout = PngLayout(plan) if as_files else ArrayLayout(plan)
    _check_files(plan, layout)
    _try_each(plan, noise)
    is_new = not plan.folder.exists()
    try:
        layout.start()
        _write_sets(plan, noise, layout, progress=progress)
        manifest = json.dumps(_manifest(plan, noise, layout), indent=1)
        (plan.folder / "manifest.json").write_text(f"{manifest}\n", encoding="utf-8")
    except BaseException as error:
        _remove_content(plan.folder, itself=is_new)
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"folder {str(folder)!r} cannot be written ({error.strerror or error}); name another"
        ) from error
    return Path(folder)


def _remove_content(folder: Path, *, itself: bool) -> None:
    """Remove all that is in a folder, and the folder `itself` too."""
    for entry in folder.glob("*"):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    if itself and folder.is_dir():
        folder.rmdir()


def check_target(folder: str | Path, suite: Suite) -> None:
    """Raise an error for a folder that is not empty, and for a suite that is a folder already."""
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        fault = "is not empty" if path.is_dir() else "is a file"
        raise InputError(f"folder {str(folder)!r} {fault}; name a new one")
    if path.name.lower().endswith((".npz", ".npy", ".csv", ".parquet")):
        raise InputError(f"a suite is written to a folder, got {str(folder)!r}; name a folder")
    if find_published_folder(suite.names):
        raise InputError(f"suite {suite.name!r} is read from a folder of images; copy that folder")


def _check_files(plan: Plan, layout: SuiteLayout) -> None:
    """Raise an error for sets whose files would lie elsewhere, or replace another file."""
    check_names(plan.folder, "set", plan.sets, _RENAME)
    taken = {"labels.npy", "manifest.json"}
    for name in plan.sets:
        files = {name.lower(), layout.file(name).lower()}
        if files & taken:
            raise InputError(f"set {name!r} would replace another file; {_RENAME}")
        taken |= files


def _try_each(plan: Plan, noise: Noise) -> None:
    """Apply every corruption to one point, so that errors come before anything is written."""
    rows = plan.rows[:1]
    for name, levels in plan.sets.items():
        if len(levels) > 1 and not plan.is_common:
            raise InputError(f"sets must have different names, got two called {name!r}")
        for c in levels:
            _corrupt(plan.data, noise, c, rows)


def _write_sets(plan: Plan, noise: Noise, layout: SuiteLayout, *, progress: bool) -> None:
    size = max(1, BATCH_VALUES // plan.data.d)
    batches = [plan.rows[i : i + size] for i in range(0, len(plan.rows), size)]
    title, total = f"corrupting {plan.data.name}", len(plan.members) * len(batches)
    with count_steps(title, total=total, enabled=progress) as step:
        for name, levels in plan.sets.items():
            with layout.open_set(name) as put:
                for (number, c), rows in product(enumerate(levels), batches):
                    put(number, rows, plan.to_written(_corrupt(plan.data, noise, c, rows)))
                    step()


def _corrupt(data: Dataset, noise: Noise, corruption: Corruption, rows: IntArray) -> Array:
    """Return these rows of the data under a corruption, in their units."""
    keys = noise.keys(data, corruption, rows, np.arange(1))[:, 0]
    return corruption.bind(noise.bounds)(data.rows(rows), keys)


def _manifest(plan: Plan, noise: Noise, layout: SuiteLayout) -> dict[str, Any]:
    """Return how the copies were made, and their checksums."""
    data = plan.data
    manifest: dict[str, Any] = {
        "made_by": "shaketable",
        "versions": list_versions(),
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
        manifest |= _describe_common([c for c in plan.members if isinstance(c, CommonCorruption)])
    else:
        manifest["sets"] = [
            {
                "name": display_name(c.spec),
                "spec": c.spec,
                "seed": noise.seed,
                "file": layout.file(name),
                "sha256": layout.checksums[layout.file(name)],
            }
            for name, (c, *_) in plan.sets.items()
        ]
    return manifest | {"sha256": layout.checksums}


def _describe_common(members: Sequence[CommonCorruption]) -> Mapping[str, Any]:
    """Return what the manifest says of common corruptions only."""
    about: dict[str, Any] = {"severities": "interpolated" if members[0].derived else "published"}
    if frost := [c for c in members if c.name == "frost"]:
        from shaketable.corruptions.common.textures import fingerprint

        source = frost[0].textures
        about["frost"] = {
            "textures": source or "drawn by shaketable",
            "fingerprint": fingerprint(source),
        }
    return about

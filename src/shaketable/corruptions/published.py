"""Pictures that others have corrupted: CIFAR-10-C, Tiny-ImageNet-C, ImageNet-C and their like.

A folder of them has one of two layouts, in the order, or by the names, of the clean test pictures:

- ``<kind>.npy``, uint8, the severities 1 to 5 of all N pictures one behind the other, (5N, height,
  width, channels); and ``labels.npy``, the N classes five times;
- ``<kind>/<severity>/<class>/<file>``, PNG or JPEG; ``<kind>`` may lie one folder deeper.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shaketable.core.checks import check_whole, list_names, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.spec import Call, Value, parse_call, split_top_level
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.corruptions.common.corruption import BENCHMARK, NO_NOISE
from shaketable.corruptions.common.severities import NAMES, profile_of, side_of
from shaketable.corruptions.corruption import Corruption, on_arrays
from shaketable.corruptions.images import check_finite_range, find_layout, from_levels
from shaketable.data.bounds import Bounds
from shaketable.data.images import SUFFIXES, read_images

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

SEVERITIES = 5
"""Severities that every kind has."""

_SUITES = {"common-15": BENCHMARK, "common-xn": NO_NOISE}
_SAMPLE = 32  # pictures that tell one set from another


@dataclass(frozen=True)
class PublishedCorruption(Corruption):
    """One kind of corruption at a severity from 1 to 5, as pictures that are read from a folder.

    Nothing is made: every picture of the test part has its corrupted picture there, and its key is
    its row, counted from the first of the test part. `opened` makes the pictures ready.

    >>> PublishedCorruption("fog", 3, "CIFAR-10-C").for_shape((32, 32, 3)).spec
    'fog(3, cifar, published=CIFAR-10-C)'
    """

    name: str
    severity: int
    folder: str
    profile: str = ""
    """Of the severities, which the size of the pictures decides."""
    id: str = ""
    """Tells the pictures of one folder from others that lay there before."""
    bounds: Bounds | None = None
    source: Source | None = field(default=None, compare=False, repr=False)

    by_row = True

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise unknown_name("common corruption", self.name, NAMES)
        severity = check_whole("severity", self.severity, least=1)
        if severity > SEVERITIES:
            raise InputError(f"severity must be 1, 2, 3, 4 or 5, got {severity}")
        object.__setattr__(self, "severity", severity)
        object.__setattr__(self, "folder", str(self.folder))
        if self.profile:
            side_of(self.profile)
        check_folder_name(self.folder, "published")

    @property
    def spec(self) -> str:
        """Canonical spec string, with the folder; it tells the pictures once they were seen."""
        return str(Call(self.name, (float(self.severity), *self._profile()), self._options()))

    @property
    def ladder(self) -> str:
        """All severities of one kind."""
        return str(Call(self.name, self._profile(), {"published": self.folder}))

    @property
    def size(self) -> float:
        """The severity."""
        return float(self.severity)

    def _profile(self) -> tuple[str, ...]:
        return (self.profile,) if self.profile else ()

    def _options(self) -> dict[str, Value]:
        return {"published": self.folder, **({"id": self.id} if self.id else {})}

    def for_shape(self, shape: tuple[int, ...]) -> PublishedCorruption:
        """Return the same corruption with the profile that pictures of this shape have."""
        height, width, _, _ = find_layout(shape, self.name)
        return self if self.profile else replace(self, profile=profile_of(height, width))

    def bind(self, bounds: Bounds | None) -> PublishedCorruption:
        """Return the same corruption with the data's value range filled in."""
        return replace(self, bounds=bounds)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Return the corrupted pictures of these rows; of `x` only shape and type count."""
        if self.source is None or (len(drawn) and drawn.max() >= self.source.n):
            raise InputError(
                f"{self.spec} stands for pictures of a test part, row by row, and can be met in "
                "evaluate alone; to make such pictures here, leave out published="
            )
        bounds = check_finite_range(self.bounds, self.spec)
        found = self.source.read(self.name, self.severity, drawn.astype(np.int64))
        return from_levels(found, x, bounds, channels_first=find_layout(x.shape[1:], self.name)[3])


def check_folder_name(folder: str, option: str) -> None:
    """Refuse a folder that could not be read back from a spec string."""
    text = f"fog({option}={folder}, last=word)"
    try:
        found = parse_call(text).options if split_top_level(text, "+") == [text] else {}
    except InputError:
        found = {}
    if found != {option: folder, "last": "word"}:
        raise InputError(
            f"folder {folder!r} cannot be told in a spec; a name must be no number and without "
            "comma, equals sign and unpaired brackets: write ./NAME, or make a link to it"
        )


def published_in(specs: Iterable[str]) -> str:
    """Folder that the pictures of these specs were read from; empty where they were generated.

    >>> published_in(["fog(3, cifar, published=CIFAR-10-C)"]), published_in(["fog(3, cifar)"])
    ('CIFAR-10-C', '')
    """
    calls = (parse_call(spec) for spec in specs if "published=" in spec)
    return next((str(call.options.get("published", "")) for call in calls), "")


def opened(corruptions: Sequence[Corruption], data: Dataset) -> list[Corruption]:
    """Return the same corruptions, published ones with their pictures at hand.

    All that can be known to be wrong with these is told now: what is missing, cut short, of another
    shape or for other points.
    """
    mine = [c for c in corruptions if isinstance(c, PublishedCorruption)]
    sources = {folder: _source(Path(folder), data) for folder in {c.folder: 0 for c in mine}}
    for folder, source in sources.items():
        asked = [(c.name, c.severity) for c in mine if c.folder == folder]
        _refuse_faults(folder, source, asked)
    return [
        _identified(c, sources[c.folder]) if isinstance(c, PublishedCorruption) else c
        for c in corruptions
    ]


def _identified(corruption: PublishedCorruption, source: Source) -> PublishedCorruption:
    """Return the same corruption with its source, and the mark of a sample of its pictures."""
    rows = np.unique(np.linspace(0, source.n - 1, _SAMPLE).astype(np.int64))
    pictures = source.read(corruption.name, corruption.severity, rows)
    found = f"h{digest(str(pictures.shape), pictures.tobytes()) >> 32:08x}"  # a letter: no number
    if corruption.id not in ("", found):
        raise InputError(
            f"{corruption.spec} names other pictures than those that are there now, {found}; "
            "leave out id="
        )
    return replace(corruption, id=found, source=source)


def _refuse_faults(folder: str, source: Source, asked: Sequence[tuple[str, int]]) -> None:
    kinds = list(dict.fromkeys(name for name, _ in asked))
    if missing := [name for name in kinds if not source.has(name)]:
        there = {name for name in NAMES if source.has(name)}
        fitting = [s for s, members in _SUITES.items() if there >= set(members)]
        hint = f"use --suite {fitting[0]}, or get the others" if fitting else "get them"
        raise InputError(
            f"folder {folder!r} lacks {len(missing)} of {len(kinds)} kinds of corruption: "
            f"{list_names([source.file(name) for name in missing])}; {hint}"
        )
    faults = source.faults(asked)
    if faults:
        raise InputError(
            f"folder {folder!r} cannot be used: {list_names(faults, '; ')}; get these files again, "
            "and load the test part that they were made from"
        )


class Source(Protocol):
    """Corrupted pictures of a test part."""

    @property
    def n(self) -> int:
        """Pictures of the test part."""

    def file(self, name: str) -> str:
        """What holds a kind, for messages."""

    def has(self, name: str) -> bool:
        """Whether the kind is there at all."""

    def faults(self, asked: Sequence[tuple[str, int]]) -> list[str]:
        """What is wrong with these kinds and severities, a phrase each."""

    def read(self, name: str, severity: int, rows: IntArray) -> Array:
        """Pictures of these rows of the test part: uint8, (rows, height, width, channels)."""


def _source(folder: Path, data: Dataset) -> Source:
    if not folder.is_dir():
        raise InputError(f"folder {str(folder)!r} of published pictures does not exist; check it")
    if any((folder / f"{name}.npy").exists() for name in (*NAMES, "labels")):
        return _Arrays(folder, data)
    source = _Folders(folder, data)
    if not any(source.has(name) for name in NAMES):
        raise InputError(
            f"folder {str(folder)!r} holds no published pictures; it must have files such as "
            "fog.npy and labels.npy, or folders such as fog/3/<class>/<file>"
        )
    if data.files is None:
        raise InputError(
            f"the pictures in {str(folder)!r} are files by class, and {data.name} was not read "
            "from a folder, so they cannot be matched; load the clean pictures from a folder, too"
        )
    return source


@dataclass(frozen=True, eq=False)
class _Arrays:
    """Layout of CIFAR-10-C: an array a kind."""

    folder: Path
    data: Dataset

    @property
    def n(self) -> int:
        return self.data.n - (self.data.n_train or 0)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        return find_layout(self.data.shape, "published")[:3]

    def file(self, name: str) -> str:
        return f"{name}.npy"

    def has(self, name: str) -> bool:
        return (self.folder / self.file(name)).exists()

    def faults(self, asked: Sequence[tuple[str, int]]) -> list[str]:
        names = dict.fromkeys(name for name, _ in asked)
        return [fault for fault in (self._labels_fault(), *map(self._fault, names)) if fault]

    def _fault(self, name: str) -> str:
        file = self.file(name)
        try:
            found = self._array(name)
        except (OSError, ValueError, EOFError) as error:
            return f"{file} cannot be read ({(str(error).splitlines() or ['it is empty'])[0]})"
        shapes = [self.shape, *([self.shape[:2]] if self.shape[2] == 1 else [])]
        if found.dtype != np.uint8 or found.shape[1:] not in shapes:
            return (
                f"{file} holds {found.dtype} of shape {found.shape[1:]}, and the pictures of "
                f"{self.data.name} are uint8 of shape {self.shape}"
            )
        if len(found) != SEVERITIES * self.n:
            return (
                f"{file} holds {len(found)} pictures, and {SEVERITIES} x {self.n} are needed for "
                f"the {self.n} test points of {self.data.name}"
            )
        return ""

    def _labels_fault(self) -> str:
        try:
            found = np.load(self.folder / "labels.npy", allow_pickle=False)
        except FileNotFoundError:
            return "labels.npy is missing"
        except (OSError, ValueError, EOFError) as error:
            return f"labels.npy cannot be read ({(str(error).splitlines() or ['it is empty'])[0]})"
        if found.shape not in ((self.n,), (SEVERITIES * self.n,)):
            return f"labels.npy holds {found.shape} labels for {self.n} test points"
        first = self.data.n_train or 0
        for mine in (self.data.y[first:], self.data.labels[first:]):
            if np.array_equal(found, np.tile(mine, len(found) // self.n)):
                return ""
        return f"labels.npy holds other labels than the test part of {self.data.name}"

    def _array(self, name: str) -> Array:
        return np.lib.format.open_memmap(self.folder / self.file(name), mode="r")

    def read(self, name: str, severity: int, rows: IntArray) -> Array:
        found = np.asarray(self._array(name)[(severity - 1) * self.n + rows])
        return found.reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False)
class _Folders:
    """Layout of ImageNet-C: a file a picture, known by class and name without ending."""

    folder: Path
    data: Dataset
    endings: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    """Of every picture of the test part, once a kind and severity was looked at."""

    @property
    def n(self) -> int:
        return self.data.n - (self.data.n_train or 0)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Class and file name, without ending, of every picture of the test part."""
        first = self.data.n_train or 0
        assert self.data.files is not None, "found out when the folder was opened"
        return picture_names(self.data.labels[first:], self.data.files[first:])

    def file(self, name: str) -> str:
        return f"{name}/"

    def has(self, name: str) -> bool:
        return self._place(name) is not None

    def _place(self, name: str) -> Path | None:
        places = (self.folder / name, *sorted(self.folder.glob(f"*/{name}")))
        return next((place for place in places if place.is_dir()), None)

    def faults(self, asked: Sequence[tuple[str, int]]) -> list[str]:
        return [fault for name, severity in asked for fault in self._missing(name, severity)]

    def _missing(self, name: str, severity: int) -> list[str]:
        """Faults of one kind and severity; endings are noted where there are none."""
        place = self._place(name)
        assert place is not None, "missing kinds are told first"
        there: dict[tuple[str, str], str] = {}
        for group in {group for group, _ in self.names}:
            try:
                files = os.listdir(place / str(severity) / group)
            except OSError:
                continue
            for file in sorted(files, reverse=True):
                stem, ending = os.path.splitext(file)
                if ending.lower() in SUFFIXES:
                    there[group, stem] = sys.intern(ending)
        gone = ["/".join(n) for n in self.names if n not in there]
        if gone:
            where = (place / str(severity)).relative_to(self.folder).as_posix()
            return [f"{where}/ lacks {len(gone)} of {self.n} test pictures: {list_names(gone)}"]
        self.endings[name, severity] = [there[n] for n in self.names]
        return []

    def read(self, name: str, severity: int, rows: IntArray) -> Array:
        place, endings = self._place(name), self.endings[name, severity]
        assert place is not None, "missing kinds are told first"
        paths = [
            place / str(severity) / group / f"{stem}{endings[row]}"
            for row, (group, stem) in ((row, self.names[row]) for row in rows.tolist())
        ]
        return read_images(paths, find_layout(self.data.shape, name)[:3])


def picture_names(labels: Array, files: Sequence[str]) -> list[tuple[str, str]]:
    """Class and file name, without ending, of every picture; refused where two share both."""
    names = [
        (str(label), PurePosixPath(file).stem) for label, file in zip(labels, files, strict=True)
    ]
    (most, times), *_ = Counter(names).most_common(1)
    if times > 1:
        raise InputError(
            f"pictures of a class must have names of their own, got {times} called "
            f"{'/'.join(most)}; rename them"
        )
    return names

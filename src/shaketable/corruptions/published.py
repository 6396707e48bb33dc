"""Published sets of corrupted images: CIFAR-10-C, Tiny-ImageNet-C, ImageNet-C and the like.

A folder has one of two layouts, in the order, or with the names, of the clean test images:

- ``<kind>.npy``, uint8, all N images at severity 1, then at 2, up to 5: (5N, height, width,
  channels); and ``labels.npy``, the N classes five times;
- ``<kind>/<severity>/<class>/<file>``, PNG or JPEG; ``<kind>`` may be one folder deeper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.spec import Call, Value, parse_call, split_top_level
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.severities import NAMES, profile_of, side_of
from shaketable.corruptions.corruption import Corruption, Traits, on_arrays
from shaketable.corruptions.images import check_finite_range, find_layout, from_levels
from shaketable.data.bounds import Bounds

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
import os
import sys
from collections import Counter
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from shaketable.core.checks import list_names
from shaketable.core.types import IntArray
from shaketable.corruptions.common.corruption import BENCHMARK, NO_NOISE
from shaketable.data.array_files import map_npy, read_npy
from shaketable.data.images import SUFFIXES, read_images

_SAMPLE = 32  # images whose hash identifies a set


@dataclass(frozen=True)
class PublishedCorruption(Corruption):
    """One kind of corruption at a severity from 1 to 5, with images that are read from a folder.

    Nothing is generated: the folder holds the corrupted version of every image of the test part,
    and the key of an image is its row, counted from the first of the test part. `open_published`
    makes the folder ready to be read.

    >>> PublishedCorruption("fog", 3, "CIFAR-10-C").for_shape((32, 32, 3)).spec
    'fog(3, cifar, published=CIFAR-10-C)'
    """

    name: str
    severity: int
    folder: str
    profile: str = ""
    """Image size that the severities are for, such as ``cifar``; empty until the shape is known."""
    id: str = ""
    """Hash of a sample of the images: it changes if others take their place in the folder."""
    bounds: Bounds | None = None
    source: Source | None = field(default=None, compare=False, repr=False)

    traits = Traits(needs_range=True, by_row=True, takes_levels=True)

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

    def write(self) -> Call:
        """Return its kind with severity and folder, and with `id` once the images were read."""
        profile = (self.profile,) if self.profile else ()
        options: dict[str, Value] = {"published": self.folder}
        options |= {"id": self.id} if self.id else {}
        return Call(self.name, (float(self.severity), *profile), options)

    @property
    def ladder(self) -> str:
        """Name of all severities of one kind, whatever images were read."""
        call = self.write()
        return str(Call(call.name, call.args[1:], {"published": self.folder}))

    def for_shape(self, shape: tuple[int, ...]) -> PublishedCorruption:
        """Return the same corruption with the profile for images of this shape."""
        layout = find_layout(shape, self.name)
        profile = self.profile or profile_of(layout.height, layout.width)
        return replace(self, profile=profile)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Return the corrupted images of these rows; only shape and type of `x` are used."""
        if self.source is None or (len(drawn) and drawn.max() >= self.source.n):
            raise InputError(
                f"{self.spec} stands for the images of a test part, row by row, and works in "
                "evaluate alone; to generate such images here, leave out published="
            )
        bounds = check_finite_range(self.bounds, self)
        images = self.source.read(self.name, self.severity, drawn.astype(np.int64))
        layout = find_layout(x.shape[1:], self.name)
        return from_levels(images, x, bounds, channels_first=layout.channels_first)


def check_folder_name(folder: str, option: str) -> None:
    """Raise an error for a folder whose name could not be read back from a spec string."""
    text = f"fog({option}={folder}, last=word)"
    try:
        alone = all(split_top_level(text, separator) == [text] for separator in "+|")
        options = parse_call(text).options if alone else {}
    except InputError:
        options = {}
    if options != {option: folder, "last": "word"}:
        raise InputError(
            f"folder {folder!r} cannot be written in a spec; a name must not be a number, or have "
            "a comma, an equals sign or unpaired brackets: write ./NAME, or make a link to it"
        )


def find_published_folder(specs: Iterable[str]) -> str:
    """Return the folder that the images of these specs are read from; empty if generated.

    >>> find_published_folder(["fog(3, cifar, published=CIFAR-10-C)"])
    'CIFAR-10-C'
    >>> find_published_folder(["fog(3, cifar)"])
    ''
    """
    calls = (parse_call(spec) for spec in specs if "published=" in spec)
    return next((str(call.options.get("published", "")) for call in calls), "")


def open_published(corruptions: Sequence[Corruption], data: Dataset) -> list[Corruption]:
    """Return the same corruptions, published ones ready to be read for the test part of `data`.

    Files that are missing, cut short, of another shape or for other points are an error now, before
    anything is evaluated.
    """
    published = [c for c in corruptions if isinstance(c, PublishedCorruption)]
    sources = {
        folder: open_source(Path(folder), data)
        for folder in dict.fromkeys(c.folder for c in published)
    }
    for folder, source in sources.items():
        check_source(
            folder, source, [(c.name, c.severity) for c in published if c.folder == folder]
        )
    return [
        _attach(c, sources[c.folder]) if isinstance(c, PublishedCorruption) else c
        for c in corruptions
    ]


def _attach(corruption: PublishedCorruption, source: Source) -> PublishedCorruption:
    """Return the same corruption with its source, and the hash of a sample of its images."""
    rows = np.unique(np.linspace(0, source.n - 1, _SAMPLE).astype(np.int64))
    images = source.read(corruption.name, corruption.severity, rows)
    id_ = f"h{digest(str(images.shape), images.tobytes()) >> 32:08x}"  # the letter: no number
    if corruption.id not in ("", id_):
        raise InputError(
            f"{corruption.spec} names other images than those that are there now, {id_}; "
            "leave out id="
        )
    return replace(corruption, id=id_, source=source)


SEVERITIES = 5
"""Number of severities of every kind."""

_SUITES = {"common-15": BENCHMARK, "common-xn": NO_NOISE}


class Source(Protocol):
    """Corrupted images of a test part; a kind is one of the 19 common corruptions."""

    @property
    def n(self) -> int:
        """Number of images in the test part."""

    def file(self, kind: str) -> str:
        """Name of the file or folder that holds a kind, for messages."""

    def has(self, kind: str) -> bool:
        """Whether that file or folder exists."""

    def find_faults(self, wanted: Sequence[tuple[str, int]]) -> list[str]:
        """Return what is wrong with these kinds and severities, one phrase per fault."""

    def read(self, kind: str, severity: int, rows: IntArray) -> Array:
        """Return the images of rows of the test part: uint8, (rows, height, width, channels)."""


def open_source(folder: Path, data: Dataset) -> Source:
    """Return the images in a folder, in whichever layout; they must be for the test part of `data`.

    `check_source` looks at the single files.
    """
    if not folder.is_dir():
        raise InputError(
            f"folder {str(folder)!r} of published images does not exist; check the path"
        )
    if any((folder / f"{name}.npy").exists() for name in (*NAMES, "labels")):
        return _Arrays(folder, data)
    source = _Folders(folder, data)
    if not any(source.has(name) for name in NAMES):
        raise InputError(
            f"folder {str(folder)!r} holds no published images; it must have files such as "
            "fog.npy and labels.npy, or folders such as fog/3/<class>/<file>"
        )
    if data.files is None:
        raise InputError(
            f"the images in {str(folder)!r} are files by class, and {data.name} was not read "
            "from a folder, so they cannot be matched; load the clean images from a folder, too"
        )
    return source


def check_source(folder: str, source: Source, wanted: Sequence[tuple[str, int]]) -> None:
    """Raise an error for missing or faulty files of these kinds and severities."""
    kinds = list(dict.fromkeys(kind for kind, _ in wanted))
    if missing := [kind for kind in kinds if not source.has(kind)]:
        present = {kind for kind in NAMES if source.has(kind)}
        fitting = [suite for suite, members in _SUITES.items() if present >= set(members)]
        hint = f"use the suite {fitting[0]}, or get the others" if fitting else "get them"
        raise InputError(
            f"folder {folder!r} lacks {len(missing)} of {len(kinds)} kinds of corruption: "
            f"{list_names([source.file(kind) for kind in missing])}; {hint}"
        )
    faults = source.find_faults(wanted)
    if faults:
        raise InputError(
            f"folder {folder!r} cannot be used: {list_names(faults, '; ')}; get these files again, "
            "and load the test part that they were made from"
        )


@dataclass(frozen=True, eq=False)
class _Arrays:
    """Layout of CIFAR-10-C: one array per kind."""

    folder: Path
    data: Dataset

    @property
    def n(self) -> int:
        return self.data.n - (self.data.n_train or 0)

    @property
    def whole(self) -> int:
        """Number of images per severity: all test points, also those that were left out."""
        return self.n if self.data.parts_before is None else self.data.parts_before[1]

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        return find_layout(self.data.shape, "published")[:3]

    def file(self, kind: str) -> str:
        return f"{kind}.npy"

    def has(self, kind: str) -> bool:
        return (self.folder / self.file(kind)).exists()

    def find_faults(self, wanted: Sequence[tuple[str, int]]) -> list[str]:
        kinds = dict.fromkeys(kind for kind, _ in wanted)
        return [fault for fault in (self._labels_fault(), *map(self._fault, kinds)) if fault]

    def _fault(self, kind: str) -> str:
        file = self.file(kind)
        try:
            images = self._array(kind)
        except InputError as error:
            return str(error)
        shapes = [self.shape, *([self.shape[:2]] if self.shape[2] == 1 else [])]
        if images.dtype != np.uint8 or images.shape[1:] not in shapes:
            return (
                f"{file} holds {images.dtype} of shape {images.shape[1:]}, and the images of "
                f"{self.data.name} are uint8 of shape {self.shape}"
            )
        if len(images) != SEVERITIES * self.whole:
            return (
                f"{file} holds {len(images)} images, and {SEVERITIES} x {self.whole} are needed "
                f"for the {self.whole} test points of {self.data.name}"
            )
        return ""

    def _labels_fault(self) -> str:
        if not (self.folder / "labels.npy").exists():
            return "labels.npy is missing"
        try:
            labels = read_npy(self.folder / "labels.npy")
        except InputError as error:
            return str(error)
        if labels.shape not in ((self.whole,), (SEVERITIES * self.whole,)):
            return f"labels.npy holds {labels.shape} labels for {self.whole} test points"
        kept = labels.reshape(-1, self.whole)[:, self.data.test_places]
        first = self.data.n_train or 0
        for expected in (self.data.y[first:], self.data.labels[first:]):
            if np.array_equal(kept, np.broadcast_to(expected, kept.shape)):
                return ""
        return f"labels.npy holds other labels than the test part of {self.data.name}"

    def _array(self, kind: str) -> Array:
        return map_npy(self.folder / self.file(kind))

    def read(self, kind: str, severity: int, rows: IntArray) -> Array:
        places = (severity - 1) * self.whole + self.data.test_places[rows]
        images = np.asarray(self._array(kind)[places])
        return images.reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False)
class _Folders:
    """Layout of ImageNet-C: one file per image, matched by class and name without ending."""

    folder: Path
    data: Dataset
    endings: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    """File endings of all images of a kind and severity, filled in by `find_faults`."""

    @property
    def n(self) -> int:
        return self.data.n - (self.data.n_train or 0)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Class and file name, without ending, of every image of the test part."""
        first = self.data.n_train or 0
        assert self.data.files is not None, "checked when the folder was opened"
        return image_names(self.data.labels[first:], self.data.files[first:])

    def file(self, kind: str) -> str:
        return f"{kind}/"

    def has(self, kind: str) -> bool:
        return self._place(kind) is not None

    def _place(self, kind: str) -> Path | None:
        places = (self.folder / kind, *sorted(self.folder.glob(f"*/{kind}")))
        return next((place for place in places if place.is_dir()), None)

    def find_faults(self, wanted: Sequence[tuple[str, int]]) -> list[str]:
        return [fault for kind, severity in wanted for fault in self._missing(kind, severity)]

    def _missing(self, kind: str, severity: int) -> list[str]:
        """Return the faults of one kind and severity; if there are none, note the endings."""
        place = self._place(kind)
        assert place is not None, "missing kinds are refused first"
        endings: dict[tuple[str, str], str] = {}
        for group in {group for group, _ in self.names}:
            try:
                files = os.listdir(place / str(severity) / group)
            except OSError:
                continue
            for file in sorted(files, reverse=True):
                stem, ending = os.path.splitext(file)
                if ending.lower() in SUFFIXES:
                    endings[group, stem] = sys.intern(ending)
        missing = ["/".join(n) for n in self.names if n not in endings]
        if missing:
            where = (place / str(severity)).relative_to(self.folder).as_posix()
            return [f"{where}/ lacks {len(missing)} of {self.n} test images: {list_names(missing)}"]
        self.endings[kind, severity] = [endings[n] for n in self.names]
        return []

    def read(self, kind: str, severity: int, rows: IntArray) -> Array:
        place, endings = self._place(kind), self.endings[kind, severity]
        assert place is not None, "missing kinds are refused first"
        paths = [
            place / str(severity) / group / f"{stem}{endings[row]}"
            for row, (group, stem) in ((row, self.names[row]) for row in rows.tolist())
        ]
        return read_images(paths, find_layout(self.data.shape, kind)[:3])


def image_names(labels: Array, files: Sequence[str]) -> list[tuple[str, str]]:
    """Return class and file name, without ending, of every image; two may not share both."""
    names = [
        (str(label), PurePosixPath(file).stem) for label, file in zip(labels, files, strict=True)
    ]
    (most, times), *_ = Counter(names).most_common(1)
    if times > 1:
        raise InputError(
            f"images of a class must have different names, got {times} called {'/'.join(most)}; "
            "rename them"
        )
    return names

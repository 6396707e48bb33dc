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
from shaketable.corruptions.published_files import SEVERITIES, Source, check_source, open_source
from shaketable.data.bounds import Bounds

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

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

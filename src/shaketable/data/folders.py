"""Data sets from folders of images, one subfolder per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError, either
from shaketable.core.types import Array
from shaketable.data import images
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset
from shaketable.data.sampling import Sample
from shaketable.data.sources import name_parts

PARTS = ("train", "val", "valid", "validation", "test")
"""Names of parts: the training part, and what a test part may be called."""


class ImageFile(NamedTuple):
    """An image that is not read yet."""

    path: Path
    label: str
    name: str
    """Its name in `Dataset.files`."""


def load_folder(folder: Path, test: Path | None = None, sample: Sample | None = None) -> Dataset:
    """Load the images ``<class>/<file>`` as uint8: (n, height, width, 3), or (n, h, w) if all grey.

    A folder that holds ``train`` and one of ``val``, ``valid``, ``validation`` and ``test``, and
    nothing else, has a fixed test part. Classes are the names of the subfolders, sorted; files are
    sorted within them. All images must have the same size. Of a sample, only its files are read.
    """
    if test is None:
        folder, test = _split_parts(folder)
    test_images = [] if test is None else list_images(test)
    return make_image_set(list_images(folder), test_images, name=_name(folder, test), sample=sample)


def make_image_set(
    train: Sequence[ImageFile],
    test: Sequence[ImageFile],
    *,
    name: str,
    sample: Sample | None = None,
) -> Dataset:
    """Read images of one part, or of a training and a test part; of a sample those only."""
    images = [*train, *test]
    n, n_train = len(images), len(train) if test else None
    rows = np.arange(n) if sample is None else sample.choose(n, n_train)
    chosen = [images[row] for row in rows]
    if sample is not None:
        sample.check_classes([image.label for image in chosen], name)
    data = make_dataset(
        _read_images([image.path for image in chosen]),
        [image.label for image in chosen],
        name=name,
        classes=tuple(sorted({image.label for image in images})),
        n_train=None if n_train is None else int(np.searchsorted(rows, n_train)),
    )
    data = replace(data, files=tuple(image.name for image in chosen))
    return data if sample is None else sample.mark(data, rows, n)


def _name(folder: Path, test: Path | None) -> str:
    """Name of the folder, or of the one that holds both parts."""
    first = folder.resolve()
    if test is not None and test.resolve().parent == first.parent:
        return first.parent.name
    return name_parts(first.name, "" if test is None else test.resolve().name)


def _split_parts(folder: Path) -> tuple[Path, Path | None]:
    """Folders of the training and the test part; the folder itself and None if it has no parts."""
    parts = [f.name for f in _subfolders(folder)]
    if not parts or not set(parts) <= set(PARTS):
        return folder, None
    if len(parts) == 1:
        return folder / parts[0], None
    if len(parts) > 2 or "train" not in parts:
        raise InputError(
            f"folder {str(folder)!r} must have one test part beside train, got "
            f"{', '.join(parts)}; name the two parts: DIR/train, and DIR/{parts[-1]} as "
            + either("--test", "test=")
        )
    (test,) = set(parts) - {"train"}
    return folder / "train", folder / test


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(
            f for f in folder.iterdir() if f.is_dir() and not f.name.startswith((".", "__"))
        )
    except OSError as error:
        raise InputError(f"folder {str(folder)!r} cannot be read: {error.strerror}") from error


def list_images(folder: Path) -> list[ImageFile]:
    """All images with their classes, sorted by class and path."""
    classes = _subfolders(folder)
    paths = {c: sorted(f for f in c.rglob("*") if images.is_image(f)) for c in classes}
    endings = ", ".join(images.SUFFIXES)
    if not any(paths.values()):
        raise InputError(
            f"folder {str(folder)!r} must hold one subfolder per class with images ({endings}), "
            "and none was found; a single file of points must end in .npz, .csv or .parquet"
        )
    if empty := [c.name for c in classes if not paths[c]]:
        raise InputError(
            f"every subfolder of {str(folder)!r} is a class and must hold images ({endings}), "
            f"but these do not: {list_names(empty)}; fill or remove them"
        )
    return [
        ImageFile(path, c.name, path.relative_to(folder).as_posix())
        for c in classes
        for path in paths[c]
    ]


def _read_images(paths: Sequence[Path]) -> Array:
    """Images as one array; an error lists those whose size differs from that of most."""
    shapes = images.read_shapes(paths)
    (height, width), _ = Counter(shape[:2] for shape in shapes).most_common(1)[0]
    odd = [
        f"{str(path)!r} has {shape[0]} x {shape[1]}"
        for path, shape in zip(paths, shapes, strict=True)
        if shape[:2] != (height, width)
    ]
    if odd:
        raise InputError(
            f"images must have the same size, and {len(odd)} of {len(paths)} do not have {height} "
            f"x {width} pixels as most do: {list_names(odd)}; resize or remove them"
        )
    channels = max(shape[2] for shape in shapes)
    x = images.read_images(paths, (height, width, channels))
    return x if channels == 3 else x[..., 0]

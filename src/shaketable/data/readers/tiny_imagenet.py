"""Tiny ImageNet as published, with the labels of its validation part in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset
from shaketable.data.folders import ImageFile, list_images, make_image_set
from shaketable.data.readers.reader import READERS, DataReader, Options
from shaketable.data.sources import explain_read_errors

_LABELS = "val_annotations.txt"


def _takes(source: Any) -> bool:
    return isinstance(source, Path) and any(
        (folder / _LABELS).is_file() for folder in (source, source / "val")
    )


def _read(source: Path, options: Options) -> Dataset:
    """Images of ``train/<class>/images``, and of ``val/images`` with the classes in its file.

    Without ``train``, or for the folder ``val`` alone, there is one part. ``test`` has no labels
    and is not read. Classes are WordNet IDs, sorted, as they are in a folder of images.
    """
    options.refuse_label("Tiny ImageNet")
    name = source.resolve().name
    if (source / _LABELS).is_file():
        return make_image_set(_list_validation(source), [], name=name, sample=options.sample)
    test = _list_validation(source / "val")
    if not (source / "train").is_dir():
        return make_image_set(test, [], name=name, sample=options.sample)
    train = list_images(source / "train")
    return make_image_set(train, test, name=name, sample=options.sample)


def _list_validation(folder: Path) -> list[ImageFile]:
    """Images of the validation part with their classes, sorted by class and name."""
    path = folder / _LABELS
    with explain_read_errors(path):
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line]
    if bad := next((i for i, row in enumerate(rows, 1) if len(row) < 2 or "/" in row[0]), 0):
        raise InputError(
            f"file {str(path)!r} must have a file name and a class, with a tab between, in every "
            f"line, and line {bad} has not; get it again"
        )
    images = [
        ImageFile(folder / "images" / file, label, f"{label}/{file}") for file, label, *_ in rows
    ]
    if not images:
        raise InputError(f"file {str(path)!r} names no images; get it again")
    if missing := [image.path.name for image in images if not image.path.is_file()]:
        raise InputError(
            f"folder {str(folder / 'images')!r} lacks {len(missing)} of the {len(images)} images "
            f"that {_LABELS} names: {list_names(missing)}; get it again"
        )
    return sorted(images, key=lambda image: (image.label, image.path.name))


READERS.add("tiny-imagenet", DataReader("Tiny ImageNet as published: its folder", _takes, _read))

"""Data sets from folders of images, one subfolder per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data import images
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset

_PARTS = ("train", "val", "valid", "validation", "test")


def load_folder(folder: Path, test: Path | None = None) -> Dataset:
    """Load the images ``<class>/<file>`` as uint8: (n, height, width, 3), or (n, h, w) if all grey.

    A folder that holds ``train`` and one of ``val``, ``valid``, ``validation`` and ``test``, and
    nothing else, has a fixed test part. Classes are the names of the subfolders, sorted; files are
    sorted within them. All images must have the same size.
    """
    if test is None:
        folder, test = _split_parts(folder)
    train_files = _list_images(folder)
    files = train_files if test is None else train_files + _list_images(test)
    data = make_dataset(
        _read_images([path for path, _ in files]),
        [label for _, label in files],
        name=_name(folder, test),
        n_train=None if test is None else len(train_files),
    )
    roots = [folder] * len(train_files) + [test or folder] * (len(files) - len(train_files))
    names = (
        path.relative_to(root).as_posix() for (path, _), root in zip(files, roots, strict=True)
    )
    return replace(data, files=tuple(names))


def _name(folder: Path, test: Path | None) -> str:
    """Name of the folder, or of the one that holds both parts."""
    first = folder.resolve()
    if test is not None and test.resolve().parent == first.parent:
        return first.parent.name
    return first.name


def _split_parts(folder: Path) -> tuple[Path, Path | None]:
    """Folders of the training and the test part; the folder itself and None if it has no parts."""
    parts = [f.name for f in _subfolders(folder)]
    if not parts or not set(parts) <= set(_PARTS):
        return folder, None
    if len(parts) == 1:
        return folder / parts[0], None
    if len(parts) > 2 or "train" not in parts:
        raise InputError(
            f"folder {str(folder)!r} must have one test part beside train, got "
            f"{', '.join(parts)}; name the two parts: DIR/train, and DIR/{parts[-1]} as test "
            "(--test)"
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


def _list_images(folder: Path) -> list[tuple[Path, str]]:
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
    return [(path, c.name) for c in classes for path in paths[c]]


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

"""Data sets from folders of pictures, a subfolder a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
    """Pictures of ``<class>/<file>`` as uint8, (n, height, width, 3), or without the 3 if all grey.

    A folder that holds ``train`` and one of ``val``, ``valid``, ``validation`` and ``test``, and
    nothing else, has a fixed test part. Classes are the names of the folders, sorted, and files
    are sorted within them. All pictures must be of one size.
    """
    if test is None:
        folder, test = _parts(folder)
    train = _files(folder)
    found = train if test is None else train + _files(test)
    data = make_dataset(
        _read([path for path, _ in found]),
        [label for _, label in found],
        name=_name(folder, test),
        n_train=None if test is None else len(train),
    )
    roots = [folder] * len(train) + [test or folder] * (len(found) - len(train))
    files = (path.relative_to(r).as_posix() for (path, _), r in zip(found, roots, strict=True))
    return replace(data, files=tuple(files))


def _name(folder: Path, test: Path | None) -> str:
    """Name of the folder, or of the one that holds both parts."""
    first = folder.resolve()
    if test is not None and test.resolve().parent == first.parent:
        return first.parent.name
    return first.name


def _parts(folder: Path) -> tuple[Path, Path | None]:
    """Folders of the training and the test part; or the folder itself, which has no parts."""
    found = [f.name for f in _subfolders(folder)]
    if not found or not set(found) <= set(_PARTS):
        return folder, None
    if len(found) == 1:
        return folder / found[0], None
    if len(found) > 2 or "train" not in found:
        raise InputError(
            f"folder {str(folder)!r} must have one test part beside train, got "
            f"{', '.join(found)}; name the two parts: DIR/train, and DIR/{found[-1]} as test "
            "(--test)"
        )
    (test,) = set(found) - {"train"}
    return folder / "train", folder / test


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(
            f for f in folder.iterdir() if f.is_dir() and not f.name.startswith((".", "__"))
        )
    except OSError as error:
        raise InputError(f"folder {str(folder)!r} cannot be read: {error.strerror}") from error


def _files(folder: Path) -> list[tuple[Path, str]]:
    """All pictures with their classes, sorted by class and path."""
    classes = _subfolders(folder)
    found = {c: sorted(f for f in c.rglob("*") if images.is_image(f)) for c in classes}
    endings = ", ".join(images.SUFFIXES)
    if not any(found.values()):
        raise InputError(
            f"folder {str(folder)!r} must hold a subfolder a class with pictures ({endings}), and "
            "none was found; a single file of points must end in .npz, .csv or .parquet"
        )
    if empty := [c.name for c in classes if not found[c]]:
        raise InputError(
            f"every subfolder of {str(folder)!r} is a class and must hold pictures ({endings}), "
            f"but these do not: {list_names(empty)}; fill or remove them"
        )
    return [(path, c.name) for c, paths in found.items() for path in paths]


def _read(paths: Sequence[Path]) -> Array:
    """Pictures as one array; those of another size than most are named."""
    with ThreadPoolExecutor() as pool:
        shapes = list(pool.map(images.shape_of, paths))
    (height, width), _ = Counter(shape[:2] for shape in shapes).most_common(1)[0]
    odd = [
        f"{str(path)!r} has {shape[0]} x {shape[1]}"
        for path, shape in zip(paths, shapes, strict=True)
        if shape[:2] != (height, width)
    ]
    if odd:
        raise InputError(
            f"pictures must be of one size, and {len(odd)} of {len(paths)} are not of {height} x "
            f"{width} pixels as most are: {list_names(odd)}; resize or remove them"
        )
    channels = max(shape[2] for shape in shapes)
    x = images.read_all(paths, (height, width, channels))
    return x if channels == 3 else x[..., 0]

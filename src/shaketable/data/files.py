"""Data sets from what users name or hold: built-in sets, files, folders of images, arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data.array_files import list_npz, map_npy, read_npy, read_npz
from shaketable.data.arrays import check_pair, join, make_dataset
from shaketable.data.builtin import BUILTIN, build
from shaketable.data.class_index import name_classes, read_class_index
from shaketable.data.dataset import Dataset
from shaketable.data.folders import load_folder
from shaketable.data.readers.reader import DataReader, Options, find_reader
from shaketable.data.sampling import Part, Sample
from shaketable.data.sources import find_file, name_parts, read_json
from shaketable.data.tables import NonNumeric, load_tables, make_table

DataLike: TypeAlias = "Dataset | tuple[Any, Any] | str | Path | Any"

_CLASSES = "(class)"
"""Column of the classes in the frame of a built-in table."""


def as_dataset(
    data: DataLike, *, test: DataLike | None = None, name: str = "data", argument: str = "data"
) -> Dataset:
    """`Dataset` from a Dataset, an (x, y) pair, or what `load` takes.

    `argument` names the data in errors.

    >>> as_dataset(([0.0, 1.0], ["a", "b"])).n, as_dataset("bands(n=50)").n
    (2, 50)
    """
    if isinstance(data, str | Path) and (test is None or isinstance(test, str | Path)):
        return load(data, test=test)
    if isinstance(data, str | Path) or isinstance(test, str | Path):
        raise InputError("data and test must both be files or both be in memory, got one of each")
    first, second = _read_object(data), _read_object(test)
    if second is not None:
        return _join(first, second, name)
    if isinstance(first, Dataset):
        return first
    return make_dataset(*check_pair(first, argument), name=name)


def _read_object(data: Any) -> Any:
    """`Dataset` from an object that a reader takes; everything else unchanged."""
    reader = None if data is None or isinstance(data, Dataset | tuple) else find_reader(data)
    return data if reader is None else reader.read(data, Options())


def load(
    source: Any,
    *,
    label: str | Sequence[str] | None = None,
    label_separator: str | None = None,
    test: Any = None,
    non_numeric: NonNumeric = "keep",
    scale: bool = False,
    drop_clashes: bool = False,
    by: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    types: Mapping[str, str] | None = None,
    points: int | None = None,
    part: Part = "test",
    seed: int = 0,
    class_index: str | Path | None = None,
) -> Dataset:
    """`Dataset` from a built-in name, a file, a folder, or an object of torch or Hugging Face.

    Parameters
    ----------
    source
        A built-in set, such as ``iris`` or ``bands(n=500, separation=0.02)``; or a file: ``.npz``
        with x and y, or x_train, y_train, x_test and y_test; ``.csv``, ``.csv.gz``, ``.parquet``;
        or a folder of images of one size, ``<class>/<file>.png`` (.jpg, .jpeg), optionally in the
        parts ``train`` and ``val`` or ``test``; or what a reader takes (`shaketable.data.readers`):
        idx files, CIFAR, Tiny ImageNet, data sets of torch and of Hugging Face.
    label
        Column of the classes, in tables; entry of the classes in CIFAR's batches. Where points have
        several labels: their columns, which hold 0 and 1.
    label_separator
        What stands between several labels in one column, such as ``";"``.
    test
        A second source that holds the fixed test part.
    non_numeric
        What to do with text columns of tables: ``keep`` keeps them as they are, and models get a
        data frame; ``error`` refuses them, ``drop`` drops them, ``onehot`` replaces each by one 0/1
        column per value, named column=value.
    scale
        Scale every feature to [0, 1].
    drop_clashes
        Drop the points that coincide with a point of another class.
    by
        Columns that rows are grouped by: results are reported for each group, as for each class.
    drop
        Columns of a table that are no features; rows can be grouped by them.
    types
        What columns of a table hold, by name: ``date``, ``text`` or ``category``. CSV files do not
        say it, so dates are text in them and text of digits is numbers.
    points, part, seed
        Take so many points, drawn with this seed, as `Dataset.sample` does: of the ``test`` or the
        ``train`` part if there is a fixed one.
    class_index
        File that names the classes of models in the order of their scores, such as Keras'
        ``imagenet_class_index.json``; the data may have some of them. Classes get its readable
        names.

    Returns
    -------
    Dataset
        The data, ready for every function of the package.

    Examples
    --------
    >>> float(load("iris", scale=True).x.max())
    1.0
    """
    if non_numeric not in get_args(NonNumeric):
        raise unknown_name("non_numeric", non_numeric, get_args(NonNumeric))
    columns, dropped = ([names] if isinstance(names, str) else list(names) for names in (by, drop))
    if label_separator is not None and label is None:
        raise InputError("label_separator needs label, the column whose texts it separates; add it")
    of_table = {
        "label_separator": label_separator,
        "non_numeric": non_numeric,
        "by": columns,
        "drop": dropped,
        "types": types,
    }
    is_table = False
    sample = None if points is None else Sample(points, seed, part)
    reader = find_reader(source)
    if not isinstance(source, str | Path) and reader is None:
        raise InputError(
            "source must be a file, a folder, the name of a built-in set, or a data set of torch "
            f"or Hugging Face, got {type(source).__name__}; for arrays use make_dataset"
        )
    if isinstance(source, str) and source.partition("(")[0].strip() in BUILTIN:
        if label is not None or test is not None:
            raise InputError(f"label and test are for files, not for the built-in set {source!r}")
        data, is_table = _build(source, of_table)
    elif reader is not None:
        if not isinstance(label, str | None):
            raise InputError(f"label must name one column or entry of {source!r}, got {label!r}")
        data = _read(reader, source, test, Options(label, sample))
    elif Path(source).is_dir():
        if label is not None or not (test is None or Path(test).is_dir()):
            raise InputError(
                f"{str(source)!r} is a folder of images: its classes are its subfolders, and its "
                "test part must be a folder, too; leave out label, and files as test"
            )
        data = load_folder(Path(source), None if test is None else Path(test), sample)
    else:
        paths = [find_file(path, BUILTIN) for path in (source, test) if path is not None]
        data, is_table = _load_files(paths, label, of_table)
    if not is_table:
        separators = [] if label_separator is None else [label_separator]
        unused = {"columns to drop": dropped, "columns with a type": types}
        _check_unused(source, {**unused, "separators of labels": separators})
        data = data.grouped(columns)
    index = None if class_index is None else read_class_index(Path(class_index))
    data = data if index is None else name_classes(data, index)
    if sample is not None and not data.sampled:
        data = data.sample(sample.points, seed=seed, part=part)
    data = data.drop_clashes() if drop_clashes else data
    return data.scaled() if scale else data


def _build(spec: str, of_table: Mapping[str, Any]) -> tuple[Dataset, bool]:
    """Built-in data, and whether they are a frame, to which the settings of tables apply."""
    data = build(spec)
    if data.schema is None:
        return data, False
    table = data.decode(data.x).assign(**{_CLASSES: data.labels})
    return make_table(table, _CLASSES, name=data.name, **of_table), True


def _load_files(
    paths: list[Path], label: str | Sequence[str] | None, of_table: Mapping[str, Any]
) -> tuple[Dataset, bool]:
    """Data of files, and whether these are tables, to which the settings of tables apply."""
    archives = [path for path in paths if path.suffix.lower() in (".npz", ".npy")]
    if archives and (label is not None or archives != paths):
        raise InputError(f"label and tables do not go with the file {str(archives[0])!r}")
    if archives:
        return _load_archives(paths), False
    return load_tables(paths, label, **of_table), True


def _check_unused(source: Any, settings: Mapping[str, Iterable[str] | None]) -> None:
    """Raise `InputError` for columns that are named for data that are no table."""
    for what, columns in settings.items():
        for column in columns or ():
            raise InputError(
                f"{what} are those of CSV and parquet files, got {column!r} for {source!r}"
            )


def _read(reader: DataReader, source: Any, test: Any, options: Options) -> Dataset:
    """Data of one source, or of two that are the training and the test part."""
    sources = [Path(s) if isinstance(s, str) else s for s in (source, test) if s is not None]
    if len(sources) == 1:
        return reader.read(sources[0], options)
    if not reader.takes(sources[1]):
        raise InputError(f"test must be of the same kind as data, {reader.help}, got {test!r:.80}")
    first, second = (reader.read(each, replace(options, sample=None)) for each in sources)
    if first.n_train is not None or second.n_train is not None:
        raise InputError(f"test must be left out: {first.name!r} or it has a test part already")
    return _join(first, second, name_parts(first.name, second.name))


def _join(first: Any, second: Any, name: str) -> Dataset:
    """Join two parts; classes that both declare are kept, though no point may be of them."""
    declared = isinstance(first, Dataset) and isinstance(second, Dataset)
    classes = first.classes if declared and first.classes == second.classes else None
    return join(first, second, name=name, classes=classes)


def _load_archives(paths: list[Path]) -> Dataset:
    """Data set from .npz and .npy files: one part, or the training and the test part."""
    pairs = [pair for path in paths for pair in _read_archive(path)]
    if len(pairs) == 1:
        return make_dataset(*pairs[0], name=paths[0].name)
    if len(pairs) > 2:
        raise InputError(f"test must be left out: {str(paths[0])!r} or it has a test part already")
    return join(*pairs, name=name_parts(*(path.name for path in paths)))


def _read_archive(path: Path) -> list[tuple[Array, Array]]:
    """One (x, y) pair, or those of the training and the test part."""
    if path.suffix.lower() == ".npy":
        return [_read_set(path)]
    key = {name.lower(): name for name in list_npz(path)}
    for names in (["x_train", "y_train", "x_test", "y_test"], ["x", "y"]):
        if key.keys() >= set(names):
            x, y, *rest = [read_npz(path, key[name]) for name in names]
            return [(x, y), (rest[0], rest[1])] if rest else [(x, y)]
    raise InputError(
        "an .npz file must hold x and y, or x_train, y_train, x_test and y_test, "
        f"but {str(path)!r} holds: {', '.join(key.values()) or 'nothing'}"
    )


def _read_set(path: Path) -> tuple[Array, Array]:
    """Points, which stay on disk until they are used, and the labels in ``labels.npy`` beside them.

    Codes that `write_suite` has written become the labels that its manifest names.
    """
    beside, manifest = path.with_name("labels.npy"), path.with_name("manifest.json")
    if not beside.is_file():
        raise InputError(
            f"an .npy file holds points without labels; put labels.npy beside {str(path)!r}, or "
            "save x and y as an .npz file"
        )
    x, y = map_npy(path), read_npy(beside)
    classes = _read_classes(manifest) if manifest.is_file() else []
    if not classes or y.dtype.kind != "u":
        return x, y
    if y.size and y.max() >= len(classes):
        raise InputError(
            f"file {str(beside)!r} holds the code {y.max()}, and {manifest.name} beside it names "
            f"{len(classes)} classes; restore both files"
        )
    return x, np.array(classes, dtype=object)[y]


def _read_classes(manifest: Path) -> list[Any]:
    """Labels that the codes in ``labels.npy`` stand for; none if the manifest names none."""
    about = read_json(manifest)
    classes = about.get("classes", []) if isinstance(about, dict) else None
    listed = isinstance(classes, list) and all(isinstance(c, str | int | float) for c in classes)
    if classes is not None and listed and len(set(classes)) == len(classes):
        return list(classes)
    raise InputError(
        f"file {str(manifest)!r} must name the classes as a list of different texts or numbers; "
        "restore it, or remove it if the labels are no codes"
    )

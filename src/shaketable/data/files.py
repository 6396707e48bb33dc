"""Data sets from files and built-in names."""

from __future__ import annotations

import json
import math
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data import builtin as datasets
from shaketable.data.arrays import check_columns, join, make_dataset, own_units, pair, text_columns
from shaketable.data.dataset import Dataset
from shaketable.data.folders import load_folder

if TYPE_CHECKING:
    from pandas import DataFrame, Series

DataLike: TypeAlias = "Dataset | tuple[Any, Any] | str | Path"
NonNumeric: TypeAlias = Literal["error", "drop", "onehot"]

_MISSING = ["", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"]
_SUFFIXES = (".npz", ".npy", ".csv", ".csv.gz", ".parquet")
_UNREADABLE = (OSError, ValueError, EOFError, NotImplementedError, Warning, zipfile.BadZipFile,
               zlib.error)  # fmt: skip


def as_dataset(data: DataLike, *, test: DataLike | None = None, name: str = "data") -> Dataset:
    """`Dataset` from whatever users hold: one already, an (x, y) pair, a file or a built-in name.

    >>> as_dataset(([0.0, 1.0], ["a", "b"])).n, as_dataset("bands(n=50)").n
    (2, 50)
    """
    if isinstance(data, str | Path) and (test is None or isinstance(test, str | Path)):
        return load(data, test=test)
    if isinstance(data, str | Path) or isinstance(test, str | Path):
        raise InputError("data and test must both be files or both be in memory, got one of each")
    if test is not None:
        return join(own_units(data), own_units(test), name=name)
    if isinstance(data, Dataset):
        return data
    return make_dataset(*pair(own_units(data), "data"), name=name)


def load(
    source: str | Path,
    *,
    label: str | None = None,
    test: str | Path | None = None,
    non_numeric: NonNumeric = "error",
    scale: bool = False,
    drop_clashes: bool = False,
) -> Dataset:
    """`Dataset` from a built-in name, a file or a folder of pictures.

    Parameters
    ----------
    source
        A built-in set, such as ``iris`` or ``bands(n=500, separation=0.02)``; or a file: ``.npz``
        with x and y, or x_train, y_train, x_test and y_test; ``.csv``, ``.csv.gz``, ``.parquet``;
        or a folder of pictures of one size, ``<class>/<file>.png`` (.jpg, .jpeg), maybe in the
        parts ``train`` and ``val`` or ``test``.
    label
        Column of the classes, in tables.
    test
        A second file, or folder, that holds the fixed test part.
    non_numeric
        Text columns of tables are an ``error``, or ``drop`` them, or turn them into one 0/1 column
        a value (``onehot``), named column=value.
    scale
        Put every feature on [0, 1].
    drop_clashes
        Drop the points that coincide with a point of another class.

    >>> float(load("iris", scale=True).x.max())
    1.0
    """
    if non_numeric not in get_args(NonNumeric):
        raise unknown_name("non_numeric", non_numeric, get_args(NonNumeric))
    if isinstance(source, str) and source.partition("(")[0].strip() in datasets.BUILTIN:
        if label is not None or test is not None:
            raise InputError(f"label and test are for files, not for the built-in set {source!r}")
        data = datasets.build(source)
    elif Path(source).is_dir():
        if label is not None or not (test is None or Path(test).is_dir()):
            raise InputError(
                f"{str(source)!r} is a folder of pictures, whose classes are subfolders and whose "
                "test part is a folder, too; leave out label, and files as test"
            )
        data = load_folder(Path(source), None if test is None else Path(test))
    else:
        paths = [source_file(path, datasets.BUILTIN) for path in (source, test) if path is not None]
        archives = [path for path in paths if path.suffix.lower() in (".npz", ".npy")]
        if archives and (label is not None or archives != paths):
            raise InputError(f"label and tables do not go with the file {str(archives[0])!r}")
        data = _load_npz(paths) if archives else _load_tables(paths, label, non_numeric)
    data = data.drop_clashes() if drop_clashes else data
    return data.scaled() if scale else data


def source_file(source: str | Path, builtin: Iterable[str]) -> Path:
    """Path of a file that is there, has a known suffix and is not empty."""
    path = Path(source)
    known = path.name.lower().endswith(_SUFFIXES)
    if not path.exists() and not known:
        name = str(source).partition("(")[0].strip()
        raise InputError(
            "data must be a file or a built-in set, and this is neither: "
            f"{unknown_name('built-in set', name, builtin)}"
        )
    if not path.exists():
        raise InputError(f"file {str(path)!r} does not exist; check its path")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give a file: {', '.join(_SUFFIXES)}")
    if not known:
        raise InputError(f"file {str(path)!r} must end in one of {', '.join(_SUFFIXES)}")
    if path.stat().st_size == 0:
        raise InputError(f"file {str(path)!r} is empty")
    return path


def _load_npz(paths: list[Path]) -> Dataset:
    pairs = [pair for path in paths for pair in _read_npz(path)]
    if len(pairs) == 1:
        return make_dataset(*pairs[0], name=paths[0].name)
    if len(pairs) > 2:
        raise InputError(f"test must be left out: {str(paths[0])!r} or it has a test part already")
    return join(*pairs, name=paths[0].name)


def _read_npz(path: Path) -> list[tuple[Array, Array]]:
    """One (x, y) pair, or those of the training and the test part."""
    if path.suffix.lower() == ".npy":
        return [_read_set(path)]
    with _reading(path), zipfile.ZipFile(path), np.load(path, allow_pickle=False) as archive:
        key = {name.lower(): name for name in archive.files}
        for names in (["x_train", "y_train", "x_test", "y_test"], ["x", "y"]):
            if key.keys() >= set(names):
                x, y, *rest = [archive[key[name]] for name in names]
                return [(x, y), (rest[0], rest[1])] if rest else [(x, y)]
    raise InputError(
        "an .npz file must hold x and y, or x_train, y_train, x_test and y_test, "
        f"but {str(path)!r} holds: {', '.join(key.values()) or 'nothing'}"
    )


def _read_set(path: Path) -> tuple[Array, Array]:
    """Return an array that `write_suite` has written, and its labels from beside it."""
    beside, manifest = path.with_name("labels.npy"), path.with_name("manifest.json")
    if not beside.is_file():
        raise InputError(
            f"an .npy file holds points without labels; put labels.npy beside {str(path)!r}, or "
            "save x and y as an .npz file"
        )
    with _reading(path):
        x, y = np.load(path, allow_pickle=False), np.load(beside, allow_pickle=False)
        about = json.loads(manifest.read_text()) if manifest.is_file() else {}
        classes = np.array(about.get("classes", []))
        return x, classes[y] if y.dtype.kind == "u" and y.max(initial=0) < len(classes) else y


def _load_tables(paths: list[Path], label: str | None, non_numeric: NonNumeric) -> Dataset:
    import pandas as pd  # slow to import, and needed only here

    tables = [read_table(path, label) for path in paths]
    columns = list(tables[0].columns)
    refuse_odd_columns(paths[0], columns)
    if label is None:
        raise InputError(
            f"label must name the column of the classes in {str(paths[0])!r}; "
            f"its columns: {', '.join(columns)}"
        )
    if label not in columns:
        raise unknown_name("label column", label, columns)
    for table in tables[1:]:
        check_columns(columns, list(table.columns))
    table = pd.concat(tables, ignore_index=True)
    y = _typed(table.pop(label))
    words = text_columns(table)
    if words and non_numeric == "error":
        raise InputError(
            f"columns must be numeric, got others in {str(paths[0])!r}: {', '.join(words)}; "
            "choose 'drop' or 'onehot' (--non-numeric, non_numeric=)"
        )
    table = table.drop(columns=words) if non_numeric == "drop" else _onehot(table, words)
    n_train = len(tables[0]) if len(tables) > 1 else None
    return make_dataset(table, y, name=paths[0].name, n_train=n_train)


def read_table(path: Path, label: str | None) -> DataFrame:
    """Read a file as a frame, the column `label` as text."""
    import pandas as pd  # slow to import, and needed only here

    with _reading(path), warnings.catch_warnings():
        # a row with more values than the header has names would shift the columns
        warnings.simplefilter("error", pd.errors.ParserWarning)
        if path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path, engine="pyarrow")
        else:
            columns = pd.read_csv(path, index_col=False, nrows=0).columns
            # labels as text: a class may be called NA, and two parts must be read alike
            table = pd.read_csv(
                path,
                index_col=False,
                low_memory=False,
                dtype={label: str} if label in columns else None,
                keep_default_na=False,
                na_values={column: _MISSING for column in columns if column != label},
            )
    if table.empty:
        raise InputError(f"file {str(path)!r} holds no rows")
    return table.set_axis([str(column) for column in table.columns], axis=1)


def refuse_odd_columns(path: Path, columns: list[str]) -> None:
    """Refuse columns that were not told apart, or have no names of their own."""
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        raise InputError(
            f"file {str(path)!r} must be separated by commas, but its header reads {columns[0]!r}"
        )
    if unnamed := [column for column in columns if column.startswith("Unnamed: ")]:
        raise InputError(
            f"file {str(path)!r} has a column without a name ({unnamed[0]}), such as a row index; "
            "leave it out (pandas: to_csv(index=False)) or name it"
        )


def _typed(labels: Series[Any]) -> Series[Any]:
    """Labels that were read as text, as numbers or booleans where all of them are."""
    if labels.dtype != object and not isinstance(labels.iloc[0], str):
        return labels
    if (labels == "").any():
        return labels.replace({"": math.nan})
    for kind in (int, float, {"True": True, "False": False}.__getitem__):
        try:
            return labels.map(kind).astype(object)
        except (ValueError, KeyError, TypeError):
            continue
    return labels


def _onehot(table: DataFrame, columns: list[str]) -> DataFrame:
    """Table with 0/1 columns, one a value in sorted order, in the place of the text columns."""
    import pandas as pd  # slow to import, and needed only here

    found = {}
    for column in table:
        values = table[column]
        if column not in columns:
            found[column] = values
            continue
        if values.isna().any():
            raise InputError(
                f"column {column!r} has no value in row {int(values.isna().argmax())} (from 0); "
                "drop or fill such rows"
            )
        values = values.astype(str)
        found |= {f"{column}={value}": values == value for value in sorted(set(values))}
    return pd.DataFrame(found, index=table.index)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or forbidden file makes a reader say into one line."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"file {str(path)!r} needs pyarrow; pip install 'shaketable[parquet]'"
        ) from error
    except _UNREADABLE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if "Object arrays" in reason:
            reason = "it holds Python objects; save x as numbers and y for example as y.astype(str)"
        raise InputError(f"file {str(path)!r} cannot be read: {reason}") from error

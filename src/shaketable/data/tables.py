"""Data sets from tables: CSV and parquet files, one point per row, one column with the classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shaketable.core.checks import quote, unknown_name
from shaketable.core.errors import InputError, describe_error, either
from shaketable.core.spec import split_names
from shaketable.core.writing import restore_text, restore_texts
from shaketable.data.arrays import (
    check_columns,
    check_no_gaps,
    find_text_columns,
    make_dataset,
)
from shaketable.data.dataset import Dataset
from shaketable.data.groupings import make_grouping
from shaketable.data.label_sets import split_cells
from shaketable.data.sources import explain_read_errors, name_parts

if TYPE_CHECKING:
    from pandas import DataFrame, Series


NonNumeric: TypeAlias = Literal["keep", "error", "drop", "onehot"]

# as pandas reads them, from which models were fitted
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"]
_MISSING += ["null", "NULL", "None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"]
_BOOLEANS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False}
_BOOLEANS |= {"false": False}


def load_tables(
    paths: list[Path],
    label: str | Sequence[str] | None,
    non_numeric: NonNumeric,
    *,
    label_separator: str | None = None,
    by: Sequence[str] = (),
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
) -> Dataset:
    """Load one table, or the tables of the training and the test part.

    `label` names the column of the classes, or several columns with one label each, and
    `label_separator` separates several labels in one column; `by` names columns that rows are
    grouped by, `drop` columns that are no features; `non_numeric` says what to do with text
    columns, `types` which columns hold dates, text or categories.
    """
    import pandas as pd  # slow to import, and needed only here

    types = check_types(types or {})
    tables = [read_table(path, label, types) for path in paths]
    columns = list(tables[0].columns)
    check_column_names(paths[0], columns)
    if label is None:
        raise InputError(
            f"label must name the column of the classes in {str(paths[0])!r}; "
            f"its columns: {', '.join(map(quote, columns))}"
        )
    for name in find_label_columns(label, columns):
        if name not in columns:
            raise unknown_name("label column", name, columns)
    for table in tables[1:]:
        check_columns(columns, list(table.columns))
    return make_table(
        pd.concat(tables, ignore_index=True),
        label,
        non_numeric,
        label_separator=label_separator,
        by=by,
        drop=drop,
        types=types,
        name=name_parts(*(path.name for path in paths)),
        n_train=len(tables[0]) if len(tables) > 1 else None,
    )


def make_table(
    table: DataFrame,
    label: str | Sequence[str],
    non_numeric: NonNumeric = "keep",
    *,
    label_separator: str | None = None,
    by: Sequence[str] = (),
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    name: str,
    n_train: int | None = None,
) -> Dataset:
    """Make a data set of a frame in which the column `label` holds the classes.

    Other arguments are those of `load_tables`.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 50], "job": ["cook", None], "paid": ["yes", "no"]})
    >>> make_table(frame, "paid", drop=["age"], name="tiny").features
    ('job',)
    """
    types = check_types(types or {})
    labels = find_label_columns(label, [*map(str, table.columns)])
    for column in (*by, *drop, *types):
        _check_no_label(table, column, labels)
    table = convert_columns(table, types)
    groupings = tuple(make_grouping(column, table[column]) for column in by)
    y, names = _read_classes(table[labels], label_separator)
    table = table.drop(columns=labels)
    table = table.drop(columns=list(drop))
    text_columns = find_text_columns(table)
    if text_columns and non_numeric == "error":
        raise InputError(
            f"columns must be numeric, got others in {name!r}: {', '.join(text_columns)}; choose "
            f"'drop' or 'onehot' ({either('--non-numeric', 'non_numeric=')})"
        )
    if non_numeric == "drop":
        table = table.drop(columns=text_columns)
    elif non_numeric == "onehot":
        table = _encode_one_hot(table, text_columns)
    if non_numeric != "keep":
        table = table.astype(dict.fromkeys(table.select_dtypes(bool).columns, float))
    data = make_dataset(table, y, name=name, n_train=n_train, label_names=names)
    return replace(data, groupings=groupings)


def find_label_columns(label: str | Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that hold labels: one that is called so, or several with commas between.

    >>> find_label_columns("sea,sun", ["x", "sea", "sun"]), find_label_columns("a,b", ["a,b", "x"])
    (['sea', 'sun'], ['a,b'])
    """
    if not isinstance(label, str):
        return list(label)
    return [label] if label in columns or "," not in label else list(split_names(label))


def _read_classes(table: DataFrame, separator: str | None) -> tuple[Any, tuple[str, ...] | None]:
    """Label of every row, or several, and then their names."""
    names = tuple(map(str, table.columns))
    if separator is not None:
        if len(names) > 1:
            raise InputError(
                f"label_separator is for labels in one column, got {len(names)} columns; leave it "
                "out"
            )
        cells = table[names[0]]
        return split_cells(cells.astype(object).where(cells.notna(), "").tolist(), separator)
    columns = {name: _parse_labels(table[name]) for name in names}
    for name, values in columns.items():
        check_no_gaps(values.isna().tolist(), f"column {name!r}")
        if len(names) > 1 and (odd := [v for v in values if v not in (0, 1)]):
            raise InputError(
                f"column {name!r} must hold 0 and 1, as one of several labels, got {odd[0]!r}; "
                "name one column of classes, or columns of 0 and 1"
            )
    if len(names) == 1:
        return columns[names[0]], None
    return table.assign(**columns).astype(int), names


def _check_no_label(table: DataFrame, column: str, labels: Sequence[str]) -> None:
    """Raise an `InputError` for a column that is not there or holds the classes."""
    if column in labels:
        raise InputError(
            f"column {column!r} holds the classes, which are always groups and no feature; leave "
            "it out"
        )
    if column not in table:
        raise unknown_name("column", column, {*map(str, table.columns)} - {*labels})


def read_table(
    path: Path, label: str | Sequence[str] | None, types: Mapping[str, str] | None = None
) -> DataFrame:
    """Read a file as a data frame, the columns `label` and those of type text as text."""
    import pandas as pd  # slow to import, and needed only here

    with explain_read_errors(path), warnings.catch_warnings():
        # a row with more values than the header has names would shift the columns
        warnings.simplefilter("error", pd.errors.ParserWarning)
        if path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path, engine="pyarrow")
        else:
            columns = pd.read_csv(path, index_col=False, nrows=0).columns
            known = [restore_text(str(column)) for column in columns]
            named = [] if label is None else find_label_columns(label, known)
            labels = [column for column in columns if restore_text(str(column)) in named]
            texts = [c for c in columns if (types or {}).get(restore_text(str(c))) == "text"]
            # labels as text: a class may be called NA, and both parts must be read alike
            table = pd.read_csv(
                path,
                index_col=False,
                low_memory=False,
                dtype=dict.fromkeys([*labels, *texts], str),
                keep_default_na=False,
                na_values={column: _MISSING for column in columns if column not in labels},
                **_read_exactly(pd.__version__),
            )
            table = restore_texts(table)
    if table.empty:
        raise InputError(f"file {str(path)!r} holds no rows")
    return table.set_axis([str(column) for column in table.columns], axis=1)


def _read_exactly(version: str) -> dict[str, Any]:
    """Options of pandas with which every number is the float nearest to its digits.

    >>> _read_exactly("3.0.6"), _read_exactly("3.1.0")  # the latter does so anyway
    ({'float_precision': 'round_trip'}, {})
    """
    old = tuple(map(int, version.split(".")[:2])) < (3, 1)
    return {"float_precision": "round_trip"} if old else {}


def check_column_names(path: Path, columns: list[str]) -> None:
    """Refuse a header that is not separated by commas, and columns without a name."""
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        raise InputError(
            f"file {str(path)!r} must be separated by commas, but its header reads {columns[0]!r}"
        )
    for i, column in enumerate(columns):
        if column.strip() and not column.startswith("Unnamed: "):
            continue
        raise InputError(
            f"file {str(path)!r} has a column without a name, column {i} (from 0), such as a row "
            "index; leave it out (pandas: to_csv(index=False)) or name it"
        )


def _parse_labels(labels: Series[Any]) -> Series[Any]:
    """Labels that were read as text, as numbers or booleans if all of them are."""
    if labels.dtype != object and not isinstance(labels.iloc[0], str):
        return labels
    if (labels == "").any():
        return labels.replace({"": math.nan})
    for kind in (int, float, _BOOLEANS.__getitem__):
        try:
            return labels.map(kind).astype(object)
        except (ValueError, KeyError, TypeError):
            continue
    return labels


def _encode_one_hot(table: DataFrame, text_columns: list[str]) -> DataFrame:
    """Table with every text column replaced by 0/1 columns, one per value, values sorted."""
    import pandas as pd  # slow to import, and needed only here

    encoded = {}
    for column in table:
        values = table[column]
        if column not in text_columns:
            encoded[column] = values
            continue
        if values.isna().any():
            raise InputError(
                f"column {column!r} has no value in row {int(values.isna().argmax())} (from 0); "
                "drop or fill such rows, or keep text as it is ("
                + either("--non-numeric keep", "non_numeric='keep'")
                + "), which built-in models take"
            )
        if (odd := values.map(lambda value: isinstance(value, bytes))).any():
            raise InputError(
                f"column {column!r} must hold text, got bytes in row {int(odd.argmax())} (from 0); "
                "write it as text, or drop it"
            )
        values = values.astype(str)
        encoded |= {f"{column}={value}": values == value for value in sorted(set(values))}
    return pd.DataFrame(encoded, index=table.index)


TYPES = ("date", "text", "category")
"""Types that a column can be declared to have."""


def check_types(types: Mapping[str, str]) -> dict[str, str]:
    """Return the types by column; raise an `InputError` for an unknown one."""
    for kind in types.values():
        if kind not in TYPES:
            raise unknown_name("type of a column", kind, TYPES)
    return dict(types)


def convert_columns(table: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Return a table whose columns have the types that were declared.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"day": ["2024-02-29", None], "zip": [12, 7]})
    >>> [dtype.kind for dtype in convert_columns(table, {"day": "date", "zip": "text"}).dtypes]
    ['M', 'O']
    """
    converters = {"date": _read_dates, "text": _as_text, "category": _as_category}
    return table.assign(**{name: converters[kind](table[name]) for name, kind in types.items()})


def _read_dates(values: Series[Any]) -> Series[Any]:
    """Dates of one format; those of several time zones become those of UTC."""
    import pandas as pd  # slow to import

    if values.dtype.kind == "M":
        return values
    if values.dtype.kind in "biuf" and values.notna().any():
        raise InputError(
            f"column {values.name!r} must hold dates, such as 2024-12-31, got {values.iloc[0]!r}; "
            "write them as dates, or name another column"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # several time zones, several formats
        for utc in (False, True):
            try:
                return pd.to_datetime(values, utc=utc)
            except (ValueError, TypeError, Warning) as error:
                reason = describe_error(error)
    raise InputError(
        f"column {values.name!r} must hold dates of one format, such as 2024-12-31: {reason}"
    )


def _as_text(values: Series[Any]) -> Series[Any]:
    return values.map(str, na_action="ignore")


def _as_category(values: Series[Any]) -> Series[Any]:
    return values.astype("category")

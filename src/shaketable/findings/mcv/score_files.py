"""Scores of models from files: one row a model, one column a condition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray
from shaketable.data.arrays import find_text_columns
from shaketable.data.sources import find_file
from shaketable.data.tables import check_column_names, read_table
from shaketable.findings.mcv.variation import Variation

if TYPE_CHECKING:
    from pandas import DataFrame

_SUFFIXES = (".csv", ".csv.gz", ".parquet")


def read_scores(
    path: str | Path,
    *,
    model: str | None = None,
    clean: str | None = None,
    conditions: Sequence[str] | None = None,
) -> tuple[Variation, ...]:
    r"""Scores of models from a ``.csv``, ``.csv.gz`` or ``.parquet`` file, in their own units.

    Parameters
    ----------
    path
        A table with one row a model and one column a condition; or with three columns, the model,
        the condition and the score. Nothing may be missing.
    model
        Column of the models' names; by default the first, if it is not one of numbers.
    clean
        Column of the clean condition, which counts among the conditions; by default the one that is
        called ``clean``, in small or capital letters, if there is one.
    conditions
        Columns of scores; by default all but the names.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "scores.csv")
    ...     _ = file.write_text("model,Clean,rain\nnet,0.9,0.7\nrf,0.8,0.8\n")
    ...     [(v.label, v.scores, v.clean) for v in read_scores(file)]
    [('net', {'Clean': 0.9, 'rain': 0.7}, 0.9), ('rf', {'Clean': 0.8, 'rain': 0.8}, 0.8)]
    """
    if not str(path).lower().endswith(_SUFFIXES):
        raise InputError(
            f"scores must be a table that ends in {', '.join(_SUFFIXES)}, got {str(path)!r}"
        )
    file = find_file(path, ())
    table = read_table(file, model)
    columns = list(table.columns)
    # an index that pandas has written has no name: the models'
    check_column_names(file, columns[columns[0] == "Unnamed: 0" :])
    if model is None:
        model = _column_of_names(file, table)
        table = read_table(file, model)  # once more, names as text: one may be called NA
    if model not in columns:
        raise unknown_name("model column", model, columns)
    if (long := _long(table, model)) is not None:
        table = long
    names = _names(table, model)
    there = [column for column in map(str, table.columns) if column != model]
    chosen = there if conditions is None else list(conditions)
    for name in chosen:
        if name not in there:
            raise unknown_name("condition", name, there)
    if not chosen:
        raise InputError(
            f"file {str(file)!r} must have a column of scores beside {model!r}, got none; add one "
            "column a condition"
        )
    scores = np.column_stack([_numbers(table, column, names) for column in chosen])
    clean = _clean_column(chosen, clean)
    rows = (dict(zip(chosen, map(float, row), strict=True)) for row in scores)
    return tuple(
        Variation(name, row, clean=None if clean is None else row[clean])
        for name, row in zip(names, rows, strict=True)
    )


def _long(table: DataFrame, model: str) -> DataFrame | None:
    """Return a table of model, condition and score as one with a column a condition."""
    columns, words = list(map(str, table.columns)), find_text_columns(table)
    others = [column for column in columns if column != model]
    if len(columns) != 3 or len(named := [c for c in others if c in words]) != 1:
        return None
    (score,) = set(others) - set(named)
    if (twice := table.duplicated([model, named[0]])).any():
        pair = table[twice][[model, named[0]]].iloc[0].tolist()
        raise InputError(
            f"a table of model, condition and score must have every pair once, got {pair} twice; "
            "average them"
        )
    order = list(dict.fromkeys(table[named[0]]))
    rows = list(dict.fromkeys(table[model]))
    wide = table.pivot(index=model, columns=named[0], values=score).loc[rows, order]
    return wide.reset_index()


def _column_of_names(file: Path, table: DataFrame) -> str:
    words, first = find_text_columns(table), str(table.columns[0])
    if first in words:
        return first
    remedy = (
        f"give model={words[0]!r} (--names)" if words else "add a column with the models' names"
    )
    raise InputError(
        f"model must name the column of the models in {str(file)!r}, since the first one, "
        f"{first!r}, holds numbers; {remedy}, or the name of a column"
    )


def _names(table: DataFrame, model: str) -> list[str]:
    column = table[model]
    if (empty := np.flatnonzero(column.isna() | (column == ""))).size:
        raise InputError(
            f"column {model!r} must name every model, got none in row {empty[0]} (from 0); fill it"
        )
    names = [str(name) for name in column]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"column {model!r} must name every model once, got {name!r} {names.count(name)} "
                "times; rename them, or average their rows"
            )
    return names


def _numbers(table: DataFrame, column: str, names: list[str]) -> FloatArray:
    import pandas as pd  # slow to import, and needed only here

    given = table[column]
    if given.dtype.kind == "b":
        raise InputError(f"column {column!r} must hold numbers, got True and False; drop it")
    numbers = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        value = given.iloc[wrong[0]]
        got = "no value" if pd.isna(value) else repr(value)
        raise InputError(
            f"column {column!r} must hold a finite number for every model, got {got} for "
            f"{names[wrong[0]]!r}; fill it in, or drop the column or the row"
        )
    return np.asarray(numbers)


def _clean_column(conditions: list[str], clean: str | None) -> str | None:
    if clean is not None and clean not in conditions:
        raise unknown_name("clean column", clean, conditions)
    called = [column for column in conditions if column.lower() == "clean"]
    if clean is None and len(called) > 1:
        raise InputError(
            f"clean must name the column of the clean condition, got several: {', '.join(called)}; "
            f"give clean={called[0]!r} (--clean)"
        )
    return clean or (called[0] if called else None)

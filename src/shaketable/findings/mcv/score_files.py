"""Scores of models from files: one row per model, one column per condition, or summaries."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.checks import list_names, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.types import FloatArray
from shaketable.data.arrays import find_text_columns
from shaketable.data.sources import find_file
from shaketable.data.tables import check_column_names, read_table
from shaketable.findings.mcv.variation import Row, Summary, Variation

if TYPE_CHECKING:
    from pandas import DataFrame

ENDINGS = (".csv", ".csv.gz", ".parquet")
"""Endings of tables of scores."""

_SUMMARIES = {
    "cv": ("cv", "cov", "coeff variation", "coefficient variation"),
    "mean": ("mean", "average", "avg"),
    "least": ("min", "minimum", "lowest", "least"),
    "most": ("max", "maximum", "highest", "most"),
    "": (
        *("std", "stdev", "stddev", "std dev", "st dev", "sd", "standard deviation", "sigma"),
        *("variance", "var", "median", "range", "group", "rank", "worst", "best", "overall"),
    ),
}
"""Headings of columns that hold a summary of scores, by what `Summary` calls it."""
_DECORATIONS = {
    *("acc", "accu", "accuracy", "accuracies", "err", "error", "score", "scores", "value"),
    *("all", "images", "test", "of", "the", "per", "cent", "percent", "pct"),
}


def read_scores(
    path: str | Path,
    *,
    model: str | None = None,
    clean: str | None = None,
    conditions: Sequence[str] | None = None,
) -> tuple[Row, ...]:
    r"""Read the scores of models from a ``.csv``, ``.csv.gz`` or ``.parquet`` file.

    Scores keep the units of the file.

    Parameters
    ----------
    path
        A table with one row per model and one column per condition; or with three columns: model,
        condition and score; or with summaries in place of the scores, as papers print them: CV in
        per cent, mean, min and max. No value may be missing.
    model
        Column with the models' names; by default the first, unless it holds numbers. If the first
        two hold text, such as network and training set, models are named ``network(training set)``.
    clean
        Column of the clean condition, which counts as a condition; by default the column named
        ``clean``, in upper or lower case, if there is one.
    conditions
        Columns with scores; by default all except the names. Columns such as mean and CV beside
        columns of scores are refused unless these are named here.

    Returns
    -------
    tuple[Row, ...]
        One row per model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "scores.csv")
    ...     _ = file.write_text("model,Clean,rain\nnet,0.9,0.7\nrf,0.8,0.8\n")
    ...     [(v.label, v.scores, v.clean) for v in read_scores(file)]
    [('net', {'Clean': 0.9, 'rain': 0.7}, 0.9), ('rf', {'Clean': 0.8, 'rain': 0.8}, 0.8)]
    """
    if not str(path).lower().endswith(ENDINGS):
        raise InputError(
            f"scores must be a table that ends in {', '.join(ENDINGS)}, got {str(path)!r}"
        )
    file = find_file(path, ())
    table = read_table(file, model)
    columns = list(table.columns)
    # a data frame's index is written without a column name; here it holds the models' names
    check_column_names(file, columns[columns[0] == "Unnamed: 0" :])
    training = None
    if model is None:
        model, training = _find_name_columns(file, table)
        table = read_table(file, model)  # again with names as text: a model may be called NA
    if model not in columns:
        raise unknown_name("model column", model, columns)
    _check_names(table, model, "model")
    if training is not None:
        _check_names(table, training, "training set")
        table[model] = [f"{a}({b})" for a, b in zip(table[model], table[training], strict=True)]
        table = table.drop(columns=training)
    table = _widen(table, model)
    names = _read_names(table, model)
    available = [column for column in map(str, table.columns) if column != model]
    chosen = available if conditions is None else list(conditions)
    for name in chosen:
        if name not in available:
            raise unknown_name("condition", name, available)
    if not chosen:
        raise InputError(
            f"file {str(file)!r} must have a column of scores beside {model!r}, got none; add one "
            "column per condition"
        )
    clean = _find_clean_column(chosen, clean)
    if conditions is None and (summaries := _find_summaries(file, chosen, clean)):
        numbers = {
            field: map(float, _read_numbers(table, column, names))
            for field, column in summaries.items()
        }
        values = zip(*numbers.values(), strict=True)
        return tuple(
            Summary(name, **dict(zip(numbers, row, strict=True)))
            for name, row in zip(names, values, strict=True)
        )
    scores = np.column_stack([_read_numbers(table, column, names) for column in chosen])
    rows = (dict(zip(chosen, map(float, row), strict=True)) for row in scores)
    return tuple(
        Variation(name, row, clean=None if clean is None else row[clean])
        for name, row in zip(names, rows, strict=True)
    )


def _find_summaries(file: Path, columns: list[str], clean: str | None) -> dict[str, str]:
    """Return the column of every field of a `Summary`; nothing if the columns are conditions."""
    fields = {
        column: next((f for f, words in _SUMMARIES.items() if _simplify(column) in words), None)
        for column in columns
    }
    fields |= {clean: "clean"} if clean is not None else {}
    summaries = [c for c in columns if fields[c] not in (None, "clean")]
    others = [c for c in columns if fields[c] is None]
    if not summaries:
        return {}
    names = [field for field in fields.values() if field]
    if others or len(names) != len(set(names)) or not {"cv", "mean", "least", "most"} <= {*names}:
        scores = [*([clean] if clean is not None else []), *others]
        few = scores[:3] or ["a", "b"]
        remedy = either(f"--conditions {shlex.quote(','.join(few))},…", f"conditions={few}")
        raise InputError(
            f"columns of {str(file)!r} must be conditions, got summaries of scores: "
            f"{list_names(summaries)}; leave them out, name the columns with scores by {remedy}, "
            "or give summaries alone: CV in per cent, mean, min and max, once each"
        )
    return {field: column for column, field in fields.items() if field}


def _simplify(heading: str) -> str:
    """Return the words of a heading that say what it is about, in lower case.

    >>> _simplify("Min Accu(all images) (%)")
    'min'
    """
    words = re.findall(r"[^\W_]+", heading.lower())
    return " ".join(word for word in words if word not in _DECORATIONS)


def _widen(table: DataFrame, model: str) -> DataFrame:
    """Turn a table of model, condition and score into one with one column per condition."""
    columns, texts = list(map(str, table.columns)), find_text_columns(table)
    others = [column for column in columns if column != model]
    if len(columns) != 3 or sum(column in texts for column in others) != 1:
        return table
    score, condition = sorted(others, key=lambda column: column in texts)
    _check_names(table, condition, "condition")
    if (twice := table.duplicated([model, condition])).any():
        pair = table[twice][[model, condition]].iloc[0].tolist()
        raise InputError(
            f"a table of model, condition and score must have every pair once, got {pair} twice; "
            "average them"
        )
    order = list(dict.fromkeys(table[condition]))
    rows = list(dict.fromkeys(table[model]))
    wide = table.pivot(index=model, columns=condition, values=score).loc[rows, order]
    return wide.reset_index()


def _find_name_columns(file: Path, table: DataFrame) -> tuple[str, str | None]:
    """Return the column of the models' names, and of their training sets if it is the second."""
    import pandas as pd  # slow to import, and needed only here

    texts, (first, *others) = find_text_columns(table), map(str, table.columns)
    if first in texts:
        # three columns are model, condition and score; a number among texts is a mistyped score
        is_second = len(others) > 2 and others[0] in texts
        if is_second and pd.to_numeric(table[others[0]], errors="coerce").isna().all():
            return first, others[0]
        return first, None
    remedy = (
        f"give {either('--names ', 'model=')}{texts[0]!r}"
        if texts
        else "add a column with the models' names"
    )
    raise InputError(
        f"model must name the column of the models in {str(file)!r}, since the first one, "
        f"{first!r}, holds numbers; {remedy}, or the name of a column"
    )


def _check_names(table: DataFrame, column: str, what: str) -> None:
    """Refuse a column that does not name a model or a condition in every row."""
    import pandas as pd  # slow to import, and needed only here

    for row, name in enumerate(table[column].tolist()):
        if pd.api.types.is_scalar(name) and (pd.isna(name) or name == ""):
            raise InputError(
                f"column {column!r} must name every {what}, got none in row {row} (from 0); fill it"
            )
        if not isinstance(name, str | int | float):
            raise InputError(
                f"column {column!r} must name every {what} by text or a number, got {name!r} in "
                f"row {row} (from 0); write it as text"
            )


def _read_names(table: DataFrame, model: str) -> list[str]:
    names = [str(name) for name in table[model]]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"column {model!r} must name every model once, got {name!r} {names.count(name)} "
                "times; rename them, or average their rows"
            )
    return names


def _read_numbers(table: DataFrame, column: str, names: list[str]) -> FloatArray:
    import pandas as pd  # slow to import, and needed only here

    given = table[column]
    if given.dtype.kind == "b":
        raise InputError(f"column {column!r} must hold numbers, got True and False; drop it")
    numbers = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        value = given.iloc[wrong[0]]
        missing = pd.api.types.is_scalar(value) and pd.isna(value)
        got = (
            "no value"
            if missing
            else repr(value.item() if isinstance(value, np.generic) else value)
        )
        raise InputError(
            f"column {column!r} must hold a finite number for every model, got {got} for "
            f"{names[wrong[0]]!r}; fill it in, or drop the column or the row"
        )
    return np.asarray(numbers)


def _find_clean_column(conditions: list[str], clean: str | None) -> str | None:
    if clean is not None and clean not in conditions:
        raise unknown_name("clean column", clean, conditions)
    candidates = [column for column in conditions if _simplify(column) == "clean"]
    if clean is None and len(candidates) > 1:
        raise InputError(
            "clean must name the column of the clean condition, got several: "
            f"{', '.join(candidates)}; give {either('--clean ', 'clean=')}{candidates[0]!r}"
        )
    return clean or (candidates[0] if candidates else None)

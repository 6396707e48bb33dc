"""Which points of a table are opponents of each other, and how far apart they count.

Noise moves a point in some columns only. In the others, opponents must agree, or they count by
Gower's distance. Either way they must have the same numbers missing.
"""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.checks import list_names, quote
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.dataset import Dataset
from shaketable.data.frames.schema import NO_NUMBERS, TableSchema, find_least, find_strata

MAX_CATEGORIES = 1000
"""Number of different values, of all columns together, that Gower's distance can compare."""


def place_points(data: Dataset, p: float) -> tuple[Array, IntArray | None]:
    """Return points whose p-norm distances count, and their strata, within which they count.

    Strata are None if all points are in one.
    """
    x, table = np.ascontiguousarray(data.x.reshape(data.n, -1)), data.table
    if table is None:
        return x, None
    check_moving(data)
    moved = np.nan_to_num(x[:, table.moved])
    if table.others == "agree":
        return moved, find_strata(x, table.moved)
    placed = np.hstack([moved, _place_others(x, table, p)])
    return placed, find_strata(x, np.ones_like(table.ordered), table.ordered)


def is_moving(data: Dataset) -> bool:
    """Whether noise moves points: in tables, whether it moves a column."""
    return data.table is None or bool(data.table.moved.any())


def check_moving(data: Dataset) -> None:
    """Raise `UndefinedError` for a table in which noise moves no column."""
    if not is_moving(data):
        raise UndefinedError(
            f"{NO_NUMBERS}; measure other corruptions, such as swap(0.1) and missing(0.1), or keep "
            "fewer columns as they are"
        )


def place_beside(data: Dataset, rows: IntArray, p: float, reach: float) -> FloatArray:
    """Coordinates of points of a table beside those that move, so that all of them can be compared.

    Columns that do not move have the distances that count, and points of different strata are more
    than four times `reach` apart.
    """
    assert data.table is not None, "other points move in all coordinates"
    placed, strata = place_points(data, p)
    others = placed[rows, int(data.table.moved.sum()) :]
    if strata is None:
        return np.asarray(others, np.float64)
    codes = np.unique(strata[rows], return_inverse=True)[1]
    return np.hstack([others, 5 * reach * _write_binary(codes)])


def _place_others(x: Array, table: TableSchema, p: float) -> FloatArray:
    """Coordinates of the other columns, whose distances are Gower's."""
    places: list[FloatArray] = []
    for i, column in enumerate(table.columns):
        values = x[:, i : i + 1]
        if column.moved:
            continue
        if table.ordered[i]:
            least, width = find_least(values), -find_least(-values) - find_least(values)
            places.append(np.nan_to_num((values - least) / np.where(width > 0, width, 1)))
        else:
            places.append(_spread(values[:, 0], p))
    if sum(part.shape[1] for part in places) > MAX_CATEGORIES:
        raise InputError(
            f"Gower's distance can compare at most {MAX_CATEGORIES} different values, of all text "
            "and categories together; leave out columns of free text, or choose "
            + either("--others agree", "others='agree'")
        )
    return np.hstack(places) if places else np.empty((len(x), 0))


def _spread(values: FloatArray, p: float) -> FloatArray:
    """Coordinates in which any two different values are 1 apart; missing is one of the values."""
    distinct, codes = np.unique(np.where(np.isnan(values), np.inf, values), return_inverse=True)
    if math.isinf(p):  # fewer columns
        return _write_binary(codes)
    return np.asarray(np.eye(len(distinct))[codes] * 2 ** (-1 / p), np.float64)


def _write_binary(codes: IntArray) -> FloatArray:
    """Binary digits of codes: any two different codes differ by 1 in some column."""
    digits = int(codes.max()).bit_length()
    return np.asarray((codes[:, None] >> np.arange(digits)) & 1, np.float64)


def compare_columns(data: Dataset, pair: tuple[int, int]) -> FloatArray:
    """How far apart two points count in every column; 0 where both have no value."""
    first, second = data.rows(np.array(pair)).astype(np.float64)
    gaps: FloatArray = np.abs(first - second)
    if data.table is None:
        return gaps
    x, table = data.x, data.table
    widths = np.where(table.ordered, -find_least(-x) - find_least(x), 1)
    ranged = gaps / np.where(widths > 0, widths, 1)
    unequal = (first != second) & ~(np.isnan(first) & np.isnan(second))
    counted = np.where(table.ordered, ranged, unequal)
    return np.asarray(np.nan_to_num(np.where(table.moved, gaps, counted)))


def explain_no_opponents(data: Dataset) -> UndefinedError:
    """Error to raise if no two points of different classes are opponents."""
    assert data.table is not None, "without a table all points are opponents"
    names = [quote(column.name) for column in data.table.columns if not column.moved]
    needs = [f"agree in all columns that noise leaves alone ({list_names(names)})"] if names else []
    if np.isnan(data.x).any():
        needs.append("have gaps in the same columns")
    return UndefinedError(
        f"eps_min needs two points of different classes that {' and '.join(needs)}, and there are "
        "none; let these columns count by Gower's distance ("
        + either("--others gower", "touching(others='gower')")
        + "), or give a size"
    )

"""The choice of the columns that corruptions may change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.errors import InputError
from shaketable.data.frames.schema import Names, Others, list_columns, schema_of_array

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


def touching(
    data: Dataset,
    *,
    only: Names = None,
    keep: Names = None,
    column_bounds: Mapping[str, tuple[float, float]] | None = None,
    steps: Mapping[str, float] | None = None,
    one_hot: Names | Iterable[Iterable[str]] = (),
    others: Others | None = None,
) -> Dataset:
    """Return the data with a choice of the columns that corruptions may change, and how.

    Parameters
    ----------
    data
        Data of a table.
    only, keep
        Columns that alone may change, and columns that must not. Without them noise changes
        every column of numbers; columns of dates are changed only if `only` names them.
    column_bounds
        (low, high) by column: corrupted values are clipped to it.
    steps
        Step by column, such as 1 for whole numbers: corrupted values are rounded to it.
    one_hot
        Groups of 0/1 columns with at most one 1 per row, by their names, or by a text that the
        names begin with: each group is one category, which stays valid whatever is corrupted.
    others
        How columns that noise does not change count in distances between points. ``"agree"``,
        the default: only points that agree in them are opponents. ``"gower"``: they add
        Gower's distance, 0 or 1 for categories and the difference divided by the range for
        numbers.

    Returns
    -------
    Dataset
        The data with this choice.

    Examples
    --------
    >>> from shaketable import load
    >>> data = load("iris").touching(keep="petal length (cm)")
    >>> data.table.moved
    array([ True,  True, False,  True])
    """
    if data.scaling is not None:
        raise InputError("columns must be chosen before the data are scaled; scale last")
    if data.x.ndim != 2 or data.x.dtype == np.uint8:
        raise InputError(f"columns are those of tables, got points of shape {data.shape}")
    table, x = data.schema or schema_of_array(data.x, data.features), data.x
    groups = [
        [name for name in table.names if name.startswith(group)]
        if isinstance(group, str)
        else list_columns(group)
        for group in ([one_hot] if isinstance(one_hot, str) else one_hot or ())
    ]
    if groups:
        table, x = table.merge_groups(x, groups)
    table = table.with_limits(x, column_bounds or {}, steps or {})
    table = table.touching(only=only, keep=keep, others=others)
    features = table.names if groups or data.features else None
    return replace(data, x=x, schema=table, features=features)

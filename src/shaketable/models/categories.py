"""Text as categories, for models of XGBoost and LightGBM, which take no text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def prepare_for(model: Any) -> Callable[[Any], Any]:
    """Return what turns a data frame into one that a model takes.

    XGBoost and LightGBM are fitted on categories, and a file such as CSV has text instead. They
    recognise categories by their values, not by their places, so text becomes categories for them.
    XGBoost does so from version 3.1; to earlier ones, and to all other models, frames go as they
    are.
    """
    packages = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "lightgbm" in packages:
        return make_categories
    if "xgboost" in packages:
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        if hasattr(booster, "get_categories"):
            return make_categories
    return lambda rows: rows


def make_categories(rows: Any) -> Any:
    """Return a data frame with categories in place of text; arrays as they are."""
    if not hasattr(rows, "columns"):
        return rows
    from pandas.api.types import is_object_dtype, is_string_dtype

    text = [
        name
        for name, column in rows.items()
        if is_object_dtype(column.dtype) or is_string_dtype(column.dtype)
    ]
    return rows.astype(dict.fromkeys(text, "category")) if text else rows

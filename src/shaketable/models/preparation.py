"""The usual preparation of tables with text, dates or gaps, which the built-in models bring."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils import get_tags

from shaketable.core.types import Array, FloatArray
from shaketable.data.dataset import Dataset
from shaketable.data.frames.columns import NUMBERS

NO_TEXT = ""
"""What stands for missing text; files cannot hold it as a value."""


class PreparedModel(Pipeline):  # type: ignore[misc]  # scikit-learn is untyped
    """A built-in model behind the preparation of a table."""

    @property
    def fills_only(self) -> bool:
        """Whether numbers that are not missing reach the model as they are."""
        (_, numbers, _), (_, _, texts) = self[0].transformers
        return not texts and not isinstance(numbers[-1], StandardScaler)

    def describe_preparation(self, data: Dataset) -> str:
        """Say what is done to a table; nothing of one that has neither text nor dates nor gaps."""
        (_, numbers, others), (_, encode, texts) = self[0].transformers
        kinds = [] if data.table is None else [column.kind for column in data.table.columns]
        filled = [kind in (*NUMBERS, "date", "boolean") for kind in kinds]
        done = []
        if texts:
            ordinal = isinstance(encode[-1], OrdinalEncoder)
            how = "numbers in alphabetical order" if ordinal else "0/1 columns"
            done.append(f"text becomes {how}, and missing text a value of its own")
        if "date" in kinds:
            done.append("dates become days")
        if filled and np.isnan(data.x[:, filled]).any():
            fills = any(isinstance(step, SimpleImputer) for _, step in numbers.steps)
            done.append(f"missing numbers {'become the median' if fills else 'stay missing'}")
        if done and others and isinstance(numbers[-1], StandardScaler):
            done.append("numbers are standardised")
        return "; ".join(done)


def prepare_for_table(model: Any, data: Dataset) -> Any:
    """Return a built-in model, not yet fitted, with the preparation that a table needs.

    Numbers, booleans and dates become numbers, of which missing ones become the median, and which
    are standardised if the model does so, or if it compares them with text. Text and categories
    become one 0/1 column per value, missing ones as a value of its own; a value that was not seen
    in training is 0 in all of them. A forest takes missing numbers, and gets text as numbers in
    alphabetical order. Plain numbers need nothing: the model is returned as it is.
    """
    given = data.decode(data.rows(slice(0, 1)))  # as the model gets it
    is_frame = hasattr(given, "columns")
    if data.table is None and not is_frame:
        return model
    labels = tuple(given.columns) if is_frame else tuple(range(given.shape[1]))
    columns = () if data.table is None else data.table.columns
    kinds = dict.fromkeys(labels, "number")
    kinds |= {label: column.kind for column in columns for label in column.labels}
    places = dict(zip(labels, labels if _are_names(labels) else range(len(labels)), strict=True))
    texts = [places[label] for label in labels if kinds[label] in ("text", "category")]
    others = [places[label] for label in labels if kinds[label] not in ("text", "category")]
    last = model[-1] if isinstance(model, Pipeline) else model
    takes_gaps = get_tags(last).input_tags.allow_nan
    has_gaps = is_frame or bool(np.isnan(data.x).any())  # faults may empty cells of a frame
    if not texts and "date" not in kinds.values() and (takes_gaps or not has_gaps):
        return model
    steps: list[Any] = [FunctionTransformer(as_numbers)]
    encode: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if not takes_gaps:
        steps.append(SimpleImputer(strategy="median", keep_empty_features=True))
        encode = OneHotEncoder(handle_unknown="ignore")
        if texts or last is not model:
            steps.append(StandardScaler())
    preparation = ColumnTransformer(
        [
            ("numbers", make_pipeline(*steps), others),
            ("texts", make_pipeline(FunctionTransformer(as_texts), encode), texts),
        ]
    )
    return PreparedModel([("preparation", preparation), (type(last).__name__.lower(), last)])


def as_numbers(x: Any) -> FloatArray:
    """Return columns of numbers, booleans or dates as floats, NaN where they are missing."""
    if not hasattr(x, "columns"):
        return np.asarray(x, dtype=np.float64)
    return np.stack([_read_floats(x.iloc[:, i]) for i in range(x.shape[1])], axis=1)


def _read_floats(column: Any) -> FloatArray:
    import pandas as pd  # slow to import

    if column.dtype.kind not in "mM":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    index: Any = (pd.DatetimeIndex if column.dtype.kind == "M" else pd.TimedeltaIndex)(column)
    return np.where(index.isna(), np.nan, index.as_unit("s").asi8 / 86_400)


def as_texts(x: Any) -> Array:
    """Return columns of text or categories as text, `NO_TEXT` where it is missing."""
    return np.stack([_read_texts(x.iloc[:, i]) for i in range(x.shape[1])], axis=1)


def _read_texts(column: Any) -> Array:
    import pandas as pd  # slow to import

    places, values = pd.factorize(column.astype(object))
    texts = np.array([*map(str, values), NO_TEXT], dtype=object)
    return np.asarray(texts[places])  # missing values have the place -1, the last


def _are_names(labels: tuple[Any, ...]) -> bool:
    return all(isinstance(label, str) for label in labels)

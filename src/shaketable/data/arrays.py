"""Data sets from arrays, lists and pandas objects, checked so that later work can rely on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds
from shaketable.data.dataset import Dataset, Label, as_floats

_IMAGE_FEATURES = 64  # from here on, uint8 rows are taken for pixels


def make_dataset(
    x: Any,
    y: Any,
    *,
    name: str = "data",
    classes: tuple[Label, ...] | None = None,
    n_train: int | None = None,
    bounds: BoundsLike | Literal["auto"] = "auto",
    features: tuple[str, ...] | None = None,
) -> Dataset:
    """Build a checked `Dataset` from arrays, lists or pandas objects.

    Parameters
    ----------
    x
        Points, one a row. uint8 stands for x/255 in images: arrays with more than two axes or at
        least 64 columns. Smaller uint8 tables, data frames and all other integers become float64
        in their own units.
    y
        One label a row: text, numbers or booleans.
    name
        What records and charts call the data.
    classes
        All labels in the order of a model's scores; by default those of `y`, sorted.
    n_train
        Number of leading rows that are the training part; None for random splits.
    bounds
        Declared range of values. ``"auto"``: [0, 1] for uint8 and for images within it, else none.
    features
        Column names; by default those of a data frame.

    >>> make_dataset([[0, 1], [2, 3]], [True, False], name="tiny").classes
    (False, True)
    """
    x, columns = _points(x)
    labels = _labels(y)
    classes = _sorted(labels) if classes is None else tuple(classes)
    if len(classes) > max(20, len(labels) // 2) and isinstance(classes[0], float):
        raise InputError(
            f"y must hold classes, got {len(classes)} distinct numbers in {len(labels)} rows; "
            "if it is a quantity, cut it into classes first"
        )
    code = {label: i for i, label in enumerate(classes)}
    if strange := _sorted([label for label in labels if label not in code]):
        raise InputError(f"y must hold labels among classes {classes}, got {strange[0]!r}")
    codes = np.array([code[label] for label in labels], dtype=np.int64)
    features = columns if features is None else tuple(features)
    if features is not None and x.shape[1:] != (len(features),):
        raise InputError(
            f"features must name every column of x, got {len(features)} names for shape {x.shape}"
        )
    bounds = _auto_bounds(x) if bounds == "auto" else as_bounds(bounds)
    data = Dataset(
        name=name,
        x=x,
        y=codes,
        classes=classes,
        n_train=n_train,
        bounds=bounds,
        features=features,
    )
    _check_finite(data)
    if bounds is not None and x.dtype != np.uint8:
        bounds.check(x)
    elif bounds is not None and (bounds.low, bounds.high) != (0, 1):
        raise InputError(f"bounds of uint8 x, which stands for x/255, must be (0, 1), got {bounds}")
    return data


def join(
    train: Dataset | tuple[Any, Any], test: Dataset | tuple[Any, Any], *, name: str = "data"
) -> Dataset:
    """One `Dataset` with a fixed test part, from two of (x, y) or two Datasets.

    The classes are the union of both.

    >>> join(([0, 1, 2], [0, 1, 0]), ([3, 4], [1, 1])).n_train
    3
    """
    first, labels, columns, low_high = _part(train, "train")
    second, more_labels, more_columns, more_low_high = _part(test, "test")
    if first.shape[1:] != second.shape[1:]:
        raise InputError(
            "train and test must have points of the same shape, "
            f"got {first.shape[1:]} and {second.shape[1:]}"
        )
    if columns and more_columns:
        check_columns(columns, more_columns)
        second = second[:, [more_columns.index(column) for column in columns]]
    if "auto" not in (low_high, more_low_high) and low_high != more_low_high:
        raise InputError(
            f"train and test must have the same bounds, got {low_high} and {more_low_high}"
        )
    if first.dtype != second.dtype:
        first, second = as_floats(first), as_floats(second)
    return make_dataset(
        np.concatenate([first, second]),
        [*labels, *more_labels],
        name=name,
        n_train=len(first),
        bounds=more_low_high if low_high == "auto" else low_high,
        features=columns or more_columns,
    )


def _points(x: Any) -> tuple[Array, tuple[str, ...] | None]:
    """Points as float32, float64 or the uint8 of images, and the columns of a data frame."""
    if hasattr(x, "columns"):
        if words := find_text_columns(x):
            raise InputError(f"x must hold numbers, got columns that do not: {', '.join(words)}")
        values = np.array(x.to_numpy(np.float64, na_value=np.nan), order="C")
        return values, tuple(str(column) for column in x.columns)
    try:
        x = np.asarray(to_host(x))
    except ValueError as error:
        raise InputError(f"x must have one point a row, all of one shape: {error}") from error
    if x.ndim == 0 or x.dtype.kind not in "biuf":
        raise InputError(
            "x must hold real numbers, one point a row, "
            f"got dtype {x.dtype} of shape {x.shape}; encode or drop what is no number"
        )
    x = x[:, None] if x.ndim == 1 else x
    if x.dtype == np.uint8 and (x.ndim > 2 or x.shape[1] >= _IMAGE_FEATURES):
        return x, None
    single = x.dtype.kind == "f" and x.dtype.itemsize <= 4
    return x.astype(np.float32 if single else np.float64, order="C", copy=False), None


def to_host(values: Any) -> Any:
    """Values, and those of a torch tensor as an array, wherever it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def find_device(values: Any) -> str | None:
    """Device of a torch tensor that is not in the host's memory."""
    device = getattr(values, "device", None)
    return None if getattr(device, "type", "cpu") == "cpu" else str(device)


def find_text_columns(table: Any) -> list[str]:
    """Columns of a data frame that are not numbers."""
    types = zip(table.columns, table.dtypes, strict=True)
    return [str(column) for column, dtype in types if dtype.kind not in "biuf"]


def _labels(y: Any) -> list[Label]:
    """Labels as Python scalars."""
    y = to_host(y)
    # object keeps None, NaN and mixed types of a list from becoming text
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"y must hold one label a row, got shape {array.shape}; for one-hot rows give "
            "y.argmax(axis=1)"
        )
    labels = [v.item() if isinstance(v, np.generic) else v for v in array.tolist()]
    for i, label in enumerate(labels):
        if label is None or (label != label) is not False:  # noqa: PLR0124  (NaN is not itself)
            raise InputError(f"y must have a label in every row, got {label} in row {i} (from 0)")
        if not isinstance(label, str | int | float):
            raise InputError(f"y must hold text, numbers or booleans, got {label!r} in row {i}")
    return labels


def _sorted(labels: Iterable[Label]) -> tuple[Label, ...]:
    distinct: set[Any] = set(labels)
    try:
        return tuple(sorted(distinct))
    except TypeError:  # text and numbers
        return tuple(sorted(distinct, key=lambda label: (type(label).__name__, repr(label))))


def keep_own_units(data: Any) -> Any:
    """An (x, y) pair whose x counts in its own units: uint8 as 0 to 255, exact in float32.

    A `Dataset`, such as one that was read from a file, is left as it is.
    """
    if isinstance(data, tuple) and getattr(data[0], "dtype", None) == np.uint8:
        return data[0].astype(np.float32), *data[1:]
    return data


def check_pair(data: Any, argument: str) -> tuple[Any, Any]:
    """Return `data` if it is an (x, y) pair; refuse anything else under the argument's name."""
    if isinstance(data, tuple) and len(data) == 2:
        return data
    raise InputError(
        f"{argument} must be a Dataset, a pair (x, y), a file or the name of a built-in set, "
        f"got {type(data).__name__}"
    )


def _part(
    data: Dataset | tuple[Any, Any], argument: str
) -> tuple[Array, list[Label], tuple[str, ...] | None, Bounds | Literal["auto"] | None]:
    """Points, labels, columns and bounds of a part that is to be joined."""
    if not isinstance(data, Dataset):
        x, y = check_pair(data, argument)
        points, columns = _points(x)
        labels = _labels(y)
        if len(points) != len(labels):
            raise InputError(
                f"{argument} must have one label a point, got {len(labels)} labels and "
                f"{len(points)} points"
            )
        return points, labels, columns, "auto"
    if data.n_train is not None or data.scaling is not None:
        raise InputError(f"{argument} must be neither split nor scaled yet; join first, then scale")
    return data.x, _labels(data.labels), data.features, data.bounds


def check_columns(train: Sequence[str], test: Sequence[str]) -> None:
    """Refuse two parts whose columns differ; their order may."""
    if only := {*train} ^ {*test}:
        raise InputError(
            "train and test must have the same columns, but only one of them has "
            f"{', '.join(sorted(only))}"
        )


def _check_finite(data: Dataset) -> None:
    x = data.x.reshape(data.n, -1)
    if x.dtype != np.uint8 and not np.isfinite(x).all():
        row, column = divmod(int(np.isfinite(x).argmin()), data.d)
        raise InputError(
            f"x must be finite, got {x[row, column]} in row {row} (from 0), "
            f"{data.feature_name(column)}; drop or fill such rows"
        )


def _auto_bounds(x: Array) -> Bounds | None:
    within = x.dtype == np.uint8 or (x.ndim > 2 and x.size and x.min() >= 0 and x.max() <= 1)
    return Bounds(0, 1) if within else None

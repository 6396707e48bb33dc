"""Data sets from arrays, lists, tensors and pandas objects, checked once for all later work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from shaketable.core.arrays import check_exact, split_rows
from shaketable.core.checks import describe_lacks
from shaketable.core.errors import InputError
from shaketable.core.image_layout import counts_as_images
from shaketable.core.types import Array, IntArray
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds
from shaketable.data.dataset import Dataset, Label, as_floats
from shaketable.data.frames.schema import (
    TableSchema,
    concat_frames,
    is_frame,
    read_frame,
    schema_of_array,
)
from shaketable.data.label_sets import check_label_names, read_indicator


def make_dataset(
    x: Any,
    y: Any,
    *,
    name: str = "data",
    classes: tuple[Label, ...] | None = None,
    n_train: int | None = None,
    bounds: BoundsLike | Literal["auto"] = "auto",
    features: tuple[str, ...] | None = None,
    label_names: Sequence[str] | None = None,
) -> Dataset:
    """Build a checked `Dataset` from arrays, lists or pandas objects.

    Parameters
    ----------
    x
        Points, one per row: an array, a torch tensor, a list or a data frame. uint8 stands for
        x/255 in images: arrays with more than two axes or at least 64 columns. Smaller uint8
        tables, data frames and all other integers become float64 in their own units; integers
        beyond 2**53, which float64 cannot tell apart, are refused. A data frame stays one: models
        get a frame of the same columns and types. Text, categories, booleans, dates and missing
        values stay what they are, and noise changes the numbers alone (see `Dataset.touching`).
    y
        One label per row: text, numbers or booleans. Or several: a matrix with one column of 0 and
        1 per label. Then every set of labels that occurs is a class, so that points are opponents
        if they differ in any label, and answers are right if all labels are.
    name
        Name of the data in records and charts.
    classes
        All labels in the order of a model's scores; by default those of `y`, sorted.
    n_train
        Number of leading rows that are the training part; None for random splits.
    bounds
        Declared range of values. ``"auto"``: [0, 1] for uint8 and for images within it, else none.
    features
        Column names; by default those of a data frame.
    label_names
        Names of the labels, where points have several; by default the column names of `y`, or their
        numbers. A matrix with one label in every row needs them.

    Returns
    -------
    Dataset
        The checked data.

    Examples
    --------
    >>> make_dataset([[0, 1], [2, 3]], [True, False], name="tiny").classes
    (False, True)
    """
    if features is not None and is_frame(x) and len(features) == x.shape[1]:
        x = x.set_axis(list(features), axis=1)
    x, columns, schema = _read_points(x)
    labels, sets = _read_labels(y, label_names)
    _refuse_one_hot([sets])
    classes = _sort_labels(labels) if classes is None else tuple(classes)
    if len(classes) > max(20, len(labels) // 2) and isinstance(classes[0], float):
        raise InputError(
            f"y must hold classes, got {len(classes)} distinct numbers in {len(labels)} rows; "
            "if it is a quantity, cut it into classes first"
        )
    code = {label: i for i, label in enumerate(classes)}
    if strange := _sort_labels([label for label in labels if label not in code]):
        raise InputError(f"y must hold labels among classes {classes}, got {strange[0]!r}")
    codes = np.array([code[label] for label in labels], dtype=np.int64)
    features = columns if features is None else tuple(map(str, features))  # no np.str_
    if features is not None and x.shape[1:] != (len(features),):
        raise InputError(
            f"features must name every column of x, got {len(features)} names for shape {x.shape}"
        )
    bounds = _choose_bounds(x) if bounds == "auto" else as_bounds(bounds)
    data = Dataset(
        name=name,
        x=x,
        y=codes,
        classes=classes,
        n_train=n_train,
        bounds=bounds,
        features=features,
        schema=schema,
        label_names=None if sets is None else sets.names,
    )
    if x.dtype != np.uint8 and not all(np.isfinite(part).all() for part in split_rows(x)):
        if schema is None and x.ndim == 2:
            data = replace(data, schema=schema_of_array(x, features))
        _refuse_not_finite(data)
    if bounds is not None and x.dtype != np.uint8:
        bounds.check(np.array(data.span, dtype=x.dtype))
    elif bounds is not None and (bounds.low, bounds.high) != (0, 1):
        raise InputError(
            f"bounds of uint8 x, which stands for x/255, must be (0, 1), got {bounds}; for values "
            "from 0 to 255 give floats: x.astype('float32')"
        )
    return data


def join(
    train: Dataset | tuple[Any, Any],
    test: Dataset | tuple[Any, Any],
    *,
    name: str = "data",
    classes: tuple[Label, ...] | None = None,
) -> Dataset:
    """One `Dataset` with a fixed test part, from two (x, y) pairs or two Datasets.

    The classes are by default the union of both.

    >>> join(([0, 1, 2], [0, 1, 0]), ([3, 4], [1, 1])).n_train
    3
    """
    first, (labels, sets), columns, bounds = _read_part(train, "train")
    second, (more_labels, more_sets), more_columns, more_bounds = _read_part(test, "test")
    _refuse_one_hot([sets, more_sets])
    if (sets and sets.names) != (more_sets and more_sets.names):
        raise InputError(
            "train and test must have the same labels, in the same order, where points have several"
        )
    if "auto" not in (bounds, more_bounds) and bounds != more_bounds:
        raise InputError(
            f"train and test must have the same bounds, got {bounds} and {more_bounds}"
        )
    frame = _join_frames(train, test)
    if frame is None:
        first, second = _align(first, second, columns, more_columns)
    return make_dataset(
        np.concatenate([first, second]) if frame is None else frame,
        [*labels, *more_labels],
        name=name,
        classes=classes,
        n_train=len(first),
        bounds=more_bounds if bounds == "auto" else bounds,
        features=columns or more_columns if frame is None else None,
        label_names=None if sets is None else sets.names,
    )


def _align(
    first: Array,
    second: Array,
    columns: tuple[str, ...] | None,
    more_columns: tuple[str, ...] | None,
) -> tuple[Array, Array]:
    """Points of both parts in one type, with the columns in the order of the first."""
    if first.shape[1:] != second.shape[1:]:
        raise InputError(
            "train and test must have points of the same shape, "
            f"got {first.shape[1:]} and {second.shape[1:]}"
        )
    if columns and more_columns:
        check_columns(columns, more_columns)
        second = second[:, [more_columns.index(column) for column in columns]]
    if first.dtype != second.dtype:
        _check_same_units(first, second)
        first, second = as_floats(first), as_floats(second)
    return first, second


def _join_frames(train: Dataset | tuple[Any, Any], test: Dataset | tuple[Any, Any]) -> Any:
    """Rows of both parts as one frame; None if one of them is an array."""
    parts = [
        data.decode(data.x) if isinstance(data, Dataset) else data[0] for data in (train, test)
    ]
    frames = [x for x in parts if is_frame(x)]
    if len(frames) == 2:
        return concat_frames(*frames)
    if any(dtype.kind not in "iuf" for frame in frames for dtype in frame.dtypes):
        raise InputError("train and test must both be data frames, got one of them as an array")
    return None


def _check_same_units(first: Array, second: Array) -> None:
    """Raise `InputError` if one part is uint8 images, which count as x/255, the other greater."""
    for pixels, floats in ((first, second), (second, first)):
        if pixels.dtype == np.uint8 and not (floats.min() >= 0 and floats.max() <= 1):
            raise InputError(
                "train and test must be in the same units, got uint8, which counts as x/255, and "
                f"{floats.dtype} from {floats.min():g} to {floats.max():g}; give both in one type"
            )


def _read_points(x: Any) -> tuple[Array, tuple[str, ...] | None, TableSchema | None]:
    """Points as float32, float64 or the uint8 of images, and the columns of a data frame."""
    if is_frame(x):
        table, values = read_frame(x)
        return values, table.names, table
    given = x
    try:
        x = np.asarray(to_host(x))
    except ValueError as error:
        raise InputError(f"x must have one point per row, all of one shape: {error}") from error
    if x.ndim == 0 or x.dtype.kind not in "biuf":
        raise InputError(
            "x must hold real numbers, one point per row, "
            f"got dtype {x.dtype} of shape {x.shape}; encode or drop what is no number"
        )
    x = x[:, None] if x.ndim == 1 else x
    if counts_as_images(x):
        return x, None, None
    check_exact(x, "x", given)
    single = x.dtype.kind == "f" and x.dtype.itemsize <= 4
    return x.astype(np.float32 if single else np.float64, order="C", copy=False), None, None


def to_host(values: Any) -> Any:
    """Values of a torch tensor on any device as an array; everything else unchanged."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def find_device(values: Any) -> str | None:
    """Device of a torch tensor; None for one on the CPU and for everything else."""
    device = getattr(values, "device", None)
    return None if getattr(device, "type", "cpu") == "cpu" else str(device)


def find_text_columns(table: Any) -> list[str]:
    """Names of the columns of a data frame that do not hold numbers."""
    types = zip(table.columns, table.dtypes, strict=True)
    return [str(column) for column, dtype in types if dtype.kind not in "biuf"]


class _Sets(NamedTuple):
    """The labels of points that have several."""

    names: tuple[str, ...]
    alone: bool = False
    """Whether every point has exactly one of them, and nobody said that it may have several."""


_Labels: TypeAlias = tuple[list[Label], _Sets | None]
"""Labels as Python scalars, one per row; where points have several, the names of their sets."""


def _refuse_one_hot(parts: Sequence[_Sets | None]) -> None:
    """Raise `InputError` for one-hot rows, which look like sets of labels."""
    if all(sets is not None and sets.alone for sets in parts):
        raise InputError(
            "y must hold one label per row, or several in some rows, got exactly one 1 in every "
            "row; for one-hot rows give y.argmax(axis=1), and for points that may have several "
            "labels name them (label_names=…)"
        )


def _read_labels(y: Any, names: Sequence[str] | None = None) -> _Labels:
    """Labels of points; `names` are those of the labels where points have several."""
    y = to_host(y)
    rows = y if isinstance(y, list | tuple) and y and isinstance(y[0], list | tuple) else ()
    if len({len(row) for row in rows if isinstance(row, list | tuple)}) == 1:
        y = np.asarray(y)
    if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        sets, known, alone = read_indicator(y, names)
        return [*sets], _Sets(known, alone)
    # object keeps None, NaN and mixed types of a list from becoming text
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"y must hold one label per row, or one column of 0 and 1 per label, got shape "
            f"{array.shape}; give one of them"
        )
    labels = [v.item() if isinstance(v, np.generic) else v for v in array.tolist()]
    check_no_gaps([_is_missing(label) for label in labels], "y")
    for i, label in enumerate(labels):
        if not isinstance(label, str | int | float):
            raise InputError(f"y must hold text, numbers or booleans, got {label!r} in row {i}")
    return labels, None if names is None else _Sets(check_label_names(names))


def _is_missing(label: Any) -> bool:
    return label is None or (label != label) is not False  # noqa: PLR0124  (NaN is not itself)


def check_no_gaps(missing: Sequence[bool], what: str) -> None:
    """Raise `InputError` if labels are missing; `what` names them."""
    if count := sum(missing):
        rows = "1 row" if count == 1 else f"{count} rows"
        raise InputError(
            f"{what} must have a label in every row, got none in {rows} of {len(missing)}, first "
            f"in row {missing.index(True)} (from 0); leave these rows out, or label them"
        )


def _sort_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    distinct: set[Any] = set(labels)
    try:
        return tuple(sorted(distinct))
    except TypeError:  # text and numbers
        return tuple(sorted(distinct, key=lambda label: (type(label).__name__, repr(label))))


def check_pair(data: Any, argument: str) -> tuple[Any, Any]:
    """Return `data` if it is an (x, y) pair; else raise an `InputError` that names the argument."""
    if isinstance(data, tuple) and len(data) == 2:
        return data
    raise InputError(
        f"{argument} must be a Dataset, a pair (x, y), a data set of torch or Hugging Face, a file "
        f"or the name of a built-in set, got {type(data).__name__}"
    )


def _read_part(
    data: Dataset | tuple[Any, Any], argument: str
) -> tuple[Array, _Labels, tuple[str, ...] | None, Bounds | Literal["auto"] | None]:
    """Points, labels, columns and bounds of one of two parts."""
    if not isinstance(data, Dataset):
        x, y = check_pair(data, argument)
        points, columns, _ = _read_points(x)
        labels = _read_labels(y)
        if len(points) != len(labels[0]):
            raise InputError(
                f"{argument} must have one label per point, got {len(labels[0])} labels and "
                f"{len(points)} points"
            )
        return points, labels, columns, "auto"
    _check_whole(data, argument)
    return data.x, _read_labels(data.labels, data.label_names), data.features, data.bounds


def _check_whole(data: Dataset, argument: str) -> None:
    """Raise `InputError` for a part that was split, scaled, grouped, or has columns chosen."""
    chosen = data.schema is not None and data.schema.chosen
    if data.n_train is not None or data.scaling is not None or data.groupings or chosen:
        raise InputError(
            f"{argument} must be neither split nor scaled nor grouped yet, nor have its columns "
            "chosen; join first, then do that"
        )


def check_columns(train: Sequence[str], test: Sequence[str]) -> None:
    """Raise `InputError` unless both parts have the same columns, in any order."""
    if lacks := describe_lacks("train", train, "test", test):
        raise InputError(f"train and test must have the same columns, but {lacks}")


def _refuse_not_finite(data: Dataset) -> None:
    """Raise `InputError` for infinite values, and for missing ones unless a table holds them."""
    x = data.x.reshape(data.n, -1)
    bad = ~np.isfinite(x) if data.schema is None else np.isinf(x)
    if bad.any():
        row, column = divmod(int(bad.argmax()), data.d)
        raise InputError(
            f"x must be finite, got {x[row, column]} in row {row} (from 0), "
            f"{data.feature_name(column)}; drop or fill such rows"
        )


def _choose_bounds(x: Array) -> Bounds | None:
    within = x.dtype == np.uint8 or (x.ndim > 2 and x.size and x.min() >= 0 and x.max() <= 1)
    return Bounds(0, 1) if within else None


def fix_test_part(data: Dataset, test: IntArray) -> Dataset:
    """Return data without a fixed test part with one: these rows, which come last.

    >>> from shaketable import load
    >>> data = load("bands(n=100)")
    >>> fix_test_part(data, data.parts(seed=0)[1]).n_train
    80
    """
    train = np.setdiff1d(np.arange(data.n), test)
    order = np.concatenate([train, np.sort(test)])
    return replace(
        data,
        x=data.x[order],
        y=data.y[order],
        n_train=len(train),
        kept=order if data.kept is None else data.kept[order],
        parts_before=data.parts_before or (0, data.n),
        files=None if data.files is None else tuple(data.files[row] for row in order),
        groupings=tuple(replace(g, codes=g.codes[order]) for g in data.groupings),
    )

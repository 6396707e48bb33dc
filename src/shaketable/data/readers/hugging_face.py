"""Data sets of Hugging Face's library ``datasets``: images, arrays or tables, never fetched."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from shaketable.core.errors import InputError
from shaketable.data.arrays import join, make_dataset
from shaketable.data.dataset import Dataset
from shaketable.data.folders import PARTS
from shaketable.data.readers.reader import (
    READERS,
    DataReader,
    Options,
    explain_item_errors,
    list_labels,
    number_classes,
    stack_points,
)

_LABELS = ("label", "labels", "target", "class", "y")


def _library() -> ModuleType | None:
    library = sys.modules.get("datasets")  # who has not imported it has no object of it
    return library if hasattr(library, "DatasetDict") and hasattr(library, "ClassLabel") else None


def _takes(source: Any) -> bool:
    library = _library()
    return library is not None and isinstance(
        source,
        library.Dataset
        | library.DatasetDict
        | library.IterableDataset
        | library.IterableDatasetDict,
    )


def _read(source: Any, options: Options) -> Dataset:
    """One split, or a training and a test part; of a sample only its rows are decoded."""
    library = _library()
    assert library is not None, "it made the object"
    if isinstance(source, library.IterableDataset | library.IterableDatasetDict):
        raise InputError(
            "data must have a known number of rows, and this is streamed; take some of them: "
            "datasets.Dataset.from_list(list(stream.take(1000)), features=stream.features)"
        )
    splits = _choose_splits(source) if isinstance(source, library.DatasetDict) else [source]
    first, last = splits[0], splits[-1]
    label = _find_label(first, options.label, library)
    n_train = len(first) if len(splits) == 2 else None
    column = _find_points(first, label, library)
    n, rows = sum(map(len, splits)), None
    sample = None if column is None else options.sample  # a table knows the values of all rows
    if sample is not None:
        rows = sample.choose(n, n_train)
        if n_train is not None:
            splits[0] = first.select(rows[rows < n_train])
        splits[-1] = last.select(rows[rows >= (n_train or 0)] - (n_train or 0))
    with explain_item_errors("the data set of Hugging Face"):
        pairs = [
            (_read_points(split, label, column), list_labels(split.with_format(None)[label]))
            for split in splits
        ]
    named = first.features[label]
    known = named.num_classes if isinstance(named, library.ClassLabel) else None
    classes = number_classes([v for _, labels in pairs for v in labels], known)
    name = first.info.dataset_name or first.builder_name or "dataset"
    if len(pairs) == 2:
        data = join(*pairs, name=name, classes=classes)
    else:
        data = make_dataset(*pairs[0], name=name, classes=classes)
    return data if sample is None or rows is None else sample.mark(data, rows, n)


def _choose_splits(splits: Any) -> list[Any]:
    """The only split, or ``train`` and the only other one that is named as a test part."""
    names = list(splits)
    if len(names) == 1:
        return [splits[names[0]]]
    test = [name for name in names if name in PARTS and name != "train"]
    if "train" not in names or len(test) != 1:
        raise InputError(
            f"data must have the splits train and one of {', '.join(PARTS[1:])}, got "
            f"{', '.join(names)}; give two of them, such as splits['train'] and "
            f"test=splits[{names[-1]!r}]"
        )
    return [splits["train"], splits[test[0]]]


def _find_label(split: Any, label: str | None, library: ModuleType) -> str:
    """Column of the classes: as named, the only one that is declared as such, or by its name."""
    columns = list(split.features)
    if label is not None:
        if label not in columns:
            raise InputError(
                f"label must be a column, got {label!r}; there are {', '.join(columns)}"
            )
        return label
    declared = [c for c, kind in split.features.items() if isinstance(kind, library.ClassLabel)]
    found = declared or [c for c in columns if c in _LABELS]
    if len(found) != 1:
        among = (
            f"several could be it: {', '.join(found)}"
            if found
            else f"there are {', '.join(columns)}"
        )
        raise InputError(f"label must name the column of the classes, as {among}; give label=")
    return str(found[0])


def _find_points(split: Any, label: str, library: ModuleType) -> str | None:
    """The only column of images or, without any, of arrays; None for a table of single values.

    Beside images or arrays, other columns are left out.
    """
    kinds = {column: kind for column, kind in split.features.items() if column != label}
    images = [column for column, kind in kinds.items() if isinstance(kind, library.Image)]
    single = library.Value | library.ClassLabel
    arrays = [column for column, kind in kinds.items() if not isinstance(kind, single)]
    chosen = images or arrays
    if len(chosen) > 1:
        what = "images" if images else "arrays"
        raise InputError(
            f"data must have one column of {what}, got {', '.join(chosen)}; leave out the others "
            "with remove_columns"
        )
    return chosen[0] if chosen else None


def _read_points(split: Any, label: str, column: str | None) -> Any:
    """Points of a column, or a data frame of all columns but the label."""
    plain = split.with_format(None)
    if column is None:
        return plain.remove_columns(label).to_pandas()
    return stack_points(row[column] for row in plain.select_columns(column))


READERS.add(
    "hugging-face", DataReader("Dataset and DatasetDict of Hugging Face's datasets", _takes, _read)
)

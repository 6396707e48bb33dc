"""Data sets and loaders of torch: pairs of a point and its label, read in the order of the data."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array, IntArray
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset, Label
from shaketable.data.readers.reader import (
    READERS,
    DataReader,
    Options,
    explain_item_errors,
    list_labels,
    number_classes,
    stack_points,
)

_BATCH, _TWICE = 256, 8  # points that a loader reads at a time; points that are read twice


def _takes(source: Any) -> bool:
    library = sys.modules.get("torch.utils.data")  # who has not imported it has no object of it
    return library is not None and isinstance(source, library.Dataset | library.DataLoader)


def _read(source: Any, options: Options) -> Dataset:
    """All points, or those of a sample, in the order of the data set, however a loader shuffles."""
    options.refuse_label("a torch data set, whose items are pairs of a point and its label")
    import torch
    from torch.utils.data import DataLoader, IterableDataset, TensorDataset

    dataset = source.dataset if isinstance(source, DataLoader) else source
    name, sample, rows, n = type(dataset).__name__, options.sample, None, 0
    if isinstance(source, TensorDataset) and len(source.tensors) == 2:
        return make_dataset(*source.tensors, name=name)
    if (
        isinstance(source, DataLoader)
        and source.batch_size is None
        and source.batch_sampler is None
    ):
        raise InputError(
            "a loader must make batches, got one with batch_size=None; give its data set"
        )
    # samplers and loaders draw from the user's generator, which is put back
    with torch.random.fork_rng(devices=[]), explain_item_errors(f"torch data set {name}"):
        if isinstance(dataset, IterableDataset):
            x, y = _split(source, batched=source is not dataset)
        else:
            places = _list_places(source)
            n = len(places)
            rows = np.arange(n) if sample is None else sample.choose(n)
            x, y = _read_places(source, places[rows])
            again, _ = _read_places(source, places[rows[:_TWICE]])
    if rows is not None and not np.array_equal(x[:_TWICE], again, equal_nan=x.dtype.kind == "f"):
        raise InputError(
            f"torch data set {name} must return the same point whenever it is read, and it does "
            "not; leave out random augmentation"
        )
    data = make_dataset(x, y, name=name, classes=number_classes(y, _count_classes(dataset)))
    return data if sample is None or rows is None else sample.mark(data, rows, n)


def _list_places(source: Any) -> IntArray:
    """Places of the points in the data set, ascending; of a loader, those of its sampler."""
    from torch.utils.data import BatchSampler, DataLoader

    if not isinstance(source, DataLoader):
        return np.arange(len(source))
    plain = type(source.batch_sampler) is BatchSampler

    def draw() -> list[int]:
        batches: Any = [source.sampler] if plain else source.batch_sampler
        return sorted(int(place) for batch in batches for place in batch)

    first, second = draw(), draw()
    if first != second or len(set(first)) < len(first):
        raise InputError(
            "a loader must take the same points each time, each once, and its sampler "
            f"{type(source.sampler).__name__} does not; give its data set, or another sampler"
        )
    return np.array(first, np.int64)


def _read_places(source: Any, places: IntArray) -> tuple[Array, list[Label]]:
    """Points and labels at these places; those of a loader go through its collate function."""
    from torch.utils.data import DataLoader

    if not isinstance(source, DataLoader):
        return _split((source[place] for place in places.tolist()), batched=False)
    batches = DataLoader(
        source.dataset,
        batch_size=_BATCH,
        sampler=places.tolist(),
        collate_fn=source.collate_fn,
        num_workers=source.num_workers,
    )
    return _split(batches, batched=True)


def _split(items: Iterable[Any], *, batched: bool) -> tuple[Array, list[Label]]:
    """Points and labels of pairs; a batch has several points in its first element."""
    x: list[Any] = []
    y: list[Any] = []
    for item in items:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise InputError(
                "items of a torch data set must be pairs of a point and its label, got "
                f"{_describe(item)}; wrap it in a data set that returns such pairs"
            )
        point, label = item
        x += point if batched else [point]
        y += label if batched else [label]
    return stack_points(x), list_labels(y)


def _describe(item: Any) -> str:
    if isinstance(item, tuple | list):
        return f"{len(item)} values"
    return (
        f"a dict with {', '.join(map(str, item))}"
        if isinstance(item, dict)
        else f"a {type(item).__name__}"
    )


def _count_classes(dataset: Any) -> int | None:
    """Number of classes that a data set names, or the one that it is a subset of."""
    while hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    names = getattr(dataset, "classes", None)
    return len(names) if isinstance(names, list | tuple) else None


READERS.add(
    "torch",
    DataReader("torch's Dataset, TensorDataset, IterableDataset, DataLoader", _takes, _read),
)

"""Data sets and loaders as MAITE's protocol for image classification describes them.

They are recognised by their structure: ``metadata`` with an ``id``, a length, and items that are an
image with the channels first, one score per class, and metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset, to_host
from shaketable.data.dataset import Dataset, Label
from shaketable.data.readers.reader import (
    READERS,
    DataReader,
    Options,
    explain_item_errors,
    stack_points,
)


def has_metadata(thing: Any) -> bool:
    """Whether an object has the metadata of MAITE's protocols: a mapping with an ``id``."""
    metadata = getattr(thing, "metadata", None)
    return isinstance(metadata, Mapping) and isinstance(metadata.get("id"), str)


def read_loader(loader: Iterable[Any], *, name: str = "data") -> Dataset:
    """Read all batches of a loader of MAITE in their order: images, scores per class, metadata.

    Parameters
    ----------
    loader
        Yields batches of images, scores per class and metadata.
    name
        Name of the data.

    Returns
    -------
    Dataset
        All images with their classes.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> data = st.make_dataset(np.zeros((4, 8, 8, 3), np.uint8), ["cat", "dog"] * 2)
    >>> loader = st.maite.MaiteLoader(st.maite.MaiteDataset(data))
    >>> st.maite.read_loader(loader).x.shape
    (4, 3, 8, 8)
    """
    with explain_item_errors("the loader"):
        items = [item for batch in loader for item in zip(*batch, strict=True)]
    return _make_dataset(items, name, {})


def list_names(metadata: Mapping[str, Any], n: int) -> tuple[str, ...] | None:
    """Names of `n` classes in the order of their scores; None unless metadata name each of them.

    >>> list_names({"id": "pets", "index2label": {0: "cat", 1: "dog"}}, 2)
    ('cat', 'dog')
    """
    named = metadata.get("index2label")
    if not isinstance(named, Mapping):
        return None
    names = tuple(str(named[i]) for i in range(n) if i in named)
    return names if len(set(names)) == n else None


def _is_dataset(source: Any) -> bool:
    readable = hasattr(source, "__getitem__") and hasattr(source, "__len__")
    return readable and has_metadata(source)


def _takes(source: Any) -> bool:
    """Whether this is a data set, or a loader that has one."""
    is_loader = hasattr(source, "__iter__") and _is_dataset(getattr(source, "dataset", None))
    return is_loader or _is_dataset(source)


def _read(source: Any, options: Options) -> Dataset:
    """All points, or those of a sample, in the order of the data set, however a loader shuffles."""
    options.refuse_label("a data set of MAITE, whose items have their classes")
    if not _is_dataset(source):
        sampler, source = getattr(source, "sampler", source.dataset), source.dataset
        if len(sampler) != len(source):
            raise InputError(
                f"a loader must take every point once, got one of {len(sampler)} of {len(source)} "
                "points; give a data set of those points, or what st.maite.read_loader returns"
            )
    name, sample = source.metadata["id"], options.sample
    with explain_item_errors(f"MAITE data set {name}"):
        n = len(source)
        rows = np.arange(n) if sample is None else sample.choose(n)
        items = [source[place] for place in rows.tolist()]
    data = _make_dataset(items, name, source.metadata)
    return data if sample is None else sample.mark(data, rows, n)


def _make_dataset(items: list[Any], name: str, metadata: Mapping[str, Any]) -> Dataset:
    if not items or any(not isinstance(item, tuple) or len(item) != 3 for item in items):
        raise InputError(
            f"items of MAITE data set {name} must be triples of an image, scores and metadata, "
            "and there must be one"
        )
    x = stack_points(image for image, _, _ in items)
    if x.ndim != 4:
        raise InputError(
            f"images of MAITE data set {name} must be channels x height x width, got shape "
            f"{x.shape[1:]}"
        )
    targets = stack_points(to_host(target) for _, target, _ in items)
    if targets.ndim != 2 or targets.shape[1] < 2:
        raise InputError(
            f"targets of MAITE data set {name} must be one score per class, got shape "
            f"{targets.shape[1:]}; encode labels as one-hot"
        )
    n = targets.shape[1]
    classes: tuple[Label, ...] = list_names(metadata, n) or tuple(range(n))
    labels = [classes[code] for code in targets.argmax(axis=1)]
    return make_dataset(x, labels, name=name, classes=classes)


READERS.add("maite", DataReader("data sets of MAITE for image classification", _takes, _read))

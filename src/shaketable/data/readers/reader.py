"""Readers: kinds of files, folders and objects that become data sets, each in its own module.

A kind is one `DataReader`. Other packages add theirs by an entry point in the group
``shaketable.data_readers``, which refers to a `DataReader`::

    [project.entry-points."shaketable.data_readers"]
    "zarr" = "zarrdata.reading:READER"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.registry import Registry
from shaketable.core.types import Array
from shaketable.data.arrays import to_host
from shaketable.data.dataset import Dataset, Label
from shaketable.data.images import to_levels
from shaketable.data.sampling import Sample


@dataclass(frozen=True)
class Options:
    """What a user says about data that are read."""

    label: str | None = None
    """Column, or other name, of the classes."""
    sample: Sample | None = None
    """Points to take; a reader may leave it to its caller to draw them from what it returns."""

    def refuse_label(self, kind: str) -> None:
        """Raise `InputError` if a label is named, for kinds whose classes have one place only."""
        if self.label is not None:
            raise InputError(f"label is for tables, and this is {kind}; leave it out")


@dataclass(frozen=True)
class DataReader:
    """Reads data of one kind."""

    help: str
    """What it reads, in a few words."""
    takes: Callable[[Any], bool]
    """Whether this is its kind: called with a `Path`, which may not exist, or with an object."""
    read: Callable[[Any, Options], Dataset]
    """Returns the data; damaged files and what else users can cause are an `InputError`."""


def _admit(name: str, reader: Any) -> DataReader:
    """Check a reader of another package; whatever it raises becomes an `InputError`."""
    if not isinstance(reader, DataReader):
        raise InputError(
            f"data reader {name!r} must be a shaketable.data.readers.reader.DataReader, got "
            f"{type(reader).__name__}; update or uninstall the package that declares it"
        )
    guard = READERS.guard(name)
    return DataReader(reader.help, guard(reader.takes), guard(reader.read))


READERS: Registry[DataReader] = Registry(
    "data reader",
    _admit,
    homes=(
        "shaketable.data.readers.idx_files",
        "shaketable.data.readers.cifar",
        "shaketable.data.readers.tiny_imagenet",
        "shaketable.data.readers.maite_data",  # some of its data sets are torch's, too
        "shaketable.data.readers.hugging_face",  # some of its data sets are torch's, too
        "shaketable.data.readers.torch_data",
    ),
)
"""All kinds, by name; the first that takes a source reads it."""


def find_reader(source: Any) -> DataReader | None:
    """Return the reader for a path or an object; None if there is none."""
    thing = Path(source) if isinstance(source, str) else source
    readers = map(READERS.get, READERS)
    return next((reader for reader in readers if reader.takes(thing)), None)


def stack_points(items: Iterable[Any]) -> Array:
    """One array of points that are tensors, arrays, lists of numbers or Pillow's images.

    Images become uint8. Among images in colour, grey ones count as colour.

    >>> stack_points([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    points = [_to_array(item) for item in items]
    shapes = Counter(point.shape for point in points)
    (usual, _), *others = shapes.most_common() or [((), 0)]
    colour = next((shape for shape in shapes if len(shape) == 3 and shape[2] == 3), None)
    if others and colour and set(shapes) == {colour, colour[:2]}:
        return np.stack([p if p.ndim == 3 else np.repeat(p[..., None], 3, axis=2) for p in points])
    if others:
        row = next(i for i, point in enumerate(points) if point.shape != usual)
        raise InputError(
            f"points must have the same shape, and most have {usual}, but row {row} (from 0) has "
            f"{points[row].shape}; resize or leave out those that differ"
        )
    return np.stack(points) if points else np.empty((0, 0))


def _to_array(item: Any) -> Array:
    return to_levels(item) if hasattr(item, "getbands") else np.asarray(to_host(item))


def list_labels(labels: Iterable[Any]) -> list[Label]:
    """Labels as Python's own numbers and texts."""
    return [label.item() if hasattr(label, "item") else label for label in labels]


def number_classes(labels: Sequence[Any], known: int | None) -> tuple[Label, ...] | None:
    """Return all classes if labels are their numbers and so many are known, else None.

    A sample may lack some of them, and a model has a score for each.

    >>> number_classes([0, 3, 1], 5), number_classes(["a", "b"], 5)
    ((0, 1, 2, 3, 4), None)
    """
    if known is None or not all(type(v) is int and 0 <= v < known for v in labels):
        return None
    return tuple(range(known))


def explain_item_errors(kind: str) -> AbstractContextManager[None]:
    """Turn whatever code of a data set raises into an `InputError` that names the data set."""
    return guard_foreign(f"{kind} cannot be read: {{error}}; correct it")

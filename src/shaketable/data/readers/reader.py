"""Readers: kinds of files, folders and objects that become data sets, each in its own module.

A kind is one `DataReader`. Other packages add theirs by an entry point in the group
``shaketable.data_readers``, which refers to a `DataReader`::

    [project.entry-points."shaketable.data_readers"]
    "zarr" = "zarrdata.reading:READER"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.data.dataset import Dataset
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

"""Several labels per point: every set of labels that occurs is a class, named by its labels.

So points are opponents if their sets differ in any label, and an answer is right if all labels are
(exact-match accuracy).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array, BoolArray, IntArray

_AND, _NONE = " + ", "no label"


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Which labels every class has.

    >>> sets = LabelSets.of(("sea", "sun"), ("no label", "sea", "sea + sun"))
    >>> sets.encode(np.array([[1, 1], [0, 1]]))  # no point has the sun alone
    array([ 2, -1])
    >>> sets.indicate(np.array([1, 2])).tolist()
    [[1, 0], [1, 1]]
    """

    names: tuple[str, ...]
    members: BoolArray
    """Whether a class has a label, (classes, labels)."""

    @classmethod
    def of(cls, names: Sequence[str], classes: Sequence[Any]) -> LabelSets:
        """Read the labels of classes off their names."""
        known = {name: i for i, name in enumerate(names)}
        members = np.zeros((len(classes), len(names)), bool)
        for row, text in enumerate(classes):
            parts = [] if text == _NONE else str(text).split(_AND)
            if unknown := [part for part in parts if part not in known]:
                raise InputError(
                    f"classes of sets of labels must be made of {', '.join(names)}, got "
                    f"{unknown[0]!r}; leave label_names out, or name this label, too"
                )
            members[row, [known[part] for part in parts]] = True
        return cls(tuple(names), members)

    def encode(self, answers: Array) -> IntArray:
        """Class code of every row of zeros and ones; -1 for a set that is none of the classes."""
        known = {row.tobytes(): code for code, row in enumerate(self.members)}
        rows = np.ascontiguousarray(answers.astype(bool))
        return np.array([known.get(row.tobytes(), -1) for row in rows], dtype=np.int64)

    def indicate(self, codes: IntArray) -> IntArray:
        """Zeros and ones, one column per label, of classes."""
        return self.members[codes].astype(np.int64)

    def suits(self, answers: Array) -> bool:
        """Whether answers have one column per label, and hold zeros and ones alone."""
        return answers.ndim == 2 and answers.shape[1] == len(self.names) and is_binary(answers)


def is_binary(values: Array) -> bool:
    """Whether values are booleans, or zeros and ones."""
    return values.dtype.kind in "biuf" and bool(((values == 0) | (values == 1)).all())


def name_sets(indicator: Array, names: Sequence[str]) -> list[str]:
    """Name the set of every row of zeros and ones by its labels, in the order of the columns.

    >>> name_sets(np.array([[1, 1], [0, 0]]), ("sea", "sun"))
    ['sea + sun', 'no label']
    """
    return [
        _AND.join(name for name, there in zip(names, row, strict=True) if there) or _NONE
        for row in indicator.tolist()
    ]


def check_label_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return names of labels as texts; raise `InputError` if they cannot name sets."""
    texts = tuple(map(str, names))
    for name in texts:
        if not name.strip() or _AND in name or name == _NONE or texts.count(name) > 1:
            raise InputError(
                f"names of labels must differ, must not be empty or {_NONE!r}, and must not hold "
                f"{_AND!r}, got {name!r}; rename it"
            )
    return texts


def read_indicator(y: Any, names: Sequence[str] | None) -> tuple[list[str], tuple[str, ...], bool]:
    """Read a matrix with one column of zeros and ones per label.

    Returns the set of every row by name, the names of the labels, and whether every row has exactly
    one label, though nothing says that it may have several.
    """
    array = np.asarray(y)
    if array.dtype == object:
        with suppress(TypeError, ValueError):
            array = array.astype(float)
    if not is_binary(array):
        raise InputError(
            f"y with several columns must hold 0 and 1, one column per label, got "
            f"{array.dtype} of shape {array.shape}; give one label per row, or one column per label"
        )
    columns = getattr(y, "columns", range(array.shape[1])) if names is None else names
    known = check_label_names(columns)
    if len(known) != array.shape[1]:
        raise InputError(
            f"label_names must name every column of y, got {len(known)} for {array.shape[1]} "
            "columns; name all"
        )
    alone = names is None and bool((array.sum(axis=1) == 1).all())
    return name_sets(array, known), known, alone


def split_cells(cells: Iterable[Any], separator: str) -> tuple[list[str], tuple[str, ...]]:
    """Split texts such as ``sea;sun`` into sets of labels; return their names, and the labels.

    An empty text is a set without labels.

    >>> split_cells(["sun; sea", "", "sea"], ";")
    (['sea + sun', 'no label', 'sea'], ('sea', 'sun'))
    """
    if not separator:
        raise InputError("label_separator must be a text such as ';', got an empty one")
    texts = [*cells]
    if odd := [text for text in texts if not isinstance(text, str)]:
        raise InputError(
            f"labels with a separator must be text, got {odd[0]!r}; write them as text"
        )
    found = [{part.strip() for part in text.split(separator)} - {""} for text in texts]
    names = check_label_names(sorted(set().union(*found)))
    indicator = np.array([[name in each for name in names] for each in found]).reshape(
        len(found), -1
    )
    return name_sets(indicator, names), names

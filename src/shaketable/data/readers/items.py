"""Points and labels that data sets of other libraries return one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.types import Array
from shaketable.data.arrays import to_host
from shaketable.data.dataset import Label
from shaketable.data.images import to_levels


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

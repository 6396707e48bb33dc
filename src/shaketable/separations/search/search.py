"""Nearest neighbours across groups of points, exact, by the way that suits the data's shape."""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.answer import Nearest
from shaketable.separations.search.trees import MAX_TREE_P

MAX_TREE_DIMENSION = 16
"""Above this a k-d tree visits nearly every leaf; comparing blocks of points is faster."""

MAX_TREE_GROUPS = 100
"""Every group has a tree of its own, which all points of other groups are looked up in."""


def search(
    x: Array,
    group: IntArray,
    p: float,
    *,
    of: Array | None = None,
    cell: IntArray | None = None,
    part: IntArray | None = None,
    top: int = 0,
    progress: bool = False,
    device: str | None = None,
) -> Nearest:
    """Find nearest points of other groups; what is not asked for costs nothing.

    Parameters
    ----------
    x, group
        Points, one a row, and their groups, 0 and up.
    of
        Mask of the points whose nearest neighbour is wanted.
    cell
        Of every point, in the same order as `group`, where minima between cells are wanted.
    part
        0 or 1 for every point, where minima within and across the two are wanted.
    top
        How many of the closest pairs are wanted.
    progress
        Show a bar.
    device
        Device of torch's to search on, such as ``"cuda"``; the results are the same.
    """
    if device is not None:
        _need_torch()
        from shaketable.separations.search import tensors

        return tensors.search(
            x, group, p, device=device, of=of, cell=cell, part=part, top=top, progress=progress
        )
    if _suits_trees(x, group, p):
        from shaketable.separations.search import trees

        return trees.search(x, group, p, of=of, cell=cell, part=part, top=top)
    from shaketable.separations.search import blocks  # compiles

    return blocks.search(x, group, p, of=of, cell=cell, part=part, top=top, progress=progress)


def pairs_within(
    x: Array,
    group: IntArray,
    p: float,
    radius: FloatArray,
    *,
    progress: bool = False,
    device: str | None = None,
) -> IntArray:
    """Rows (i, j) of the pairs of different groups within the radius of either, a measure.

    Every pair comes once, the lower group first; a negative radius holds nothing.
    """
    if device is not None:
        _need_torch()
        from shaketable.separations.search import tensors

        return tensors.pairs_within(x, group, p, radius, device=device, progress=progress)
    if _suits_trees(x, group, p):
        from shaketable.separations.search import trees

        return trees.pairs_within(x, group, p, radius)
    from shaketable.separations.search import blocks

    return blocks.pairs_within(x, group, p, radius, progress=progress)


def _need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise InputError(
            "device needs torch, which is not installed; pip install 'shaketable[torch]'"
        ) from error


def _suits_trees(x: Array, group: IntArray, p: float) -> bool:
    return (
        x.shape[1] <= MAX_TREE_DIMENSION
        and (1 <= p <= MAX_TREE_P or math.isinf(p))
        and len(np.unique(group)) <= MAX_TREE_GROUPS
    )

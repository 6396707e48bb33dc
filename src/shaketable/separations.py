"""How far apart the classes are: the data's own measure of how much noise is fair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from shaketable.arrays import make_dataset, pair
from shaketable.data import Dataset
from shaketable.errors import UndefinedError
from shaketable.norms import as_p, half_separation, norm_title, pnorm
from shaketable.types import FloatArray, IntArray

MAX_TREE_DIMENSION = 16
"""Above this a k-d tree visits nearly every leaf, and comparing blocks directly is faster."""

MAX_TREE_P = 10
"""Above this |x|**p underflows for small distances; such norms are computed scaled, directly."""

_BLOCK = 1 << 22  # distances held at a time: 32 MB


@dataclass(frozen=True, eq=False)
class Separation:
    r"""The distance between classes in one norm.

    .. math:: 2r = \min \{ \lVert x_i - x_j \rVert_p : y_i \ne y_j \}, \quad \epsilon_{min} = r

    Siedel et al. (2022), Eq. 1. Noise of size ``epsilon_min`` cannot carry a point half way to
    another class, so a classifier can keep all its accuracy under it.
    """

    p: float
    two_r: float
    pair: tuple[int, int]
    """The closest points of different classes; of several such pairs the first."""
    nearest: FloatArray
    """Every point's distance to its nearest point of another class."""
    opponent: IntArray
    """That point's row."""
    by_class: FloatArray
    """Minimum per pair of classes; NaN on the diagonal."""
    by_part: dict[str, float | None]
    """Minima train-train, train-test, test-test; None for a part without two classes; empty when
    there is only one part."""
    classes: tuple[Any, ...]
    y: IntArray
    """Class codes of all points, indices into `classes`."""

    @property
    def epsilon_min(self) -> float:
        """Half the separation: the strongest noise under which no accuracy has to be lost."""
        return half_separation(self.two_r, self.p)

    def __str__(self) -> str:
        i, j = self.pair
        return (
            f"{norm_title(self.p)} separation 2r = {self.two_r:.6g} between rows {i} and {j}; "
            f"eps_min = {self.epsilon_min:.6g}"
        )


def separation(
    x: ArrayLike | Dataset, y: ArrayLike | None = None, *, norm: str | float = "inf"
) -> Separation:
    """Exact class separation of a data set, with every point's nearest opponent.

    Parameters
    ----------
    x, y
        Points, one a row, and their labels; or a `Dataset` or a pair (x, y) alone. Arrays are
        taken in their own units; a uint8 `Dataset` counts as x/255.
    norm
        ``"inf"``, 1, 2, or any other positive order.

    Raises
    ------
    UndefinedError
        When points of different classes coincide, so that eps_min would be 0.

    >>> s = separation(np.array([[0.0], [1.0], [4.0]]), np.array(["a", "a", "b"]))
    >>> s.two_r, s.epsilon_min, s.pair
    (3.0, 1.5, (1, 2))
    """
    p = as_p(norm)
    own_units = not isinstance(x, Dataset)
    if isinstance(x, Dataset):
        data = x
    else:
        data = make_dataset(*(pair(x, "x without y") if y is None else (x, y)))
    _refuse_clashes(data)
    flat = data.x.reshape(data.n, -1)
    values = flat.astype(np.float64) if flat.dtype != np.float64 else flat
    groups = _groups(data)
    nearest, opponent = np.full(data.n, np.inf), np.zeros(data.n, np.int64)
    between = np.full((len(groups), len(groups)), np.inf)
    of_group = np.concatenate([np.full(len(rows), g) for g, (_, _, rows) in enumerate(groups)])
    members = np.concatenate([rows for _, _, rows in groups])
    for g, (target_class, _, targets) in enumerate(groups):
        others = data.y[members] != target_class
        queries = members[others]
        found = targets[_nearest(values[queries], values[targets], p)]
        distance = pnorm(values[queries] - values[found], p)
        np.minimum.at(between[:, g], of_group[others], distance)
        better = (distance < nearest[queries]) | (
            (distance == nearest[queries]) & (found < opponent[queries])
        )
        nearest[queries[better]] = distance[better]
        opponent[queries[better]] = found[better]
    unit = 255.0 if data.x.dtype == np.uint8 and not own_units else 1.0
    nearest, between = nearest / unit, between / unit
    i = int(nearest.argmin())
    return Separation(
        p=p,
        two_r=float(nearest[i]),
        pair=(i, _first_at(values, data.y, i, pnorm(values[[i]] - values[opponent[[i]]], p)[0], p)),
        nearest=nearest,
        opponent=opponent,
        by_class=_by_class(groups, between, len(data.classes)),
        by_part=_by_part(groups, between) if data.n_train is not None else {},
        classes=data.classes,
        y=data.y,
    )


def _first_at(x: FloatArray, y: IntArray, i: int, distance: float, p: float) -> int:
    """First row of another class at exactly this distance from row i."""
    others = np.flatnonzero(y != y[i])
    return int(others[(pnorm(x[others] - x[i], p) == distance).argmax()])


_Groups = list[tuple[int, str, IntArray]]


def _groups(data: Dataset) -> _Groups:
    """Rows by class and part: (class, part, rows)."""
    in_test = np.arange(data.n) >= (data.n if data.n_train is None else data.n_train)
    return [
        (c, part, rows)
        for c in range(len(data.classes))
        for part, mask in (("train", ~in_test), ("test", in_test))
        if len(rows := np.flatnonzero((data.y == c) & mask))
    ]


def _by_class(groups: _Groups, between: FloatArray, n_classes: int) -> FloatArray:
    result = np.full((n_classes, n_classes), np.inf)
    owner = [c for c, _, _ in groups]
    np.minimum.at(result, np.ix_(owner, owner), between)
    result[~np.isfinite(result)] = np.nan
    return result


def _by_part(groups: _Groups, between: FloatArray) -> dict[str, float | None]:
    result: dict[str, float | None] = {}
    part = np.array([part for _, part, _ in groups])
    for a, b in (("train", "train"), ("train", "test"), ("test", "test")):
        least = between[np.ix_(part == a, part == b)].min(initial=np.inf)
        result[f"{a}-{b}"] = float(least) if math.isfinite(least) else None
    return result


def _nearest(queries: FloatArray, targets: FloatArray, p: float) -> IntArray:
    """Index of the nearest target for every query, the first of several equally near."""
    if queries.shape[1] <= MAX_TREE_DIMENSION and (1 <= p <= MAX_TREE_P or math.isinf(p)):
        from scipy.spatial import cKDTree  # 0.3 s, wanted only here

        return np.asarray(cKDTree(targets).query(queries, p=p, workers=-1)[1], dtype=np.int64)
    if p in (1, 2, math.inf):
        from scipy.spatial.distance import cdist

        metric: Literal["cityblock", "euclidean", "chebyshev"]
        metric = "cityblock" if p == 1 else "euclidean" if p == 2 else "chebyshev"
        step = max(1, _BLOCK // len(targets))
        blocks = [queries[i : i + step] for i in range(0, len(queries), step)]
        return np.concatenate([cdist(block, targets, metric).argmin(axis=1) for block in blocks])
    return np.array([pnorm(targets - query, p).argmin() for query in queries])


def _refuse_clashes(data: Dataset) -> None:
    clashes = data.clashes()
    if clashes:
        shown = ", ".join(f"({i}, {j})" for i, j in clashes[:5])
        more = f" and {len(clashes) - 5} more" if len(clashes) > 5 else ""
        raise UndefinedError(
            f"eps_min must not be 0, but points of different classes coincide: rows {shown}{more}; "
            "correct their labels, or leave them out with --drop-clashes (Dataset.drop_clashes())"
        )

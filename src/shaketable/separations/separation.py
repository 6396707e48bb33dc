"""How far apart the classes are: the data's own measure of how much noise is fair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.norms import as_p, half_separation, norm_title
from shaketable.core.types import FloatArray, IntArray
from shaketable.data.arrays import check_pair, find_device, make_dataset
from shaketable.data.dataset import Dataset
from shaketable.separations.search.search import search

MAX_CLASSES = 1000
"""Above this number of classes the minimum of each two of them is not kept."""

_LEAST = 1e-290  # below it float64 loses digits

CLOSEST, MAX_CLOSEST = 10, 1001
"""How many of the closest pairs are listed, and at most."""


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
    nearest: FloatArray | None
    """Every point's distance to its nearest point of another class; None if not asked for."""
    opponent: IntArray | None
    """That point's row; of several equally near the first."""
    closest: IntArray
    """The closest pairs of different classes, rows (i, j) with i < j, in order."""
    closest_distance: FloatArray
    """Their distances."""
    by_class: FloatArray | None
    """Minimum per pair of classes, NaN on the diagonal; None for more than 1000 classes, or if not
    asked for."""
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

    def epsilon_min_without(self, pairs: int) -> float | None:
        """Return what eps_min would be without the closest pairs; None if not that many are known.

        >>> x, y = np.array([[0.0], [1.0], [4.0], [9.0]]), np.array(["a", "b", "a", "b"])
        >>> s = separation(x, y)
        >>> [s.epsilon_min_without(m) for m in (0, 1, 2, 4)]
        [0.5, 1.5, 2.5, None]
        """
        if not 0 <= pairs < len(self.closest_distance):
            return None
        return half_separation(float(self.closest_distance[pairs]), self.p)

    def __str__(self) -> str:
        i, j = self.pair
        return (
            f"{norm_title(self.p)} separation 2r = {self.two_r:.6g} between rows {i} and {j}; "
            f"eps_min = {self.epsilon_min:.6g}"
        )


def separation(
    x: ArrayLike | Dataset,
    y: ArrayLike | None = None,
    *,
    norm: str | float = "inf",
    points: bool = True,
    per_class: bool = True,
    closest: int = CLOSEST,
    device: str | None = None,
    progress: bool = False,
) -> Separation:
    """Exact class separation of a data set.

    In up to 16 dimensions k-d trees are searched; in more, compiled loops look at a few features
    of each pair of points, and at the points themselves only where these leave it open. uint8 is
    compared in whole numbers.

    Parameters
    ----------
    x, y
        Points, one a row, and their labels; or a `Dataset` or a pair (x, y) alone. Arrays and
        torch tensors are taken in their own units; a uint8 `Dataset` counts as x/255.
    norm
        ``"inf"``, 1, 2, or any other positive order.
    points
        Also find every point's nearest opponent. On large data of many dimensions that takes
        several times as long as the rest.
    per_class
        Also find the minimum of each two classes.
    closest
        How many of the closest pairs to list.
    device
        Where to search: a device of torch's such as ``"cuda"``; None is the CPU, without torch,
        unless `x` is a tensor elsewhere. The result is the same.
    progress
        Show a bar where points of many dimensions are compared.

    Raises
    ------
    UndefinedError
        When points of different classes coincide, so that eps_min would be 0.

    >>> s = separation(np.array([[0.0], [1.0], [4.0]]), np.array(["a", "a", "b"]))
    >>> s.two_r, s.epsilon_min, s.pair, s.nearest.tolist()
    (3.0, 1.5, (1, 2), [4.0, 3.0, 3.0])
    """
    p = as_p(norm)
    closest = check_whole("closest", closest, least=1)
    if closest > MAX_CLOSEST:
        raise InputError(f"closest must be at most {MAX_CLOSEST}, got {closest}")
    if isinstance(x, Dataset):
        data, unit = x, 255.0 if x.x.dtype == np.uint8 else 1.0
    else:
        x, y = check_pair(x, "x without y") if y is None else (x, y)
        device = device or find_device(x)
        data, unit = make_dataset(x, y), 1.0
    _refuse_clashes(data)
    per_class = per_class and len(data.classes) <= MAX_CLASSES
    found = search(
        np.ascontiguousarray(data.x.reshape(data.n, -1)),
        data.y,
        p,
        of=np.ones(data.n, bool) if points else None,
        cell=data.y if per_class else None,
        part=None if data.n_train is None else (np.arange(data.n) >= data.n_train).astype(np.int64),
        top=closest,
        progress=progress,
        device=device,
    )
    distances = found.distance(found.top) / unit
    if not len(distances) or not _LEAST < distances[0] < math.inf:
        raise UndefinedError(
            f"the {norm_title(p)} separation is beyond the range of float64; scale the data"
        )
    return Separation(
        p=p,
        two_r=float(distances[0]),
        pair=(int(found.top_rows[0, 0]), int(found.top_rows[0, 1])),
        nearest=found.distance(found.near) / unit if points else None,
        opponent=found.who if points else None,
        closest=found.top_rows,
        closest_distance=distances,
        by_class=_by_class(found.distance(found.cells) / unit, data) if per_class else None,
        by_part={} if data.n_train is None else _by_part(found.distance(found.parts) / unit),
        classes=data.classes,
        y=data.y,
    )


def _by_class(cells: FloatArray, data: Dataset) -> FloatArray:
    result = np.full((len(data.classes),) * 2, math.nan)
    result[: len(cells), : len(cells)] = np.minimum(cells, cells.T)  # codes above have no points
    result[np.isinf(result)] = math.nan
    return result


def _by_part(parts: FloatArray) -> dict[str, float | None]:
    names = "train-train", "train-test", "test-test"
    return {
        name: float(value) if math.isfinite(value) else None
        for name, value in zip(names, parts, strict=True)
    }


def _refuse_clashes(data: Dataset) -> None:
    clashes = data.clashes()
    if clashes:
        shown = ", ".join(f"({i}, {j})" for i, j in clashes[:5])
        more = f" and {len(clashes) - 5} more" if len(clashes) > 5 else ""
        raise UndefinedError(
            f"eps_min must not be 0, but points of different classes coincide: rows {shown}{more}; "
            "correct their labels, or leave them out with --drop-clashes (Dataset.drop_clashes())"
        )

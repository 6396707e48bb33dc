"""The distance between classes, which decides how large noise may be without costing accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.arrays import Parts, check_fits_memory
from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.core.norms import as_p, half_separation, norm_title
from shaketable.core.types import FloatArray, IntArray
from shaketable.data.arrays import find_device, make_dataset
from shaketable.data.dataset import Dataset
from shaketable.data.files import DataLike, as_dataset
from shaketable.models.embedding import as_embedding, note_embedding
from shaketable.separations.opponents import check_moving, explain_no_opponents, place_points
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import search, search_strata
from shaketable.views.numbers import format_distance

MAX_CLASSES = 1000
"""With more classes the minimum between each two of them is not kept."""

_LEAST = 1e-290  # below, float64 loses digits

CLOSEST, MAX_CLOSEST = 10, 1001
"""Number of closest pairs listed: default, and largest."""


@dataclass(frozen=True, eq=False)
class Separation:
    r"""The distance between classes in one norm.

    .. math:: 2r = \min \{ \lVert x_i - x_j \rVert_p : y_i \ne y_j \}, \quad \epsilon_{min} = r

    Siedel et al. (2022), Eq. 1. Noise of size ``epsilon_min`` cannot carry a point half way to
    another class, so a classifier can keep all its accuracy under it.

    Examples
    --------
    >>> import shaketable as st
    >>> st.separation([[0.0], [1.0], [3.0]], ["a", "a", "b"]).epsilon_min
    1.0
    """

    p: float
    two_r: float
    pair: tuple[int, int]
    """Rows of the closest points of different classes; of several such pairs the first."""
    nearest: FloatArray | None
    """Distance of every point to its nearest point of another class; None if not asked for.

    Infinite for points of a table without an opponent: no point of another class agrees with them
    in the columns that noise leaves alone.
    """
    opponent: IntArray | None
    """Row of that point; of several equally near the first. -1 if there is none."""
    closest: IntArray
    """Rows (i, j), i < j, of the closest pairs of different classes, in order of distance."""
    closest_distance: FloatArray
    """Their distances."""
    by_class: FloatArray | None
    """Minimum between each two classes, NaN on the diagonal; None for more than 1000 classes, or if
    not asked for."""
    by_part: dict[str, float | None]
    """Minima train-train, train-test, test-test; None where there is no pair of different classes;
    empty if the data have only one part."""
    classes: tuple[Any, ...]
    y: IntArray
    """Class code of every point: index into `classes`."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the data, such as that uint8 counts as x/255."""
    embedding: str = ""
    """Name of the embedding that distances are taken in; empty for those of the points."""

    @property
    def epsilon_min(self) -> float:
        """Half the separation: the strongest noise under which no accuracy has to be lost."""
        return half_separation(self.two_r, self.p)

    def epsilon_min_without(self, pairs: int) -> float | None:
        """Value of eps_min if this many of the closest pairs were left out; None if unknown.

        Parameters
        ----------
        pairs
            Number of closest pairs to leave out.

        Returns
        -------
        float | None
            eps_min; None if too few pairs are known.

        Examples
        --------
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
        where = f" in embedding {self.embedding}" if self.embedding else ""
        return (
            f"{norm_title(self.p)} separation 2r = {format_distance(self.two_r)}{where} "
            f"between rows {i} and {j}; eps_min = {format_distance(self.epsilon_min)}"
        )


def separation(
    x: ArrayLike | DataLike,
    y: ArrayLike | None = None,
    *,
    norm: str | float = "inf",
    points: bool = True,
    per_class: bool = True,
    closest: int = CLOSEST,
    embedding: Any = None,
    device: str | None = None,
    keep: Parts | None = None,
    progress: bool = False,
) -> Separation:
    """Exact class separation of a data set.

    Up to 16 dimensions, k-d trees are searched; in more, compiled loops compare a few features of
    each pair of points, and the points themselves only if these do not decide. Few points are
    compared directly. uint8 is compared in whole numbers. In a table of several kinds, only columns
    that noise changes count, and only between points that agree in all others, or these count by
    Gower's distance; see `Dataset.touching`.

    Parameters
    ----------
    x, y
        Points, one per row, and their labels; or, as `x` alone, what `evaluate` takes as data.
        uint8 images count as x/255, as in `make_dataset`; all else is taken in its own units.
    norm
        ``"inf"``, 1, 2, or any other positive order.
    points
        Also find every point's nearest opponent: its nearest point of another class. For many
        points of many dimensions that takes several times as long as the rest.
    per_class
        Also find the minimum between each two classes.
    closest
        Number of closest pairs to list, 1 to 1001.
    embedding
        A map from points to vectors, whose distances count in place of those of the points: a
        function, a fitted estimator with ``transform``, a torch network, or a `models.Embedding`,
        such as a layer of a network. eps_min is then a size in the units of the vectors, and none
        of noise on the points.
    device
        Torch device to search on, such as ``"cuda"``. None: the device of `x` if that is a tensor,
        else the CPU, without torch. The result is the same.
    keep
        An open results file (`Store`) that keeps what a long search has found so far, every few
        seconds. If it is killed, the same call continues from there.
    progress
        Show a progress bar; searches of k-d trees and of few points have none.

    Returns
    -------
    Separation
        Distances, closest pairs and eps_min.

    Raises
    ------
    UndefinedError
        If points of different classes coincide, so that eps_min would be 0.

    Examples
    --------
    >>> s = separation(np.array([[0.0], [1.0], [4.0]]), np.array(["a", "a", "b"]))
    >>> s.two_r, s.epsilon_min, s.pair, s.nearest.tolist()
    (3.0, 1.5, (1, 2), [4.0, 3.0, 3.0])
    """
    p = as_p(norm)
    closest = check_whole("closest", closest, least=1)
    if closest > MAX_CLOSEST:
        raise InputError(f"closest must be at most {MAX_CLOSEST}, got {closest}")
    device = device or find_device(x[0] if isinstance(x, tuple) and x and y is None else x)
    data = as_dataset(x, argument="x without y") if y is None else make_dataset(x, y)
    check_fits_memory(
        data.x,
        "the separation",
        "name sizes of noise, such as linf(0.1), or take fewer points with "
        + either("--points N", "data.sample(N)"),
    )
    given, name = data, ""
    if embedding is not None:
        embedding = as_embedding(embedding)
        data, name = embedding.embed(data), embedding.name
    unit = data.unit
    check_moving(data)
    _refuse_clashes(data, name)
    per_class = per_class and len(data.classes) <= MAX_CLASSES
    x, strata = place_points(data, p)
    question = Question(
        x,
        data.y,
        p,
        nearest_of=np.ones(data.n, bool) if points else None,
        classes=data.y if per_class else None,
        parts=_parts(data),
        closest=closest,
        progress=progress,
        device=device,
        keep=keep,
    )
    answer = search(question) if strata is None else search_strata(question, strata)
    distances = answer.distance(answer.closest) / unit
    if strata is not None and not len(distances):
        raise explain_no_opponents(data)
    if not len(distances) or not _LEAST < distances[0] < math.inf:
        raise UndefinedError(
            f"the {norm_title(p)} separation is beyond the range of float64; scale the data"
        )
    return Separation(
        p=p,
        two_r=float(distances[0]),
        pair=(int(answer.closest_rows[0, 0]), int(answer.closest_rows[0, 1])),
        nearest=answer.distance(answer.nearest) / unit if points else None,
        opponent=answer.opponent if points else None,
        closest=answer.closest_rows,
        closest_distance=distances,
        by_class=_by_class(answer.distance(answer.by_class) / unit, data) if per_class else None,
        by_part={} if data.n_train is None else _by_part(answer.distance(answer.by_part) / unit),
        classes=data.classes,
        y=data.y,
        notes=(*_list_notes(given, name), *(_note_opponents(answer.nearest) if points else ())),
        embedding=name,
    )


def _list_notes(data: Dataset, embedding: str) -> list[str]:
    if not embedding:
        return data.notes()
    about = f"{note_embedding(embedding)}; eps_min is then no size of noise on the points"
    return [*data.notes(distances=False), about]


def _note_opponents(nearest: FloatArray) -> list[str]:
    alone = int(np.isinf(nearest).sum())
    if not alone:
        return []
    return [f"{alone} of {len(nearest)} points have no opponent, so no noise is too large for them"]


def _parts(data: Dataset) -> IntArray | None:
    """0 for training points, 1 for test points; None if the data have only one part."""
    return None if data.n_train is None else (np.arange(data.n) >= data.n_train).astype(np.int64)


def _by_class(minima: FloatArray, data: Dataset) -> FloatArray:
    """Symmetric matrix of the minima, which are above the diagonal; NaN without a pair."""
    result = np.full((len(data.classes),) * 2, math.nan)
    known = len(minima)  # classes after these have no points
    result[:known, :known] = np.minimum(minima, minima.T)
    result[np.isinf(result)] = math.nan
    return result


def _by_part(minima: FloatArray) -> dict[str, float | None]:
    names = "train-train", "train-test", "test-test"
    return {
        name: float(value) if math.isfinite(value) else None
        for name, value in zip(names, minima, strict=True)
    }


def _refuse_clashes(data: Dataset, embedding: str) -> None:
    clashes = data.clashes()
    if clashes:
        shown = ", ".join(f"({i}, {j})" for i, j in clashes[:5])
        more = f" and {len(clashes) - 5} more" if len(clashes) > 5 else ""
        drop = f"Dataset.drop_clashes({'embedded=vectors' if embedding else ''})"
        remedy = ", or leave them out with " + either("--drop-clashes", drop)
        if len(np.unique(np.delete(data.y, np.ravel(clashes)))) < len(np.unique(data.y)):
            remedy = " (a whole class would go if they were left out)"
        raise UndefinedError(
            "eps_min must not be 0, but points of different classes coincide"
            f"{f' in embedding {embedding}' if embedding else ''}: rows {shown}{more}; "
            f"correct their labels{remedy}"
        )


@dataclass(frozen=True, eq=False)
class SeparationRecord:
    """A class separation as metrics and reports use it."""

    fingerprint: str
    """Fingerprint of the data."""
    norm: float
    """Order of the norm."""
    two_r: float
    pair: tuple[int, int]
    """Rows of the closest points of different classes."""
    classes: tuple[Any, ...]
    by_class: list[list[float | None]] | None
    """Minimum between each two classes; None if there are too many classes to keep it."""
    by_part: dict[str, float | None]
    """Minima train-train, train-test, test-test; empty if the data have only one part."""
    nearest: FloatArray | None
    """Distance of every point to its nearest point of another class; None if not measured."""
    closest: tuple[tuple[int, int], ...] = ()
    """Rows of the closest pairs of different classes, in order of distance."""
    closest_distance: FloatArray | None = None
    """Their distances."""

    @property
    def epsilon_min(self) -> float:
        """Half the separation: the strongest noise under which no accuracy has to be lost."""
        return half_separation(self.two_r, self.norm)

    def restore(self, data: Dataset) -> Separation:
        """Return the separation; `data` are its data. Opponents of points are not kept."""
        by_class = None if self.by_class is None else np.array(self.by_class, dtype=float)
        known = self.closest_distance
        return Separation(
            p=self.norm,
            two_r=self.two_r,
            pair=(self.pair[0], self.pair[1]),
            nearest=self.nearest,
            opponent=None,
            closest=np.array(self.closest or [self.pair]),
            closest_distance=np.array([self.two_r]) if known is None else known,
            by_class=by_class,
            by_part=self.by_part,
            classes=data.classes,
            y=data.y,
            notes=tuple(data.notes()),
        )

    @classmethod
    def of(cls, separation: Separation, fingerprint: str) -> SeparationRecord:
        """Record of a measured separation of the points themselves."""
        if separation.embedding:
            raise InputError(
                f"a separation in embedding {separation.embedding} must not be kept: eps_min of "
                "records is a size of noise on the points; measure without embedding"
            )
        return cls(
            fingerprint=fingerprint,
            norm=separation.p,
            two_r=separation.two_r,
            pair=separation.pair,
            classes=separation.classes,
            by_class=class_minima(separation),
            by_part=separation.by_part,
            nearest=separation.nearest,
            closest=tuple((int(i), int(j)) for i, j in separation.closest),
            closest_distance=separation.closest_distance,
        )


def class_minima(separation: Separation) -> list[list[float | None]] | None:
    """Minimum between each two classes as plain numbers, None where there is no pair."""
    if separation.by_class is None:
        return None
    return [[None if math.isnan(v) else v for v in row] for row in separation.by_class.tolist()]


def rank_class_pairs(
    classes: Sequence[Any], by_class: Sequence[Sequence[float | None]] | None
) -> list[tuple[Any, Any, float]]:
    """Every pair of classes with its minimum distance, the closest first.

    >>> rank_class_pairs("abc", [[None, 2.0, 1.0], [2.0, None, None], [1.0, None, None]])
    [('a', 'c', 1.0), ('a', 'b', 2.0)]
    """
    if by_class is None:
        return []
    pairs = [
        (classes[i], classes[j], value)
        for i, j in combinations(range(len(classes)), 2)
        if (value := by_class[i][j]) is not None
    ]
    return sorted(pairs, key=lambda pair: pair[2])

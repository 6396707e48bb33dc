"""Fitted 1-nearest-neighbour classifiers: what they are made of, can tell apart, and Theorem 2."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.adversary.cells.cells import TIE
from shaketable.adversary.region import Region
from shaketable.core.checks import TINY
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import search

FAR = 1e150
"""What is as far or nearer has a square."""

THEOREM_2 = "1-NN on its own points, in the norm of its cells (Theorem 2)"

_METRICS = {
    "euclidean": 2.0,
    "l2": 2.0,
    "sqeuclidean": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": math.inf,
    "infinity": math.inf,
}


@dataclass(frozen=True, eq=False)
class FittedOneNN:
    """What a fitted 1-nearest-neighbour classifier is made of, and what it can tell apart."""

    points: FloatArray
    """Training points, (m, d); those that coincide have the same label."""
    labels: Array
    p: float
    expanded: bool = False
    """Whether its distances are off by a share of norms, and not only of themselves.

    As |a|^2 - 2ab + |b|^2 is, and the distance to a ball of a tree, less its radius.
    """
    grain: float = sys.float_info.epsilon
    """Of the numbers that it computes in."""

    @property
    def share(self) -> float:
        """Share of distances that rounding takes at most, the classifier's and ours."""
        d: int = self.points.shape[1]
        return 4 * (d + 8) * self.grain

    @cached_property
    def largest(self) -> float:
        """Norm of the largest training point."""
        return float(pnorm(self.points, self.p).max())

    @cached_property
    def apart(self) -> float:
        """Least distance between training points of different labels."""
        group = np.unique(self.labels, return_inverse=True)[1]
        everyone = np.ones(len(group), bool)
        answer = search(Question(self.points, group, self.p, nearest_of=everyone))
        return min(float(answer.nearest.min()), FAR)

    def error(self, norm: Any) -> Any:
        """By how much squared distances to a place of this norm may differ and compare wrongly.

        What is a `share` of the distances themselves comes on top.
        """
        size = np.maximum(self.largest, norm)
        return self.share * size**2 if self.expanded else 0.0 * size

    def keeps_apart(self, norm: Any, half: Any) -> Any:
        """Whether no place in a training point's cell gets the label of one twice `half` away.

        In its cell a place at distance b is nearer by a share `TIE`, so that squared distances
        differ by 2 TIE b^2; and where they are about equal, b is `half` or more. Farther out that
        grows faster than the error does.
        """
        return 1.8 * (TIE - self.share) * half**2 > self.error(norm + half)


def as_one_nn(model: Any, *, features: Sequence[str] | None = None) -> FittedOneNN | None:
    """Training points, labels and norm of a fitted scikit-learn classifier, if it is a 1-NN.

    A `KNeighborsClassifier` with one neighbour, any p-norm without weights of features, fitted on
    an array or a frame. None for all else, and where training points of different labels coincide:
    which of them a tree finds changes from place to place.

    Parameters
    ----------
    features
        Columns of the points that it will be asked about, which may be in another order; None where
        they have no names and are in the model's.
    """
    from sklearn.neighbors import KNeighborsClassifier  # heavy

    if type(model) is not KNeighborsClassifier or model.n_neighbors != 1 or model.outputs_2d_:
        return None
    metric, options = getattr(model, "effective_metric_", ""), model.effective_metric_params_
    p = options.get("p", 2.0) if metric in ("minkowski", "p") else _METRICS.get(metric)
    points, labels = model._fit_X, model.classes_[model._y]
    plain = options.get("w") is None and model.weights in ("uniform", "distance")
    if p is None or not plain or not isinstance(points, np.ndarray):
        return None
    method, single = model._fit_method, points.dtype == np.float32
    points = np.asarray(points, np.float64)
    if any((labels[rows] != labels[rows[0]]).any() for rows in find_equal_rows(points)):
        return None
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if names and features is not None:
        if sorted(set(names)) != sorted(features):
            return None
        points = points[:, [names.index(name) for name in features]]
    products = method == "brute" and p == 2
    # trees and products are computed in float64, differences in the type of the points
    narrow = single and method == "brute" and metric not in ("euclidean", "sqeuclidean")
    grain = float(np.finfo(np.float32 if narrow else np.float64).eps)
    return FittedOneNN(points, labels, float(p), products or method == "ball_tree", grain)


def proven_robust(one_nn: FittedOneNN | None, region: Region) -> str:
    """Why nothing is left to search for: Theorem 2, if it applies; else nothing.

    A 1-NN classifier that was fitted on exactly the evaluated points, in the norm of their cells,
    gives every point of a cell the label of its own point. So genuine accuracy is clean accuracy at
    every epsilon, of both kinds, and 1 where classes are exclusive. More or fewer training points,
    or another norm, and it does not hold; nor does it where powers of distances leave the range of
    numbers, or where rounding of norms outweighs what places in cells are nearer by.

    >>> region = Region(np.eye(2), (2,), np.dtype(float), 2, 0.1, "genuine-max")
    >>> proven_robust(FittedOneNN(np.eye(2)[::-1], np.arange(2), 2), region)
    '1-NN on its own points, in the norm of its cells (Theorem 2)'
    >>> proven_robust(FittedOneNN(np.eye(2), np.arange(2), 1), region)
    ''
    """
    if one_nn is None or one_nn.p != region.p or region.constraint == "none":
        return ""
    mine, theirs = (np.unique(x + 0.0, axis=0) for x in (one_nn.points, region.x))
    if not np.array_equal(mine, theirs):
        return ""
    if one_nn.expanded and not one_nn.keeps_apart(one_nn.largest, one_nn.apart / 2):
        return ""
    if 2 < one_nn.p < math.inf:
        ends = (one_nn.p * math.log10(max(x, TINY)) for x in (one_nn.apart / 2, region.epsilon))
        most = 290 if one_nn.grain < TIE else 35  # decimal powers of float64 and of float32
        if next(ends) < -most or next(ends) > most:
            return ""
    return THEOREM_2 if one_nn.share < TIE else f"{THEOREM_2}, rounding aside"

"""Fitted 1-nearest-neighbour classifiers: their training points, their rounding, and Theorem 2."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.adversary.region import Region
from shaketable.adversary.voronoi import TIE
from shaketable.core.checks import TINY
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import search

FAR = 1e150
"""Largest distance whose square is finite."""

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
    """Training points of a fitted 1-nearest-neighbour classifier, and its rounding errors."""

    points: FloatArray
    """Training points, (m, d); coinciding ones have the same label."""
    labels: Array
    p: float
    expanded: bool = False
    """Whether errors of its distances are relative to norms, not only to the distances.

    True for |a|^2 - 2ab + |b|^2, and for the distance to a ball of a tree less its radius.
    """
    grain: float = sys.float_info.epsilon
    """Machine epsilon of the numbers that it computes in."""

    @property
    def share(self) -> float:
        """Largest relative error of distances, by the classifier's rounding and ours."""
        d: int = self.points.shape[1]
        return 4 * (d + 8) * self.grain

    @cached_property
    def largest(self) -> float:
        """Largest norm of a training point."""
        return float(pnorm(self.points, self.p).max())

    @cached_property
    def apart(self) -> float:
        """Least distance between training points of different labels."""
        group = np.unique(self.labels, return_inverse=True)[1]
        everyone = np.ones(len(group), bool)
        answer = search(Question(self.points, group, self.p, nearest_of=everyone))
        return min(float(answer.nearest.min()), FAR)

    def bound_error(self, norm: Any) -> Any:
        """Difference of squared distances, to a place of this norm, that may compare wrongly.

        An error of a `share` of the distances themselves comes on top.
        """
        size = np.maximum(self.largest, norm)
        return self.share * size**2 if self.expanded else 0.0 * size

    def keeps_apart(self, norm: Any, half: Any) -> Any:
        """Whether no place in a training point's cell gets the label of a point twice `half` away.

        In the cell a place at distance b is closer by a share `TIE`, so that squared distances
        differ by 2 TIE b^2; where they are about equal, b is at least `half`. Farther out the
        difference grows faster than the error.
        """
        return 1.8 * (TIE - self.share) * half**2 > self.bound_error(norm + half)


def extract_one_nn(model: Any, *, features: Sequence[str] | None = None) -> FittedOneNN | None:
    """Training points, labels and norm of a fitted scikit-learn classifier, if it is a 1-NN.

    It is one if it is a `KNeighborsClassifier` with one neighbour and any p-norm without feature
    weights, fitted on an array or a frame, also behind a preparation that fills gaps alone. None
    otherwise, and where training points of different
    labels coincide: which of them a tree finds varies from place to place.

    Parameters
    ----------
    model
        Anything.
    features
        Column names of the points that it will label, which may be in another order; None if they
        have no names and are in the model's order.
    """
    from sklearn.neighbors import KNeighborsClassifier  # heavy

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if getattr(model, "fills_only", False):  # it is behind a preparation that fills gaps
        model = model[-1]
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
    if names and features is not None:
        if sorted(set(names)) != sorted(features):
            return None
        points = points[:, [names.index(name) for name in features]]
    products = method == "brute" and p == 2
    # trees and products compute in float64, differences in the type of the points
    narrow = single and method == "brute" and metric not in ("euclidean", "sqeuclidean")
    grain = float(np.finfo(np.float32 if narrow else np.float64).eps)
    return FittedOneNN(points, labels, float(p), products or method == "ball_tree", grain)


def prove_robust(one_nn: FittedOneNN | None, region: Region) -> str:
    """Proof that no point of the region is misclassified: Theorem 2 if it applies, else "".

    A 1-NN classifier that was fitted on exactly the evaluated points, in the norm of their Voronoi
    cells, gives every point of a cell the label of its own point. So both genuine accuracies equal
    clean accuracy at every epsilon, and are 1 if no points of different classes coincide. The
    theorem does not apply with more or fewer training points or in another norm; nor where powers
    of distances overflow or underflow, or where rounding of norms exceeds the lead inside cells.

    >>> region = Region(np.eye(2), (2,), np.dtype(float), 2, 0.1, "genuine-max")
    >>> prove_robust(FittedOneNN(np.eye(2)[::-1], np.arange(2), 2), region)
    '1-NN on its own points, in the norm of its cells (Theorem 2)'
    >>> prove_robust(FittedOneNN(np.eye(2), np.arange(2), 1), region)
    ''
    """
    if one_nn is None or one_nn.p != region.p or region.constraint == "none":
        return ""
    trained, evaluated = (np.unique(x + 0.0, axis=0) for x in (one_nn.points, region.x))
    if not np.array_equal(trained, evaluated):
        return ""
    if one_nn.expanded and not one_nn.keeps_apart(one_nn.largest, one_nn.apart / 2):
        return ""
    if 2 < one_nn.p < math.inf:
        ends = (one_nn.p * math.log10(max(x, TINY)) for x in (one_nn.apart / 2, region.epsilon))
        most = 290 if one_nn.grain < TIE else 35  # decimal exponents of float64 and of float32
        if next(ends) < -most or next(ends) > most:
            return ""
    return THEOREM_2 if one_nn.share < TIE else f"{THEOREM_2}, rounding aside"

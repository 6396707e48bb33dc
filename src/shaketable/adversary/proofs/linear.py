"""The prover of linear models: closed-form distances in every norm, within bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult
from shaketable.adversary.proofs.half_spaces import find_least_cube, find_least_steps
from shaketable.adversary.proofs.registry import PROVERS, Prover, confirm_nearest
from shaketable.adversary.proofs.unfolding import Unfolded, unfold
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.dataset import Dataset
from shaketable.models.classifier import Classifier

_EPS = float(np.finfo(np.float64).eps)


class Scores(NamedTuple):
    """Linear scores of classes, of which the highest decides, and their rounding."""

    weights: FloatArray
    """(classes, m)"""
    offsets: FloatArray
    sizes: FloatArray
    """Sums of absolute terms that each weight is computed from, (classes, m)."""
    grain: float = _EPS
    """Machine epsilon of the numbers that they are computed in."""
    slack: float = 0.0
    """By how much a difference of scores may be off on top of rounding of the terms."""


@dataclass(frozen=True, eq=False)
class LinearDistance:
    r"""Distance from each point to the nearest one that a linear model labels otherwise.

    The model answers class y where :math:`(w_y - w_j) \cdot x + b_y - b_j > 0` for all other
    classes j. So the nearest point with another label is that of the nearest of these half-spaces,
    at distance

    .. math:: \min_j \frac{(w_y - w_j) \cdot x + b_y - b_j}{\lVert w_y - w_j \rVert_q}, \quad
        \frac{1}{p} + \frac{1}{q} = 1

    without bounds, and by `find_least_steps` with them. Lower bounds allow for all rounding of the
    model's own arithmetic; what is found is confirmed by the model. For p < 1 lower bounds are
    those of p = 1. Lower bounds of the ball hold for Voronoi cells and for columns that change in
    steps as well.
    """

    unfolded: Unfolded
    scores: Scores

    @property
    def spec(self) -> str:
        """Its name."""
        return "linear"

    @property
    def why(self) -> str:
        """How it proves distances."""
        return "closed form for a linear model"

    def suits(self, region: Region) -> bool:
        """Whether it can say anything about regions of this norm and constraint."""
        return region.constraint != "genuine-exact" and not 1 < region.p < _LEAST_P

    @cached_property
    def _gradients(self) -> FloatArray:
        """Change of every class's score with every column that moves, (classes, d)."""
        return self._spread(self.scores.weights * self.unfolded.scale)

    @cached_property
    def _sizes(self) -> FloatArray:
        """The same of the absolute terms."""
        return self._spread(self.scores.sizes * np.abs(self.unfolded.scale))

    def _spread(self, by_feature: FloatArray) -> FloatArray:
        """Sum over the features that follow each column, (classes, d)."""
        spread = np.zeros((len(self.unfolded.blur), len(by_feature)))
        follows = self.unfolded.source >= 0
        np.add.at(spread, self.unfolded.source[follows], by_feature.T[follows])
        return spread.T

    def __call__(
        self,
        model: Classifier,
        region: Region,
        rows: IntArray,
        y: IntArray,
        keys: KeyArray,  # noqa: ARG002  (nothing is random here)
    ) -> AttackResult:
        """Bound the distances of rows, and confirm the nearest wrong points."""
        origin = region.x[rows]
        low, distances, points = self._compute(region, rows, y)
        moved, found, queries = origin.copy(), np.zeros(len(rows), bool), 0
        order = np.argsort(distances, axis=0)
        for k in range(len(order)):  # other classes count where a cell or steps rule out the first
            place = order[k], np.arange(len(rows))
            near = distances[place] <= region.epsilon * (1 + TOLERANCE)
            todo = np.flatnonzero(near & ~found)
            if not len(todo):
                break
            tried = points(order[k], todo)
            at, hit, asked = confirm_nearest(model, region, rows[todo], y[todo], tried)
            moved[todo[hit]], found[todo[hit]] = at[hit], True
            queries += asked
        return AttackResult(moved, found, queries, np.minimum(low, region.epsilon))

    def _compute(
        self, region: Region, rows: IntArray, y: IntArray
    ) -> tuple[FloatArray, FloatArray, Callable[[IntArray, IntArray], FloatArray]]:
        """Lower bounds of the distances, and distances to the half-space of every class.

        Also a function from classes and places in `rows` to the nearest points there.
        """
        scores, origin = self.scores, region.x[rows]
        ends = region.find_ends(rows)
        features = self.unfolded.transform(region.cast_for_model(rows, origin))
        values = features @ scores.weights.T + scores.offsets
        terms = np.abs(features) @ scores.sizes.T + np.abs(scores.offsets)
        rounded = np.abs(origin) @ self._sizes.T + scores.sizes @ self.unfolded.size
        share = 4 * (features.shape[1] + 16) * scores.grain  # of sums
        grain = 4 * (len(self.unfolded.steps) + 2) * self.unfolded.grain
        errors = share * terms + grain * rounded + scores.slack
        errors += self._sizes @ self.unfolded.blur
        codes = self.unfolded.codes
        own = np.array([np.flatnonzero(codes == code)[0] if code in codes else -1 for code in y])
        every = np.arange(len(rows))
        distances = np.full((len(codes), len(rows)), math.inf)
        lows = np.full((len(codes), len(rows)), math.inf)
        steps = np.zeros((len(codes), *origin.shape))
        share = 2 * (share + grain)
        find = _choose_search(region)
        for j in range(len(codes)):
            gain = self._gradients[j] - self._gradients[own]
            room = np.where(gain > 0, ends[1] - origin, origin - ends[0])
            need = values[every, own] - values[:, j]
            step, distance = find(np.abs(gain), room, np.maximum(need, 0))
            steps[j] = np.sign(gain) * step
            blurred = share * (self._sizes[j] + self._sizes[own])
            room = np.where(np.abs(gain) > blurred, room, np.maximum(*_reach(origin, ends)))
            surely = need - errors[:, j] - errors[every, own] - share * np.abs(need)
            _, least = find(np.abs(gain) + blurred, room, np.maximum(surely, 0))
            other = own != j
            distances[j, other], lows[j, other] = distance[other], least[other]
        low = lows.min(axis=0) * (1 - 8 * (origin.shape[1] + 8) * _EPS)
        low[own < 0], distances[:, own < 0], steps[:, own < 0] = 0.0, 0.0, 0.0

        grid = _find_grid(region)

        def points(classes: IntArray, places: IntArray) -> FloatArray:
            step = steps[classes[places], places]
            with np.errstate(divide="ignore", invalid="ignore"):  # whole steps, away from the point
                whole = np.sign(step) * np.ceil(np.abs(step) / grid - 1e-6) * grid
            return origin[places] + np.where(grid > 0, whole, step)

        return low, distances, points


_LEAST_P = 1.05  # between it and 1, powers of weights overflow


def _find_grid(region: Region) -> FloatArray:
    """Step in which each column changes, (d,); 0 for any."""
    if region.held is None:
        return np.zeros(region.x.shape[1])
    return np.array([column.step for column in region.held.schema.columns])


def _choose_search(
    region: Region,
) -> Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return what finds least steps: in the maximum norm it knows the steps of columns."""
    grid = _find_grid(region)
    if math.isinf(region.p) and grid.any():
        return partial(find_least_cube, grid=grid)
    return partial(find_least_steps, p=region.p)


def _reach(origin: FloatArray, ends: tuple[FloatArray, FloatArray]) -> tuple[Array, Array]:
    """How far values may move down and up."""
    return origin - ends[0], ends[1] - origin


def read_scores(estimator: Any) -> Scores | None:
    """Return the linear scores of a fitted estimator; None if it is not known to have such.

    >>> from sklearn.linear_model import Perceptron
    >>> scores = read_scores(Perceptron().fit([[0.0], [2.0]], [0, 1]))
    >>> scores.weights, scores.offsets
    (array([[0.],
           [2.]]), array([ 0., -1.]))
    """
    cls = type(estimator)
    read = _READERS.get(cls.__name__) if cls.__module__.startswith("sklearn.") else None
    found = None if read is None else read(estimator)
    if found is None or not all(np.isfinite(each).all() for each in found[:3]):
        return None
    return found if len(found.weights) == len(estimator.classes_) else None


def _make_scores(weights: Any, offsets: Any, sizes: Any = None) -> Scores:
    """Scores of these weights; of one row, for the second of two classes, the first has 0."""
    weights = np.asarray(weights)
    grain = max(_EPS, float(np.finfo(weights.dtype).eps))
    weights = np.atleast_2d(weights.astype(np.float64))
    offsets = np.broadcast_to(np.asarray(offsets, np.float64).reshape(-1), len(weights))
    sizes = np.abs(weights) if sizes is None else sizes
    if len(weights) == 1:
        weights, sizes = (np.vstack([0 * each, each]) for each in (weights, sizes))
        offsets = np.append(0.0, offsets)
    return Scores(weights, offsets, sizes, grain)


def _read_linear(estimator: Any) -> Scores:
    coefficients = estimator.coef_
    if hasattr(coefficients, "toarray"):  # of sparsify()
        coefficients = coefficients.toarray()
    return _make_scores(coefficients, estimator.intercept_)


def _read_counts(estimator: Any) -> Scores:
    offsets = getattr(estimator, "class_log_prior_", 0.0)
    if type(estimator).__name__ == "ComplementNB" and len(estimator.classes_) > 1:
        offsets = 0.0
    return _make_scores(estimator.feature_log_prob_, offsets)


def _read_marks(estimator: Any) -> Scores | None:
    """Bernoulli naive Bayes of features as they are; with a threshold it is no linear model."""
    if estimator.binarize is not None:
        return None
    absent = np.log(1 - np.exp(estimator.feature_log_prob_))
    weights, offsets = estimator.feature_log_prob_ - absent, estimator.class_log_prior_
    return _make_scores(weights, offsets + absent.sum(axis=1))


def _read_machine(estimator: Any) -> Scores | None:
    """A support vector machine of two classes with a linear kernel."""
    if estimator.kernel != "linear" or len(estimator.classes_) != 2 or estimator._sparse:
        return None
    sizes = np.abs(estimator.dual_coef_) @ np.abs(estimator.support_vectors_)
    found = _make_scores(estimator.coef_, estimator.intercept_, sizes)
    terms = len(estimator.support_vectors_) / estimator.coef_.shape[1]
    return found._replace(grain=_EPS * (1 + terms))


_READERS: Mapping[str, Callable[[Any], Scores | None]] = {
    "LogisticRegression": _read_linear,
    "LogisticRegressionCV": _read_linear,
    "LinearSVC": _read_linear,
    "SGDClassifier": _read_linear,
    "Perceptron": _read_linear,
    "PassiveAggressiveClassifier": _read_linear,
    "RidgeClassifier": _read_linear,
    "RidgeClassifierCV": _read_linear,
    "LinearDiscriminantAnalysis": _read_linear,
    "BernoulliNB": _read_marks,
    "MultinomialNB": _read_counts,
    "ComplementNB": _read_counts,
    "SVC": _read_machine,
}


def _recognise(model: Any, data: Dataset, unscale: bool) -> Prover | None:
    found = unfold(model, data, unscale)
    if found is None or (found.classifier.restricts and (found.codes < 0).any()):
        return None
    scores = read_scores(found.estimator)
    if scores is None or len(set(found.codes[found.codes >= 0])) < (found.codes >= 0).sum():
        return None
    if found.classifier.threshold is not None:
        scores = _move_threshold(found, scores)
    if scores is None or scores.weights.shape[1] != len(found.source):
        return None
    return LinearDistance(found, scores)


def _move_threshold(found: Unfolded, scores: Scores) -> Scores | None:
    """Scores of which the higher one decides as a threshold of the probability does."""
    decider, name = found.classifier.threshold, type(found.estimator).__name__
    assert decider is not None, "callers check"
    multinomial = getattr(found.estimator, "multi_class", "") == "multinomial"
    if name not in _LOGISTIC or multinomial or sorted(found.codes) != [0, 1]:
        return None
    level = decider.threshold
    odds = math.log(level / (1 - level)) * (1 if found.codes[1] == decider.code else -1)
    slack = 64 * max(found.grain, scores.grain) * (1 / (level * (1 - level)) + abs(odds))
    return scores._replace(offsets=scores.offsets - [0.0, odds], slack=slack)


_LOGISTIC = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")

PROVERS.add("linear", _recognise)

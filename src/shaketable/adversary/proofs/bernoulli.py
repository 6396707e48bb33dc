"""The prover of Bernoulli naive Bayes with a threshold: features count as above it or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult
from shaketable.adversary.proofs.half_spaces import find_least_steps
from shaketable.adversary.proofs.linear import Scores, read_marks
from shaketable.adversary.proofs.registry import PROVERS, Prover, confirm_nearest
from shaketable.adversary.proofs.unfolding import Unfolded, unfold
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.dataset import Dataset
from shaketable.models.classifier import Classifier

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class BernoulliDistance:
    r"""Brackets of the distances to the nearest failures of Bernoulli naive Bayes.

    A feature i flips at distance :math:`d_i`, where its column reaches the threshold, and then
    lowers the lead of the right class by :math:`g_i`. The nearest failure flips a set S of features
    whose :math:`g_i` add up to the lead, at the distance

    .. math:: \min_S \lVert (d_i)_{i \in S} \rVert_p

    In the maximum norm that is exact: features flip in the order of their distances. In other norms
    it is a knapsack problem, whose relaxation to parts of features is a lower bound, as is the
    distance in the maximum norm; the features of its solution, all of them whole, are the failure
    that is found.
    """

    unfolded: Unfolded
    scores: Scores
    threshold: float

    @property
    def spec(self) -> str:
        """Its name."""
        return "bernoulli"

    @property
    def why(self) -> str:
        """How it proves distances."""
        return "distances to the thresholds of a naive Bayes model"

    def suits(self, region: Region) -> bool:
        """Whether it can say anything about regions of this constraint."""
        return region.constraint != "genuine-exact"

    def __call__(
        self,
        model: Classifier,
        region: Region,
        rows: IntArray,
        y: IntArray,
        keys: KeyArray,  # noqa: ARG002  (nothing is random here)
    ) -> AttackResult:
        """Bound the distances of rows, and confirm the failures that are found."""
        origin, own = region.x[rows], np.array([self._find_class(code) for code in y])
        way, far, surely = self._find_thresholds(region, rows)
        marks, lead = self._find_leads(region, rows, own)
        low, queries = np.full(len(rows), math.inf), 0
        low[own < 0] = 0.0
        moved, high = origin.copy(), np.full(len(rows), math.inf)
        for j in range(len(self.unfolded.codes)):
            weights = self.scores.weights[own] - self.scores.weights[j]
            gain = np.where(marks, weights, -weights)[:, self._follows]
            gain = np.where(np.isfinite(far), np.maximum(gain, 0.0), 0.0)
            flips, least = _choose_flips(gain, surely, lead[:, j], region.p)
            least[own == j] = math.inf
            low = np.minimum(low, least)
            step = np.zeros_like(origin)
            step[:, self._columns] = np.where(flips, way * np.where(flips, far, 0.0), 0.0)
            todo = np.flatnonzero((least <= region.epsilon * (1 + TOLERANCE)) & (own >= 0))
            if not len(todo):
                continue
            tried = origin[todo] + step[todo]
            at, hit, asked = confirm_nearest(model, region, rows[todo], y[todo], tried)
            away = np.linalg.norm(at - origin[todo], max(region.p, 1), axis=1)
            better = hit & (away < high[todo])
            high[todo[better]], moved[todo[better]] = away[better], at[better]
            queries += asked
        low = np.minimum(low * (1 - 1e-12), region.epsilon)
        return AttackResult(moved, np.isfinite(high), queries, low)

    @property
    def _follows(self) -> Array:
        """Features that follow a column."""
        return np.asarray(self.unfolded.source >= 0)

    @property
    def _columns(self) -> IntArray:
        """The columns that they follow, each by one feature."""
        return self.unfolded.source[self._follows]

    def _find_class(self, code: int) -> int:
        places = np.flatnonzero(self.unfolded.codes == code)
        return int(places[0]) if len(places) else -1

    def _find_thresholds(
        self, region: Region, rows: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return for every feature that follows a column the way to its threshold, -1 or 1.

        Also how far one has to go to be beyond it, infinite if that is out of range, and up to
        which distance it certainly does not flip.
        """
        origin, unfolded = region.x[rows], self.unfolded
        features = unfolded.transform(region.cast_for_model(rows, origin))[:, self._follows]
        scale, x = unfolded.scale[self._follows], origin[:, self._columns]
        gap = (self.threshold - features) / scale
        grain = 8 * (len(unfolded.steps) + 3) * unfolded.grain
        size = np.abs(x) + (unfolded.size[self._follows] + abs(self.threshold)) / np.abs(scale)
        error = grain * (size + np.abs(gap)) + unfolded.blur[self._columns]
        # at the threshold itself a feature is not above it: one step more leads there
        above = features > self.threshold
        way = np.where(gap != 0, np.sign(gap), np.where(above, -1.0, 1.0) * np.sign(scale))
        low, high = (end[:, self._columns] for end in region.find_ends(rows))
        room = np.where(way > 0, high - x, x - low)
        reachable = room >= np.abs(gap) - error
        far = np.where(reachable, np.minimum(np.abs(gap) + 2 * error, room), math.inf)
        return way, far, np.maximum(np.abs(gap) - error, 0.0)

    def _find_leads(
        self, region: Region, rows: IntArray, own: IntArray
    ) -> tuple[Array, FloatArray]:
        """Which features are above the threshold, and the certain leads over all classes."""
        scores = self.scores
        points = region.cast_for_model(rows, region.x[rows])
        marks = self.unfolded.transform(points) > self.threshold
        values = marks @ scores.weights.T + scores.offsets
        terms = scores.sizes.sum(axis=1) + np.abs(scores.offsets)
        lost = 8 * (marks.shape[1] + 16) * _EPS * 2 * float(terms.max())
        return marks, values[np.arange(len(rows)), own][:, None] - values - lost


def _choose_flips(
    gain: FloatArray, away: FloatArray, lead: FloatArray, p: float
) -> tuple[Array, FloatArray]:
    """Features to flip, (rows, features), and lower bounds of the distance at which they do."""
    away = np.where(gain > 0, away, math.inf)
    free = (gain > 0) & (away <= 0)
    need = lead - np.where(free, gain, 0.0).sum(axis=1)
    order = np.argsort(away, axis=1)
    total = np.cumsum(np.take_along_axis(gain, order, 1), axis=1)
    place = (total >= lead[:, None]).argmax(axis=1)
    sizes = np.take_along_axis(away, order, 1)[np.arange(len(gain)), place]
    least = np.where(lead <= 0, 0.0, np.where(total[:, -1] >= lead, sizes, math.inf))
    if math.isinf(p):
        return (gain > 0) & (away <= least[:, None]), least
    longest = np.where(np.isfinite(away), away, 0.0).max(axis=1, initial=0.0, keepdims=True)
    longest = np.where(longest > 0, longest, 1.0)
    cost = np.where(gain > 0, (np.where(gain > 0, away, 0.0) / longest) ** p, 0.0)
    rate = np.divide(gain, cost, out=np.zeros(gain.shape), where=cost > _SMALL)
    need = np.minimum(need, lead - np.where(cost <= _SMALL, gain, 0.0).sum(axis=1))
    steps, sizes = find_least_steps(rate, cost, np.maximum(need, 0.0), 1.0)
    flips = (gain > 0) & ((cost <= _SMALL) | (steps > 0))
    parts = np.where(need <= 0, 0.0, sizes ** (1 / p) * longest[:, 0])
    return flips, np.maximum(least, parts)


_SMALL = 1e-250  # costs that are as good as none


def _recognise(model: Any, data: Dataset, unscale: bool) -> Prover | None:
    found = unfold(model, data, unscale)
    if found is None or found.classifier.threshold is not None:
        return None
    estimator, source = found.estimator, found.source[found.source >= 0]
    cls = type(estimator)
    if cls.__name__ != "BernoulliNB" or not cls.__module__.startswith("sklearn."):
        return None
    repeated = len(np.unique(source)) < len(source)
    coded = found.codes[found.codes >= 0]
    left_out = found.classifier.restricts and len(coded) < len(found.codes)
    if estimator.binarize is None or repeated or left_out or len(set(coded)) < len(coded):
        return None
    scores = read_marks(estimator)
    if not all(np.isfinite(each).all() for each in scores[:3]):
        return None
    if len(scores.weights) != len(found.codes) or (found.scale[found.source >= 0] == 0).any():
        return None
    return BernoulliDistance(found, scores, float(estimator.binarize))


PROVERS.add("bernoulli", _recognise)

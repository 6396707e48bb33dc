"""Search among the leaves of trees: values move just beyond thresholds of splits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shaketable.adversary.attacks.climbing import Pace, climb
from shaketable.adversary.attacks.registry import AttackResult, LabelQueries, declare
from shaketable.adversary.attacks.thresholds import read_thresholds
from shaketable.adversary.region import Region
from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import fold, uniforms
from shaketable.core.norms import pnorm
from shaketable.core.spec import Call
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.models.classifier import Classifier

_TRIED = 4  # points per row and call of the model
_BEYOND = 1e-7  # share of epsilon by which values go beyond a threshold
_GRAINS = 2  # the same in units of the last place of float32, which trees compare in


@declare("leaves", "queries=1000", "values just beyond thresholds of trees, kept by scores")
@dataclass(frozen=True)
class Leaves:
    """Random search among the leaves of trees, forests and boosted trees that are within reach.

    The answer of trees changes only at the thresholds of their splits. A change moves one column or
    several to random intervals between thresholds, by as little as that takes, and is kept if the
    margin does not fall (as in `Square`). Where the whole step becomes longer than epsilon, columns
    that changed earlier go back. With ``genuine-exact`` the ends are epsilon away and hardly at
    thresholds: use `Square`. Needs a model of scikit-learn, XGBoost or LightGBM whose thresholds
    can be read (`read_thresholds`).

    >>> Leaves(500).spec
    'leaves(queries=500)'
    """

    queries: int = 1000
    """Queries per row, at most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", check_whole("queries", self.queries, least=1))

    @property
    def spec(self) -> str:
        """Name and budget."""
        return str(Call("leaves", (), {"queries": self.queries}))

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        thresholds = read_thresholds(model, region.x.shape[1])
        if thresholds is None:
            raise InputError(
                f"model {model.name} must be made of trees whose thresholds can be read; use "
                "square, random or rays"
            )
        intervals = _Intervals.of(region, rows, thresholds)
        queries = LabelQueries(model, region)
        return climb(queries, rows, y, keys, (intervals, Pace(self.queries, _TRIED)))


@dataclass(frozen=True, eq=False)
class _Intervals:
    """For every row and column the intervals between thresholds that are within epsilon."""

    region: Region
    rows: IntArray
    beyond: FloatArray
    """Thresholds of all columns one after the other, sorted."""
    home: IntArray
    """Place in `beyond` of the first threshold above each row's own value, (rows, d)."""
    below: IntArray
    """Number of thresholds within reach below each value, (rows, d)."""
    above: IntArray
    """The same above."""

    @classmethod
    def of(cls, region: Region, rows: IntArray, thresholds: list[FloatArray]) -> _Intervals:
        """Find the thresholds within epsilon and the value range."""
        x, eps = region.x[rows], region.epsilon
        low, high = x - eps, x + eps
        if region.bounds is not None:
            low, high = np.maximum(low, region.bounds.low), np.minimum(high, region.bounds.high)
        home, first, last = (np.zeros(x.shape, np.int64) for _ in range(3))
        start = 0
        for column, values in enumerate(thresholds):
            push = _measure_push(values, eps)
            single = x[:, column].astype(np.float32)  # as trees compare
            home[:, column] = start + np.searchsorted(values, single, side="left")
            first[:, column] = start + np.searchsorted(values - push, low[:, column])
            last[:, column] = start + np.searchsorted(values + push, high[:, column], side="right")
            start += len(values)
        below, above = np.maximum(home - first, 0), np.maximum(last - home, 0)
        return cls(region, rows, np.concatenate(thresholds), home, below, above)

    def start(self) -> FloatArray:
        """Nothing: the search begins at the points themselves."""
        n, d = self.home.shape
        return np.empty((n, 0, d))

    def propose(
        self, places: IntArray, moved: FloatArray, keys: KeyArray, done: float, size: FloatArray
    ) -> FloatArray:
        """Move some columns to other intervals."""
        del done, size
        region, rows = self.region, self.rows[places]
        origin, d = region.x[rows], moved.shape[1]
        below, above, home = self.below[places], self.above[places], self.home[places]
        count = below + above
        able = count > 0
        draws = uniforms(keys, 2 * d + 1)
        # between one column and all of them, on a logarithmic scale
        chance = np.maximum(able.sum(axis=1, keepdims=True), 1.0) ** -draws[:, -1:]
        first = np.where(able, draws[:, :d], 2).argmin(axis=1)[:, None] == np.arange(d)
        changed = able & ((draws[:, :d] < chance) | first)
        turn = np.floor(draws[:, d:-1] * (count + 1)).astype(np.int64) - below
        at = np.clip(home + np.where(turn > 0, turn - 1, turn), 0, max(len(self.beyond) - 1, 0))
        beyond = self.beyond[at] if len(self.beyond) else origin
        value = beyond + np.sign(turn) * _measure_push(beyond, region.epsilon)
        step = np.where(changed, np.where(turn == 0, origin, value), moved) - origin
        if not math.isinf(region.p):
            step = self._shorten(step, changed, keys)
        ends = origin + step
        return ends if region.voronoi is None else region.project(rows, ends)

    def _shorten(self, step: FloatArray, changed: Array, keys: KeyArray) -> FloatArray:
        """Set columns back, first those that have not just changed, until steps are short."""
        p, epsilon = self.region.p, self.region.epsilon
        long = np.flatnonzero(pnorm(step, p) > epsilon)
        if not len(long):
            return step
        rank = uniforms(fold(keys[long], 1), step.shape[1]) + ~changed[long]
        order = np.where(step[long] == 0, 3, rank).argsort(axis=1)
        power = np.take_along_axis(np.abs(step[long]) / epsilon, order, axis=1) ** p
        kept = np.zeros(order.shape, bool)
        np.put_along_axis(kept, order, power.cumsum(axis=1) <= 1, axis=1)
        step[long] = np.where(kept, step[long], 0)
        return step


def _measure_push(values: FloatArray, epsilon: float) -> FloatArray:
    """By how much values must go beyond thresholds to be on their other side."""
    grain = np.spacing(np.abs(values).astype(np.float32)).astype(np.float64)
    return np.maximum(_GRAINS * grain, _BEYOND * epsilon)

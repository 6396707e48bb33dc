"""The adversary let loose: one epsilon, or a ladder of them, with the attacks that suit a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from shaketable.adversary.attack import Attack
from shaketable.adversary.cells import Cells
from shaketable.adversary.measures import AdversarialAccuracy, Examples, Trial
from shaketable.adversary.nearest_points import FittedOneNN, OneNNExact, as_one_nn, proven_robust
from shaketable.adversary.region import Constraint, Region
from shaketable.adversary.searches import RandomSearch, RayBisection
from shaketable.corruptions import Bounds, BoundsLike
from shaketable.corruptions.pnorm import unit_ball
from shaketable.data import Dataset
from shaketable.errors import HUGE, InputError, real, unknown, whole
from shaketable.evaluation import bounds_of
from shaketable.files import as_dataset
from shaketable.keys import SCHEME, digest, fold, row_keys
from shaketable.models import Classifier, as_classifier, fit
from shaketable.norms import as_p
from shaketable.progress import steps
from shaketable.types import Array, FloatArray, IntArray, KeyArray

_BATCH = 1 << 22  # values of points that a model is asked about at a time
_CHECKED = 100  # points at which gradients are looked at
_TRIES = 64  # points of a sphere that are looked at for one with room


@dataclass(frozen=True, eq=False)
class Curve:
    """Adversarial accuracy along a ladder of epsilon."""

    target: Target
    accuracies: tuple[AdversarialAccuracy, ...]
    clean: float
    """Accuracy on the points as they are."""

    def __iter__(self) -> Iterator[AdversarialAccuracy]:
        return iter(self.accuracies)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.target.classifier.name

    @property
    def constraint(self) -> Constraint:
        """What the adversary is held to."""
        return self.accuracies[0].constraint

    @property
    def title(self) -> str:
        """Measure as people know it."""
        return self.accuracies[0].title

    @property
    def name(self) -> str:
        """Measure in a word or two."""
        return self.accuracies[0].name

    @cached_property
    def area(self) -> float:
        r"""Accuracy-robustness area: :math:`\int_0 a(\epsilon)\, d\epsilon` to the last epsilon.

        By trapezoids, with the clean accuracy at 0; points where nothing remains are left out.
        """
        known = [a for a in self.accuracies if a.n and a.epsilon > 0]
        x = np.array([0.0, *(a.epsilon for a in known)])
        y = np.array([self.clean, *(a.value for a in known)])
        return float(np.trapezoid(y, x))

    def json(self) -> dict[str, Any]:
        """Curve as an object, accuracies in per cent."""
        return {
            "model": self.model,
            "data": self.target.data.name,
            "measure": self.title,
            "clean": 100 * self.clean,
            "area": self.area,
            "points": [a.json() for a in self.accuracies],
        }


def adversarial_accuracy(
    model: Any,
    x: Any,
    y: Any,
    *,
    epsilon: float,
    norm: str | float = 2,
    constraint: Constraint = "none",
    attacks: Sequence[Attack] | None = None,
    bounds: BoundsLike = None,
    seed: int = 0,
) -> AdversarialAccuracy:
    r"""Share of points whose label no adversary within epsilon turns.

    .. math:: a(\epsilon) = \frac{1}{n} \sum_x 1[f(x^*) = c_x], \quad
              x^* = \arg\max_{x' \in R_\epsilon(x)} L(x', c_x)

    The region is the ball (``none``: standard adversarial accuracy), the part of it that is nearer
    to x than to any other point given (``genuine-max``), or of that only what is epsilon away
    (``genuine-exact``, which leaves out points without such room). Definitions 2 and 3 of *Proper
    measure for adversarial robustness* (2020). What attacks find makes it an upper bound; the
    result tells which ones ran, and what is proven.

    Parameters
    ----------
    model
        Fitted estimator, torch module, or a callable from points to labels or scores.
    x, y
        Points and labels; cells are those of these points.
    epsilon, norm
        Size and norm of what the adversary may add; the norm is 1 or more.
    constraint
        See above.
    attacks
        By default those that suit the model: see `suited`.
    bounds
        (low, high) of values, where they have a range.
    seed
        What random starts follow from.

    >>> from shaketable import load
    >>> from shaketable.adversary.examples import f2
    >>> toy = load("toy1d(n=40)")
    >>> for constraint in ("none", "genuine-max"):
    ...     found = adversarial_accuracy(f2, toy.x, toy.labels, epsilon=2.5, constraint=constraint)
    ...     print(found.value)
    0.0
    0.95
    """
    data = as_dataset((x, y))
    data = data if bounds is None else replace(data, bounds=bounds_of(data, bounds))
    curve = adversarial_curve(
        model, data, [epsilon], norm=norm, constraint=constraint, attacks=attacks, seed=seed
    )
    return curve.accuracies[0]


def adversarial_curve(
    model: Any,
    data: Any,
    epsilons: Iterable[float],
    *,
    norm: str | float = 2,
    constraint: Constraint = "none",
    attacks: Sequence[Attack] | None = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    seed: int = 0,
    name: str | None = None,
    refit: bool = False,
    own: bool = False,
    unscale: bool = False,
    points: int | None = None,
    progress: bool = False,
) -> Curve:
    """Adversarial accuracy for every epsilon, the smallest first; see `adversarial_accuracy`.

    What is found within a smaller ball lies within a larger one, so it is kept; with the exact norm
    every epsilon is searched by itself.

    Parameters
    ----------
    model, data
        As in `evaluate`: measured on the test part, on all points when there is none and the model
        comes fitted. Cells are those of the points that it is measured on.
    epsilons
        The ladder.
    norm, constraint, attacks, seed
        As in `adversarial_accuracy`.
    bounds, name, refit, unscale
        As in `evaluate`.
    own
        Train, where that is asked for, and measure on all points: what theorems are about.
    points
        Evaluate only so many, the first.
    progress
        Show a bar on stderr.
    """
    target = Target.of(
        model, data, bounds=bounds, seed=seed, name=name, refit=refit, own=own, unscale=unscale,
        points=points,
    )  # fmt: skip
    return target.curve(
        epsilons, norm=norm, constraint=constraint, attacks=attacks, progress=progress
    )


@dataclass(frozen=True, eq=False)
class Target:
    """A fitted model, and the points it is attacked at."""

    data: Dataset
    rows: IntArray
    """Rows of the points, ascending."""
    classifier: Classifier
    one_nn: FittedOneNN | None
    """The model, where it is a 1-NN in the units of the data."""
    bounds: Bounds | None
    seed: int

    @classmethod
    def of(
        cls,
        model: Any,
        data: Any,
        *,
        bounds: BoundsLike | Literal["declared"] = "declared",
        seed: int = 0,
        name: str | None = None,
        refit: bool = False,
        own: bool = False,
        unscale: bool = False,
        points: int | None = None,
    ) -> Target:
        """Make ready what `adversarial_curve` describes."""
        data = as_dataset(data)
        rows, model = _points(model, data, seed, refit=refit, own=own)
        rows = rows if points is None else rows[: whole("points", points, least=1)]
        unscale = unscale and not refit and data.scaling is not None
        classifier = as_classifier(model, data, name=name, unscale=unscale)
        one_nn = None if unscale else as_one_nn(model)
        return cls(data, rows, classifier, one_nn, bounds_of(data, bounds), seed)

    @cached_property
    def points(self) -> Array:
        """The points as models take them."""
        return self.data.rows(self.rows)

    @cached_property
    def y(self) -> IntArray:
        """Their class codes."""
        return self.data.y[self.rows]

    def curve(
        self,
        epsilons: Iterable[float],
        *,
        norm: str | float,
        constraint: Constraint,
        attacks: Sequence[Attack] | None,
        progress: bool = False,
    ) -> Curve:
        """Adversarial accuracy of the model at its points."""
        p = as_p(norm)
        if constraint not in get_args(Constraint):
            raise unknown("constraint", str(constraint), get_args(Constraint))
        if p < 1 and constraint != "none":
            raise InputError(f"norm must be 1 or more for cells, got {p:g}; take constraint none")
        ladder = sorted({real("epsilon", e, "be 0 or more", low=0, high=HUGE) for e in epsilons})
        if not ladder:
            raise InputError("epsilons must hold one size or more, got none")
        base = self._region(p, max(ladder), constraint, progress=progress)
        key = digest("adversary", SCHEME, self.data.fingerprint, int(self.seed))
        keys = row_keys(key, self.rows, np.arange(1))[:, 0]
        search = _Search(self.classifier, self.y, keys, self.one_nn)
        found: list[AdversarialAccuracy] = []
        words = f"attacking {self.classifier.name}"
        with steps(words, total=len(ladder), enabled=progress) as step:
            for epsilon in ladder:
                before = found[-1] if found and constraint != "genuine-exact" else None
                found.append(search(replace(base, epsilon=epsilon), attacks, before, self.rows))
                step()
        right = search.right(base)
        if self.classifier.device is not None and not found[-1].proven and ladder[-1] > 0:
            health = search.health(base, np.flatnonzero(right)[:_CHECKED])
            found = [replace(one, notes=(health,)) for one in found]
        return Curve(self, tuple(found), float(right.mean()))

    def _region(self, p: float, reach: float, constraint: Constraint, *, progress: bool) -> Region:
        x = self.points.reshape(len(self.rows), -1).astype(np.float64)
        region = Region(x, self.data.shape, self.points.dtype, p, reach, constraint)
        region = replace(region, bounds=self.bounds)
        if constraint == "none":
            return region
        device = fast_device(self.classifier)
        cells = Cells.of(x, p, reach, dtype=region.dtype, progress=progress, device=device)
        if cells.contested(self.y).any():
            raise InputError(
                "points must not coincide across classes: their cells would be contested; leave "
                "them out with drop_clashes (--drop-clashes)"
            )
        return replace(region, cells=cells)


def suited(classifier: Classifier, region: Region, one_nn: FittedOneNN | None) -> list[Attack]:
    """Attacks that suit a model, in the order they are made.

    A 1-NN in L2 is solved exactly. In one and two dimensions the region is covered. Torch modules
    are attacked along their gradients, with cross-entropy and margin, and by random search, which
    needs none; all else by rays to the boundary.
    """
    if one_nn is not None and region.p == 2 and region.constraint != "genuine-exact":
        return [OneNNExact(classifier, one_nn.points)]
    if region.x.shape[1] <= 2:
        from shaketable.adversary.covers import Cover

        return [Cover(0.001 if region.x.shape[1] == 1 else 0.05)]
    if classifier.device is not None:
        from shaketable.adversary.gradients import APGD, PGD

        return [PGD(20), APGD(50, loss="ce"), APGD(50, loss="dlr"), RandomSearch(50)]
    return [RandomSearch(200), RayBisection(1000, aim="first")]


@dataclass(frozen=True, eq=False)
class _Search:
    """A model and the points it is attacked at."""

    classifier: Classifier
    y: IntArray
    keys: KeyArray
    one_nn: FittedOneNN | None

    def right(self, region: Region) -> Array:
        """Whether each point is labelled rightly as it is."""
        return np.asarray(self._codes(region, region.x) == self.y)

    def health(self, region: Region, rows: IntArray) -> str:
        """What gradients look like at some points that are labelled rightly, in words."""
        from shaketable.adversary.health import gradient_health  # needs torch

        if not len(rows):
            return "No point is labelled rightly, so that gradients were not looked at."
        keys = fold(self.keys[rows], _TRIES)
        return str(gradient_health(self.classifier, region, rows, self.y[rows], keys))

    def __call__(
        self,
        region: Region,
        attacks: Sequence[Attack] | None,
        before: AdversarialAccuracy | None,
        rows: IntArray,
    ) -> AdversarialAccuracy:
        """Measure at one epsilon; what was found `before`, within a smaller ball, still counts."""
        n, exact = len(self.y), region.constraint == "genuine-exact"
        right = self.right(region)
        if region.epsilon == 0:
            nothing = Examples(rows[:0], region.as_given(region.x[:0]), self.y[:0])
            return AdversarialAccuracy(
                *_measure(region), right, np.ones(n, bool), True, nothing, (), "nothing may move"
            )
        remains, known = self._remaining(region) if exact else (np.ones(n, bool), True)
        withstood = np.ones(n, bool) if exact else right.copy()
        moved = np.array(region.x)
        hit = np.zeros(n, bool)
        if before is not None:
            place = np.searchsorted(rows, before.examples.rows)
            hit[place], withstood[place] = True, False
            moved[place] = before.examples.moved.reshape(len(place), moved.shape[1])
        proven = proven_robust(self.one_nn, region)
        trials: list[Trial] = []
        for attack in () if proven else attacks or suited(self.classifier, region, self.one_nn):
            todo = np.flatnonzero(withstood & (remains | (exact and not known)))
            found = attack(self.classifier, region, todo, self.y[todo], self.keys[todo])
            new = todo[found.hit]
            hit[new], withstood[new], moved[new] = True, False, found.moved[found.hit]
            remains[new] = True
            covers = getattr(attack, "covers", "")
            trials.append(Trial(attack.spec, len(todo), len(new), found.queries, covers))
            if isinstance(attack, OneNNExact):
                proven = "nearest wrong labels of 1-NN are computed, not searched for"
        at = np.flatnonzero(hit)
        examples = Examples(rows[at], region.as_given(moved[at]), self._codes(region, moved[at]))
        return AdversarialAccuracy(
            *_measure(region), withstood, remains, known, examples, tuple(trials), proven
        )

    def _codes(self, region: Region, moved: FloatArray) -> IntArray:
        size = max(1, _BATCH // region.x.shape[1])
        parts = [self.classifier(region.as_given(moved[i : i + size]))
                 for i in range(0, len(moved), size)]  # fmt: skip
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _remaining(self, region: Region) -> tuple[Array, bool]:
        """Whether each region holds a point, and whether that is exact or only what was found."""
        every = np.arange(len(region.x))
        if region.x.shape[1] <= 2:
            from shaketable.adversary.covers import remaining

            return remaining(region, every), True
        found = np.zeros(len(every), bool)
        for i in range(_TRIES):
            todo = every[~found]
            if not len(todo):
                break
            keys = fold(self.keys[todo], i)
            unit = unit_ball(keys, region.x.shape[1], region.p, kind="surface", dtype=np.float64)
            moved = region.held(todo, region.x[todo] + region.epsilon * unit)
            found[todo] = region.contains(todo, moved.astype(region.dtype))
        return found, False


def fast_device(model: Classifier) -> str | None:
    """Device of a model, where it compares points faster than the CPU, in float64."""
    return str(model.device) if getattr(model.device, "type", "") == "cuda" else None


def _measure(region: Region) -> tuple[float, float, Constraint]:
    return region.p, region.epsilon, region.constraint


def _points(
    model: Any, data: Dataset, seed: int, *, refit: bool, own: bool
) -> tuple[IntArray, Any]:
    """Rows to evaluate, in order, and the model, trained where that is wanted."""
    if own:
        every = np.arange(data.n)
        return every, fit(model, data, every, seed=seed) if refit else model
    if refit:
        train, test = data.parts(seed=seed)
        return np.sort(test), fit(model, data, train, seed=seed)
    return np.arange(data.n_train or 0, data.n), model

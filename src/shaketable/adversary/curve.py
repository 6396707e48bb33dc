"""Adversarial accuracy along a ladder of epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy, AdversarialAccuracyJson
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.attacks.registry import Attacks, parse_attacks
from shaketable.adversary.brackets import prove
from shaketable.adversary.distances import Distances
from shaketable.adversary.nearest_search import NAME as NEAREST
from shaketable.adversary.nearest_search import NearestSearch
from shaketable.adversary.region import Constraint, Region
from shaketable.adversary.rounds import NO_POINT, ROOM_TRIES, run_attacks
from shaketable.adversary.target import Attacked, Target
from shaketable.core.arrays import Parts
from shaketable.core.checks import HUGE, check_real
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.norms import as_p, half_separation, norm_title
from shaketable.core.types import IntArray
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.noise import choose_bounds
from shaketable.evaluation.store import Store
from shaketable.separations.opponents import place_points
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import pairs_within
from shaketable.views.numbers import format_distance, format_share
from shaketable.views.progress import count_steps

_MANY = 16  # dimensions: in more, searches without gradients find little
_CHECKED = 100  # points at which gradients are inspected


class CurveJson(TypedDict):
    """Adversarial accuracies of a model along epsilon."""

    model: str
    data: str
    measure: str
    clean: Annotated[float, "Clean accuracy in per cent."]
    area: float
    points: list[AdversarialAccuracyJson]


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Adversarial accuracies of one model under one constraint, by increasing epsilon."""

    attacked: Attacked
    accuracies: tuple[AdversarialAccuracy, ...]
    target: Target | None = None
    """The model with its points; None if the curve comes from a results file."""
    closest: IntArray | None = None
    """Places of the points whose balls touch another class at eps_min, where a file keeps them."""

    @property
    def clean(self) -> float:
        """Accuracy on the points as they are."""
        return float(self.attacked.right.mean())

    def __iter__(self) -> Iterator[AdversarialAccuracy]:
        return iter(self.accuracies)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.attacked.model

    @property
    def constraint(self) -> Constraint:
        """Constraint of the adversary."""
        return self.accuracies[0].constraint

    @property
    def title(self) -> str:
        """Full name, such as ``standard adversarial accuracy``."""
        return self.accuracies[0].title

    @property
    def name(self) -> str:
        """Short name: ``standard`` or the constraint."""
        return self.accuracies[0].name

    @cached_property
    def bound(self) -> str:
        """At which epsilons the accuracy is proven, and the attacks behind the upper bounds."""
        bounded = [a for a in self if not a.proven]
        parts = []
        if bounded:
            last, queries = bounded[-1], sum(a.queries for a in self)
            specs = dict.fromkeys(trial.spec for a in self for trial in a.trials)
            parts.append(last.describe_bound(queries, "" if last.trials else ", ".join(specs)))
        for why in dict.fromkeys(a.proven for a in self if a.proven):
            sizes = [format_distance(a.epsilon) for a in self if a.proven == why]
            where = f" at epsilon {', '.join(sizes)}" if len(sizes) < len(self.accuracies) else ""
            parts.append(f"proven{where}: {why}")
        return "; ".join(parts)

    @cached_property
    def area(self) -> float:
        r"""Accuracy-robustness area: :math:`\int_0 a(\epsilon)\, d\epsilon` to the last epsilon.

        By the trapezoidal rule, with the clean accuracy at 0; epsilons at which all regions are
        empty are left out.
        """
        known = [a for a in self.accuracies if a.n and a.epsilon > 0]
        x = np.array([0.0, *(a.epsilon for a in known)])
        y = np.array([self.clean, *(a.value for a in known)])
        return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))

    def find_closest(self, eps_min: float) -> IntArray:
        """Places of attacked points that are as close to another class as any two points are."""
        if self.closest is not None or self.target is None:
            return np.empty(0, np.int64) if self.closest is None else self.closest
        data, p, rows = self.target.data, self.accuracies[0].p, self.attacked.rows
        x, strata = self.target.points, None
        if data.table is not None:
            x, strata = place_points(data, p)
            x = x[rows]
        two_r = eps_min / half_separation(1.0, p) * (1 + 1e-5)  # x/255 is rounded
        x = x.reshape(len(rows), -1).astype(np.float64)
        question = Question(x, self.target.y, p)
        pairs = pairs_within(question, np.full(len(x), two_r))
        if strata is not None:
            pairs = pairs[np.ptp(strata[rows[pairs]], axis=1) == 0]
        return np.unique(pairs)

    def find_distances(self, data: Dataset | None, eps_min: float | None) -> Distances | None:
        """Bounds of every point's distance to its nearest failure, as far as they are known.

        None where nothing is proven and no search was for the nearest failures, with
        ``genuine-exact``, and where the distances of examples are not known.
        """
        sought = any(t.spec.startswith(f"{NEAREST}(") for a in self for t in a.trials)
        proven = [a.proven_to for a in self if len(a.proven_to)]
        known = sought or any(p.any() for p in proven) or not self.attacked.right.any()
        if self.constraint == "genuine-exact" or not known:
            return None
        right = self.attacked.right
        low, high = np.zeros(len(right)), np.where(right, np.inf, 0.0)
        for each in proven:
            low = np.maximum(low, np.where(right, each, 0.0))
        for a in self:
            away = a.examples.measure(data, a.p)
            if away is None:
                return None
            places = np.searchsorted(self.attacked.rows, a.examples.rows)
            high[places] = np.minimum(high[places], away)
        whys = dict.fromkeys(a.proven for a in self if a.proven and a.epsilon > 0)
        name = self.model if self.constraint == "none" else f"{self.model}, {self.constraint}"
        return Distances(
            np.minimum(low, high),
            high,
            self.accuracies[-1].epsilon,
            "; ".join(why for why in whys if why != NO_POINT),
            self.attacked.rows,
            name,
            norm_title(self.accuracies[0].p),
            eps_min,
        )

    def __repr__(self) -> str:
        values = [
            f"{format_distance(a.epsilon)}: {format_share(a.value) if a.n else 'no room'}"
            for a in self
        ]
        return f"<{self.model}, {self.title}: {', '.join(values)}; {self.bound}>"

    def json(self) -> CurveJson:
        """Curve as a JSON object; accuracies are percentages."""
        return {
            "model": self.model,
            "data": self.attacked.data,
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
    attacks: Attacks = None,
    bounds: BoundsLike = None,
    seed: int = 0,
) -> AdversarialAccuracy:
    r"""Share of points that are labelled correctly at every point of their region.

    .. math:: a(\epsilon) = \frac{1}{n} \sum_x 1[f(x^*) = c_x], \quad
              x^* = \arg\max_{x' \in R_\epsilon(x)} L(x', c_x)

    The region is the ball (``none``: standard adversarial accuracy), the part of it that is closer
    to x than to any other point given (``genuine-max``), or of that only points at distance epsilon
    (``genuine-exact``, which leaves out points without such neighbours). Definitions 2 and 3 of
    *Proper measure for adversarial robustness* (2020). Attacks may miss misclassified points, so
    the accuracy is an upper bound; the result lists the attacks, and says what is proven.

    Parameters
    ----------
    model
        Fitted estimator, torch module, or a callable from points to labels or scores.
    x, y
        Points and labels; Voronoi cells are those of these points.
    epsilon, norm
        Radius and norm of the ball; the genuine constraints need a norm of 1 or more.
    constraint
        See above.
    attacks
        Spec strings such as ``"rays(queries=1000)"`` (``shaketable list attacks``) or `Attack`
        objects; by default those that suit the model.
    bounds
        (low, high) of values, if they have a range.
    seed
        Seed of random starts.

    Returns
    -------
    AdversarialAccuracy
        The accuracy, with the examples that were found and how they were searched.

    Examples
    --------
    >>> from shaketable import load
    >>> from shaketable.models.builtin import f2
    >>> toy = load("toy1d(n=40)")
    >>> for constraint in ("none", "genuine-max"):
    ...     print(adversarial_accuracy(f2, toy.x, toy.labels, epsilon=2.5,
    ...                                constraint=constraint).value)
    0.0
    0.95
    """
    data = as_dataset((x, y))
    data = data if bounds is None else replace(data, bounds=choose_bounds(data, bounds))
    target = Target.of(model, data, seed=seed)
    curve = compute_curve(target, [epsilon], norm=norm, constraint=constraint, attacks=attacks)
    accuracy = curve.accuracies[0]
    return replace(accuracy, notes=(*data.notes(), *accuracy.notes))


def adversarial_curve(
    model: Any,
    data: Any,
    epsilons: float | Iterable[float],
    *,
    norm: str | float = 2,
    constraint: Constraint = "none",
    attacks: Attacks = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    seed: int = 0,
    name: str | None = None,
    refit: bool = False,
    own: bool = False,
    split: bool = False,
    unscale: bool = False,
    points: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Curve:
    """Adversarial accuracy at every epsilon, the smallest first; see `adversarial_accuracy`.

    Examples found in a smaller ball lie in a larger one too, so they are kept; with
    ``genuine-exact`` every epsilon is searched separately.

    Parameters
    ----------
    model, data
        As in `evaluate`. The model is attacked at the test part; a fitted model at all points if
        the data have no test part.
    epsilons
        One radius or several.
    norm, constraint, attacks
        As in `adversarial_accuracy`.
    bounds, name, refit, unscale
        As in `evaluate`.
    seed
        Seed of random starts, and of the split where the data have no test part.
    own
        Attack at all points, and train on all of them if `refit`: the setting of theorems.
    split
        Attack a fitted model at the test part on which a model trained here would be attacked.
    points
        Attack only so many of these points, drawn with `seed`.
    store
        Results file, in which results of attacks are kept while they are computed. If the work is
        killed, the same call continues where it stopped. Functions are not recognised: they have
        no content that can be compared.
    progress
        Show a progress bar on stderr.

    Returns
    -------
    Curve
        Accuracies from the smallest epsilon to the largest.

    Examples
    --------
    >>> data = [[0.2], [0.9]], [False, True]
    >>> curve = adversarial_curve(lambda x: x[:, 0] > 0.5, data, [0.1, 0.4])
    >>> [float(accuracy.value) for accuracy in curve.accuracies]
    [1.0, 0.0]
    """
    target = Target.of(
        model,
        data,
        bounds=bounds,
        seed=seed,
        name=name,
        refit=refit,
        own=own,
        split=split,
        unscale=unscale,
        points=points,
    )
    with Store(store) as results:
        return compute_curve(
            target,
            epsilons,
            norm=norm,
            constraint=constraint,
            attacks=attacks,
            keep=None if results.in_memory else results,
            progress=progress,
        )


def compute_curve(
    target: Target,
    epsilons: float | Iterable[float],
    *,
    norm: str | float = 2,
    constraint: Constraint = "none",
    attacks: Attacks = None,
    nearest: bool = False,
    keep: Parts | None = None,
    progress: bool = False,
) -> Curve:
    """Adversarial accuracy of a target at every epsilon; see `adversarial_curve`.

    With `nearest`, the nearest failure of every point is searched for once, up to the largest
    epsilon, and all accuracies follow from these distances.
    """
    sizes = epsilons if isinstance(epsilons, Iterable) else [epsilons]
    ladder = sorted(
        {check_real("epsilon", e, "be finite, 0 or more", low=0, high=HUGE) for e in sizes}
    )
    if not ladder:
        raise InputError("epsilons must hold one size or more, got none")
    given = parse_attacks(attacks)
    base = target.make_region(as_p(norm), max(ladder), constraint, progress=progress)
    accuracies: list[AdversarialAccuracy] = []
    ball = replace(base, constraint="none", voronoi=None) if constraint == "genuine-exact" else base
    brackets = None
    if nearest:
        brackets = prove(target, ball, given or [NearestSearch()], keep)
        given = []
    elif given is None:
        brackets = prove(target, ball, keep=keep)
    title = f"attacking {target.classifier.name}"
    with count_steps(title, total=len(ladder), enabled=progress) as step:
        for epsilon in ladder:
            before = [] if constraint == "genuine-exact" else accuracies[-1:]
            region = replace(base, epsilon=epsilon)
            accuracies.append(
                run_attacks(target, region, given, before, keep=keep, brackets=brackets)
            )
            if brackets is not None and epsilon > 0:
                brackets = replace(brackets, trials=())  # they were made once, for all epsilons
            step()
    if target.classifier.device is not None:
        accuracies = _check_gradients(target, base, accuracies, keep, search=given is None)
    elif target.data.d > _MANY:
        note = "Searched without gradients, which a torch module would have: that finds far less."
        accuracies = [a if a.proven else replace(a, notes=(note,)) for a in accuracies]
    return Curve(target.attacked, tuple(accuracies), target)


def _check_gradients(
    target: Target,
    base: Region,
    accuracies: list[AdversarialAccuracy],
    keep: Parts | None,
    *,
    search: bool,
) -> list[AdversarialAccuracy]:
    """Add notes about the model's gradients; if they may be masked, `search` without them."""
    from shaketable.adversary.attacks.health import gradient_health  # needs torch

    bounded = [a for a in accuracies if not a.proven]
    rows = np.flatnonzero(target.right)[:_CHECKED]
    if not bounded or not len(rows):
        return accuracies
    region = replace(base, epsilon=bounded[-1].epsilon)
    keys = fold(target.keys[rows], ROOM_TRIES)
    health = gradient_health(target.classifier, region, rows, target.y[rows], keys)
    notes = (f"Gradients at epsilon {region.epsilon:g}: {health}",)
    checked: list[AdversarialAccuracy] = []
    for a in accuracies:
        b = a
        if search and health.signs and not a.proven:
            before = [a] if a.constraint == "genuine-exact" else [*checked[-1:], a]
            rays = [RayBisection(500, aim="first")]
            b = run_attacks(target, replace(base, epsilon=a.epsilon), rays, before, keep=keep)
        checked.append(b if a.proven else replace(b, notes=notes))
    return checked

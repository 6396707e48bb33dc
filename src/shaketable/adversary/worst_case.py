"""The worst case as a whole: every measure of every model, beside random noise of the same size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.curve import Attacks, Curve, curve_of
from shaketable.adversary.region import Constraint
from shaketable.adversary.target import Target, checked
from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.norms import as_p, half_separation, norm_title
from shaketable.core.types import Array, IntArray
from shaketable.corruptions import PNormNoise
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.cells import Cell, Origin, make_points, measure_groups
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.records import AS_GIVEN
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import pairs_within
from shaketable.separations.separation import separation
from shaketable.statistics import intervals
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True)
class Avoidable:
    """Right answers that an adversary turns, and that 1-NN made of the same points would keep."""

    at: AdversarialAccuracy
    lost: int
    of: int
    """Right answers that could be lost."""

    def __str__(self) -> str:
        where = f"{self.at.name}, epsilon {self.at.epsilon:.6g}"
        if self.lost:
            kept = f"that {norm_title(self.at.p)} 1-NN made of the attacked points keeps"
            return f"lost {kept}: {self.lost} of {self.of} right answers ({where})"
        known = "which is proven" if self.at.proven else "which is no proof that none can be"
        return f"none of {self.of} right answers was lost, {known} ({where})"

    def json(self) -> dict[str, Any]:
        """Counts as an object."""
        where = {"constraint": self.at.constraint, "epsilon": self.at.epsilon}
        return {**where, "lost": self.lost, "of": self.of}


@dataclass(frozen=True, eq=False, repr=False)
class WorstCase:
    """Adversarial accuracies of models on the same data, along the same ladder of epsilon."""

    data: Dataset
    p: float
    eps_min: float | None
    """Half the separation of the data in this norm; None where classes touch."""
    curves: tuple[Curve, ...]
    random: Mapping[str, Mapping[float, Estimate]] = field(default_factory=dict)
    """Of every model its accuracy under random noise, by epsilon; empty if not asked for."""

    def __add__(self, other: WorstCase) -> WorstCase:
        """Return both, of different models on the same data."""
        if self._setting != other._setting:
            raise InputError(
                "worst cases must be of the same data, points, norm, epsilons and constraints to "
                "be joined (split=True puts models that come fitted on the test part)"
            )
        if same := set(self.models) & set(other.models):
            raise InputError(
                f"worst cases must be of models with different names, got {min(same)!r} twice; "
                "give one of them another (name=…)"
            )
        random = {**self.random, **other.random}
        return WorstCase(self.data, self.p, self.eps_min, self.curves + other.curves, random)

    @property
    def _setting(self) -> tuple[Any, ...]:
        measures = {(c.constraint, tuple(a.epsilon for a in c)) for c in self.curves}
        return self.data.fingerprint, self.p, measures, self.curves[0].target.rows.tobytes()

    @property
    def models(self) -> list[str]:
        """Names of the models, in the order they came."""
        return list(dict.fromkeys(curve.model for curve in self.curves))

    @property
    def norm(self) -> str:
        """Name of the norm."""
        return norm_title(self.p)

    def of(self, model: str) -> list[Curve]:
        """Curves of one model, a measure each."""
        return [curve for curve in self.curves if curve.model == model]

    def avoidable(self, model: str) -> list[Avoidable]:
        """Of every measure what is lost at the largest epsilon at which 1-NN would lose nothing.

        1-NN made of the points that are attacked, that is: cells never reach half way to another
        class (Theorem 2), and balls do not up to eps_min. At eps_min itself the balls of the
        closest points of different classes touch: those are left out.
        """
        found = []
        for curve in self.of(model):
            genuine = curve.constraint != "none"
            fair = [a for a in curve if a.n and (genuine or self.within(a.epsilon))]
            for a in fair[-1:]:
                right = curve.target.right & a.remains
                if not genuine and a.epsilon == self.eps_min:
                    right[self._closest(curve)] = False
                lost = right[np.searchsorted(curve.target.rows, a.examples.rows)]
                found.append(Avoidable(a, int(lost.sum()), int(right.sum())))
        return found

    def within(self, epsilon: float) -> bool:
        """Whether epsilon is at most eps_min."""
        return self.eps_min is not None and epsilon <= self.eps_min

    def _closest(self, curve: Curve) -> IntArray:
        """Which of the points attacked are as close to another class as any two points are."""
        assert self.eps_min is not None, "callers look"
        x = curve.target.points.reshape(len(curve.target.rows), -1).astype(np.float64)
        two_r = self.eps_min / half_separation(1.0, self.p) * (1 + 1e-5)  # x/255 is rounded
        question = Question(x, curve.target.y, self.p)
        pairs = pairs_within(question, np.full(len(x), two_r))
        return np.unique(pairs)

    def sentences(self, model: str) -> list[str]:
        """What of that is lost, a sentence a measure."""
        return [str(avoidable) for avoidable in self.avoidable(model)]

    def __repr__(self) -> str:
        return "\n".join(repr(curve) for curve in self.curves)

    def save_examples(self, path: str | Path) -> Path:
        """Write what was found at the largest epsilon of every curve as ``.npz``.

        One entry an example: ``model``, ``constraint``, ``epsilon``, ``row`` of the data, its
        ``label``, the point ``x`` as the model takes it, ``distance`` and what is ``predicted``.
        """
        classes = np.array([*map(str, self.data.classes), "none"])  # code -1 is the last
        columns: dict[str, list[Array]] = {}
        for curve in self.curves:
            last = curve.accuracies[-1]
            found = last.examples
            for name, values in {
                "model": np.full(len(found), curve.model),
                "constraint": np.full(len(found), last.constraint),
                "epsilon": np.full(len(found), last.epsilon),
                "row": found.rows,
                "label": classes[self.data.y[found.rows]],
                "x": found.moved,
                "distance": found.distances(self.data, self.p),
                "predicted": classes[found.codes],
            }.items():
                columns.setdefault(name, []).append(values)
        try:
            with Path(path).open("wb") as file:
                arrays: dict[str, Any] = {n: np.concatenate(parts) for n, parts in columns.items()}
                np.savez_compressed(file, **arrays)
        except OSError as error:
            raise InputError(
                f"examples cannot be written to {str(path)!r} ({error.strerror}); name another file"
            ) from error
        return Path(path)

    def differences(self) -> list[tuple[AdversarialAccuracy, Difference]]:
        """Paired differences of every two models, for every measure and epsilon."""
        found = []
        for one, two in combinations(self.curves, 2):
            if one.constraint == two.constraint:
                for a, b in zip(one, two, strict=True):
                    if (both := a.remains & b.remains).any():
                        first, second = (c.withstood[both].astype(int) for c in (a, b))
                        value = intervals.mean_difference(first, second, 1)
                        names = one.model, two.model, value, "withstands more"
                        found.append((a, Difference(*names, doubt=_doubt(a, b))))
        return found

    def json(self) -> dict[str, Any]:
        """All of it as an object, accuracies in per cent."""
        return {
            "data": self.data.name,
            "norm": "inf" if np.isinf(self.p) else self.p,
            "eps_min": self.eps_min,
            "curves": [curve.json() for curve in self.curves],
            "random": [
                {"model": model, "epsilon": epsilon, **value.json()}
                for model, found in self.random.items()
                for epsilon, value in found.items()
            ],
            "differences": [
                {
                    "constraint": a.constraint,
                    "epsilon": a.epsilon,
                    "words": difference.words,
                    **difference.json(),
                }
                for a, difference in self.differences()
            ],
            "avoidable": [
                {"model": model, **found.json()}
                for model in self.models
                for found in self.avoidable(model)
            ],
            "seed": self.curves[0].target.seed,
        }


def worst_case(
    model: Any,
    data: Any,
    epsilons: float | str | Iterable[float | str] = "eps_min",
    *,
    norm: str | float = 2,
    constraints: Constraint | Sequence[Constraint] = "none",
    attacks: Attacks = None,
    random: int = 0,
    progress: bool = False,
    **options: Any,
) -> WorstCase:
    """Measure a model against one adversary after the other; join several models with ``+``.

    Parameters
    ----------
    model, data, norm, attacks, progress, **options
        As in `adversarial_curve`.
    epsilons
        The ladder, or one size; ``eps_min`` stands for half the separation of these data.
    constraints
        ``none``, ``genuine-max``, ``genuine-exact``, one or several: a curve each.
    random
        Noisy copies of every point, for the accuracy under random noise of the same sizes, uniform
        in the ball, on the same points; 0 for none.

    >>> from shaketable.models.examples import f2, f3
    >>> kinds = ["none", "genuine-exact"]
    >>> found = worst_case(f2, "toy1d(n=40)", [0.5, 2.5], constraints=kinds)
    >>> found += worst_case(f3, "toy1d(n=40)", [0.5, 2.5], constraints=kinds)
    >>> [(curve.model, [a.value for a in curve]) for curve in found.curves]
    [('f2', [1.0, 0.0]), ('f2', [1.0, 0.5]), ('f3', [1.0, 0.0]), ('f3', [1.0, 1.0])]
    """
    data, p = as_dataset(data), as_p(norm)
    sizes = (
        epsilons if isinstance(epsilons, Iterable) and not isinstance(epsilons, str) else [epsilons]
    )
    sizes, kinds = list(sizes), [constraints] if isinstance(constraints, str) else constraints
    if not kinds:
        raise InputError("constraints must name one or more, got none")
    check_whole("random", random, least=0)
    eps_min = _eps_min(data, p, needed="eps_min" in sizes, progress=progress)
    ladder = [_size(e, eps_min) for e in sizes]
    target = Target.of(model, data, **checked(options))
    curves = tuple(
        curve_of(target, ladder, norm=norm, constraint=c, attacks=attacks, progress=progress)
        for c in dict.fromkeys(kinds)
    )
    found = _random(target, p, ladder, random, progress=progress) if random else {}
    named = {target.classifier.name: found} if found else {}
    return WorstCase(data, p, eps_min, curves, named)


def _doubt(a: AdversarialAccuracy, b: AdversarialAccuracy) -> str:
    """Why two accuracies do not tell which model is better: only one was attacked that hard."""
    better = max(a, b, key=lambda one: (one.value, bool(one.proven)))
    specs = [[trial.spec for trial in one.trials] for one in (a, b)]
    alike = all(one == two for one, two in zip(*specs, strict=False))
    return "" if better.proven or alike else "attacked by other means: not comparable"


def _eps_min(data: Dataset, p: float, *, needed: bool, progress: bool) -> float | None:
    """Half the separation of the data; None where classes touch, unless it is needed."""
    try:
        return separation(data, norm=p, points=False, progress=progress).epsilon_min
    except UndefinedError:
        if needed:
            raise
        return None


def _size(given: float | str, eps_min: float | None) -> float:
    if given == "eps_min":
        assert eps_min is not None, "it is needed"
        return eps_min
    if isinstance(given, str):
        raise unknown_name("epsilon", given, ["eps_min"])
    return given


def _random(
    target: Target, p: float, ladder: Iterable[float], k: int, *, progress: bool
) -> dict[float, Estimate]:
    """Accuracy under random noise of every size, on the points that are attacked."""
    noise = Noise(k=k, seed=target.seed, draws="ladder", bounds=target.bounds)
    points = make_points(target.data, target.rows)
    origin = Origin(target.classifier.name, recipe="", train=AS_GIVEN)
    if not (sizes := sorted({e for e in ladder if e > 0})):
        return {}
    cells = [Cell(target.data, points, PNormNoise(p, e), noise, origin, "") for e in sizes]
    return {
        epsilon: intervals.mean_share(record.hits, record.k)
        for records in measure_groups([cells], target.classifier, progress=progress)
        for epsilon, record in zip(sizes, records, strict=True)
    }

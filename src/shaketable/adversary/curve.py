"""The adversary let loose along a ladder of epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.attacks.attack import Attack
from shaketable.adversary.attacks.parse import parse_attack
from shaketable.adversary.attacks.searches import RayBisection
from shaketable.adversary.region import Constraint, Region
from shaketable.adversary.rounds import TRIES, attacked
from shaketable.adversary.target import Target, checked
from shaketable.core.checks import HUGE, check_real
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.norms import as_p
from shaketable.core.progress import count_steps
from shaketable.data.bounds import BoundsLike
from shaketable.data.files import as_dataset
from shaketable.evaluation.noise import choose_bounds

Attacks: TypeAlias = "str | Attack | Sequence[str | Attack] | None"
"""Attacks, or specs of them: one, several, or those that suit a model."""

_MANY = 16  # dimensions: in more, searches without gradients find little
_CHECKED = 100  # points at which gradients are looked at


@dataclass(frozen=True, eq=False, repr=False)
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
        """Measure in a word."""
        return self.accuracies[0].name

    @property
    def bound(self) -> str:
        """How much is known along the ladder: where it is proven, else by what it is bounded."""
        open_ = [a for a in self if not a.proven]
        told = []
        if open_:
            told.append(open_[-1].upper_bound(sum(a.queries for a in self)))
        for why in dict.fromkeys(a.proven for a in self if a.proven):
            sizes = [f"{a.epsilon:.6g}" for a in self if a.proven == why]
            where = f" at epsilon {', '.join(sizes)}" if len(sizes) < len(self.accuracies) else ""
            told.append(f"proven{where}: {why}")
        return "; ".join(told)

    @cached_property
    def area(self) -> float:
        r"""Accuracy-robustness area: :math:`\int_0 a(\epsilon)\, d\epsilon` to the last epsilon.

        By trapezoids, with the clean accuracy at 0; points where nothing remains are left out.
        """
        known = [a for a in self.accuracies if a.n and a.epsilon > 0]
        x = np.array([0.0, *(a.epsilon for a in known)])
        y = np.array([self.clean, *(a.value for a in known)])
        return float(np.trapezoid(y, x))

    def __repr__(self) -> str:
        values = [f"{a.epsilon:.6g}: {100 * a.value:.2f} %" if a.n else f"{a.epsilon:.6g}: no room"
                  for a in self]  # fmt: skip
        return f"<{self.model}, {self.title}: {', '.join(values)}; {self.bound}>"

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
    attacks: Attacks = None,
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
        Spec strings such as ``"rays(queries=1000)"`` (``shaketable list attacks``) or attacks; by
        default those that suit the model.
    bounds
        (low, high) of values, where they have a range.
    seed
        What random starts follow from.

    >>> from shaketable import load
    >>> from shaketable.models.examples import f2
    >>> toy = load("toy1d(n=40)")
    >>> for constraint in ("none", "genuine-max"):
    ...     found = adversarial_accuracy(f2, toy.x, toy.labels, epsilon=2.5, constraint=constraint)
    ...     print(found.value)
    0.0
    0.95
    """
    data = as_dataset((x, y))
    data = data if bounds is None else replace(data, bounds=choose_bounds(data, bounds))
    target = Target.of(model, data, seed=seed)
    return curve_of(
        target, [epsilon], norm=norm, constraint=constraint, attacks=attacks
    ).accuracies[0]


def adversarial_curve(
    model: Any,
    data: Any,
    epsilons: float | Iterable[float],
    *,
    norm: str | float = 2,
    constraint: Constraint = "none",
    attacks: Attacks = None,
    progress: bool = False,
    **options: Any,
) -> Curve:
    """Adversarial accuracy for every epsilon, the smallest first; see `adversarial_accuracy`.

    What is found within a smaller ball lies within a larger one, so it is kept; with the exact norm
    every epsilon is searched by itself.

    Parameters
    ----------
    model, data, **options
        What is attacked, and where: ``bounds``, ``seed``, ``name``, ``refit``, ``own``, ``split``,
        ``unscale`` and ``points``, see `Target.of`.
    epsilons
        The ladder, or one size.
    norm, constraint, attacks
        As in `adversarial_accuracy`.
    progress
        Show a bar on stderr.
    """
    return curve_of(
        Target.of(model, data, **checked(options)),
        epsilons, norm=norm, constraint=constraint, attacks=attacks, progress=progress,
    )  # fmt: skip


def curve_of(
    target: Target,
    epsilons: float | Iterable[float],
    *,
    norm: str | float = 2,
    constraint: Constraint = "none",
    attacks: Attacks = None,
    progress: bool = False,
) -> Curve:
    """Adversarial accuracy of a target for every epsilon, as `adversarial_curve` has it."""
    sizes = epsilons if isinstance(epsilons, Iterable) else [epsilons]
    ladder = sorted(
        {check_real("epsilon", e, "be finite, 0 or more", low=0, high=HUGE) for e in sizes}
    )
    if not ladder:
        raise InputError("epsilons must hold one size or more, got none")
    attacks = parsed(attacks)
    base = target.region(as_p(norm), max(ladder), constraint, progress=progress)
    found: list[AdversarialAccuracy] = []
    words = f"attacking {target.classifier.name}"
    with count_steps(words, total=len(ladder), enabled=progress) as step:
        for epsilon in ladder:
            before = [] if constraint == "genuine-exact" else found[-1:]
            found.append(attacked(target, replace(base, epsilon=epsilon), attacks, before))
            step()
    if target.classifier.device is not None:
        found = _checked(target, base, found, more=attacks is None)
    elif target.data.d > _MANY:
        note = "Searched without gradients, which a torch module would have: that finds far less."
        found = [a if a.proven else replace(a, notes=(note,)) for a in found]
    return Curve(target, tuple(found), float(target.right.mean()))


def parsed(attacks: Attacks) -> list[Attack] | None:
    """Attacks, of which some may be written as specs.

    >>> parsed("random(50)")
    [RandomSearch(queries=50)]
    """
    if attacks is None:
        return None
    several = (
        attacks if isinstance(attacks, Sequence) and not isinstance(attacks, str) else [attacks]
    )
    return [parse_attack(one) if isinstance(one, str) else one for one in several]


def _checked(
    target: Target, base: Region, found: list[AdversarialAccuracy], *, more: bool
) -> list[AdversarialAccuracy]:
    """Look at gradients where points withstand; if they may be masked, search without them."""
    from shaketable.adversary.attacks.health import gradient_health  # needs torch

    left = [a for a in found if not a.proven]
    rows = np.flatnonzero(target.right)[:_CHECKED]
    if not left or not len(rows):
        return found
    region = replace(base, epsilon=left[-1].epsilon)
    keys = fold(target.keys[rows], TRIES)
    health = gradient_health(target.classifier, region, rows, target.y[rows], keys)
    notes = (f"Gradients at epsilon {region.epsilon:g}: {health}",)
    told: list[AdversarialAccuracy] = []
    for a in found:
        b = a
        if more and health.signs and not a.proven:
            before = [a] if a.constraint == "genuine-exact" else [*told[-1:], a]
            rays = [RayBisection(500, aim="first")]
            b = attacked(target, replace(base, epsilon=a.epsilon), rays, before)
        told.append(b if a.proven else replace(b, notes=notes))
    return told

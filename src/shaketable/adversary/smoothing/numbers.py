"""Certificates of a smoothed model, and what follows from their counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np
from scipy import special

from shaketable.adversary.attacks.registry import Attacks
from shaketable.adversary.smoothing import view
from shaketable.adversary.target import Attacked, Target
from shaketable.core.checks import HUGE, check_real
from shaketable.core.errors import InputError
from shaketable.core.norms import NormJson, as_p, norm_title, norm_to_json
from shaketable.core.schemas import NotesJson
from shaketable.core.types import BoolArray, FloatArray, IntArray
from shaketable.data.dataset import LabelJson
from shaketable.evaluation.store import Store
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate, EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed, print_notes
from shaketable.views.text import name_notes

if TYPE_CHECKING:
    from pathlib import Path

    from shaketable.views.drawing import Chart


class RefutedJson(EstimateJson):
    """What attacks on the same smoothed model leave of its accuracy."""

    attacks: list[str]
    refuted: Annotated[int, "Points at which a wrong answer of the smoothed model is shown."]
    unconfirmed: Annotated[int, "Points at which only the vote answers wrongly."]


class CertifiedJson(EstimateJson):
    """Certified accuracy at one epsilon, in per cent."""

    epsilon: float
    attacked: RefutedJson | None


class CertificateJson(TypedDict):
    """The certificate of a point."""

    row: int
    label: LabelJson
    predicted: Annotated[LabelJson | None, "null: none of the classes of the data."]
    hits: Annotated[int, "Noisy copies that are given the predicted class."]
    p_lower: float
    radius: Annotated[float | None, "Radius in L2; null if the point abstains."]
    abstained: bool


class CertificatesJson(TypedDict):
    """Certificates of a smoothed model; rates are in per cent."""

    model: str
    data: str
    sigma: float
    draws: int
    select: int
    confidence: Annotated[float, "Confidence of every single certificate, in per cent."]
    seed: int
    norm: Annotated[NormJson, "Of epsilon; radii of points are in L2."]
    dimensions: Annotated[int, "Number of values of a point that noise changes."]
    n: int
    accuracy: Annotated[EstimateJson, "Accuracy of the vote on the points as they are."]
    abstained: int
    most_wrong: Annotated[int, "With 95 % confidence, no more certificates are wrong."]
    any_wrong: Annotated[float, "Bound of the probability that any is wrong, in per cent."]
    largest_radius: Annotated[float, "Radius in L2 that so many draws can prove at most."]
    certified: list[CertifiedJson]
    points: list[CertificateJson]
    notes: NotesJson


@dataclass(frozen=True, eq=False)
class Refuted:
    """What attacks on a smoothed model found at one epsilon, confirmed with noise drawn anew."""

    epsilon: float
    points: BoolArray
    """For every point whether a wrong answer of the smoothed model is shown."""
    unconfirmed: int
    """Points at which the vote answers wrongly, but new noise does not show it."""
    attacks: tuple[str, ...]

    @cached_property
    def left(self) -> Estimate:
        """Share of points that are not refuted: an upper bound of the smoothed model's accuracy."""
        return intervals.proportion(int((~self.points).sum()), len(self.points))

    def json(self) -> RefutedJson:
        """Counts, and the accuracy that is left in per cent."""
        return {
            **self.left.json(),
            "attacks": [*self.attacks],
            "refuted": int(self.points.sum()),
            "unconfirmed": self.unconfirmed,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(Displayed):
    """Certificates of a smoothed model at some points; they hold for no other model.

    Every certificate is wrong with a probability of at most ``1 - confidence``, over the noise that
    was drawn. A point for which the bound of the probability is not above one half abstains.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.49], [0.9]], [False, False, True]
    >>> found = st.smoothed(lambda x: x[:, 0] > 0.5, 0.1).certify(data, [0, 0.2])
    >>> found.n, found.most_wrong, found.radius.round(2)
    (3, 0, array([0.27, 0.01, 0.32]))
    >>> print(found.certified(0.2))
    0.667 (95 % interval 0.094 to 0.992)
    >>> found.curve([0, 0.2])[1].value == found.certified(0.2).value
    True
    >>> sorted(found.json())[:3], type(found.draw()).__name__
    (['abstained', 'accuracy', 'any_wrong'], '_LayerChart')
    >>> found.attack("rays(queries=50)").refuted[1].left.value
    0.6666666666666666
    """

    attacked: Attacked
    sigma: float
    draws: int
    select: int
    confidence: float
    hits: IntArray
    """Draws in which the model inside gives the class of the vote, for every point."""
    d: int
    """Number of values of a point that noise changes."""
    p: float = 2.0
    """Norm of the sizes in tables."""
    epsilons: tuple[float, ...] = ()
    """Sizes in tables, the smallest first."""
    refuted: tuple[Refuted, ...] = ()
    """What attacks on the same smoothed model found, by size."""
    target: Target | None = None
    """The smoothed model with its points."""

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.attacked.model

    @property
    def codes(self) -> IntArray:
        """Class codes that the vote selected: what the smoothed model answers."""
        return self.attacked.codes

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.hits)

    @cached_property
    def lower(self) -> FloatArray:
        """Lower confidence bound of the probability of the class, for every point."""
        return 1 - self._upper

    @cached_property
    def _upper(self) -> FloatArray:
        return intervals.point_error_upper_bound(self.hits, self.draws, confidence=self.confidence)

    @cached_property
    def abstained(self) -> BoolArray:
        """Whether nothing is certified for a point."""
        return self._upper >= 0.5

    @cached_property
    def radius(self) -> FloatArray:
        r"""Radius in L2, :math:`\sigma \Phi^{-1}(p)`, of every point; 0 where it abstains."""
        radius = -self.sigma * special.ndtri(np.minimum(self._upper, 0.5))  # exact near p = 1
        return np.asarray(np.where(self.abstained, 0.0, radius))

    def radii(self, norm: str | float = 2) -> FloatArray:
        r"""Return the radii in another norm: those of the largest ball inside the one in L2.

        Up to order 2 they are the same, as :math:`\|\delta\|_2 \le \|\delta\|_p`: in L1 the answer
        stays at least as far. Beyond that they are smaller by :math:`d^{1/2 - 1/p}`, in L-inf by
        :math:`\sqrt d`.

        Parameters
        ----------
        norm
            1, 2, ``"inf"`` or another order.

        Returns
        -------
        FloatArray
            One radius per point; 0 where it abstains.

        Examples
        --------
        >>> import shaketable as st
        >>> model = st.smoothed(lambda x: x[:, 0] > 0.5, 0.1)
        >>> found = model.certify(([[0.2] * 4, [0.9] * 4], [False, True]))
        >>> found.radii("inf") / found.radius
        array([0.5, 0.5])
        """
        share = float(self.d ** min(0.0, 1 / as_p(norm) - 0.5))
        return share * self.radius

    def certified(self, epsilon: float, norm: str | float | None = None) -> Estimate:
        """Share of points that are labelled correctly and certified beyond epsilon.

        At epsilon 0 it is the share that is labelled correctly and does not abstain. The interval
        is for new points. The accuracy of the smoothed model at its worst points within epsilon is
        at least its lower end minus ``1 - confidence``.

        Parameters
        ----------
        epsilon
            Radius of the balls.
        norm
            Their norm; by default that of the tables.

        Returns
        -------
        Estimate
            The certified accuracy, with its 95 % interval.
        """
        return self.curve([epsilon], norm)[0]

    def curve(
        self, epsilons: Iterable[float] | None = None, norm: str | float | None = None
    ) -> list[Estimate]:
        """Certified accuracy at several sizes, from the same certificates.

        Parameters
        ----------
        epsilons
            Radii of the balls; by default the sizes in tables.
        norm
            Their norm; by default that of the tables.

        Returns
        -------
        list[Estimate]
            One certified accuracy per size.
        """
        radii = np.where(self.attacked.right, self.radii(self.p if norm is None else norm), 0.0)
        sizes = self.epsilons if epsilons is None else epsilons
        checked = [
            check_real("epsilon", e, "be finite, 0 or more", low=0, high=HUGE) for e in sizes
        ]
        return [intervals.proportion(int((radii > e).sum()), self.n) for e in checked]

    @cached_property
    def accuracy(self) -> Estimate:
        """Accuracy of the vote on the points as they are, abstaining or not."""
        return intervals.proportion(int(self.attacked.right.sum()), self.n)

    @property
    def largest(self) -> float:
        """Largest radius in L2 that so many draws can prove."""
        return find_largest(self.sigma, self.draws, self.confidence)

    @property
    def any_wrong(self) -> float:
        """Bound of the probability that any of the certificates is wrong.

        Noise is drawn anew for every point, so they fail independently of each other.
        """
        return float(-np.expm1(self.n * np.log(self.confidence)))

    @property
    def most_wrong(self) -> int:
        """With 95 % confidence no more than so many of the certificates are wrong."""
        from scipy.stats import binom  # slow to load

        return int(binom.ppf(0.95, self.n, 1 - self.confidence))

    def attack(
        self,
        attacks: Attacks = None,
        epsilons: Iterable[float] | None = None,
        *,
        store: str | Path | None = None,
        progress: bool = False,
    ) -> Certificates:
        """Attack the same smoothed model, and keep only what noise drawn anew confirms.

        Attacks find points at which the vote answers wrongly, and a vote is not the smoothed model.
        A point counts as refuted if, of `draws` new copies of what was found, significantly more
        are given the wrong class than the right one, at ``1 - confidence`` over all sizes.

        Parameters
        ----------
        attacks
            As in `adversarial_accuracy`; by default few queries, each of which is a vote.
        epsilons
            Sizes, in the norm of the tables; by default those of the tables.
        store, progress
            As in `adversarial_curve`.

        Returns
        -------
        Certificates
            The same certificates, with what the attacks left.
        """
        from shaketable.adversary.smoothing.refuting import refute

        if self.target is None:
            raise InputError("attacks need the model, and these certificates have none")
        sizes = sorted({*(self.epsilons if epsilons is None else epsilons)})
        with Store(store) as results:
            found = refute(
                self.target,
                sizes,
                p=self.p,
                draws=self.draws,
                confidence=self.confidence,
                attacks=attacks,
                keep=None if results.in_memory else results,
                progress=progress,
            )
            return replace(self, refuted=tuple(found))

    @cached_property
    def notes(self) -> list[str]:
        """What a reader should know about data and model, one sentence per note."""
        model = name_notes((self.model, note) for note in self.attacked.about_model)
        return [*self.attacked.about_data, *model]

    def __repr__(self) -> str:
        values = ", ".join(
            f"{epsilon:g}: {100 * estimate.value:.2f}%"
            for epsilon, estimate in zip(self.epsilons, self.curve(), strict=True)
        )
        return (
            f"<{self.model}, certified accuracy by {norm_title(self.p)} epsilon: {values}; "
            f"{int(self.abstained.sum())} of {self.n} points abstain>"
        )

    def json(self) -> CertificatesJson:
        """Certificates and certified accuracies as a JSON object; rates are in per cent.

        Returns
        -------
        dict
            Keys as in an entry of ``shaketable adversary --smooth --json``.
        """
        refuted = {each.epsilon: each.json() for each in self.refuted}
        points, classes = self.attacked.points, self.attacked.points.classes
        return {
            "model": self.model,
            "data": self.attacked.data,
            "sigma": self.sigma,
            "draws": self.draws,
            "select": self.select,
            "confidence": 100 * self.confidence,
            "seed": self.attacked.seed,
            "norm": norm_to_json(self.p),
            "dimensions": self.d,
            "n": self.n,
            "accuracy": self.accuracy.json(),
            "abstained": int(self.abstained.sum()),
            "most_wrong": self.most_wrong,
            "any_wrong": 100 * self.any_wrong,
            "largest_radius": self.largest,
            "certified": [
                {"epsilon": epsilon, **estimate.json(), "attacked": refuted.get(epsilon)}
                for epsilon, estimate in zip(self.epsilons, self.curve(), strict=True)
            ],
            "points": [
                {
                    "row": int(row),
                    "label": classes[y],
                    "predicted": classes[code] if code >= 0 else None,
                    "hits": int(hits),
                    "p_lower": float(lower),
                    "radius": None if abstained else float(radius),
                    "abstained": bool(abstained),
                }
                for row, y, code, hits, lower, radius, abstained in zip(
                    points.rows,
                    points.y,
                    self.codes,
                    self.hits,
                    self.lower,
                    self.radius,
                    self.abstained,
                    strict=True,
                )
            ],
            "notes": self.notes,
        }

    def blocks(self) -> list[Block]:
        """Return the certified accuracy by epsilon, what attacks leave, and what is guaranteed."""
        return view.make_blocks([self])

    def print(self) -> None:
        """Print the certified accuracy by epsilon, what attacks leave, and notes."""
        super().print()
        print_notes(self.notes)

    def draw(self) -> Chart:
        """Draw the certified accuracy by epsilon, with what attacks leave.

        Returns
        -------
        Chart
            The chart.
        """
        from shaketable.adversary.smoothing.charts import certified_chart  # altair is slow

        return certified_chart([self])


class AllCertificatesJson(TypedDict):
    """Certificates of all models."""

    certificates: list[CertificatesJson]


@dataclass(frozen=True, eq=False)
class AllCertificates(Displayed):
    """Certificates of several models at the same points."""

    certificates: tuple[Certificates, ...]

    def json(self) -> AllCertificatesJson:
        """All certificates as a JSON object."""
        return {"certificates": [each.json() for each in self.certificates]}

    def blocks(self) -> list[Block]:
        """Return what is shown of all models."""
        return view.make_blocks(self.certificates)

    def print(self) -> None:
        """Print what is shown of all models, and notes."""
        super().print()
        print_notes(dict.fromkeys(note for each in self.certificates for note in each.notes))


def find_largest(sigma: float, draws: int, confidence: float) -> float:
    """Return the radius in L2 where all draws agree.

    >>> round(find_largest(1.0, 100_000, 0.999), 3)
    3.811
    """
    upper = intervals.point_error_upper_bound([draws], draws, confidence=confidence)
    return float(max(0.0, -sigma * special.ndtri(upper[0])))


def list_epsilons(sigma: float, draws: int, confidence: float) -> tuple[float, ...]:
    """Return steps of half a sigma below the largest radius, from 0 on.

    >>> list_epsilons(0.2, 10_000, 0.999)
    (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    """
    steps = np.arange(0, find_largest(1.0, draws, confidence), 0.5)
    return tuple(float(f"{sigma * step:.12g}") for step in steps)

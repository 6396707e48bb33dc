"""What a model loses although 1-NN would not, and the JSON of worst cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NotRequired, TypeAlias, TypedDict

from shaketable.adversary import view
from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.agreement import AgreementsJson
from shaketable.adversary.curve import CurveJson
from shaketable.adversary.distances import DistancesJson
from shaketable.adversary.smoothing.numbers import AllCertificatesJson
from shaketable.core.norms import NormJson
from shaketable.core.schemas import NotesJson
from shaketable.findings.errata.errata import ErrataJson
from shaketable.statistics.difference import DifferenceJson
from shaketable.statistics.estimate import EstimateJson


class RandomNoiseJson(EstimateJson):
    """Accuracy of a model under random noise."""

    model: str
    epsilon: float


class AdversarialDifferenceJson(DifferenceJson):
    """Difference of two models at one epsilon."""

    constraint: str
    epsilon: float
    words: str


class AvoidableJson(TypedDict):
    """Correct answers that an adversary changes, and that 1-NN would keep."""

    constraint: str
    epsilon: float
    lost: int
    of: int


class AvoidableOfModelJson(AvoidableJson):
    """The same of one model."""

    model: str


class ModelDistancesJson(DistancesJson):
    """Distances of one model's points to their nearest failures."""

    model: str
    constraint: str


class WorstCaseJson(TypedDict):
    """Adversarial accuracies of all models."""

    data: str
    norm: NormJson
    eps_min: float | None
    curves: list[CurveJson]
    random: list[RandomNoiseJson]
    distances: list[ModelDistancesJson]
    differences: list[AdversarialDifferenceJson]
    avoidable: list[AvoidableOfModelJson]
    seed: int
    errata: NotRequired[ErrataJson]
    notes: NotesJson


AdversaryJson: TypeAlias = Annotated[
    Annotated[WorstCaseJson, "Of attacks."]
    | Annotated[AgreementsJson, "With --agreement."]
    | Annotated[AllCertificatesJson, "With --smooth."],
    "Result of adversary",
]


@dataclass(frozen=True)
class Avoidable:
    """Correct answers that an adversary changes, and that 1-NN on the same points would keep."""

    at: AdversarialAccuracy
    """The accuracy that this is about."""
    lost: int
    of: int
    """Number of correct answers that could be lost."""

    def __str__(self) -> str:
        return view.describe_avoidable(self)

    def json(self) -> AvoidableJson:
        """Counts as a JSON object."""
        return {
            "constraint": self.at.constraint,
            "epsilon": self.at.epsilon,
            "lost": self.lost,
            "of": self.of,
        }

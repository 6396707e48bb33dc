"""The finding, and its declaration."""

from dataclasses import dataclass
from typing import Annotated, TypedDict

from shaketable.findings.finding import FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import Series
from shaketable.statistics.estimate import EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed
from worst_loss.numbers import choose_worst, worst_loss
from worst_loss.view import make_blocks


class LossJson(EstimateJson):
    """The largest loss of a model."""

    label: str
    corruption: str


class WorstLossJson(TypedDict):
    """The keys of the finding."""

    worst_loss: Annotated[
        list[LossJson], "For every model, the corruption under which it loses most."
    ]


@dataclass(frozen=True, eq=False)
class WorstLoss(Displayed):
    """For every model, the corruption under which it loses most."""

    worst: dict[str, Series]
    """By the label of the model."""

    def json(self) -> WorstLossJson:
        return {
            "worst_loss": [
                {"label": label, "corruption": s.first.corruption, **s.relative_loss.json()}
                for label, s in self.worst.items()
            ]
        }

    def blocks(self) -> list[Block]:
        return make_blocks(self)


def find(groups: RecordGroups) -> WorstLoss | None:
    """Take the finding from records."""
    worst = {s.label: choose_worst(list(s.noisy)) for s in groups.subjects if s.noisy}
    return WorstLoss(worst) if worst else None


WORST_LOSS = FindingKind(find, json=WorstLossJson, metrics={"worst_loss": worst_loss})

"""The finding, and its declaration."""

from dataclasses import dataclass
from typing import Any

from shaketable.findings.finding import FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import Series
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed
from worst_loss.numbers import choose_worst, worst_loss
from worst_loss.view import make_blocks


@dataclass(frozen=True, eq=False)
class WorstLoss(Displayed):
    """For every model, the corruption under which it loses most."""

    worst: dict[str, Series]
    """By the label of the model."""

    def json(self) -> dict[str, Any]:
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


WORST_LOSS = FindingKind(find, metrics={"worst_loss": worst_loss})

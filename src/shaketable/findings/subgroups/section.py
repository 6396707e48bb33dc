"""Section of a page about groups of points: one part per column, and classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from shaketable.findings.finding import Methods, Section
from shaketable.findings.subgroups import charts, words
from shaketable.findings.subgroups.finding import GroupBoard, ModelGroups, Subgroups
from shaketable.views import page

MAX_GROUPS = 30
"""Groups of a model that are listed at most, the worst first."""


def make_sections(finding: Subgroups, methods: Methods) -> list[Section]:
    """Return the section with all columns, and classes last."""
    for model in (model for board in finding.boards for model in board.models):
        worst = model.chosen.worst
        methods.note("Accuracy of a group", worst.accuracy)
        if worst.gap is not None:
            methods.note("Difference of a group from other points", worst.gap)
    parts = [GroupPart(number, board) for number, board in enumerate(finding.boards, start=1)]
    several = len({board.data for board in finding.boards}) > 1
    return [Section("groups", "Groups", _render("groups", parts=parts, several=several), 45)]


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.subgroups", "section.html.j2", macro, **content)


@dataclass(frozen=True, eq=False)
class GroupPart:
    """Content of the part about one column, as the template needs it."""

    number: int
    board: GroupBoard

    @property
    def shown(self) -> int:
        """Groups of a model that are listed at most."""
        return MAX_GROUPS

    @property
    def more(self) -> int:
        """How many groups are left out."""
        return max(0, max(len(m.chosen.groups) for m in self.board.models) - MAX_GROUPS)

    @property
    def has_clean(self) -> bool:
        """Whether clean points stand beside corrupted ones."""
        return any(model.clean and model.corrupted for model in self.board.models)

    @property
    def judged(self) -> str:
        """How differences are judged."""
        return words.describe_judging(self.board)

    @property
    def unseen(self) -> str:
        """About which groups nothing is known."""
        return words.describe_unseen(self.board)

    @cached_property
    def figures(self) -> list[page.Figure]:
        """The chart of this column."""
        chart = charts.groups_chart([self.board])
        return page.make_figures(chart, place=f"groups-{self.number}", caption=words.CHART)

    def describe(self, model: ModelGroups) -> str:
        """Say which group is worst."""
        return words.describe_model(model)

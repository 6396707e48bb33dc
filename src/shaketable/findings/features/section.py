"""Section of a page about fragile features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from shaketable.findings.features import charts, words
from shaketable.findings.features.finding import FeatureBoard, Features
from shaketable.findings.features.numbers import FeatureLoss
from shaketable.findings.finding import Methods, Section
from shaketable.views import page

FEW_ANSWERS = 5
"""Models and noises of which the top of the page names the most fragile feature."""

MAX_ROWS = 60
"""Features that are listed at most."""


def make_sections(finding: Features, methods: Methods) -> list[Section]:
    """Return the section with all data."""
    for board in finding.boards:
        methods.note("Accuracy lost under noise in one feature", board.rows[0].value)
    several = len({board.data for board in finding.boards}) > 1
    parts = [
        FeaturePart(number, board, several=several)
        for number, board in enumerate(finding.boards, start=1)
    ]
    models = [model for board in finding.boards for model in board.models]
    apart = words.APART if len(finding.boards) > len({b.data for b in finding.boards}) else ""
    answer = _render("answer", models=models[:FEW_ANSWERS], more=len(models[FEW_ANSWERS:]))
    return [
        Section("fragile", "Fragile features", answer, 6),
        Section("features", "Features", _render("features", parts=parts, apart=apart), 43),
    ]


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.features", "section.html.j2", macro, **content)


@dataclass(frozen=True, eq=False)
class FeaturePart:
    """Content of the part about one data set and noise, as the template needs it."""

    number: int
    board: FeatureBoard
    several: bool
    """Whether there are several data sets."""

    @property
    def title(self) -> str:
        """The noise, and of several data sets the name of this one."""
        return f"{self.board.noise}, {self.board.data}" if self.several else self.board.noise

    @property
    def note(self) -> str:
        """In which features the noise shows nowhere; empty if there is none."""
        return words.note_unnoticed(self.board)

    @property
    def rows(self) -> list[FeatureLoss]:
        """Features that are listed."""
        return self.board.rows[:MAX_ROWS]

    @property
    def more(self) -> int:
        """How many features are left out."""
        return len(self.board.rows[MAX_ROWS:])

    @property
    def judged(self) -> str:
        """How losses are judged."""
        return words.describe_judging(self.board)

    @cached_property
    def figures(self) -> list[page.Figure]:
        """The chart."""
        chart = charts.features_chart([self.board])
        return page.make_figures(chart, place=f"features-{self.number}", caption=words.CHART)

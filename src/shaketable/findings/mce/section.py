"""Sections of a page about suites: scores, errors at every level, differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from shaketable.corruptions.published import find_published_folder
from shaketable.findings.finding import Methods, Section
from shaketable.findings.mce import charts, words
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mce.scores import Ladder, Level, Scoreboard
from shaketable.statistics.difference import Difference
from shaketable.views import page

_DRAWS = {
    "ladder": "A point’s noise was drawn once per norm and scaled to all sizes.",
    "independent": "A point’s noise was drawn anew for every size.",
    "shared": "All points have the same noise.",
}


def make_sections(finding: SuiteErrors, methods: Methods) -> list[Section]:
    """Return one section per suite; the first has the definitions of all metrics."""
    sections = []
    for number, board in enumerate(finding.boards, start=1):
        suite = SuiteSection(f"suite-{number}", board)
        _note_methods(board, methods)
        sections.append(
            Section(
                suite.anchor,
                f"Suite {board.suite.name}",
                _render("suite", s=suite),
                20,
                _render("definitions", boards=finding.boards) if number == 1 else "",
            )
        )
    return sections


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.mce", "section.html.j2", macro, **content)


def _note_methods(board: Scoreboard, methods: Methods) -> None:
    for score in (s for part in board.parts for s in part.scores):
        if score.value is not None:
            methods.note(score.metric, score.value)
    for score in board.scores:
        methods.note("Error", score.clean)
        if board.levels == 1:
            methods.note("Change of the error", score.ladders[0].levels[0].change)
        if score.value is not None:
            methods.note(score.metric, score.value)
    for d in board.differences:
        methods.note("Difference of two models", d.value)


@dataclass(frozen=True, eq=False)
class SuiteSection:
    """Content of the section about one suite, as the template needs it."""

    anchor: str
    board: Scoreboard

    @property
    def title(self) -> str:
        """Heading of the section."""
        what = "p-norm noise" if self.board.of_norms else "Common corruptions"
        return f"{what}: suite {self.board.suite.name} on {self.board.data}"

    @property
    def facts(self) -> list[str]:
        """Sentences about the source of the corruptions and how they were drawn."""
        ladders = self.board.scores[0].ladders
        missing = [
            f"{ladder.title} noise begins with level {ladder.levels[0].number}: lower levels would "
            "change no value of a point."
            for ladder in ladders
            if ladder.levels[0].number > 1
        ]
        return [self._describe_origin(len(ladders)), *missing, *self._describe_draws()]

    @property
    def differences(self) -> list[Difference]:
        """Differences that are listed."""
        return self.board.differences[: page.MAX_COMPARISONS]

    @property
    def more_differences(self) -> int:
        """How many differences are left out."""
        return len(self.board.differences[page.MAX_COMPARISONS :])

    @property
    def parts(self) -> list[SuiteSection]:
        """Suites that this one contains, for their differences."""
        return [SuiteSection(self.anchor, part) for part in self.board.parts]

    @property
    def steps(self) -> range:
        """Numbers of the levels, the weakest first."""
        return range(1, self.board.levels + 1)

    @cached_property
    def highest(self) -> float:
        """Highest error of any model under any corruption."""
        return max(
            level.error.value
            for s in self.board.scores
            for part in s.ladders
            for level in part.levels
        )

    @cached_property
    def means_figures(self) -> list[page.Figure]:
        """Figures of the mean errors by norm or kind."""
        chart = charts.means_chart([self.board])
        return page.make_figures(chart, place=f"{self.anchor}-means", caption=words.SUITE_MEANS)

    @cached_property
    def errors_figures(self) -> list[page.Figure]:
        """Figures of the errors at every level; none for a suite of one level."""
        if self.board.levels == 1:
            return []
        return page.make_small_figures(
            charts.draw_error_panels(self.board),
            heading=charts.ERRORS_TITLE,
            place=f"{self.anchor}-errors",
            caption=words.SUITE_ERRORS,
        )

    def at(self, ladder: Ladder, step: int) -> Level | None:
        """Return the level of a norm or kind with this number; None if it is left out."""
        return next((level for level in ladder.levels if level.number == step), None)

    def _describe_origin(self, kinds: int) -> str:
        suite = self.board.suite
        if self.board.of_norms:
            sizes = (
                f"{suite.derived}, so that they move every single value as much as there"
                if suite.derived
                else "the published ones"
            )
            return f"{len(suite.specs)} corruptions in {kinds} norms. Their sizes are {sizes}."
        origin = f"not read from a published set: {self.board.sizes}"
        if folder := find_published_folder(suite.specs):
            origin = f"published images that were read from {folder}, not generated"
        return (
            f"{len(suite.specs)} corruptions of {kinds} kinds, {origin}. The mean is plain: it is "
            "not normalised by another model's errors."
        )

    def _describe_draws(self) -> list[str]:
        folder = find_published_folder(self.board.suite.specs)
        word = "image" if folder else "draw"
        is_ladder = self.board.levels > 1 and not folder and self.board.of_norms
        sentences = (
            f"{c.n} test points, {c.k} {word if c.k == 1 else f'{word}s'} each."
            + (f" {_DRAWS[c.setting.draws]}" if is_ladder else "")
            + (" Noise was drawn on the model's own device." if c.setting.noise == "device" else "")
            for c in (score.first for score in self.board.scores)
        )
        return list(dict.fromkeys(sentences))

"""What a report says of suites: a section each, with scores, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shaketable.corruptions.published import find_published_folder
from shaketable.evaluation.records import Records
from shaketable.findings.mce import words
from shaketable.findings.mce.scores import Ladder, Level, Scoreboard, scoreboards
from shaketable.findings.mscr import charts
from shaketable.findings.mscr.section import MAX_PAIRS, Methods, noted
from shaketable.statistics.difference import Difference
from shaketable.views import page

_DRAWS = {
    "ladder": "A point’s noise was drawn once per norm and scaled to all sizes.",
    "independent": "A point’s noise was drawn anew for every size.",
    "shared": "All points met the same noise.",
}


@dataclass(frozen=True, eq=False)
class Section:
    """One suite on the page."""

    anchor: str
    board: Scoreboard
    differences: list[Difference]
    more_differences: int

    @property
    def title(self) -> str:
        """Heading of the section."""
        what = "p-norm noise" if self.of_norms else "Common corruptions"
        return f"{what}: suite {self.board.suite.name} on {self.board.data}"

    @property
    def of_norms(self) -> bool:
        """Whether its corruptions are p-norm noise."""
        return self.board.scores[0].ladders[0].p is not None

    @property
    def facts(self) -> list[str]:
        """Where the noise is from and how it was drawn, a sentence each."""
        suite, ladders = self.board.suite, self.board.scores[0].ladders
        sizes = (
            f"{suite.derived}, so that they move every single value as much as there"
            if suite.derived
            else "the published ones"
        )
        missing = [
            f"{ladder.title} noise begins with level {ladder.levels[0].number}: less of it would "
            "hit no value of a point."
            for ladder in ladders
            if ladder.levels[0].number > 1
        ]
        folder = find_published_folder(suite.specs)
        word = "picture" if folder else "draw"
        ladder = self.board.levels > 1 and not folder
        drawn = dict.fromkeys(
            f"{c.n} test points, {c.k} {word if c.k == 1 else f'{word}s'} each."
            + (f" {_DRAWS[c.draws]}" if ladder and self.of_norms else "")
            + (" Noise was made on the model's own device." if c.noise == "device" else "")
            for c in (score.first for score in self.board.scores)
        )
        about = f"{len(suite.specs)} corruptions in {len(ladders)} norms. Their sizes are {sizes}."
        if not self.of_norms:
            made = f"made here, not read from a published set: {self.board.sizes}"
            if folder:
                made = f"published pictures that were read from {folder}, not generated here"
            about = (
                f"{len(suite.specs)} corruptions of {len(ladders)} kinds, {made}. The mean is "
                "plain: it is normalised by no other model's errors."
            )
        return [about, *missing, *drawn]

    @property
    def steps(self) -> range:
        """Numbers of the levels, the weakest first."""
        return range(1, self.board.levels + 1)

    @property
    def highest(self) -> float:
        """Highest error of any model under any corruption."""
        return max(
            level.error.value
            for s in self.board.scores
            for part in s.ladders
            for level in part.levels
        )

    def at(self, ladder: Ladder, step: int) -> Level | None:
        """Level of a norm; None where it is left out."""
        return next((level for level in ladder.levels if level.number == step), None)


def sections(records: Records, methods: Methods) -> list[Section]:
    """A section for every suite that has a metric."""
    result = []
    for number, board in enumerate(scoreboards(records), start=1):
        for score in board.scores:
            noted(methods, "Error", score.clean)
            if board.levels == 1:
                noted(methods, "Change of the error", score.ladders[0].levels[0].change)
            if score.value is not None:
                noted(methods, score.metric, score.value)
        for d in board.differences:
            noted(methods, "Difference of two models", d.value)
        shown, more = board.differences[:MAX_PAIRS], len(board.differences[MAX_PAIRS:])
        result.append(Section(f"suite-{number}", board, shown, more))
    return result


def figures(records: Records, found: list[Section]) -> dict[str, list[page.Figure]]:
    """Figures of every section, by its anchor and their kind."""
    result = {}
    for section in found:
        mine = replace(records, suites=(section.board.suite,))
        result[f"{section.anchor}-means"] = page.drawn(
            charts.suite_means, mine, caption=words.SUITE_MEANS
        )
        result[f"{section.anchor}-errors"] = page.drawn(
            charts.suite_errors, mine, caption=words.SUITE_ERRORS
        )
    return result

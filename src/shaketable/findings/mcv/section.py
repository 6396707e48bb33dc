"""What a report says of sets of faults that follow one another: the mCV plot, tables, effects."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.evaluation.records import Records
from shaketable.findings.mcv import charts as mcv_charts
from shaketable.findings.mcv import words
from shaketable.findings.mcv.boards import Entry, MCVBoard, mcv_boards, several
from shaketable.findings.mscr.section import Methods, noted
from shaketable.statistics.estimate import Estimate
from shaketable.views import page


@dataclass(frozen=True, eq=False)
class Section:
    """One suite of sets on the page."""

    anchor: str
    board: MCVBoard

    @property
    def title(self) -> str:
        """Heading of the section."""
        return f"Mean and variation: {self.board.title}"

    @property
    def facts(self) -> str:
        """What was measured, in a sentence."""
        return (
            f"{len(self.board.suite.specs)} sets of {self.board.draws}: clean points, "
            "single faults, and faults that follow one another. Sets with names are draws of their "
            "own, also where two hold the same faults; names tell the faults in their order."
        )

    @property
    def several(self) -> bool:
        """Whether there are models to compare."""
        return len(self.board.entries) > 1

    @property
    def effects(self) -> list[tuple[str, list[tuple[str, list[Estimate | None]]]]]:
        """Tables of effects: a title, and named rows with an estimate a model."""
        entries = self.board.entries
        return [
            ("Every factor alone, and its levels", _rows([_main(e) for e in entries])),
            ("The order of factors", _rows([_orders(e) for e in entries])),
            ("Two factors together, beyond the sum of both", _rows([_both(e) for e in entries])),
        ]

    @property
    def sets(self) -> list[tuple[str, list[float]]]:
        """Accuracy of every model on every set."""
        scores = [entry.variation.scores for entry in self.board.entries]
        return [(name, [s[name] for s in scores]) for name in scores[0]]


def sections(records: Records, methods: Methods, *, reference: str) -> list[Section]:
    """A section for every suite of sets."""
    found = []
    for number, board in enumerate(mcv_boards(records, reference=reference), start=1):
        for entry in board.entries:
            noted(methods, "Mean accuracy over sets", entry.stability.mean)
            noted(methods, "CV over sets", entry.stability.cv)
            for effect in entry.effects.main:
                noted(methods, "Effects of factors", effect.value)
        found.append(Section(f"sets-{number}", board))
    return found


def figures(found: list[Section]) -> dict[str, list[page.Figure]]:
    """Figures of every section, by its anchor and their kind."""
    result = {}
    for section in found:
        one = [section.board]
        result[f"{section.anchor}-plot"] = page.drawn(mcv_charts.mcv_plot, one, caption=words.MCV)
        result[f"{section.anchor}-effects"] = page.drawn(
            mcv_charts.effects_chart, one, caption=words.FACTORS
        )
    return result


def _rows(columns: list[dict[str, Estimate]]) -> list[tuple[str, list[Estimate | None]]]:
    names = dict.fromkeys(name for column in columns for name in column)
    return [(name, [column.get(name) for column in columns]) for name in names]


def _main(entry: Entry) -> dict[str, Estimate]:
    return {one.factor: one.value for m in entry.effects.main for one in (m, *several(m))}


def _orders(entry: Entry) -> dict[str, Estimate]:
    return {
        f"{' then '.join(o.first)} minus {' then '.join(o.second)}": o.value
        for o in entry.effects.kind_orders
    }


def _both(entry: Entry) -> dict[str, Estimate]:
    return {f"{i.first} with {i.second}": i.value for i in entry.effects.interactions}

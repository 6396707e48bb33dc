"""Sections of a page about suites of sets: the mCV plot, tables, effects of factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from shaketable.findings.finding import Methods, Section
from shaketable.findings.mcv import charts, words
from shaketable.findings.mcv.boards import Entry, MCVBoard, list_levels
from shaketable.findings.mcv.finding import SetVariation
from shaketable.statistics.estimate import Estimate
from shaketable.views import page


def make_sections(finding: SetVariation, methods: Methods) -> list[Section]:
    """Return one section per board; the first has the definitions."""
    sections = []
    for number, board in enumerate(finding.boards, start=1):
        for entry in board.entries:
            methods.note("Mean accuracy over sets", entry.stability.mean)
            methods.note("CV over sets", entry.stability.cv)
            for effect in entry.effects.main:
                methods.note("Effects of factors", effect.value)
        sections.append(
            Section(
                f"sets-{number}",
                f"Suite {board.suite.name}",
                _render("sets", s=SetsSection(f"sets-{number}", board)),
                30,
                _render("definitions") if number == 1 else "",
            )
        )
    return sections


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.mcv", "section.html.j2", macro, **content)


@dataclass(frozen=True, eq=False)
class SetsSection:
    """Content of the section about one board, as the template needs it."""

    anchor: str
    board: MCVBoard

    @property
    def title(self) -> str:
        """Heading of the section."""
        return f"Mean and variation: {self.board.title}"

    @property
    def facts(self) -> str:
        """Two sentences about what was measured."""
        return (
            f"{len(self.board.suite.specs)} sets of {self.board.draws}: clean points, "
            "single faults, and faults in sequence. Sets with names are drawn independently, even "
            "if two hold the same faults; names list the faults in their order."
        )

    @property
    def several(self) -> bool:
        """Whether there are models to compare."""
        return len(self.board.entries) > 1

    @cached_property
    def plot_figures(self) -> list[page.Figure]:
        """The mCV plot."""
        chart = charts.mcv_plot([self.board])
        return page.make_figures(chart, place=f"{self.anchor}-plot", caption=words.MCV)

    @cached_property
    def effects_figures(self) -> list[page.Figure]:
        """Effects of factors; none if no set is also in the suite without one of its factors."""
        if not self.board.has_effects:
            return []
        chart = charts.effects_chart([self.board])
        return page.make_figures(chart, place=f"{self.anchor}-effects", caption=words.FACTORS)

    @property
    def effects(self) -> list[tuple[str, list[tuple[str, list[Estimate | None]]]]]:
        """Tables of effects: a title, and named rows with one estimate per model."""
        entries = self.board.entries
        return [
            ("Every factor alone, and its levels", _make_rows([_list_main(e) for e in entries])),
            ("The order of factors", _make_rows([_list_orders(e) for e in entries])),
            (
                "Two factors together, beyond the sum of both",
                _make_rows([_list_interactions(e) for e in entries]),
            ),
        ]

    @property
    def sets(self) -> list[tuple[str, list[float]]]:
        """Accuracy of every model on every set."""
        scores = [entry.variation.scores for entry in self.board.entries]
        return [(name, [s[name] for s in scores]) for name in scores[0]]


def _make_rows(columns: list[dict[str, Estimate]]) -> list[tuple[str, list[Estimate | None]]]:
    names = dict.fromkeys(name for column in columns for name in column)
    return [(name, [column.get(name) for column in columns]) for name in names]


def _list_main(entry: Entry) -> dict[str, Estimate]:
    return {
        effect.factor: effect.value
        for main in entry.effects.main
        for effect in (main, *list_levels(main))
    }


def _list_orders(entry: Entry) -> dict[str, Estimate]:
    return {
        f"{' then '.join(o.first)} minus {' then '.join(o.second)}": o.value
        for o in entry.effects.kind_orders
    }


def _list_interactions(entry: Entry) -> dict[str, Estimate]:
    return {f"{i.first} with {i.second}": i.value for i in entry.effects.interactions}

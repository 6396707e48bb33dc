"""Sections of a page about the probability of a wrong answer: the summary, and all bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup

from shaketable.findings.error_probability import ErrorProbability
from shaketable.findings.finding import Methods, Section
from shaketable.findings.risk.finding import ModelRisk, RiskEntry, Risks
from shaketable.views import page

MAX_MODELS = 5
"""Models that the summary lists at most."""

FEW = 5
"""Corruptions that are always visible, the worst first; more can be unfolded."""


def make_sections(finding: Risks, methods: Methods) -> list[Section]:
    """Return the summary, which stands above all notes, and the section with all bounds."""
    for model in finding.models:
        methods.note("Probability of a wrong answer", model.highest.bound)
    summary = _render(
        "summary",
        models=finding.models[:MAX_MODELS],
        more=len(finding.models[MAX_MODELS:]),
        has_eps_min=any(model.at_eps_min for model in finding.models),
    )
    risk = _render("risk", risks=[RiskTable(model) for model in finding.models])
    return [Section("summary", "Summary", summary, 0), Section("risk", "Risk", risk, 40)]


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.risk", "section.html.j2", macro, **content)


@dataclass(frozen=True, eq=False)
class RiskTable:
    """Bounds of one model as the template needs them."""

    model: ModelRisk

    @cached_property
    def chosen(self) -> RiskEntry:
        """The corruption that is shown by class: noise of size eps_min, else the worst."""
        return next(iter(self.model.at_eps_min), self.model.highest)

    @property
    def n(self) -> int:
        """Number of points."""
        return self.chosen.series.first.n

    @property
    def error(self) -> ErrorProbability:
        """Its probability of a wrong answer."""
        return self.chosen.series.error_probability

    @property
    def never_wrong(self) -> int:
        """Points that were classified correctly in all k draws."""
        return int(np.count_nonzero(self.error.by_point <= self.error.least_provable))

    @cached_property
    def others(self) -> list[RiskEntry]:
        """The other corruptions, the worst first."""
        others = [entry for entry in self.model.entries if entry is not self.chosen]
        return sorted(others, key=lambda entry: -entry.bound.value)

    @property
    def few(self) -> list[RiskEntry]:
        """Other corruptions that are always visible."""
        return self.others[:FEW]

    @property
    def many(self) -> list[RiskEntry]:
        """Other corruptions that can be unfolded."""
        return self.others[FEW:]

"""Headline metrics of every model: accuracies, MSCR and scores of suites, each with an interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mcv.finding import SetVariation
from shaketable.findings.results import Results
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True)
class Headline:
    """One metric of one model."""

    model: str
    """Label of the model."""
    data: str
    metric: str
    """Such as ``accuracy``, ``mscr`` or ``mce_lp``."""
    condition: str
    """``clean``, the name of a corruption, or the name of a suite."""
    value: Estimate

    @property
    def name(self) -> str:
        """The metric and its condition, in words."""
        if self.metric == "mscr":
            return f"MSCR under {self.condition}"
        return f"{self.metric.replace('_', ' ')}, {self.condition}"


def list_headlines(results: Results) -> Iterator[Headline]:
    """Yield the headline metrics of all models.

    Corruptions of scored suites are left out, as the suite has a score, unless they are noise of
    size eps_min.
    """
    groups = results.groups
    in_suites = {
        cell.key
        for result in groups.suite_results
        if result.suite.metric in groups.scored
        for series in result.series
        for cell in series.noisy
    }
    for condition in groups.conditions:
        for model, series in condition.series.items():
            if series.first.key in in_suites and not (condition.is_clean or series.at_eps_min):
                continue
            about = model, series.first.data
            yield Headline(*about, "accuracy", condition.noise, series.accuracy)
            if series.at_eps_min and series.change is not None:
                yield Headline(*about, "mscr", condition.noise, series.change)
    errors, variation = results.findings.get("mce"), results.findings.get("mcv")
    for board in errors.boards if isinstance(errors, SuiteErrors) else ():
        for score in board.scores:
            if score.value is not None:
                suite = board.suite
                yield Headline(score.label, score.first.data, suite.metric, suite.name, score.value)
    for sets in variation.boards if isinstance(variation, SetVariation) else ():
        for entry in sets.entries:
            about, suite_name = (entry.label, sets.data), sets.suite.name
            yield Headline(*about, "mean_accuracy", suite_name, entry.stability.mean)
            yield Headline(*about, "cv", suite_name, entry.stability.cv)

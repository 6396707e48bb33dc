"""Verdicts on models, each from the interval of the change that noise makes to accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.findings.comparison.pairs import group_by_data, has_interval
from shaketable.findings.groups import Condition, RecordGroups, get_model, label_models
from shaketable.findings.guessing import is_guessing
from shaketable.findings.mce.finding import find as find_suite_errors
from shaketable.findings.mce.numbers import error_change
from shaketable.findings.mcv.finding import find as find_variation
from shaketable.findings.risk.finding import find as find_risks
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.series import Series
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Kind

Verdict = Literal["robust as far as shown", "loses accuracy", "inconclusive"]

MARGIN = 0.02
"""Loss of accuracy that must be excluded before a model is called robust as far as shown."""


def decide(change: Estimate | None) -> Verdict:
    """Return the verdict on a change of accuracy by noise, below 0 where accuracy is lost.

    >>> def change(low, high):
    ...     return Estimate((low + high) / 2, low, high, 0.95, "by hand")
    >>> decide(change(-0.3, -0.1)), decide(change(-0.01, 0.01)), decide(change(-0.1, 0.1))
    ('loses accuracy', 'robust as far as shown', 'inconclusive')
    """
    if change is None:
        return "inconclusive"
    if change.high < 0:
        return "loses accuracy"
    return "robust as far as shown" if change.low > -MARGIN else "inconclusive"


@dataclass(frozen=True)
class Basis:
    """What verdicts are based on."""

    name: Literal["eps_min", "suite", "worst"]
    heading: str
    """Name of the number that is shown."""
    kind: Kind
    suite: str = ""


@dataclass(frozen=True, eq=False)
class Worst:
    """The corruption under which a model makes the most errors, as measured."""

    noise: str
    series: Series
    error: Estimate
    """Share of wrong answers; with `bounded`, `high` holds under every corruption."""
    bounded: bool
    number: int
    """Number of corruptions."""
    place: str

    @property
    def is_beyond_eps_min(self) -> bool:
        """Whether it is noise in a norm in which it is known to be larger than eps_min."""
        level = self.series.first.level
        known = None if level is None else self.series.eps_min_by_norm.get(level.p)
        return level is not None and known is not None and level.size > known


@dataclass(frozen=True, eq=False)
class Line:
    """What is said first about one model."""

    label: str
    clean: Series
    """On clean points."""
    under: str
    """The noise, or the suite, that the verdict is based on."""
    value: Estimate | None
    """The number that is shown; None if it is undefined."""
    change: Estimate | None
    """The change of accuracy that decides; None if it is undefined."""
    candidates: int = 1
    """Number of noises of which this one decides; the interval holds for all of them."""
    series: Series | None = None
    """Under the noise; None for a suite."""
    worst: Worst | None = None
    place: str = ""
    """Section that has more about the noise."""

    @cached_property
    def is_guessing(self) -> bool:
        """Whether its clean accuracy is near guessing, so that it has nothing to lose."""
        return is_guessing(self.clean)

    @property
    def verdict(self) -> Verdict:
        """What the interval of the change shows; a model that guesses is not called robust."""
        verdict = decide(self.change)
        return "inconclusive" if self.is_guessing and verdict != "loses accuracy" else verdict


@dataclass(frozen=True, eq=False)
class Board:
    """All models on the same data whose verdicts have the same basis."""

    basis: Basis
    data: str
    lines: tuple[Line, ...]

    @property
    def ordered(self) -> list[Line]:
        """The lines, that with the most accuracy left first."""
        return sorted(self.lines, key=lambda x: -x.change.value if x.change else 2.0)


def make_boards(groups: RecordGroups) -> list[Board]:
    """Return verdicts by MSCR, by every suite, and by the worst noise for models with neither."""
    return [*_list_boards(groups, Places(groups))]


def _list_boards(groups: RecordGroups, places: Places) -> Iterator[Board]:
    of_suites = [*_list_suite_boards(groups, places)]
    in_suites = {(board.data, line.label) for board in of_suites for line in board.lines}
    for conditions in group_by_data(groups.conditions):
        usable = [c for c in conditions if not c.is_clean and has_interval(c)]
        data = conditions[0].first.data
        done = {label for of_data, label in in_suites if of_data == data}
        at_eps_min = _choose_by_noise(c for c in usable if c.at_eps_min)
        lines = _judge(at_eps_min, conditions, places, is_relative=True)
        done |= {line.label for line in lines}
        if lines:
            yield Board(Basis("eps_min", "MSCR", "change"), data, tuple(lines))
        yield from (board for board in of_suites if board.data == data)
        others = [c for c in usable if c.series.keys() - done]
        rest = _judge(_choose_by_noise(others), conditions, places, leave_out=done)
        if rest:
            yield Board(Basis("worst", "change", "points"), data, tuple(rest))


def _judge(
    chosen: Sequence[Condition],
    conditions: Sequence[Condition],
    places: Places,
    *,
    is_relative: bool = False,
    leave_out: Iterable[str] = (),
) -> list[Line]:
    """Return one line per model, of several noises that under which most may be lost."""
    lines = []
    for label in dict.fromkeys(label for c in chosen for label in c.series):
        if label in leave_out:
            continue
        found = [(c.noise, c.series[label]) for c in chosen if label in c.series]
        changes = [(s.change if is_relative else s.accuracy_change) for _, s in found]
        i = _choose_deciding(changes)
        change, (noise, series) = _allow_for(changes[i], len(found)), found[i]
        worst, place = places.find_worst(label, conditions), places.find(label, series)
        number = len(found)
        lines.append(
            Line(label, series.on_clean, noise, change, change, number, series, worst, place)
        )
    return lines


def _allow_for(change: Estimate | None, number: int) -> Estimate | None:
    """Return a change with an interval that holds for so many together."""
    return change and (change.again(confidence=1 - 0.05 / number) if number > 1 else change)


def _choose_deciding(changes: Sequence[Estimate | None]) -> int:
    """Return the place of the largest loss that is shown; without one, of what may lose most.

    So a model is called robust only if all changes exclude a loss, not that of the smallest value.
    """
    known = [(change, i) for i, change in enumerate(changes) if change is not None]
    for change, i in sorted(known, key=lambda each: each[0].value):
        if change.high < 0 and decide(_allow_for(change, len(changes))) == "loses accuracy":
            return i
    if len(known) < len(changes):
        return changes.index(None)
    change, i = min(known, key=lambda each: each[0].low)
    if decide(_allow_for(change, len(changes))) == "inconclusive":
        return i
    wide = [_allow_for(change, len(changes)) for change in changes]
    return min((change.low, i) for i, change in enumerate(wide) if change is not None)[1]


def _choose_by_noise(conditions: Iterable[Condition]) -> list[Condition]:
    """Of the same noise with several settings, return that with the most draws and runs."""
    most: dict[str, Condition] = {}
    for c in conditions:
        spec, size = c.first.corruption, _count_draws(c)
        if spec not in most or size > _count_draws(most[spec]):
            most[spec] = c
    return [*most.values()]


def _count_draws(condition: Condition) -> int:
    return condition.first.k * next(iter(condition.series.values())).runs


def _list_suite_boards(groups: RecordGroups, places: Places) -> Iterator[Board]:
    names = label_models(groups.series)
    by_data = {c[0].first.fingerprint: c for c in group_by_data(groups.conditions)}

    def make_line(result: SuiteResult, value: Estimate | None, change: Estimate, name: str) -> Line:
        label = names[get_model(result.series[0])]
        worst = places.find_worst(label, by_data[result.suite.fingerprint], result.suite.specs)
        clean = result.series[0].on_clean
        return Line(label, clean, f"suite {name}", value, change, worst=worst)

    errors, sets = groups.take(find_suite_errors), groups.take(find_variation)
    for board in errors.boards if errors else ():
        name = board.suite.name
        kind: Kind = "change" if board.suite.metric == "ice" else "rate"
        basis = Basis("suite", board.scores[0].metric, kind, name)
        scores = [
            make_line(s.result, s.value, s.change.subtract_from(0), name)
            for s in board.scores
            if s.result.series[0].runs > 1 or not s.first.shares_draws
        ]
        if scores:
            yield Board(basis, board.data, tuple(scores))
    for variation in sets.boards if sets else ():
        name = variation.suite.name
        basis = Basis("suite", "mean accuracy", "rate", name)
        lines = [
            make_line(e.result, e.stability.mean, error_change(e.result).subtract_from(0), name)
            for e in variation.entries
        ]
        yield Board(basis, variation.data, tuple(lines))


class Places:
    """Sections of the page that have more about a corruption, and the worst corruption."""

    def __init__(self, groups: RecordGroups) -> None:
        self._by_spec: dict[tuple[str, str], str] = {}
        errors, sets, risks = (
            groups.take(find_suite_errors),
            groups.take(find_variation),
            groups.take(find_risks),
        )
        self._risks = {model.label for model in risks.models} if risks else set()
        suites = [(board.suite, "sets") for board in sets.boards] if sets else []
        if errors:
            suites += [(b.suite, self.name_suite(i)) for i, b in enumerate(errors.boards)]
        suites += [(s, "features") for s in groups.records.suites if s.metric == METRIC]
        for suite, place in suites:
            for spec in suite.specs:
                self._by_spec[suite.fingerprint, spec] = place
        studied = [s for s in groups.subjects if s.is_study and not s.left_to_suites]
        self._of_studies = "study" if any(s.norm for s in studied) else "verdict"

    @staticmethod
    def name_suite(number: int) -> str:
        """Return the place of the section of a suite, the first of which has number 0."""
        return f"suite-{number + 1}" if number else "suite"

    def find(self, label: str, series: Series) -> str:
        """Return the section that has more about a model under a corruption."""
        cell = series.first
        place = self._by_spec.get((cell.fingerprint, cell.corruption))
        if place and not (place == "features" and label not in self._risks):
            return place
        if label in self._risks:
            return "risk"
        return "accuracy" if cell.train_epsilon is None else self._of_studies

    def find_worst(
        self, label: str, conditions: Sequence[Condition], specs: Sequence[str] = ()
    ) -> Worst | None:
        """Return the corruption that hurts a model most; None if there is none to choose from.

        `specs` are those to choose from; by default all.
        """
        noisy = [
            (c.noise, c.series[label])
            for c in conditions
            if not c.is_clean
            and label in c.series
            and (not specs or c.first.corruption in specs)
            and has_interval(c)
        ]
        if not noisy:
            return None
        noise, series = min(noisy, key=lambda each: each[1].accuracies.mean())
        place, n = self.find(label, series), len(noisy)
        if not all(is_bounded(s) for _, s in noisy):
            return Worst(noise, series, series.accuracy.subtract_from(1), False, n, place)
        upper = max(s.error_bound.high for _, s in noisy)
        return Worst(noise, series, replace(series.error_bound, high=upper), True, n, place)

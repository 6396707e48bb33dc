"""Records in the groups that findings are taken from, each formed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from shaketable.core.errors import either
from shaketable.core.norms import norm_name
from shaketable.evaluation.records import AS_GIVEN, Record, Records
from shaketable.findings.series import Series, get_pairing, group_series
from shaketable.findings.subjects import (
    Subject,
    distinguish,
    group_subjects,
    list_noise_facts,
    list_training_facts,
    name_noise,
)
from shaketable.findings.suite_results import SuiteResult, group_suites
from shaketable.views.numbers import format_short_distance


@dataclass(frozen=True, eq=False)
class Condition:
    """One corruption, or clean points, and the series of all models under it, which are paired."""

    noise: str
    """Name of the corruption, unique on its data."""
    series: Mapping[str, Series]
    """By the models' labels; those of studies name the training noise."""

    @cached_property
    def first(self) -> Record:
        """One of its cells, for what all cells share."""
        return next(iter(self.series.values())).first

    @cached_property
    def is_clean(self) -> bool:
        """Whether its points are not corrupted."""
        return self.first.is_clean

    @property
    def at_eps_min(self) -> bool:
        """Whether it is noise of size eps_min of its data."""
        return next(iter(self.series.values())).at_eps_min

    @cached_property
    def mean_accuracy(self) -> float:
        """Mean accuracy of all models, in the first of their runs."""
        accuracies = [series.first.accuracy for series in self.series.values()]
        return sum(accuracies) / len(accuracies)


def group_conditions(series: Sequence[Series]) -> list[Condition]:
    """Group series by points and noise, in their order, clean points first."""
    labels = label_models(series)
    groups: dict[tuple[object, ...], dict[str, Series]] = {}
    for s in sorted(series, key=lambda s: not s.first.is_clean):
        shared = s.on_clean if s.first.is_clean else s  # keeps estimates for all
        groups.setdefault(get_pairing(s), {})[labels[get_model(s)]] = shared
    firsts = [next(iter(group.values())) for group in groups.values()]
    return [
        Condition(noise, group)
        for noise, group in zip(_name_conditions(firsts), groups.values(), strict=True)
    ]


def get_model(series: Series) -> tuple[str, str, str]:
    """Return what identifies the model of a series, with its data and its training noise."""
    cell = series.first
    return cell.fingerprint, cell.recipe, cell.train


def label_models(series: Sequence[Series]) -> dict[tuple[str, str, str], str]:
    """Return a unique label for every model of the series, by what identifies it."""
    firsts = {get_model(s): s.first for s in reversed(series)}
    models = dict.fromkeys(map(get_model, series))
    cells = [firsts[model] for model in models]
    facts = [{"data": c.data, **list_training_facts(c, name_training(c))} for c in cells]
    keys = [(c.model, *fact.items()) for c, fact in zip(cells, facts, strict=True)]
    for model, key, fact in zip(models, keys, facts, strict=True):
        if keys.count(key) > 1:  # studies with several k, which also train with so many copies
            fact["k"] = f"k = {max(s.first.k for s in series if get_model(s) == model)}"
    return dict(zip(models, distinguish([c.model for c in cells], facts), strict=True))


def name_training(cell: Record) -> str:
    """Return the spec of the training noise, its size with four digits."""
    level = cell.train_level
    if level is None or not level.size:
        return cell.train
    return f"{norm_name(level.p)}({format_short_distance(level.size)})"


def _name_conditions(series: Sequence[Series]) -> list[str]:
    """Return the specs of corruptions, with settings where one spec has several on its data."""
    specs = [(s.first.fingerprint, name_noise(s)) for s in series]
    count = Counter(specs)
    names = dict(enumerate(name for _, name in specs))
    for spec in (spec for spec, times in count.items() if times > 1):
        places = [i for i, other in enumerate(specs) if other == spec]
        facts = [
            {**list_noise_facts(series[i].first), "runs": f"{series[i].runs} runs"} for i in places
        ]
        names |= dict(zip(places, distinguish([spec[1]] * len(places), facts), strict=True))
    return list(names.values())


_Found = TypeVar("_Found")

GROUPINGS = ("regime", "network")
"""What models can be grouped by, besides patterns."""

Grouping: TypeAlias = str | Mapping[str, str]
"""What models are grouped by: ``regime``, ``network``, or patterns of their names, by group."""


@dataclass(frozen=True, eq=False)
class RecordGroups:
    """Records with their series, suite results and subjects.

    Findings that take these share their estimates: a `Series` computes its own once.
    """

    records: Records
    scored: frozenset[str] = frozenset()
    """Metrics of suites that have a finding of their own."""
    reference: str = ""
    """Label of the model that others are compared with, where a finding needs one."""
    baseline: str = ""
    """Label of the group of models that others are compared with; empty for the default."""
    group_by: Grouping = "regime"
    """How models are grouped where a finding averages over them."""
    metric: str = ""
    """Measure that is the headline, such as ``f1`` or ``recall[fraud]``; empty for accuracy."""
    _taken: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def take(self, find: Callable[[RecordGroups], _Found]) -> _Found:
        """Return what a kind of finding takes from these records, taken once for all that ask."""
        if find not in self._taken:
            self._taken[find] = find(self)
        return self._taken[find]  # type: ignore[no-any-return]

    @cached_property
    def series(self) -> list[Series]:
        """Every model under every corruption."""
        return group_series(self.records)

    @cached_property
    def suite_results(self) -> list[SuiteResult]:
        """Every model under every suite whose corruptions were all evaluated."""
        return group_suites(self.records, self.series)

    @cached_property
    def subjects(self) -> list[Subject]:
        """Every model in every setting, without the corruptions of scored suites."""
        scored = [r for r in self.suite_results if r.suite.metric in self.scored]
        return group_subjects(self.records, self.series, scored)

    @cached_property
    def with_most_copies(self) -> RecordGroups:
        """The same, of studies that were repeated with several k only that with the largest.

        Else one network would count as several, and a regime as a mean over several k.
        """
        studied = [c for c in self.records if c.train != AS_GIVEN]
        copies: Counter[tuple[str, ...]] = Counter()  # of every model
        for c in studied:
            copies[c.fingerprint, c.recipe] = max(copies[c.fingerprint, c.recipe], c.k)
        most: Counter[tuple[str, ...]] = Counter()  # of all models of the same name
        for c in studied:
            name = c.fingerprint, c.model, c.train
            most[name] = max(most[name], copies[c.fingerprint, c.recipe])
        kept = tuple(
            c
            for c in self.records
            if c.train == AS_GIVEN
            or copies[c.fingerprint, c.recipe] == most[c.fingerprint, c.model, c.train]
        )
        if len(kept) == len(self.records):
            return self
        return replace(self, records=replace(self.records, cells=kept))

    @cached_property
    def conditions(self) -> list[Condition]:
        """Every corruption, also those of suites, with the models under it."""
        return group_conditions(self.series)

    @cached_property
    def fixed_parts(self) -> list[str]:
        """One sentence per data set whose test points are the same in all runs of a study."""
        points: dict[tuple[str, str], set[str]] = {}
        for s in self.series:
            if s.runs > 1:  # of a study
                data = s.first.data, s.first.fingerprint
                points.setdefault(data, set()).update(c.points.order for c in s.noisy)
        return [
            f"{data} has a fixed test part, so runs differ only in training and noise, and the "
            "intervals cover only these"
            for (data, _), ids in points.items()
            if len(ids) == 1
        ]

    @cached_property
    def unfinished(self) -> list[str]:
        """One sentence per suite that no model was evaluated under completely."""
        complete = {result.suite for result in self.suite_results}
        sentences = []
        for suite in self.records.suites:
            specs = {c.corruption for c in self.records if c.fingerprint == suite.fingerprint}
            count = len(specs & set(suite.specs))
            if suite not in complete and count:
                sentences.append(
                    f"suite {suite.name} is not finished, {count} of {len(suite.specs)} "
                    "corruptions were evaluated, so it has no metric; run the same again with the "
                    f"same {either('--store', 'store=')}"
                )
        return sentences

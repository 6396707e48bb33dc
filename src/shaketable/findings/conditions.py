"""Conditions: one corruption on the same points with the same noise, and all models under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shaketable.core.norms import norm_name
from shaketable.evaluation.records import Record
from shaketable.findings.labels import distinguish, list_noise_facts, list_training_facts
from shaketable.findings.series import Series, get_pairing
from shaketable.findings.subjects import name_noise
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

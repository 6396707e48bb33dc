"""Rankings of models that their paired differences support, with ties as ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Annotated, TypedDict

import numpy as np

from shaketable.core.checks import list_names
from shaketable.evaluation.records import SuiteRecord
from shaketable.findings.comparison.pairs import Gap, Pair, compute_gaps, has_interval
from shaketable.findings.groups import Condition

MAX_MODELS = 5
"""Models of which each two are compared; of more, each is compared with the best as measured."""


class RankingJson(TypedDict):
    """Which of several models may be the most accurate."""

    data: str
    under: str
    most_accurate: Annotated[list[str], "Models than which none is shown to be more accurate."]
    less_accurate: list[str]
    words: Annotated[str, "The ranking that the differences support, as a sentence."]


@dataclass(frozen=True)
class Ranking:
    """Models under the same noise, by which one is shown to be more accurate than which.

    Examples
    --------
    >>> ahead = frozenset({("svm", "1nn"), ("rf", "1nn")})
    >>> Ranking("bands", "on clean points", ("svm", "rf", "1nn"), ahead).words
    'svm and rf are ahead of 1nn; svm and rf cannot be told apart'
    """

    data: str
    under: str
    """On what: ``on clean points``, under a corruption, or on average over several."""
    labels: tuple[str, ...]
    """All models, the most accurate as measured first."""
    ahead: frozenset[tuple[str, str]]
    """Pairs of which the first is shown to be more accurate, judged together."""
    has_all: bool = True
    """Whether each two were compared; else each was compared with the first only."""

    @cached_property
    def levels(self) -> list[list[str]]:
        """The best, than which none is shown to be better; the same of the others; and so on."""
        levels: list[list[str]] = []
        rest = [*self.labels]
        while rest:
            level = [b for b in rest if not any((a, b) in self.ahead for a in rest)]
            levels.append(level if self.has_all or not levels else rest)
            rest = [label for label in rest if label not in levels[-1]]
        return levels

    @property
    def best(self) -> list[str]:
        """Models than which none is shown to be more accurate."""
        return self.levels[0]

    @property
    def worse(self) -> list[str]:
        """The others, as measured the best first."""
        return [label for level in self.levels[1:] for label in level]

    @property
    def words(self) -> str:
        """The ranking, as a sentence without what it is under."""
        if not self.worse:
            return f"{_join(self.best)} cannot be told apart"
        if not self._is_separated:
            return (
                f"among the best: {list_names(self.best)}; worse than one of these: "
                f"{list_names(self.worse)}"
            )
        steps = []
        for i, level in enumerate(self.levels[:-1]):
            below = [label for lower in self.levels[i + 1 :] for label in lower]
            steps.append(f"{_join(level)} {_are(level)} ahead of {_join(below)}")
        known = self.levels if self.has_all else self.levels[:1]
        ties = [f"{_join(level)} cannot be told apart" for level in known if len(level) > 1]
        return "; ".join(steps + ties)

    @property
    def _is_separated(self) -> bool:
        """Whether every model of a level is shown to be ahead of all models below."""
        return all(
            (a, b) in self.ahead
            for i, level in enumerate(self.levels)
            for a in level
            for lower in self.levels[i + 1 :]
            for b in lower
            if self.has_all or i == 0
        )

    def json(self) -> RankingJson:
        """Return the models by whether one is shown to be better."""
        return {
            "data": self.data,
            "under": self.under,
            "most_accurate": self.best,
            "less_accurate": self.worse,
            "words": self.words,
        }


def rank_models(
    conditions: Sequence[Condition], suites: Iterable[SuiteRecord], pairs: Iterable[Pair]
) -> list[Ranking]:
    """Rank models on the same data: on clean points, at eps_min, over suites, over all others.

    The differences of a ranking are judged together, so the most accurate model is among the best
    with the same confidence as every difference. `pairs` are those that tables show; a ranking
    takes its differences from these where they are known.
    """
    known = {(pair.first, pair.second): pair for pair in pairs}
    usable = [c for c in conditions if has_interval(c)]
    found = (_rank(usable, *question, known) for question in _list_questions(usable, suites))
    return [ranking for ranking in found if ranking is not None]


def _list_questions(
    conditions: Sequence[Condition], suites: Iterable[SuiteRecord]
) -> Iterator[tuple[str, list[Condition]]]:
    """Yield what models are ranked on, and the conditions that are averaged over."""
    for c in (c for c in conditions if c.is_clean):
        yield "on clean points" + c.noise.removeprefix("clean"), [c]
    for c in (c for c in conditions if c.at_eps_min):
        yield f"under {c.noise}", [c]
    rest = [c for c in conditions if not (c.is_clean or c.at_eps_min)]
    single: list[Condition] = []
    for suite in suites:
        specs = set(suite.specs) - {"clean"}
        for setting in dict.fromkeys(c.first.setting for c in rest):
            members = [
                c for c in rest if c.first.setting == setting and c.first.corruption in specs
            ]
            same_data = {c.first.fingerprint for c in members} == {suite.fingerprint}
            if same_data and len(members) == len(specs) > 1:
                single += members
                yield f"on average over suite {suite.name}", members
    rest = [c for c in rest if c not in single]
    if len(rest) == 1:
        yield f"under {rest[0].noise}", rest
    elif rest:
        yield f"on average over {len(rest)} corruptions", rest


def _rank(
    conditions: Sequence[Condition],
    under: str,
    group: Sequence[Condition],
    known: dict[tuple[str, str], Pair],
) -> Ranking | None:
    """Rank the models under all conditions of a group; None if one difference is not known."""
    labels = [x for x in group[0].series if all(x in c.series for c in group)]
    if len(labels) < 2:
        return None
    accuracy = {x: float(np.mean([c.series[x].accuracies.mean() for c in group])) for x in labels}
    order = sorted(labels, key=lambda label: -accuracy[label])
    has_all = len(labels) <= MAX_MODELS
    number = len(labels) * (len(labels) - 1) // 2
    kind = sum(c.is_clean == group[0].is_clean for c in conditions)
    pairs = []
    for first, second in combinations(labels, 2):
        if has_all or order[0] in (first, second):
            pair = known.get((first, second)) if has_all else None
            gaps = [None if pair is None else pair.at(c) for c in group]
            made = (
                gap or Gap(c, first, second, number * kind)
                for gap, c in zip(gaps, group, strict=True)
            )
            judged = number if pair is None else pair.judged
            pairs.append(Pair(first, second, tuple(made), judged))
    if len(group) == 1:
        compute_gaps(pairs)
    ahead = set()
    for pair in pairs:
        value = pair.gaps[0].value if len(group) == 1 else pair.mean
        if value is None:
            return None
        if pair.gaps[0].shown if len(group) == 1 else pair.mean_shown:
            both = pair.first, pair.second
            ahead.add(both if value.value > 0 else both[::-1])
    data = group[0].first.data
    return Ranking(data, under, tuple(order), frozenset(ahead), has_all)


def say_rankings(rankings: Sequence[Ranking]) -> list[tuple[str, str]]:
    """Return what rankings are under, and their words, each words once.

    >>> same = [Ranking("d", f"under {noise}", ("a", "b"), frozenset()) for noise in "xyz"]
    >>> say_rankings(same)
    [('under x, under y and under z', 'a and b cannot be told apart')]
    """
    several = len({ranking.data for ranking in rankings}) > 1
    by_words: dict[tuple[str, str], list[str]] = {}
    for r in rankings:
        by_words.setdefault((f"{r.data}, " if several else "", r.words), []).append(r.under)
    return [(f"{data}{_join(under)}", words) for (data, words), under in by_words.items()]


def _join(labels: Sequence[str]) -> str:
    if len(labels) > MAX_MODELS:
        return list_names(labels)
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last


def _are(labels: Sequence[str]) -> str:
    return "is" if len(labels) == 1 else "are"

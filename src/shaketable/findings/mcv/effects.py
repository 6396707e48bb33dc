"""Effects of the factors of a suite's sets on one model: of each, of their order, of pairs.

All effects are linear contrasts of the sets' accuracies. Every point was evaluated under all sets,
so each effect is the mean of one value per point, with a paired interval (`contrasts`). The kind of
a factor is its name, such as ``sp``; its level is the whole spec, such as ``sp(0.1)``. Sets that
hold the same factors in the same order have independent draws; their mean is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.spec import display_name, parse_call, split_calls, split_factors
from shaketable.core.types import FloatArray
from shaketable.findings.mcv import words
from shaketable.findings.mcv.contrasts import estimate_contrast, list_sets, stack_shares
from shaketable.findings.sequential import allow_for_looks
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate

Factors: TypeAlias = tuple[str, ...]
"""Factors of a set, in order."""


@dataclass(frozen=True)
class OrderEffect:
    """Accuracy with factors in one order minus that with the same factors in another.

    Positive: the first order is easier.
    """

    first: Factors
    second: Factors
    pairs: int
    """Pairs of sets that are averaged: 1 for two orders of the same levels."""
    value: Estimate
    shown: bool
    """Whether it differs from 0; see `Effects`."""

    def json(self) -> dict[str, Any]:
        """Return the effect in percentage points."""
        orders = {"first": " + ".join(self.first), "second": " + ".join(self.second)}
        return {**orders, "pairs": self.pairs, **self.value.json(), "shown": self.shown}


@dataclass(frozen=True)
class MainEffect:
    """Change of accuracy when a factor is added: the mean over all sets that hold it.

    For each set it is the accuracy on the set minus that on the same set without the factor.
    Negative: the factor costs accuracy.
    """

    factor: str
    """A kind, such as ``sp``, or a level, such as ``sp(0.1)``."""
    sets: int
    left_out: int
    """Further sets that hold the factor; the suite lacks the same set without it."""
    value: Estimate
    shown: bool
    """Whether it differs from 0; see `Effects`."""
    levels: tuple[MainEffect, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return the effect in percentage points."""
        about = {"factor": self.factor, "sets": self.sets, "left_out": self.left_out}
        levels = {"levels": [level.json() for level in self.levels]} if self.levels else {}
        return {**about, **self.value.json(), "shown": self.shown, **levels}


@dataclass(frozen=True)
class Interaction:
    """Effect of two kinds of factors together minus the sum of their effects alone.

    It is accuracy(both) - accuracy(first) - accuracy(second) + accuracy(clean), the mean over all
    sets with exactly these two. Negative: together they cost more than the sum; positive: less.
    """

    first: str
    second: str
    sets: int
    left_out: int
    """Further sets with these two; the suite lacks one of the factors alone."""
    value: Estimate
    shown: bool
    """Whether it differs from 0; see `Effects`."""

    def json(self) -> dict[str, Any]:
        """Return the interaction in percentage points."""
        about = {"first": self.first, "second": self.second, "sets": self.sets}
        return {**about, "left_out": self.left_out, **self.value.json(), "shown": self.shown}


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of the factors of a suite's sets on one model, or on its mean over runs.

    Every interval alone has a confidence of 95 %; among many, some exclude 0 by chance. `shown` is
    therefore stricter: the probability that any effect of a list is shown although it is 0 is at
    most 5 % (Bonferroni). The sentences claim only what is shown.

    >>> from shaketable import evaluate, metrics
    >>> from shaketable import grid
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> suite = grid(["linf(0.5)"], ["l0(0.01)"])
    >>> records = evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), [suite], bounds=(0, 1))
    >>> print(Effects(metrics.mcv(records).result).main_words)
    linf costs most: ...
    """

    result: SuiteResult

    @cached_property
    def orders(self) -> tuple[OrderEffect, ...]:
        """Effects of the order, one for every two orders of the same levels."""
        pairs = self._reordered
        return tuple(
            OrderEffect(
                a, b, 1, *self._estimate_mean([self._weigh(a) - self._weigh(b)], len(pairs))
            )
            for a, b in pairs
        )

    @cached_property
    def kind_orders(self) -> tuple[OrderEffect, ...]:
        """Effects of the order, one for every two orders of the same kinds: means over levels."""
        by_kinds: dict[tuple[Factors, Factors], list[FloatArray]] = {}
        for a, b in self._reordered:
            kinds = _list_kinds(a), _list_kinds(b)
            if kinds[0] != kinds[1]:
                by_kinds.setdefault(kinds, []).append(self._weigh(a) - self._weigh(b))
        return tuple(
            OrderEffect(*pair, len(contrasts), *self._estimate_mean(contrasts, len(by_kinds)))
            for pair, contrasts in by_kinds.items()
        )

    @cached_property
    def main(self) -> tuple[MainEffect, ...]:
        """Effect of every kind of factor with all its levels, the most expensive kind first."""
        by_level = {
            level: contrasts
            for level, contrasts in self._removals.items()
            if _drop_missing(contrasts)
        }
        kinds = dict.fromkeys(map(_get_kind, by_level))
        effects = []
        for kind in kinds:
            levels = [
                self._make_main(level, contrasts, len(by_level))
                for level, contrasts in by_level.items()
                if _get_kind(level) == kind
            ]
            effect = self._make_main(kind, self._list_removals(kind), len(kinds))
            effects.append(replace(effect, levels=tuple(levels)))
        return tuple(sorted(effects, key=lambda effect: effect.value.value))

    @cached_property
    def interactions(self) -> tuple[Interaction, ...]:
        """Interactions of every two kinds of factors that form a set of their own."""
        by_kinds: dict[tuple[str, str], list[FloatArray | None]] = {}
        for row, factors in enumerate(self._sets):
            if len(set(_list_kinds(factors))) == len(factors) == 2:
                first, second = sorted(_list_kinds(factors), key=self._kinds.index)
                alone = [(-1.0, (factor,)) for factor in factors]
                contrasts = by_kinds.setdefault((first, second), [])
                contrasts.append(self._add_terms(row, *alone, (1.0, ())))
        interactions = []
        for pair, contrasts in by_kinds.items():
            if complete := _drop_missing(contrasts):
                counts = len(complete), len(contrasts) - len(complete)
                estimate = self._estimate_mean(complete, len(by_kinds))
                interactions.append(Interaction(*pair, *counts, *estimate))
        return tuple(interactions)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of sets for which the suite lacks the same set without one of their factors."""
        specs = zip(self.result.specs, self._sets, strict=False)
        return tuple(
            display_name(spec)
            for spec, factors in specs
            if any(rest not in self._rows for _, rest in _remove_each(factors))
        )

    def difference(self, first: str, second: str, *, confidence: float = 0.95) -> Estimate:
        """Main effect of the first kind minus that of the second, paired by point.

        Negative: the first one costs more.
        """
        a, b = (
            np.mean(_drop_missing(self._list_removals(kind)), axis=0) for kind in (first, second)
        )
        return self._estimate(a - b, confidence=confidence)

    @cached_property
    def main_words(self) -> str:
        """Sentence that says which factor costs most, if that is shown."""
        return words.describe_main(self)

    @cached_property
    def order_words(self) -> str:
        """Sentence that says whether the order of factors matters, if that is shown."""
        return words.describe_order(self)

    @cached_property
    def interaction_words(self) -> str:
        """Sentence that says whether two factors cost more or less together, if that is shown."""
        return words.describe_interaction(self)

    def json(self) -> dict[str, Any]:
        """Return all effects in percentage points, and the sentences."""
        return {
            "main": [effect.json() for effect in self.main],
            "orders": [effect.json() for effect in self.kind_orders],
            "orders_by_level": [effect.json() for effect in self.orders],
            "interactions": [effect.json() for effect in self.interactions],
            "left_out": list(self.left_out),
            "words": [self.main_words, self.order_words, self.interaction_words],
        }

    # A contrast is a vector of weights, one per row of `_shares`.

    @cached_property
    def _shares(self) -> FloatArray:
        return stack_shares(self.result)

    @cached_property
    def _sets(self) -> list[Factors]:
        """Factors of every row of `_shares`; none for clean points."""
        return [split_factors(spec) for spec in list_sets(self.result)]

    @cached_property
    def _rows(self) -> dict[Factors, list[int]]:
        """Rows of `_shares` by their factors in order."""
        rows: dict[Factors, list[int]] = {}
        for row, factors in enumerate(self._sets):
            rows.setdefault(factors, []).append(row)
        return rows

    @cached_property
    def _kinds(self) -> list[str]:
        return list(dict.fromkeys(kind for factors in self._sets for kind in _list_kinds(factors)))

    @cached_property
    def _reordered(self) -> list[tuple[Factors, Factors]]:
        """Every two orders of the same factors, sorted by where their kinds first appear."""
        order = list(dict.fromkeys(map(_list_kinds, self._rows)))
        ordered = sorted(self._rows, key=lambda factors: order.index(_list_kinds(factors)))
        return [(a, b) for a, b in combinations(ordered, 2) if sorted(a) == sorted(b)]

    @cached_property
    def _removals(self) -> dict[str, list[FloatArray | None]]:
        """By level: every set that holds it minus the set without it; None if there is none."""
        removals: dict[str, list[FloatArray | None]] = {}
        for row, factors in enumerate(self._sets):
            for level, rest in _remove_each(factors):
                removals.setdefault(level, []).append(self._add_terms(row, (-1.0, rest)))
        return removals

    def _list_removals(self, kind: str) -> list[FloatArray | None]:
        """Return the contrasts of `_removals` for all levels of a kind."""
        if kind not in self._kinds:
            raise unknown_name("factor", kind, self._kinds)
        by_level = self._removals.items()
        return [c for level, contrasts in by_level if _get_kind(level) == kind for c in contrasts]

    def _make_main(
        self, factor: str, contrasts: list[FloatArray | None], effects: int
    ) -> MainEffect:
        complete = _drop_missing(contrasts)
        counts = len(complete), len(contrasts) - len(complete)
        return MainEffect(factor, *counts, *self._estimate_mean(complete, effects))

    def _weigh(self, factors: Factors) -> FloatArray:
        """Return the contrast that is the mean accuracy over all sets with these factors."""
        rows = self._rows[factors]
        return np.asarray(np.isin(np.arange(len(self._sets)), rows) / len(rows))

    def _add_terms(self, row: int, *terms: tuple[float, Factors]) -> FloatArray | None:
        """Return the contrast of one set plus signed means of others; None if one is missing."""
        if any(factors not in self._rows for _, factors in terms):
            return None
        unit = np.eye(len(self._sets))[row]
        return np.asarray(sum((sign * self._weigh(factors) for sign, factors in terms), unit))

    def _estimate_mean(self, contrasts: list[FloatArray], effects: int) -> tuple[Estimate, bool]:
        """Return the mean of contrasts, and whether it differs from 0 as one of so many effects."""
        mean = np.mean(contrasts, axis=0)
        strict = self._estimate(mean, confidence=1 - 0.05 / effects)
        return self._estimate(mean), strict.low > 0 or strict.high < 0

    def _estimate(self, weights: FloatArray, *, confidence: float = 0.95) -> Estimate:
        e = estimate_contrast(self._shares, weights, confidence=confidence)
        return allow_for_looks(e, self.result.series[0].noisy)


def _get_kind(factor: str) -> str:
    return " | ".join(dict.fromkeys(parse_call(call).name for call in split_calls(factor)))


def _list_kinds(factors: Factors) -> Factors:
    return tuple(map(_get_kind, factors))


def _remove_each(factors: Factors) -> list[tuple[str, Factors]]:
    """Return every factor with the others that remain without it."""
    return [(factor, factors[:i] + factors[i + 1 :]) for i, factor in enumerate(factors)]


def _drop_missing(contrasts: list[FloatArray | None]) -> list[FloatArray]:
    return [contrast for contrast in contrasts if contrast is not None]

"""Effects: what the factors of a suite's sets do to one fitted model, alone, in order, together.

All are linear contrasts of the sets' accuracies, and every point met all sets, so each is a mean of
one value a point, with an interval that is paired (`contrasts`). A factor's kind is its name, such
as ``sp``, its level the whole spec, ``sp(0.1)``. Where several sets hold the same factors in the
same order, each with draws of its own, their mean stands for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.spec import display_name, parse_call, split_factors
from shaketable.core.types import FloatArray
from shaketable.findings.mcv.contrasts import sets_and_clean, shares_and_clean, weighted
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
    """Pairs of sets that it is a mean of: 1 for two orders of the same levels."""
    value: Estimate
    shown: bool

    def json(self) -> dict[str, Any]:
        """Effect as an object, in percentage points."""
        orders = {"first": " + ".join(self.first), "second": " + ".join(self.second)}
        return {**orders, "pairs": self.pairs, **self.value.json(), "shown": self.shown}


@dataclass(frozen=True)
class MainEffect:
    """Mean over the sets that hold a factor of their accuracy minus that of the set without it.

    Negative: the factor costs accuracy.
    """

    factor: str
    """A kind, such as ``sp``, or a level, such as ``sp(0.1)``."""
    sets: int
    left_out: int
    """Sets that hold it, too, but whose counterpart without it is not in the suite."""
    value: Estimate
    shown: bool
    levels: tuple[MainEffect, ...] = ()

    def json(self) -> dict[str, Any]:
        """Effect as an object, in percentage points."""
        about = {"factor": self.factor, "sets": self.sets, "left_out": self.left_out}
        levels = {"levels": [level.json() for level in self.levels]} if self.levels else {}
        return {**about, **self.value.json(), "shown": self.shown, **levels}


@dataclass(frozen=True)
class Interaction:
    """What two kinds of factors do together beyond what each does alone.

    Mean over the sets with exactly these two of accuracy(both) - accuracy(first) - accuracy(second)
    + accuracy(clean). Negative: together they cost more than the sum of both; positive: less.
    """

    first: str
    second: str
    sets: int
    left_out: int
    value: Estimate
    shown: bool

    def json(self) -> dict[str, Any]:
        """Interaction as an object, in percentage points."""
        about = {"first": self.first, "second": self.second, "sets": self.sets}
        return {**about, "left_out": self.left_out, **self.value.json(), "shown": self.shown}


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of the factors of a suite's sets on one fitted model.

    Every interval is a 95 % one by itself. Who looks at many finds some that miss 0 by chance, so
    `shown` is stricter: it tells whether an effect differs from 0 among all that stand beside it,
    with an error of 5 % for all of them together (Bonferroni). Sentences go by it.

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
        """Every two orders of the same factors."""
        pairs, m = self._reordered, len(self._reordered)
        contrasts = [[self._at(a) - self._at(b)] for a, b in pairs]
        return tuple(
            OrderEffect(*pair, 1, *self._told(one, m))
            for pair, one in zip(pairs, contrasts, strict=True)
        )

    @cached_property
    def kind_orders(self) -> tuple[OrderEffect, ...]:
        """Every two orders of the same kinds of factors: the mean over all levels."""
        found: dict[tuple[Factors, Factors], list[FloatArray]] = {}
        for a, b in self._reordered:
            if _kinds(a) != _kinds(b):
                found.setdefault((_kinds(a), _kinds(b)), []).append(self._at(a) - self._at(b))
        return tuple(
            OrderEffect(*pair, len(several), *self._told(several, len(found)))
            for pair, several in found.items()
        )

    @cached_property
    def main(self) -> tuple[MainEffect, ...]:
        """Every kind of factor, the one that costs most first, with all its levels."""
        found = []
        known = {f: some for f, some in self._removals.items() if _defined(some)}
        kinds = dict.fromkeys(map(_kind, known))
        for kind in kinds:
            parts = [
                self._main(f, some, len(known)) for f, some in known.items() if _kind(f) == kind
            ]
            whole = self._main(kind, self._of(kind), len(kinds))
            found.append(replace(whole, levels=tuple(parts)))
        return tuple(sorted(found, key=lambda effect: effect.value.value))

    @cached_property
    def interactions(self) -> tuple[Interaction, ...]:
        """Every two kinds of factors that are the only ones of some set."""
        found: dict[tuple[str, str], list[FloatArray | None]] = {}
        for row, spec in enumerate(self._sets):
            if len(set(_kinds(spec))) == len(spec) == 2:
                first, second = sorted(_kinds(spec), key=self._kinds.index)
                alone = [(-1.0, (factor,)) for factor in spec]
                some = found.setdefault((first, second), [])
                some.append(self._sum(row, *alone, (1.0, ())))
        return tuple(
            Interaction(*pair, len(used), len(some) - len(used), *self._told(used, len(found)))
            for pair, some in found.items()
            if (used := _defined(some))
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of sets that lack their counterpart without one of their factors."""
        specs = zip(self.result.specs, self._sets, strict=False)
        return tuple(
            display_name(name)
            for name, spec in specs
            if any(rest not in self._places for _, rest in _without_one(spec))
        )

    def difference(self, first: str, second: str, *, confidence: float = 0.95) -> Estimate:
        """Main effect of the first kind minus that of the second, paired by point.

        Negative: the first one costs more.
        """
        a, b = (np.mean(_defined(self._of(kind)), axis=0) for kind in (first, second))
        return weighted(self._shares, a - b, confidence=confidence)

    @property
    def main_words(self) -> str:
        """Which factor costs most, if that is shown."""
        if not self.main:
            return "No set has its counterpart without one of its factors."
        most, *others = self.main
        cost, name = _points(_negated(most.value)), most.factor
        if not (most.shown and most.value.high < 0):
            return (
                f"No factor is shown to cost accuracy{_together(self.main)}; {name} costs most as "
                f"measured, {cost}."
            )
        if not others:
            return f"{name} costs {cost}."
        sure = 1 - 0.05 / len(others)
        gaps = {o.factor: self.difference(name, o.factor, confidence=sure) for o in others}
        if rivals := " and ".join(rival for rival, gap in gaps.items() if gap.high >= 0):
            return f"{name} costs most as measured, {cost}, but {rivals} may cost as much."
        return f"{name} costs most: {cost}, on average over the sets that hold it."

    @property
    def order_words(self) -> str:
        """Whether the order of factors makes a difference, if that is shown."""
        if not self.kind_orders:
            return "No two sets hold the same factors in another order."
        most = max(self.kind_orders, key=lambda o: (o.shown, abs(o.value.value)))
        first, second = (" then ".join(order) for order in (most.first, most.second))
        if not most.shown:
            change = f"{first} minus {second}, {_points(most.value, sign='+')}"
            return (
                f"No effect of the order is shown{_together(self.kind_orders)}; the largest as "
                f"measured is {change}."
            )
        value = most.value
        if value.value < 0:
            first, second, value = second, first, _negated(value)
        return f"The order matters: {first} is easier than {second} by {_points(value)}."

    @property
    def interaction_words(self) -> str:
        """Whether factors cost more, or less, together than alone, if that is shown."""
        if not self.interactions:
            return "No set holds two factors that were both met alone."
        most = max(self.interactions, key=lambda i: (i.shown, abs(i.value.value)))
        both, value = f"{most.first} and {most.second}", most.value
        if not most.shown:
            return (
                f"No interaction is shown{_together(self.interactions)}; the largest as measured: "
                f"{both} together change accuracy by {_points(value, sign='+')} beyond both alone."
            )
        word, size = ("more", _negated(value)) if value.value < 0 else ("less", value)
        return f"Together {both} cost {word} than the sum of both, by {_points(size)}."

    def json(self) -> dict[str, Any]:
        """All effects as one object, in percentage points."""
        return {
            "main": [effect.json() for effect in self.main],
            "orders": [effect.json() for effect in self.kind_orders],
            "orders_by_level": [effect.json() for effect in self.orders],
            "interactions": [effect.json() for effect in self.interactions],
            "left_out": list(self.left_out),
            "words": [self.main_words, self.order_words, self.interaction_words],
        }

    # Contrasts are vectors of weights, one a row of `_shares`.

    @cached_property
    def _shares(self) -> FloatArray:
        return shares_and_clean(self.result)

    @cached_property
    def _sets(self) -> list[Factors]:
        """Factors of every row of `_shares`; the last may be clean points."""
        return [split_factors(spec) for spec in sets_and_clean(self.result)]

    @cached_property
    def _places(self) -> dict[Factors, list[int]]:
        """Rows that hold the same factors in the same order."""
        places: dict[Factors, list[int]] = {}
        for row, spec in enumerate(self._sets):
            places.setdefault(spec, []).append(row)
        return places

    @cached_property
    def _kinds(self) -> list[str]:
        return list(dict.fromkeys(kind for spec in self._sets for kind in _kinds(spec)))

    @cached_property
    def _reordered(self) -> list[tuple[Factors, Factors]]:
        """Every two orders of the same factors, those whose kinds come first in the suite first."""
        order = list(dict.fromkeys(map(_kinds, self._places)))
        several = sorted(self._places, key=lambda spec: order.index(_kinds(spec)))
        return [(a, b) for a, b in combinations(several, 2) if sorted(a) == sorted(b)]

    @cached_property
    def _removals(self) -> dict[str, list[FloatArray | None]]:
        """Of every level, the sets that hold it minus those without; None where there is none."""
        found: dict[str, list[FloatArray | None]] = {}
        for row, spec in enumerate(self._sets):
            for factor, rest in _without_one(spec):
                found.setdefault(factor, []).append(self._sum(row, (-1.0, rest)))
        return found

    def _of(self, kind: str) -> list[FloatArray | None]:
        """Return the same of all levels of a kind."""
        if kind not in self._kinds:
            raise unknown_name("factor", kind, self._kinds)
        return [one for f, some in self._removals.items() if _kind(f) == kind for one in some]

    def _main(self, name: str, some: list[FloatArray | None], among: int) -> MainEffect:
        used = _defined(some)
        return MainEffect(name, len(used), len(some) - len(used), *self._told(used, among))

    def _at(self, spec: Factors) -> FloatArray:
        """Mean over the sets with these factors."""
        rows = self._places[spec]
        return np.asarray(np.isin(np.arange(len(self._sets)), rows) / len(rows))

    def _sum(self, row: int, *terms: tuple[float, Factors]) -> FloatArray | None:
        """One set plus the means of others; None where one of these is not in the suite."""
        if any(spec not in self._places for _, spec in terms):
            return None
        return np.asarray(
            sum((sign * self._at(spec) for sign, spec in terms), np.eye(len(self._sets))[row])
        )

    def _told(self, contrasts: list[FloatArray], among: int) -> tuple[Estimate, bool]:
        """Mean of contrasts, and whether it differs from 0 among so many effects."""
        mean = np.mean(contrasts, axis=0)
        strict = weighted(self._shares, mean, confidence=1 - 0.05 / among)
        return weighted(self._shares, mean), strict.low > 0 or strict.high < 0


def _together(effects: Sequence[object]) -> str:
    """That several are judged at once, so that one of their intervals alone shows nothing."""
    return f" (among {len(effects)} judged together)" if len(effects) > 1 else ""


def _kind(factor: str) -> str:
    return parse_call(factor).name


def _kinds(spec: Factors) -> Factors:
    return tuple(map(_kind, spec))


def _without_one(spec: Factors) -> list[tuple[str, Factors]]:
    """Every factor, and what is left without it."""
    return [(factor, spec[:i] + spec[i + 1 :]) for i, factor in enumerate(spec)]


def _defined(some: list[FloatArray | None]) -> list[FloatArray]:
    return [one for one in some if one is not None]


def _negated(e: Estimate) -> Estimate:
    return replace(e, value=-e.value, low=-e.high, high=-e.low)


def _points(e: Estimate, *, sign: str = "") -> str:
    value, low, high = (
        f"{round(100 * v, 2) + 0.0:{sign}.2f}"  # no negative zero
        for v in (e.value, e.low, e.high)
    )
    return f"{value} percentage points [{low}, {high}]"

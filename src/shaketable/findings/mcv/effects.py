"""Effects of the factors of a suite's sets on one model: of each, of their order, of pairs.

All effects are contrasts: weighted sums of the sets' accuracies. Every point was evaluated under
all sets, so a contrast is the mean of one value per point, with a paired interval; what the sets
have in common cancels out. The kind of a factor is its name, such as ``sp``; its level is the whole
spec, such as ``sp(0.1)``. Sets that hold the same factors in the same order have independent draws;
their mean is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Annotated, NotRequired, TypeAlias, TypedDict

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name, parse_call, split_calls, split_factors
from shaketable.core.types import FloatArray
from shaketable.findings.mcv import view
from shaketable.findings.series import allow_for_looks
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics import intervals
from shaketable.statistics.difference import excludes_zero
from shaketable.statistics.estimate import Estimate, EstimateJson


def contrast(
    result: SuiteResult, weights: Mapping[str, float], *, confidence: float = 0.95
) -> Estimate:
    r"""Weighted sum of one model's accuracies on several sets, with its interval.

    .. math:: \sum_s w_s a_s = \frac{1}{n} \sum_i \sum_s w_s h_{si} / k

    The keys of `weights` are specs of sets; ``clean`` is allowed even if the suite has no such set.
    With weights 1 and -1 it is a difference: positive if the first set is easier.

    >>> from shaketable import evaluate, metrics
    >>> from shaketable import grid
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> suite = grid(["linf(0.2)"], ["linf(0.1)"])
    >>> records = evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), [suite], k=1)
    >>> (result,) = metrics.suite_results(records)
    >>> print(contrast(result, {"linf(0.2)": 1, "clean": -1}))
    -0.1000 (95 % interval -0.1478 to -0.0611)
    """
    known = list_sets(result)
    for spec in weights:
        if spec not in known:
            raise unknown_name("set", spec, known)
    vector = np.array([weights.get(spec, 0.0) for spec in known])
    if not (np.isfinite(vector).all() and vector.any()):
        raise InputError(
            f"weights must be finite and one of them other than 0, got {dict(weights)!r}; give "
            "those of the sets to compare"
        )
    e = estimate_contrast(stack_shares(result), vector, confidence=confidence)
    return allow_for_looks(e, result.series[0].noisy)


def list_sets(result: SuiteResult) -> tuple[str, ...]:
    """Return the specs of all sets, and ``clean`` last if it is not among them."""
    return result.specs if "clean" in result.specs else (*result.specs, "clean")


def stack_shares(result: SuiteResult) -> FloatArray:
    """Return `SuiteResult.shares` for the sets of `list_sets`."""
    shares = result.shares()
    clean = np.array([cell.hits for cell in result.series[0].clean])
    clean = clean.reshape(*shares.shape[:-2], 1, -1)
    return shares if "clean" in result.specs else np.concatenate([shares, clean], axis=-2)


def estimate_contrast(
    shares: FloatArray, weights: FloatArray, *, confidence: float = 0.95
) -> Estimate:
    """Weighted sum of accuracies, from every point's share of right answers.

    `shares` has the shape (sets, points), or (runs, sets, points) for the mean over runs.

    >>> right = np.array([[1] * 80 + [0] * 20, [1] * 90 + [0] * 10])
    >>> print(estimate_contrast(right, np.array([1.0, -1.0])))
    -0.100 (95 % interval -0.172 to -0.044)
    """
    low, high = float(np.minimum(weights, 0).sum()), float(np.maximum(weights, 0).sum())
    e = intervals.mean_of_values(weights @ shares, low=low, high=high, confidence=confidence)
    return _describe(e)


def estimate_contrasts(
    shares: FloatArray, weights: FloatArray, *, confidence: float = 0.95
) -> list[Estimate]:
    """Several contrasts of the same sets at once; `weights` has one row for each.

    >>> right = np.array([[1] * 80 + [0] * 20, [1] * 90 + [0] * 10])
    >>> print(*estimate_contrasts(right, np.array([[1.0, -1.0]])))
    -0.100 (95 % interval -0.172 to -0.044)
    """
    if shares.ndim > 2:  # over runs
        return [estimate_contrast(shares, row, confidence=confidence) for row in weights]
    low, high = np.minimum(weights, 0).sum(axis=1), np.maximum(weights, 0).sum(axis=1)
    # one after another: a product of matrices may round otherwise, and then equal values differ
    values = np.array([row @ shares for row in weights])
    return [
        _describe(e)
        for e in intervals.means_of_values(values, low=low, high=high, confidence=confidence)
    ]


def _describe(e: Estimate) -> Estimate:
    return replace(e, method=f"contrast of sets, paired by point; {e.method}")


Factors: TypeAlias = tuple[str, ...]
"""Factors of a set, in order."""


class EffectJson(EstimateJson):
    """An effect, in percentage points."""

    shown: Annotated[bool, "Whether the effect is shown among all of its list."]


class OrderEffectJson(EffectJson):
    """Accuracy in one order of factors minus that in another."""

    first: str
    second: str
    pairs: int


class MainEffectJson(EffectJson):
    """Change of accuracy when a factor is added."""

    factor: str
    sets: int
    left_out: int
    levels: NotRequired[list[MainEffectJson]]


class InteractionJson(EffectJson):
    """Effect of two factors together minus the sum of their effects alone."""

    first: str
    second: str
    sets: int
    left_out: int


class EffectsJson(TypedDict):
    """Effects of the factors of the sets, in percentage points."""

    main: list[MainEffectJson]
    orders: list[OrderEffectJson]
    orders_by_level: list[OrderEffectJson]
    interactions: list[InteractionJson]
    left_out: list[str]
    words: list[str]


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

    def json(self) -> OrderEffectJson:
        """Return the effect in percentage points."""
        return {
            "first": " + ".join(self.first),
            "second": " + ".join(self.second),
            "pairs": self.pairs,
            **self.value.json(),
            "shown": self.shown,
        }


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

    @property
    def several_levels(self) -> tuple[MainEffect, ...]:
        """The levels, or none if there is only one."""
        return self.levels if len(self.levels) > 1 else ()

    def json(self) -> MainEffectJson:
        """Return the effect in percentage points."""
        value = self.value.json()
        result: MainEffectJson = {
            "factor": self.factor,
            "sets": self.sets,
            "left_out": self.left_out,
            "mean": value["mean"],
            "low": value["low"],
            "high": value["high"],
            "shown": self.shown,
        }
        if self.levels:
            result["levels"] = [level.json() for level in self.levels]
        return result


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

    def json(self) -> InteractionJson:
        """Return the interaction in percentage points."""
        return {
            "first": self.first,
            "second": self.second,
            "sets": self.sets,
            "left_out": self.left_out,
            **self.value.json(),
            "shown": self.shown,
        }


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of the factors of a suite's sets on one model, or on its mean over runs.

    Every interval alone has a confidence of 95 %; among many, some exclude 0 by chance. `shown` is
    therefore stricter: the probability that any effect of a list is shown although it is 0 is at
    most 5 % (Bonferroni). The sentences claim only what is shown.

    Examples
    --------
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
        pairs = self._layout.reordered
        estimates = self._estimate_means([[self._layout.subtract(a, b)] for a, b in pairs])
        return tuple(OrderEffect(a, b, 1, *e) for (a, b), e in zip(pairs, estimates, strict=True))

    @cached_property
    def kind_orders(self) -> tuple[OrderEffect, ...]:
        """Effects of the order, one for every two orders of the same kinds: means over levels."""
        by_kinds: dict[tuple[Factors, Factors], list[FloatArray]] = {}
        for a, b in self._layout.reordered:
            kinds = _list_kinds(a), _list_kinds(b)
            if kinds[0] != kinds[1]:
                by_kinds.setdefault(kinds, []).append(self._layout.subtract(a, b))
        estimates = self._estimate_means(by_kinds.values())
        return tuple(
            OrderEffect(*pair, len(contrasts), *e)
            for (pair, contrasts), e in zip(by_kinds.items(), estimates, strict=True)
        )

    @cached_property
    def main(self) -> tuple[MainEffect, ...]:
        """Effect of every kind of factor with all its levels, the most expensive kind first."""
        by_level = {
            level: contrasts
            for level, contrasts in self._layout.removals.items()
            if _drop_missing(contrasts)
        }
        levels = self._make_mains(by_level)
        kinds = dict.fromkeys(map(_get_kind, by_level))
        effects = [
            replace(effect, levels=tuple(e for e in levels if _get_kind(e.factor) == effect.factor))
            for effect in self._make_mains({kind: self._list_removals(kind) for kind in kinds})
        ]
        return tuple(sorted(effects, key=lambda effect: effect.value.value))

    @cached_property
    def interactions(self) -> tuple[Interaction, ...]:
        """Interactions of every two kinds of factors that form a set of their own."""
        by_kinds: dict[tuple[str, str], list[FloatArray | None]] = {}
        layout = self._layout
        for row, factors in enumerate(layout.sets):
            if len(set(_list_kinds(factors))) == len(factors) == 2:
                first, second = sorted(_list_kinds(factors), key=layout.kinds.index)
                alone = [(-1.0, (factor,)) for factor in factors]
                contrasts = by_kinds.setdefault((first, second), [])
                contrasts.append(layout.add_terms(row, *alone, (1.0, ())))
        known = {pair: found for pair, all_ in by_kinds.items() if (found := _drop_missing(all_))}
        estimates = self._estimate_means(known.values(), effects=len(by_kinds))
        return tuple(
            Interaction(*pair, len(complete), len(by_kinds[pair]) - len(complete), *e)
            for (pair, complete), e in zip(known.items(), estimates, strict=True)
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of sets for which the suite lacks the same set without one of their factors."""
        specs = zip(self.result.specs, self._layout.sets, strict=False)
        return tuple(
            display_name(spec)
            for spec, factors in specs
            if any(rest not in self._layout.rows for _, rest in _remove_each(factors))
        )

    def difference(self, first: str, second: str, *, confidence: float = 0.95) -> Estimate:
        """Main effect of the first kind minus that of the second, paired by point.

        Negative: the first one costs more.

        Parameters
        ----------
        first, second
            Kinds of corruption.
        confidence
            Confidence of the interval.

        Returns
        -------
        Estimate
            The difference, with its interval.

        Examples
        --------
        >>> import numpy as np
        >>> import shaketable as st
        >>> x = np.random.default_rng(0).uniform(size=(100, 2))
        >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5),
        ...                       st.grid(["gaussian(0.2)"], ["scaling(1.2)"]), k=2)
        >>> effects = Effects(st.metrics.suite_results(records)[0])
        >>> print(effects.difference("gaussian", "scaling"))
        -0.025 (95 % interval -0.087 to 0.040)
        """
        a, b = (
            np.mean(_drop_missing(self._list_removals(kind)), axis=0) for kind in (first, second)
        )
        e = estimate_contrast(stack_shares(self.result), a - b, confidence=confidence)
        return allow_for_looks(e, self.result.series[0].noisy)

    @cached_property
    def main_words(self) -> str:
        """Sentence that says which factor costs most, if that is shown."""
        return view.describe_main(self)

    @cached_property
    def order_words(self) -> str:
        """Sentence that says whether the order of factors matters, if that is shown."""
        return view.describe_order(self)

    @cached_property
    def interaction_words(self) -> str:
        """Sentence that says whether two factors cost more or less together, if that is shown."""
        return view.describe_interaction(self)

    def json(self) -> EffectsJson:
        """Return all effects in percentage points, and the sentences.

        Returns
        -------
        dict
            Effects and sentences.

        Examples
        --------
        >>> import numpy as np
        >>> import shaketable as st
        >>> x = np.random.default_rng(0).uniform(size=(100, 2))
        >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5),
        ...                       st.grid(["gaussian(0.2)"], ["scaling(1.2)"]), k=2)
        >>> sorted(Effects(st.metrics.suite_results(records)[0]).json())[:2]
        ['interactions', 'left_out']
        """
        return {
            "main": [effect.json() for effect in self.main],
            "orders": [effect.json() for effect in self.kind_orders],
            "orders_by_level": [effect.json() for effect in self.orders],
            "interactions": [effect.json() for effect in self.interactions],
            "left_out": list(self.left_out),
            "words": [self.main_words, self.order_words, self.interaction_words],
        }

    @property
    def _layout(self) -> Layout:
        return _make_layout(list_sets(self.result))

    def _list_removals(self, kind: str) -> list[FloatArray | None]:
        """Return the contrasts of `Layout.removals` for all levels of a kind."""
        layout = self._layout
        if kind not in layout.kinds:
            raise unknown_name("factor", kind, layout.kinds)
        by_level = layout.removals.items()
        return [c for level, contrasts in by_level if _get_kind(level) == kind for c in contrasts]

    def _make_mains(self, by_factor: Mapping[str, list[FloatArray | None]]) -> list[MainEffect]:
        """Return the main effects of some factors, which are judged together."""
        complete = {name: _drop_missing(contrasts) for name, contrasts in by_factor.items()}
        estimates = self._estimate_means(complete.values())
        return [
            MainEffect(name, len(found), len(by_factor[name]) - len(found), *e)
            for (name, found), e in zip(complete.items(), estimates, strict=True)
        ]

    def _estimate_means(
        self, contrasts: Collection[list[FloatArray]], *, effects: int | None = None
    ) -> list[tuple[Estimate, bool]]:
        """Return the mean of each list of contrasts, and whether it differs from 0.

        They are judged together, as so many effects.
        """
        if not contrasts:
            return []
        means = np.array([np.mean(listed, axis=0) for listed in contrasts])
        strict = 1 - 0.05 / (effects or len(contrasts))
        shares, cells = stack_shares(self.result), self.result.series[0].noisy
        values, judged = (
            [allow_for_looks(e, cells) for e in estimate_contrasts(shares, means, confidence=c)]
            for c in (0.95, strict)
        )
        return [(e, excludes_zero(j)) for e, j in zip(values, judged, strict=True)]


@dataclass(frozen=True, eq=False)
class Layout:
    """Sets of a suite by their factors, the same for all models.

    A contrast is a vector of weights, one per set.
    """

    sets: tuple[Factors, ...]
    """Factors of every set; none for clean points."""

    @cached_property
    def rows(self) -> dict[Factors, list[int]]:
        """Places of sets by their factors in order."""
        rows: dict[Factors, list[int]] = {}
        for row, factors in enumerate(self.sets):
            rows.setdefault(factors, []).append(row)
        return rows

    @cached_property
    def kinds(self) -> list[str]:
        """Kinds of all factors."""
        return list(dict.fromkeys(kind for factors in self.sets for kind in _list_kinds(factors)))

    @cached_property
    def reordered(self) -> list[tuple[Factors, Factors]]:
        """Every two orders of the same factors, sorted by where their kinds first appear."""
        order = list(dict.fromkeys(map(_list_kinds, self.rows)))
        ordered = sorted(self.rows, key=lambda factors: order.index(_list_kinds(factors)))
        return [(a, b) for a, b in combinations(ordered, 2) if sorted(a) == sorted(b)]

    @cached_property
    def removals(self) -> dict[str, list[FloatArray | None]]:
        """By level: every set that holds it minus the set without it; None if there is none."""
        removals: dict[str, list[FloatArray | None]] = {}
        for row, factors in enumerate(self.sets):
            for level, rest in _remove_each(factors):
                removals.setdefault(level, []).append(self.add_terms(row, (-1.0, rest)))
        return removals

    def weigh(self, factors: Factors) -> FloatArray:
        """Return the contrast that is the mean accuracy over all sets with these factors."""
        rows = self.rows[factors]
        return np.asarray(np.isin(np.arange(len(self.sets)), rows) / len(rows))

    def subtract(self, first: Factors, second: Factors) -> FloatArray:
        """Return the contrast of the sets with some factors minus those with others."""
        return self.weigh(first) - self.weigh(second)

    def add_terms(self, row: int, *terms: tuple[float, Factors]) -> FloatArray | None:
        """Return the contrast of one set plus signed means of others; None if one is missing."""
        if any(factors not in self.rows for _, factors in terms):
            return None
        unit = np.eye(len(self.sets))[row]
        return np.asarray(sum((sign * self.weigh(factors) for sign, factors in terms), unit))


@lru_cache(maxsize=16)
def _make_layout(specs: tuple[str, ...]) -> Layout:
    return Layout(tuple(map(split_factors, specs)))


@lru_cache(maxsize=1024)
def _get_kind(factor: str) -> str:
    return " | ".join(dict.fromkeys(parse_call(call).name for call in split_calls(factor)))


def _list_kinds(factors: Factors) -> Factors:
    return tuple(map(_get_kind, factors))


def _remove_each(factors: Factors) -> list[tuple[str, Factors]]:
    """Return every factor with the others that remain without it."""
    return [(factor, factors[:i] + factors[i + 1 :]) for i, factor in enumerate(factors)]


def _drop_missing(contrasts: list[FloatArray | None]) -> list[FloatArray]:
    return [contrast for contrast in contrasts if contrast is not None]

"""Several effects are judged together: chance does not show one of many, in either direction."""

import numpy as np
import pytest

from helpers.records import make_suite_result
from shaketable.core.spec import split_factors
from shaketable.findings.mcv.effects import Effects, contrast

K = 2
SPECS = (
    "clean",
    *("sp(0.1)", "sp(0.2)", "ga(0.1)", "ga(0.2)", "rotation(30)", "rotation(60)"),
    *("sp(0.1) + ga(0.1)", "ga(0.1) + sp(0.1)", "sp(0.2) + ga(0.1)", "ga(0.1) + sp(0.2)"),
    *("sp(0.1) + rotation(30)", "rotation(30) + sp(0.1)", "ga(0.2) + rotation(60)"),
)


def kind(factor):
    return factor.partition("(")[0]


def add(weights, spec, weight):
    weights[spec] = weights.get(spec, 0.0) + weight


def find_set(factors):
    (spec,) = (s for s in SPECS if split_factors(s) == tuple(factors))
    return spec


def average(pairs):
    """Weights of the mean of contrasts, each a list of signed sets."""
    weights = {}
    for terms in pairs:
        for sign, spec in terms:
            add(weights, spec, sign / len(pairs))
    return weights


def list_removals(wanted):
    """Contrasts of every set with a factor, and of the same set without it."""
    pairs = []
    for spec in SPECS:
        factors = split_factors(spec)
        for i, factor in enumerate(factors):
            if wanted in (factor, kind(factor)):
                pairs.append([(1, spec), (-1, find_set(factors[:i] + factors[i + 1 :]))])
    return average(pairs)


def list_cases(effects):
    """Every effect, with its weights by hand and the number of effects judged with it."""
    levels = [level for main in effects.main for level in main.levels]
    for main in effects.main:
        yield main, list_removals(main.factor), len(effects.main)
    for level in levels:
        yield level, list_removals(level.factor), len(levels)
    for order in effects.orders:
        terms = [(1, find_set(order.first)), (-1, find_set(order.second))]
        yield order, average([terms]), len(effects.orders)
    for order in effects.kind_orders:
        pairs = [
            [(1, find_set(o.first)), (-1, find_set(o.second))]
            for o in effects.orders
            if tuple(map(kind, o.first)) == order.first
            and tuple(map(kind, o.second)) == order.second
        ]
        yield order, average(pairs), len(effects.kind_orders)
    for both in effects.interactions:
        pairs = [
            [(1, spec), *((-1, find_set([f])) for f in split_factors(spec)), (1, "clean")]
            for spec in SPECS
            if sorted(map(kind, split_factors(spec))) == sorted([both.first, both.second])
        ]
        yield both, average(pairs), len(effects.interactions)


def is_clear(estimate):
    return estimate.low > 0 or estimate.high < 0


def lose(points, specs):
    """Hits of a model that is wrong at the first `points` points of some sets, and else right."""
    right = np.full(60, K)
    wrong = np.where(np.arange(60) < points, 0, K)
    hits = {spec: wrong if spec in specs else right for spec in SPECS}
    return hits | {"clean": np.ones(60, int)}


def name_type(effect):
    if hasattr(effect, "factor"):
        return "level" if "(" in effect.factor else "kind"
    if hasattr(effect, "pairs"):
        return "order of kinds" if "(" not in effect.first[0] else "order"
    return "interaction"


LOSING = {
    "kind": [s for s in SPECS if "sp" in s],
    "level": [s for s in SPECS if "sp(0.1)" in s],
    "order": ["ga(0.1) + sp(0.1)"],
    "order of kinds": [s for s in SPECS if s.startswith("ga(0.1) + sp")],
    "interaction": [s for s in SPECS if "sp" in s and "ga" in s],
}


@pytest.mark.parametrize("losing", LOSING)
def test_an_effect_is_shown_if_its_interval_for_so_many_effects_excludes_0(losing):
    open_ = set()
    for points in range(4, 11):
        result = make_suite_result(lose(points, LOSING[losing]), k=K)
        for effect, weights, count in list_cases(Effects(result)):
            if name_type(effect) != losing:
                continue
            strict = contrast(result, weights, confidence=1 - 0.05 / count)
            plain = contrast(result, weights)
            assert effect.value.value == pytest.approx(plain.value)
            assert (effect.value.low, effect.value.high) == pytest.approx((plain.low, plain.high))
            assert effect.shown == is_clear(strict)
            open_ |= {points} if is_clear(plain) and not effect.shown else set()
    assert open_  # an effect that would be shown if it were alone


def test_gains_are_shown_as_losses_are():
    clean = np.arange(80) % 2
    for gained in (True, False):
        before, after = (clean, np.ones(80, int)) if gained else (np.ones(80, int), clean)
        hits = {"clean": before, "sp(0.1)": K * after, "sp(0.2)": K * after}
        main = Effects(make_suite_result(hits, k=K)).main
        assert [e.shown for e in main] == [True]
        assert (main[0].value.value > 0) == gained


def test_the_most_expensive_factor_is_named_only_if_it_is_ahead_of_all_others():
    open_ = 0
    for points in range(9, 30):
        hits = lose(points, ["sp(0.1)", "sp(0.2)"]) | {
            spec: np.where(np.arange(60) >= 54, 0, K) for spec in SPECS if spec[:2] in ("ga", "ro")
        }
        single = {spec: h for spec, h in hits.items() if "+" not in spec}
        effects = Effects(make_suite_result(single, k=K))
        most, *others = effects.main
        costs = [e.value.value for e in effects.main]
        assert costs == sorted(costs)
        strict = {
            o.factor: effects.difference(most.factor, o.factor, confidence=1 - 0.05 / len(others))
            for o in others
        }
        plain = [effects.difference(most.factor, o.factor).high for o in others]
        rivals = [name for name, e in strict.items() if e.high >= 0]
        said = effects.main_words
        if most.shown:
            named = said.partition(" but ")[2]
            assert [name for name in strict if name in named] == rivals
            assert ("costs most:" in said) == (not rivals)
            open_ += bool(rivals) and max(plain) < 0
    assert open_  # where two differences, each alone, would have claimed more

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.records import make_records, make_suite_result
from shaketable.core.errors import InputError
from shaketable.core.spec import split_factors
from shaketable.findings.mcv.contrasts import contrast
from shaketable.findings.mcv.effects import Effects
from shaketable.findings.suite_results import group_suites
from shaketable.statistics.intervals import mean_share

K, N = 4, 50
SPECS = (
    "clean",
    "sp(0.1) as SP0.1GA0",
    "ga(mean=0.1, var=0.01) as SP0GA0.1",
    "sp(0.1) + ga(mean=0.1, var=0.01) as SP0.1GA0.1",
    "sp(0.2) as SP0.2GA0",
    "sp(0.2) + ga(mean=0.1, var=0.01) as SP0.2GA0.1",
    "ga(mean=0.1, var=0.01) as GA0.1SP0",
    "ga(mean=0.1, var=0.01) + sp(0.1) as GA0.1SP0.1",
    "ga(mean=0.1, var=0.01) + sp(0.2) as GA0.1SP0.2",
    "sp(0.1) as GA0SP0.1",
    "rotation(30) as SP0RO30",
    "sp(0.1) + rotation(30) as SP0.1RO30",
    "sp(0.1) + rotation(60) as SP0.1RO60",
    "rotation(30) + sp(0.1) + ga(mean=0.1, var=0.01)",
    "sp(0.1) + rotation(30) + ga(mean=0.1, var=0.01)",
)
GA = "ga(mean=0.1, var=0.01)"


def drawn(seed, specs=SPECS, cost=None):
    """Hits of all points; every factor costs a share of the right answers."""
    rng = np.random.default_rng(seed)
    cost = {"sp": 0.2, "ga": 0.1, "rotation": 0.3} if cost is None else cost
    skill, found = rng.beta(4, 1, N), {}
    for spec in specs:
        p = skill * np.prod([1 - cost[f.partition("(")[0]] for f in split_factors(spec)])
        found[spec] = rng.binomial(1 if spec == "clean" else K, p)
    return found


HITS = drawn(0)
ACC = {spec: np.mean(h) / (1 if spec == "clean" else K) for spec, h in HITS.items()}
EFFECTS = Effects(make_suite_result(HITS, k=K))


def mean_of(*wanted):
    """Mean accuracy of all sets with these factors in this order, by brute force."""
    return np.mean([a for spec, a in ACC.items() if split_factors(spec) == wanted])


def removals(kind):
    """Accuracy of every set that holds the kind minus that of the set without it."""
    kept, left_out = {}, 0
    for spec, a in ACC.items():
        for i, f in enumerate(split_factors(spec)):
            rest = split_factors(spec)[:i] + split_factors(spec)[i + 1 :]
            if f.partition("(")[0] != kind:
                continue
            if any(split_factors(other) == rest for other in ACC):
                kept.setdefault(f, []).append(a - mean_of(*rest))
            else:
                left_out += 1
    return kept, left_out


def test_a_contrast_is_the_weighted_sum_of_accuracies():
    weights = {"clean": 2.0, SPECS[3]: -1.5, SPECS[10]: 0.25}
    e = contrast(EFFECTS.result, weights)
    assert e.value == pytest.approx(sum(w * ACC[spec] for spec, w in weights.items()))
    assert -1.5 <= e.low < e.value < e.high <= 2.25
    sharp = contrast(EFFECTS.result, weights, confidence=0.5)
    assert e.low < sharp.low < sharp.high < e.high
    turned = contrast(EFFECTS.result, {spec: -w for spec, w in weights.items()})
    assert (turned.low, turned.high) == pytest.approx((-e.high, -e.low))


def test_one_set_alone_has_the_interval_of_its_accuracy():
    e, alone = contrast(EFFECTS.result, {SPECS[1]: 1.0}), mean_share(HITS[SPECS[1]], K)
    assert (e.value, e.low, e.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_orders_are_compared_level_by_level_and_by_kind():
    told = {(o.first, o.second): o for o in EFFECTS.orders}
    assert set(told) == {
        (("sp(0.1)", GA), (GA, "sp(0.1)")),
        (("sp(0.2)", GA), (GA, "sp(0.2)")),
        (("rotation(30)", "sp(0.1)", GA), ("sp(0.1)", "rotation(30)", GA)),
    }
    for (first, second), o in told.items():
        assert o.value.value == pytest.approx(mean_of(*first) - mean_of(*second))
        assert o.value.low < o.value.value < o.value.high
    kinds = {(o.first, o.second): o for o in EFFECTS.kind_orders}
    assert next(iter(kinds)) == (("sp", "ga"), ("ga", "sp"))
    both = kinds[("sp", "ga"), ("ga", "sp")]
    assert both.pairs == 2
    assert both.value.value == pytest.approx(
        np.mean([mean_of(sp, GA) - mean_of(GA, sp) for sp in ("sp(0.1)", "sp(0.2)")])
    )
    assert len(kinds) == 2


@given(st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_turning_the_suite_round_turns_the_order_effect(seed):
    specs = ("clean", "sp(0.1) + rotation(30)", "rotation(30) + sp(0.1)")
    found = drawn(seed, specs)
    (one,) = Effects(make_suite_result(found, k=K)).orders
    (other,) = Effects(make_suite_result(dict(reversed(found.items())), k=K)).orders
    assert (other.first, other.second) == (one.second, one.first)
    assert (other.value.value, other.value.low) == pytest.approx(
        (-one.value.value, -one.value.high)
    )
    same = Effects(make_suite_result({**found, specs[2]: found[specs[1]]}, k=K)).orders[0].value
    assert same.value == pytest.approx(0, abs=1e-12)
    assert same.low == pytest.approx(-same.high)


def test_main_effects_are_the_mean_loss_when_a_factor_is_added():
    assert {e.factor for e in EFFECTS.main} == {"sp", "ga", "rotation"}
    for effect in EFFECTS.main:
        kept, left_out = removals(effect.factor)
        every = [value for level in kept.values() for value in level]
        assert (effect.sets, effect.left_out) == (len(every), left_out)
        assert effect.value.value == pytest.approx(np.mean(every))
        assert effect.value.low < effect.value.value < effect.value.high
        assert [level.factor for level in effect.levels] == list(kept)
        for level in effect.levels:
            assert level.value.value == pytest.approx(np.mean(kept[level.factor]))
    values = [e.value.value for e in EFFECTS.main]
    assert values == sorted(values)


def test_two_levels_of_one_kind_have_an_order_but_their_kind_has_none():
    specs = ("clean", "sp(0.1) + sp(0.2)", "sp(0.2) + sp(0.1)")
    effects = Effects(make_suite_result(drawn(2, specs), k=K))
    assert [(o.first, o.second) for o in effects.orders] == [
        (("sp(0.1)", "sp(0.2)"), ("sp(0.2)", "sp(0.1)"))
    ]
    assert effects.kind_orders == effects.interactions == ()


def test_sets_without_a_counterpart_are_named():
    # without sp(0.1), rotation(60) alone is not there; the three factors lack some pairs
    assert EFFECTS.left_out == (
        "SP0.1RO60",
        "rotation(30) + sp(0.1) + ga(mean=0.1, var=0.01)",
        "sp(0.1) + rotation(30) + ga(mean=0.1, var=0.01)",
    )
    lone = Effects(make_suite_result(drawn(1, ("clean", "sp(0.1) + rotation(30)")), k=K))
    assert (lone.main, lone.interactions, lone.orders) == ((), (), ())
    assert lone.left_out == ("sp(0.1) + rotation(30)",)
    assert lone.main_words.startswith("No effect of a factor is known")
    assert lone.order_words.startswith("No effect of the order is known")
    assert lone.interaction_words.startswith("No interaction is known")


def test_interactions_are_what_is_beyond_the_sum():
    told = {(i.first, i.second): i for i in EFFECTS.interactions}
    assert set(told) == {("sp", "ga"), ("sp", "rotation")}
    expected = [
        ACC[spec] - mean_of(sp) - mean_of(GA) + ACC["clean"]
        for spec in ACC
        for sp in ("sp(0.1)", "sp(0.2)")
        if sorted(split_factors(spec)) == sorted((sp, GA))
    ]
    both = told["sp", "ga"]
    assert (both.sets, both.left_out) == (4, 0)
    assert both.value.value == pytest.approx(np.mean(expected))
    turned = told["sp", "rotation"]
    assert (turned.sets, turned.left_out) == (1, 1)  # rotation(60) was not met alone


def test_clean_points_are_a_baseline_also_where_they_are_no_set():
    (part,) = group_suites(make_records(HITS, k=K, sets=SPECS[1:]))
    assert "clean" not in part.specs
    for mine, other in zip(Effects(part).main, EFFECTS.main, strict=True):
        assert (mine.factor, mine.sets) == (other.factor, other.sets)
        assert mine.value.value == pytest.approx(other.value.value)
        assert mine.value.low == pytest.approx(other.value.low)


def test_a_factor_costs_most_only_where_that_is_shown():
    specs = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)")
    clear = Effects(make_suite_result(drawn(3, specs, {"sp": 0.05, "rotation": 0.8}), k=K))
    assert clear.main[0].factor == "rotation"
    assert clear.difference("rotation", "sp").high < 0
    assert clear.main_words.startswith("rotation costs most: ")
    assert "percentage points [" in clear.main_words
    equal = Effects(make_suite_result(drawn(3, specs, {"sp": 0.5, "rotation": 0.5}), k=K))
    assert "costs most as measured" in equal.main_words
    assert equal.main_words.endswith("may cost as much.")
    none = Effects(make_suite_result(drawn(3, specs, {"sp": 0.0, "rotation": 0.0}), k=K))
    assert none.main_words.startswith("No factor is shown to cost accuracy")
    assert none.interaction_words.startswith("No interaction is shown")
    alone = Effects(make_suite_result(drawn(3, specs[:2], {"sp": 0.6}), k=K))
    assert alone.main_words.startswith("sp costs ")
    with pytest.raises(InputError, match="unknown factor 'spp'; did you mean 'sp'"):
        clear.difference("spp", "sp")


def certain(**right):
    """One point in ten answers otherwise; sets by their shares of right answers."""
    specs = {"none": "clean", "a": "sp(0.1)", "b": "rotation(30)", "ab": "sp(0.1) + rotation(30)"}
    specs["ba"] = "rotation(30) + sp(0.1)"
    hits = {
        specs[name]: (np.arange(200) < 200 * share).astype(int) for name, share in right.items()
    }
    return Effects(make_suite_result(hits))


def test_the_words_on_order_and_interaction_follow_the_signs():
    first = certain(none=0.9, a=0.8, b=0.8, ab=0.7, ba=0.3)
    assert first.order_words.startswith("The order matters: sp then rotation is easier than rotat")
    assert "by 40.00 percentage points [" in first.order_words
    second = certain(none=0.9, a=0.8, b=0.8, ab=0.3, ba=0.7)
    assert second.order_words.startswith("The order matters: rotation then sp is easier than sp ")
    assert "by 40.00 percentage points [" in second.order_words
    worse = certain(none=0.9, a=0.8, b=0.8, ab=0.2)
    assert worse.interaction_words.startswith("Together sp and rotation cost more than the sum")
    assert "by 50.00 percentage points [" in worse.interaction_words
    better = certain(none=0.9, a=0.5, b=0.5, ab=0.5)
    assert better.interaction_words.startswith("Together sp and rotation cost less than the sum")
    assert "by 40.00 percentage points [" in better.interaction_words
    same = certain(none=0.9, a=0.8, b=0.8, ab=0.7, ba=0.7)
    assert same.order_words.startswith(
        "No effect of the order is shown; the largest as measured is sp then rotation minus rot"
    )


def test_what_is_shown_holds_among_all_that_stand_beside_it():
    for told in (EFFECTS.orders, EFFECTS.kind_orders, EFFECTS.main, EFFECTS.interactions):
        for effect in told:
            assert not effect.shown or effect.value.low > 0 or effect.value.high < 0
    # 12 orders without any effect: a 95 % interval that misses 0 is common, a claim is not
    levels = [f"sp({i})" for i in range(12)]
    specs = ["clean", *(s for f in levels for s in (f"{f} + ga(1)", f"ga(1) + {f}"))]
    missed = claimed = 0
    for seed in range(40):
        effects = Effects(make_suite_result(drawn(seed, specs, {"sp": 0.2, "ga": 0.2}), k=K))
        missed += any(o.value.low > 0 or o.value.high < 0 for o in effects.orders)
        claimed += any(o.shown for o in effects.orders)
    assert missed >= 6
    assert claimed <= 3


def test_intervals_of_contrasts_cover():
    rng = np.random.default_rng(5)
    specs = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)")
    p = (0.9, 0.85, 0.8, 0.7)
    truth, covered = 0.7 - 0.85 - 0.8 + 0.9, 0
    for _ in range(300):
        skill = rng.random(100) < 0.5  # half of all points answer alike in all sets
        own = rng.random(100)
        hits = {s: (np.where(skill, own, rng.random(100)) < q).astype(int)
                for s, q in zip(specs, p, strict=True)}  # fmt: skip
        (i,) = Effects(make_suite_result(hits)).interactions
        covered += i.value.low <= truth <= i.value.high
    assert covered / 300 >= 0.93


def test_the_json_is_in_percentage_points():
    told = EFFECTS.json()
    assert told["main"][0]["mean"] == pytest.approx(100 * EFFECTS.main[0].value.value)
    assert told["main"][0]["levels"][0]["factor"] == EFFECTS.main[0].levels[0].factor
    assert told["orders"][0] == {
        "first": "sp + ga",
        "second": "ga + sp",
        "pairs": 2,
        **EFFECTS.kind_orders[0].value.json(),
        "shown": False,
    }
    assert len(told["orders_by_level"]) == 3
    assert told["interactions"][0]["sets"] == 4
    assert told["left_out"] == list(EFFECTS.left_out)
    assert len(told["words"]) == 3


def test_effects_are_for_one_fitted_model_and_known_sets():
    (runs,) = group_suites(make_records(HITS, k=K) + make_records(HITS, k=K, run=1))
    with pytest.raises(InputError, match="one fitted model"):
        _ = Effects(runs).main
    with pytest.raises(InputError, match="unknown set 'sp'"):
        contrast(EFFECTS.result, {"sp": 1.0})
    for weights in ({}, {"clean": 0.0}, {"clean": float("nan")}):
        with pytest.raises(InputError, match="weights must be finite and one of them"):
            contrast(EFFECTS.result, weights)

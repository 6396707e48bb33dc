"""Effects of factors, of their order, and interactions, compared with brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.records import draw_hits, make_records, make_suite_result
from shaketable.core.errors import InputError
from shaketable.core.spec import split_factors
from shaketable.findings.mcv.effects import Effects, contrast
from shaketable.findings.suite_results import group_suites

K = 4
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


HITS = draw_hits(0, SPECS)
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


def test_orders_are_compared_level_by_level_and_by_kind():
    orders = {(o.first, o.second): o for o in EFFECTS.orders}
    assert set(orders) == {
        (("sp(0.1)", GA), (GA, "sp(0.1)")),
        (("sp(0.2)", GA), (GA, "sp(0.2)")),
        (("rotation(30)", "sp(0.1)", GA), ("sp(0.1)", "rotation(30)", GA)),
    }
    for (first, second), o in orders.items():
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
@settings(max_examples=10, deadline=None)
def test_reversing_the_suite_changes_the_sign_of_the_order_effect(seed):
    specs = ("clean", "sp(0.1) + rotation(30)", "rotation(30) + sp(0.1)")
    hits = draw_hits(seed, specs)
    (first,) = Effects(make_suite_result(hits, k=K)).orders
    (backward,) = Effects(make_suite_result(dict(reversed(hits.items())), k=K)).orders
    assert (backward.first, backward.second) == (first.second, first.first)
    assert (backward.value.value, backward.value.low) == pytest.approx(
        (-first.value.value, -first.value.high)
    )
    same = Effects(make_suite_result({**hits, specs[2]: hits[specs[1]]}, k=K)).orders[0].value
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
    effects = Effects(make_suite_result(draw_hits(2, specs), k=K))
    assert [(o.first, o.second) for o in effects.orders] == [
        (("sp(0.1)", "sp(0.2)"), ("sp(0.2)", "sp(0.1)"))
    ]
    assert effects.kind_orders == effects.interactions == ()


def test_sets_without_the_set_they_are_compared_with_are_listed():
    # without sp(0.1), rotation(60) alone is not there; the three factors lack some pairs
    assert EFFECTS.left_out == (
        "SP0.1RO60",
        "rotation(30) + sp(0.1) + ga(mean=0.1, var=0.01)",
        "sp(0.1) + rotation(30) + ga(mean=0.1, var=0.01)",
    )
    lone = Effects(make_suite_result(draw_hits(1, ("clean", "sp(0.1) + rotation(30)")), k=K))
    assert (lone.main, lone.interactions, lone.orders) == ((), (), ())
    assert lone.left_out == ("sp(0.1) + rotation(30)",)
    assert lone.main_words.startswith("No effect of a factor is known")
    assert lone.order_words.startswith("No effect of the order is known")
    assert lone.interaction_words.startswith("No interaction is known")


def test_interactions_are_effects_beyond_the_sum():
    interactions = {(i.first, i.second): i for i in EFFECTS.interactions}
    assert set(interactions) == {("sp", "ga"), ("sp", "rotation")}
    expected = [
        ACC[spec] - mean_of(sp) - mean_of(GA) + ACC["clean"]
        for spec in ACC
        for sp in ("sp(0.1)", "sp(0.2)")
        if sorted(split_factors(spec)) == sorted((sp, GA))
    ]
    both = interactions["sp", "ga"]
    assert (both.sets, both.left_out) == (4, 0)
    assert both.value.value == pytest.approx(np.mean(expected))
    rotated = interactions["sp", "rotation"]
    assert (rotated.sets, rotated.left_out) == (1, 1)  # rotation(60) alone is no set


def test_clean_points_are_the_baseline_even_if_they_are_not_a_set():
    (part,) = group_suites(make_records(HITS, k=K, sets=SPECS[1:]))
    assert "clean" not in part.specs
    for effect, other in zip(Effects(part).main, EFFECTS.main, strict=True):
        assert (effect.factor, effect.sets) == (other.factor, other.sets)
        assert effect.value.value == pytest.approx(other.value.value)
        assert effect.value.low == pytest.approx(other.value.low)


def test_shown_effects_hold_among_all_effects_of_a_list():
    for effects in (EFFECTS.orders, EFFECTS.kind_orders, EFFECTS.main, EFFECTS.interactions):
        for effect in effects:
            assert not effect.shown or effect.value.low > 0 or effect.value.high < 0
    # 12 orders without any effect: a 95 % interval that misses 0 is common, a claim is not
    levels = [f"sp({i})" for i in range(12)]
    specs = ["clean", *(s for f in levels for s in (f"{f} + ga(1)", f"ga(1) + {f}"))]
    missed = claimed = 0
    for seed in range(20):
        effects = Effects(make_suite_result(draw_hits(seed, specs, {"sp": 0.2, "ga": 0.2}), k=K))
        missed += any(o.value.low > 0 or o.value.high < 0 for o in effects.orders)
        claimed += any(o.shown for o in effects.orders)
    assert missed >= 4
    assert claimed <= 2


def test_intervals_of_contrasts_cover():
    rng = np.random.default_rng(5)
    specs = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)")
    p = (0.9, 0.85, 0.8, 0.7)
    truth, covered = 0.7 - 0.85 - 0.8 + 0.9, 0
    for _ in range(150):
        skill = rng.random(100) < 0.5  # half of all points answer alike in all sets
        own = rng.random(100)
        hits = {s: (np.where(skill, own, rng.random(100)) < q).astype(int)
                for s, q in zip(specs, p, strict=True)}  # fmt: skip
        (i,) = Effects(make_suite_result(hits)).interactions
        covered += i.value.low <= truth <= i.value.high
    assert covered / 150 >= 0.93


def test_the_json_is_in_percentage_points():
    effects_json = EFFECTS.json()
    assert effects_json["main"][0]["mean"] == pytest.approx(100 * EFFECTS.main[0].value.value)
    assert effects_json["main"][0]["levels"][0]["factor"] == EFFECTS.main[0].levels[0].factor
    assert effects_json["orders"][0] == {
        "first": "sp + ga",
        "second": "ga + sp",
        "pairs": 2,
        **EFFECTS.kind_orders[0].value.json(),
        "shown": False,
    }
    assert len(effects_json["orders_by_level"]) == 3
    assert effects_json["interactions"][0]["sets"] == 4
    assert effects_json["left_out"] == list(EFFECTS.left_out)
    assert len(effects_json["words"]) == 3


def test_effects_over_runs_are_means_over_runs():
    (runs,) = group_suites(make_records(HITS, k=K) + make_records(HITS, k=K, run=1))
    for one, two in zip(EFFECTS.main, Effects(runs).main, strict=True):
        assert (two.factor, two.value.value) == (one.factor, pytest.approx(one.value.value))
        assert "2 runs" in two.value.method


def test_contrasts_are_of_known_sets():
    with pytest.raises(InputError, match="unknown set 'sp'"):
        contrast(EFFECTS.result, {"sp": 1.0})
    for weights in ({}, {"clean": 0.0}, {"clean": float("nan")}):
        with pytest.raises(InputError, match="weights must be finite and one of them"):
            contrast(EFFECTS.result, weights)

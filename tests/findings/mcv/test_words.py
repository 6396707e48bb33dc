"""Sentences about effects claim what is shown."""

import numpy as np
import pytest

from helpers.records import draw_hits, make_suite_result
from shaketable.core.errors import InputError
from shaketable.findings.mcv.effects import Effects

K = 4


def test_a_factor_is_said_to_cost_most_only_if_that_is_shown():
    specs = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)")
    clear = Effects(make_suite_result(draw_hits(3, specs, {"sp": 0.05, "rotation": 0.8}), k=K))
    assert clear.main[0].factor == "rotation"
    assert clear.difference("rotation", "sp").high < 0
    assert clear.main_words.startswith("rotation costs most: ")
    assert "percentage points [" in clear.main_words
    equal = Effects(make_suite_result(draw_hits(3, specs, {"sp": 0.5, "rotation": 0.5}), k=K))
    assert "costs most as measured" in equal.main_words
    assert equal.main_words.endswith("may cost as much.")
    none = Effects(make_suite_result(draw_hits(4, specs, {"sp": 0.0, "rotation": 0.0}), k=K))
    assert none.main_words.startswith("No factor is shown to cost accuracy")
    assert none.interaction_words.startswith("No interaction is shown")
    alone = Effects(make_suite_result(draw_hits(3, specs[:2], {"sp": 0.6}), k=K))
    assert alone.main_words.startswith("sp costs ")
    with pytest.raises(InputError, match="unknown factor 'spp'; did you mean 'sp'"):
        clear.difference("spp", "sp")


def make_effects(**right):
    """One point in ten answers otherwise; sets by their shares of right answers."""
    specs = {"none": "clean", "a": "sp(0.1)", "b": "rotation(30)", "ab": "sp(0.1) + rotation(30)"}
    specs["ba"] = "rotation(30) + sp(0.1)"
    hits = {
        specs[name]: (np.arange(200) < 200 * share).astype(int) for name, share in right.items()
    }
    return Effects(make_suite_result(hits))


def test_sentences_on_order_and_interaction_follow_the_signs():
    first = make_effects(none=0.9, a=0.8, b=0.8, ab=0.7, ba=0.3)
    assert first.order_words.startswith("The order matters: sp then rotation is easier than rotat")
    assert "by 40.00 percentage points [" in first.order_words
    second = make_effects(none=0.9, a=0.8, b=0.8, ab=0.3, ba=0.7)
    assert second.order_words.startswith("The order matters: rotation then sp is easier than sp ")
    assert "by 40.00 percentage points [" in second.order_words
    worse = make_effects(none=0.9, a=0.8, b=0.8, ab=0.2)
    assert worse.interaction_words.startswith("Together sp and rotation cost more than the sum")
    assert "by 50.00 percentage points [" in worse.interaction_words
    better = make_effects(none=0.9, a=0.5, b=0.5, ab=0.5)
    assert better.interaction_words.startswith("Together sp and rotation cost less than the sum")
    assert "by 40.00 percentage points [" in better.interaction_words
    same = make_effects(none=0.9, a=0.8, b=0.8, ab=0.7, ba=0.7)
    assert same.order_words.startswith(
        "No effect of the order is shown; the largest as measured is sp then rotation minus rot"
    )

"""Conditions: names of models and corruptions are unique, and series in one are paired."""

from helpers.records import draw_hits, make_records
from shaketable.findings.groups import group_conditions
from shaketable.findings.series import group_series, meets_same_noise

SPECS = ("clean", "linf(0.1)", "fog(1)")
COST = {"linf": 0.1, "fog": 0.2}


def test_a_condition_has_all_models_under_the_same_noise() -> None:
    a, b = (make_records(draw_hits(i, SPECS, COST), k=4, model=m) for i, m in enumerate("ab"))
    conditions = group_conditions(group_series(b + a))
    assert [c.noise for c in conditions] == list(SPECS)
    assert [c.is_clean for c in conditions] == [True, False, False]
    for condition in conditions:
        assert list(condition.series) == ["b", "a"]
        assert meets_same_noise(*condition.series.values())


def test_a_corruption_in_several_settings_is_named_with_what_differs() -> None:
    some = make_records(draw_hits(0, SPECS, COST), k=4, model="a")
    more = make_records(draw_hits(0, SPECS[:2], COST, k=3), k=3, model="a", seed=1)
    conditions = group_conditions(group_series(some + more))
    assert [c.noise for c in conditions] == [
        "clean", "linf(0.1), k = 4, seed 0", "fog(1)", "linf(0.1), k = 3, seed 1",
    ]  # fmt: skip

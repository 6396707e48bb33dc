"""Ladders: corruptions that differ in size only share a name, and one draw serves all sizes."""

from itertools import combinations

import numpy as np
import pytest

from shaketable.core.keys import row_keys
from shaketable.corruptions.common.corruption import CommonCorruption
from shaketable.corruptions.parse import parse
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns

LADDERS = [  # from weak to strong; no two of these lists are one ladder
    ["linf(0)", "linf(0.1)", "linf(2)"],
    ["linf(0.1, surface)", "linf(2, surface)"],
    ["linf(0.1, vertices)", "linf(2, vertices)"],
    ["l2(0.1)", "l2(2)"],
    ["l2(0.1, surface)", "l2(2, surface)"],
    ["l0(0.1)", "l0(0.5)", "l0(1)"],
    ["l0(0.1, uniform)", "l0(1, uniform)"],
    ["gaussian(0.1)", "gaussian(2)"],
    ["gaussian(0.1, mean=1)", "gaussian(2, mean=1)"],
    ["gaussian(0.1, mean=-1)", "gaussian(2, mean=-1)"],
    ["jitter(0.1)", "jitter(2)"],
    ["missing(0.1)", "missing(0.9)"],
    ["scaling(1)", "scaling(0.9)", "scaling(1.2)", "scaling(0.5)", "scaling(3)", "scaling(-2)"],
    ["sp(0.1)", "sp(0.9)"],
    ["rotation(0)", "rotation(-10)", "rotation(30)", "rotation(-60)", "rotation(90)"],
    ["rotation(30, bilinear)", "rotation(-60, bilinear)"],
    ["rotation(30, fill=1)", "rotation(-60, fill=1)"],
    ["rotation(30, fill=0.5)", "rotation(-60, fill=0.5)"],
    ["fog(1)", "fog(2)", "fog(5)"],
    ["frost(1)", "frost(5)"],
    ["linf(0.1) as a"],
    ["linf(0.1) as b"],
    ["linf(0.1) + l2(0.1)"],
    ["l2(0.1) + linf(0.1)"],
]
RANDOM = [ladder for ladder in LADDERS if len(ladder) > 1]


def prepare(spec, x):
    corruption = parse(spec).for_shape(x.shape[1:]).for_columns(Columns(lambda: x))
    return corruption.bind(Bounds(-1, 4))


def test_levels_share_a_name_exactly_if_they_differ_in_size_only():
    names = [{parse(spec).ladder for spec in ladder} for ladder in LADDERS]
    assert all(len(own) == 1 for own in names)
    for one, two in combinations(names, 2):
        assert one != two


def test_sizes_grow_with_the_strength():
    for ladder in LADDERS:
        sizes = [parse(spec).size for spec in ladder]
        assert sizes == sorted(set(sizes)), ladder


@pytest.mark.parametrize("ladder", RANDOM, ids=lambda ladder: ladder[0])
def test_what_the_strongest_level_draws_serves_all_levels(ladder):
    x = np.random.default_rng(0).uniform(0, 3, (6, 8, 8))
    keys = row_keys(0, np.arange(6), np.arange(1))[:, 0]
    levels = [prepare(spec, x) for spec in ladder]
    drawn = max(levels, key=lambda level: level.size).draw(x, keys)
    moved = [np.abs(level.apply(x, drawn) - x).mean() for level in levels]
    for level in levels:
        np.testing.assert_array_equal(level.apply(x, drawn), level(x, keys))
    if not ladder[0].startswith(("rotation", "gaussian(0.1, ")):
        assert moved == sorted(moved)


def test_frost_of_other_textures_is_another_ladder():
    plain = CommonCorruption("frost", 3, "cifar")
    one, two = (CommonCorruption("frost", 3, "cifar", "ice", id=f"h{i}") for i in (1, 2))
    assert len({plain.ladder, one.ladder, two.ladder}) == 3
    assert one.ladder == CommonCorruption("frost", 5, "cifar", "ice", id="h1").ladder


def test_a_sequence_keeps_to_the_steps_of_the_data_if_all_its_factors_do():
    assert parse("sp(0.1) + rotation(30)").traits.on_steps
    for spec in ("sp(0.1) + linf(0.1)", "linf(0.1) + sp(0.1)", "linf(0.1) + l2(0.1)"):
        assert not parse(spec).traits.on_steps


@pytest.mark.parametrize("name", ["linf", "l2", "l1", "l0.5"])
def test_eps_min_is_that_of_the_norm_of_the_spec(name):
    asked = []
    corruption = parse(f"{name}(eps_min)", eps_min=lambda p: asked.append(p) or 0.25)
    assert corruption == parse(f"{name}(0.25)")
    assert asked == [float(name[1:])]

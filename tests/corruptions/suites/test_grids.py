"""Faults that follow one another: sequences, names for them, and grids."""

import re
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from scipy import stats

import shaketable as st
from helpers.images import make_images, make_keys
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.corruptions import Clean, Named, Sequence, corrupt, parse
from shaketable.corruptions.suites.grids import grid
from shaketable.data.bounds import Bounds

UNIT = Bounds(0, 1)
FINITE = hs.floats(-1e300, 1e300)
SIZES = hs.floats(0, 1e300)
SHARES = hs.floats(0, 1)
FORMS = hs.one_of(
    hs.builds("sp({!r})".format, SHARES),
    hs.builds("sp(density={!r})".format, SHARES),
    hs.builds("ga({!r})".format, FINITE),
    hs.builds("ga({!r}, {!r})".format, FINITE, SIZES),
    hs.builds("ga(var={!r}, mean={!r})".format, SIZES, FINITE),
    hs.builds("rotation({!r})".format, FINITE),
    hs.builds(
        "rotation({!r}, {}, {!r})".format,
        FINITE,
        hs.sampled_from(["nearest", "bilinear", "bicubic"]),
        SHARES,
    ),
    hs.builds("rotation({!r}, fill={!r})".format, FINITE, SHARES),
    hs.builds("jitter({!r})".format, SIZES),
    hs.builds("missing({!r})".format, SHARES),
    hs.builds("scaling({!r})".format, FINITE),
    hs.sampled_from(["clean", "linf(0.1)", "fog(3)", "l0(0.1, uniform)"]),
)
LABELS = hs.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]*", fullmatch=True)


@given(hs.lists(FORMS, min_size=1, max_size=4), hs.none() | LABELS)
def test_specs_parse_back_to_themselves(parts, name):
    plain = parse(" + ".join(parts))
    assert parse(plain.spec) == plain
    assert parse(plain.spec).spec == plain.spec
    if name is not None:
        known = parse(f" {' +'.join(parts)}  as {name} ")
        assert known == Named(plain, name)
        assert known.spec == f"{plain.spec} as {name}"
        assert parse(known.spec) == known


def test_sequences_of_objects_and_of_specs_are_the_same():
    a, b, c = (parse(spec) for spec in ("sp(0.1)", "ga(0.1)", "rotation(30)"))
    long = parse("sp(0.1) + ga(0.1) + rotation(30)")
    assert a + b + c == a + (b + c) == Sequence((a, b, c)) == long
    assert (a + b) + (c + a) == parse("sp(0.1) + ga(0.1) + rotation(30) + sp(0.1)")
    assert long.spec == "sp(0.1) + ga(mean=0.1, var=0.01) + rotation(30)"


def test_factors_follow_one_another_each_with_its_own_keys():
    x, keys = make_images(30, 10, 10) / np.float32(255), make_keys(30)
    whole = parse("ga(0.1) + sp(0.1) + rotation(30, bilinear)").bind(Bounds(0, 1, steps=255))
    step = x
    for i, factor in enumerate(whole.members):
        step = factor(step, fold(keys, i))
        on = step * 255
        assert np.abs(on - np.rint(on)).max() < 1e-4
    np.testing.assert_array_equal(whole(x, keys), step)
    assert not np.array_equal(fold(keys, 0), fold(keys, 1))


def test_two_of_the_same_fault_are_independent():
    found = corrupt(np.full((4000, 25), 0.5), "sp(0.3) + sp(0.3)", rng=0, bounds=(0, 1))
    hit = int((found != 0.5).sum())
    assert stats.binomtest(hit, found.size, 1 - 0.7**2).pvalue > 1e-4
    turned = corrupt(make_images(3, 9, 9), "rotation(90) + rotation(-90)", bounds=(0, 255))
    np.testing.assert_array_equal(turned, make_images(3, 9, 9))


@pytest.mark.parametrize("draws", ["independent", "ladder"])
def test_names_have_draws_of_their_own(draws):
    data = st.make_dataset(np.full((100, 8, 8), 0.5), np.arange(100) % 2, bounds=(0, 1))
    specs = ["sp(0.4)", "sp(0.4) as X", "sp(0.4) as Y", "sp(0.5) as X"]
    noise = [st.corrupted(data, spec, draws=draws).x - 0.5 for spec in specs]
    for i, j in ((0, 1), (0, 2), (1, 2), (1, 3)):
        together = np.corrcoef(noise[i].ravel(), noise[j].ravel())[0, 1]
        assert abs(together) < 5 / np.sqrt(noise[0].size)
    again = st.corrupted(data, "sp(0.4) as X", draws=draws).x
    np.testing.assert_array_equal(again - 0.5, noise[1])


def test_a_name_changes_nothing_but_the_draw():
    x, keys = make_images(10, 9, 9) / np.float32(255), make_keys(10)
    plain = parse("sp(0.1) + rotation(30)")
    named = Named(plain, "SP0.1RO30")
    np.testing.assert_array_equal(named.bind(UNIT)(x, keys), plain.bind(UNIT)(x, keys))
    assert named.ladder == named.spec == "sp(0.1) + rotation(30) as SP0.1RO30"
    assert parse("fog(3) as F").for_shape((32, 32, 3)).spec == "fog(3, cifar) as F"
    with pytest.raises(InputError, match="fog is for images"):
        parse("sp(0.1) + fog(3) as F").for_shape((7,))


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "-a", ".a", "a+b", "a as b", "a\n", "é", "a!", 3, None]
)
def test_bad_names_are_refused(name):
    with pytest.raises(
        InputError, match="^the name after as must be letters, digits.*, got "
    ) as caught:
        Named(Clean(), name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: parse("sp(0.1) as A") + parse("sp(0.1)"),
            "sp(0.1) as A has a name of its own and must stand alone, without +",
        ),
        (lambda: parse("sp(0.1)") + parse("sp(0.1) as A"), "sp(0.1) as A has a name of its own"),
        (
            lambda: Named(parse("sp(0.1) as A"), "B"),
            "sp(0.1) as A cannot be named; remove 'as NAME'",
        ),
        (
            lambda: parse("fog(1, published=F) + sp(0.1)"),
            "fog(1, published=F) is read from files and must stand alone, without +",
        ),
        (lambda: parse("sp(0.1) + fog(1, published=F)"), "is read from files"),
        (
            lambda: parse("fog(1, published=F) as A"),
            "fog(1, published=F) cannot be named; remove 'as NAME'",
        ),
        (lambda: parse("sp(0.1) as A + ga(0.1) as B"), "'sp(0.1) as A'"),
        (lambda: parse("sp(0.1) as A as B"), "'sp(0.1) as A'"),
        (lambda: parse("sp(0.1) as A!"), "the name after as must be letters, digits"),
        (lambda: parse("sp(0.1) + as A"), "spec must read name(argument, …), got ''"),
        (lambda: parse("as A"), "spec must read name(argument, …), got 'as A'"),
        (lambda: parse("sp(0.1) +"), "''"),
    ],
)
def test_what_cannot_be_put_together_is_refused(make, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        make()
    assert "\n" not in str(caught.value)


# --- grids ---


def test_a_grid_of_specs_holds_every_combination_once():
    found = grid(["sp(0.1)", "sp(0.2)"], ["rotation(30)"])
    assert found.names == (
        "clean",
        "rotation(30)",
        "sp(0.1)",
        "sp(0.1) + rotation(30)",
        "sp(0.2)",
        "sp(0.2) + rotation(30)",
        "rotation(30) + sp(0.1)",
        "rotation(30) + sp(0.2)",
    )
    assert (found.metric, found.k, found.part) == ("mcv", 1, "test")
    given = grid(["sp(0.1)", "sp(0.2)"], ["rotation(30)"], orders="given")
    assert given.names == found.names[:6]
    assert grid(["clean", "sp(0.10)", "sp(0.2)"], iter(["rotation(30)"])).names == found.names


@pytest.mark.parametrize("orders", ["all", "both", "given"])
def test_a_grid_of_three_factors(orders):
    labels = [
        {"S0": "", "S1": "sp(0.1)"},
        {"R0": "", "R1": "rotation(30)"},
        {"B0": "", "B1": "fog(1)", "B2": "fog(2)"},
    ]
    expected = {}
    for way in permutations(labels) if orders != "given" else [labels]:
        for chosen in product(*way):
            specs = [level[label] for level, label in zip(way, chosen, strict=True)]
            if any(specs):
                name = "".join(chosen)
                expected[name] = f"{' + '.join(filter(None, specs))} as {name}"
    assert len(expected) == 11 * (1 if orders == "given" else 6)
    levels = [{k: spec or "clean" for k, spec in one.items()} for one in labels]
    assert grid(*levels, orders=orders).names == ("clean", *expected.values())
    plain = grid(*([s for s in one.values() if s] for one in labels), orders=orders)
    orderless = {" + ".join(sorted(name.split(" + "))) for name in plain.names}
    assert len(orderless) == 12
    assert len(plain.names) == (12 if orders == "given" else 1 + 4 + 2 * 5 + 6 * 2)


def test_labels_without_one_for_clean_name_single_faults_once():
    found = grid({"S": "sp(0.1)"}, {"R": "rotation(30)"})
    assert found.names == (
        "clean",
        "rotation(30) as R",
        "sp(0.1) as S",
        "sp(0.1) + rotation(30) as SR",
        "rotation(30) + sp(0.1) as RS",
    )


def test_a_grid_runs_and_is_described():
    data = st.make_dataset(make_images(40, 8, 8), np.arange(40) % 2)
    found = grid(["sp(0.1)"], ["ga(0.1)"], title="mine", about="my faults")
    assert (found.name, str(found)[:11]) == ("mine", "my faults: ")
    assert found.needs_range
    assert "sp and ga, all orders" in str(grid(["sp(0.1)"], ["ga(0.1)"]))
    records = st.evaluate(lambda x: np.zeros(len(x), int), data, found)
    assert [c.corruption for c in records] == list(found.names)
    assert {c.k for c in records} == {1}


def test_levels_may_be_sequences_and_eps_min():
    found = grid(["sp(0.1) + ga(0.1)"], ["linf(eps_min)"], orders="given")
    assert found.names[-1] == "sp(0.1) + ga(mean=0.1, var=0.01) + linf(eps_min)"
    assert not grid(["jitter(1)"], ["missing(0.1)"]).needs_range


SP, GA = ["sp(0.1)"], ["ga(0.1)"]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (("sp(0.1)", GA), "must be a list of specs, got 'sp(0.1)'; write ['sp(0.1)']"),
        ((SP, {"G": "ga(0.1)"}), "must have labels for every factor, or for none; got both"),
        ((SP, []), "must be corruptions, each once, got []"),
        ((SP, ["clean"]), "must be corruptions, each once, got ['clean']"),
        ((SP * 2, GA), "must be corruptions, each once"),
        ((["sp(0.1) as A"], GA), "labels for every factor, or for none; got both"),
        ((SP, ["gaa(0.1)"]), "did you mean 'ga'"),
        (
            ({"A": "sp(0.1)"}, {"A": "ga(0.1)"}),
            "labels must give every set a unique name, got 'A' twice",
        ),
    ],
)
def test_what_is_no_grid_is_refused(levels, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        grid(*levels)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="did you mean 'both'"):
        grid(SP, GA, orders="boht")

"""One of several corruptions, drawn for every point."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hyp
from scipy import stats

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.core.keys import fold, row_keys, uniforms
from shaketable.core.spec import display_name
from shaketable.corruptions import Clean, Named, OneOf, PNormNoise, corrupt, parse
from shaketable.corruptions.corrupt import corrupt_array
from shaketable.corruptions.suites.suite import suite
from shaketable.data.bounds import Bounds

UNIT = Bounds(0.0, 1.0)
PARTS = ["linf(0.1)", "l2(1)", "l1(2, surface)", "l0(0.1)", "gaussian(0.1, mean=-2)", "clean"]
JOINED = hyp.lists(hyp.sampled_from(PARTS), min_size=1, max_size=3).map(" + ".join)
WEIGHTS = hyp.none() | hyp.floats(min_value=1e-3, max_value=1e6)
MIXED = [
    "2*l2(1) | l2(0.5) | linf(0.1) | linf(0.3) | l0(0.1) | 3*l0(0.3) | gaussian(0.1) | clean",
    "l0(0.1, uniform) | l0(0.2, uniform) | gaussian(0.2, mean=0.1) | gaussian(0.2) | sp(0.3)",
    "sp(0.1) + ga(0.1) | (rotation(30) | clean) + l1(3) | fog(3)",
    "sp(0.1) | l0(0.2) | l0(0.4) | rotation(30) | clean",
    "3*C2 | clean",
]


def keys(n, seed=7):
    return row_keys(seed, np.arange(n), np.arange(1))[:, 0]


def images(n=60, dtype=np.float32):
    levels = np.random.default_rng(0).integers(0, 256, (n, 8, 8, 3), np.uint8)
    return levels if dtype == np.uint8 else (levels / 255).astype(dtype)


def count(noise, n):
    """Return how many rows every part gets; parts are told apart by the size of their noise."""
    moved = np.abs(noise(np.zeros((n, 1)), keys(n))).ravel()
    return [int((moved == size).sum()) for size in (1, 2, 3)]


@pytest.mark.parametrize("weights", [(1, 1, 1), (3, 1, 1), (0.5, 0.25, 0.05)])
def test_parts_have_their_shares(weights):
    parts = tuple(PNormNoise(math.inf, size, "vertices") for size in (1, 2, 3))
    counts = count(OneOf(parts, weights), 6000)
    assert sum(counts) == 6000
    expected = np.array(weights) / sum(weights) * 6000
    assert stats.chisquare(counts, expected).pvalue > 1e-3


def test_the_choice_does_not_depend_on_what_the_parts_draw():
    n = 4000
    noise = parse("linf(1) | linf(1)")
    u = noise(np.zeros((n, 1)), keys(n)).ravel()
    first = np.isin(np.arange(n), next(noise.split(keys(n))).rows)  # both parts are one ladder
    assert first.all()
    part = np.abs(u - parse("linf(1)")(np.zeros((n, 1)), fold(keys(n), 0)).ravel()) == 0
    assert stats.kstest(u[part], stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert stats.kstest(u[~part], stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert abs(part.mean() - 0.5) < 0.05


def test_choices_and_keys_are_those_of_the_scheme():
    noise, chosen = parse("3*linf(1) | l2(1) | clean"), uniforms(fold(keys(300), -1), 1)[:, 0]
    part = np.searchsorted([0.6, 0.8], chosen, side="right")
    for share in noise.split(keys(300)):
        assert share.rows.tolist() == np.flatnonzero(part == share.number).tolist()
        assert (share.keys == fold(keys(300)[share.rows], share.number)).all()


@pytest.mark.parametrize("spec", MIXED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_row_is_that_of_one_part_alone(spec, dtype):
    x = images(dtype=dtype)
    noise = parse(spec).for_shape(x.shape[1:]).bind(UNIT)
    noisy, seen = noise(x, keys(60)), np.zeros(60, int)
    for i, part in enumerate(noise.members):
        alone = part(x, fold(keys(60), i))
        seen += (noisy == alone).all(axis=(1, 2, 3))
    assert (seen >= 1).all()
    ungrouped = np.empty_like(x)
    for share in noise.split(keys(60)):
        for row, key in zip(share.rows, share.keys, strict=True):
            sizes = {} if share.sizes is None else {"sizes": share.sizes[share.rows == row]}
            drawn = share.corruption.draw(x[[row]], key[None])
            ungrouped[row] = share.corruption.apply(x[[row]], drawn, **sizes)[0]
    assert ungrouped.tobytes() == noisy.tobytes()


@pytest.mark.parametrize("spec", MIXED)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_rows_depend_on_their_keys_alone(spec, dtype):
    x, bounds = images(dtype=dtype), Bounds(0, 1, steps=255 if dtype == np.uint8 else 0)
    noise = parse(spec).for_shape(x.shape[1:]).bind(bounds)
    noisy, some = corrupt_array(x, noise, keys(60), bounds), np.array([40, 3, 17])
    few = corrupt_array(x[some], noise, keys(60)[some], bounds)
    assert few.tobytes() == noisy[some].tobytes()


@pytest.mark.parametrize("spec", MIXED)
def test_uint8_is_corrupted_as_its_fractions(spec):
    x, bounds = images(dtype=np.uint8), Bounds(0, 1, steps=255)
    noise = parse(spec).for_shape(x.shape[1:]).bind(bounds)
    levels = corrupt_array(x, noise, keys(60), bounds)
    floats = noise((x / np.float32(255)).astype(np.float32), keys(60))
    assert levels.dtype == np.uint8
    np.testing.assert_array_equal(levels, np.rint(floats * 255).astype(np.uint8))
    assert corrupt(x, spec, rng=0).dtype == np.uint8


@pytest.mark.parametrize("spec", MIXED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_tensors_of_the_cpu_get_the_bytes_of_arrays(spec, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = images(20, dtype=dtype)
    noisy = corrupt(torch.from_numpy(x.copy()), spec, rng=0, bounds=(0, 1))
    assert noisy.numpy().tobytes() == corrupt(x, spec, rng=0, bounds=(0, 1)).tobytes()


def test_parts_keep_the_bounds_that_they_were_given():
    noise = PNormNoise(2, 1.0, bounds=UNIT) | PNormNoise(2, 1.0)
    noisy = noise(np.full((40, 2), 0.1), keys(40))
    outside = ((noisy < 0) | (noisy > 1)).any(axis=1)
    assert [share.corruption.bounds for share in noise.split(keys(40))] == [UNIT, None]
    assert 5 < outside.sum() < 30


@given(hyp.lists(hyp.tuples(WEIGHTS, JOINED), min_size=2, max_size=4), hyp.sampled_from(PARTS))
def test_specs_parse_back_to_themselves(parts, last):
    spec = " | ".join(part if w is None else f"{w!r}*({part})" for w, part in parts)
    for text in (spec, f"({spec}) + {last}", f"{last} | {last} + ({spec})", f"{spec} as NAME"):
        once = parse(text)
        assert parse(once.spec) == once
        assert parse(once.spec).spec == once.spec
    weights = np.array([1.0 if w is None else w for w, _ in parts])
    np.testing.assert_allclose(parse(spec).weights, weights / weights.min(), rtol=1e-11)


def test_only_the_ratio_of_weights_counts():
    plain = parse("l2(1) | clean")
    assert parse("1*l2(1) | 1*clean") == parse("2*l2(1) | 2*clean") == plain
    assert plain.spec == "l2(1) | clean"
    assert parse("0.3*l2(1) | 0.1*clean").spec == "3*l2(1) | clean"
    assert parse("l2(1)") | parse("l1(1)") | Clean() == parse("l2(1) | l1(1) | clean")
    assert parse("(l2(1) | l1(1)) | clean") == parse("l2(1) | (l1(1) | clean)")
    assert (parse("l2(1)") | Clean()) + parse("l1(1)") == parse("(l2(1) | clean) + l1(1)")
    assert (parse("l2(1)") + parse("l1(1)") | Clean()).spec == "l2(1) + l1(1) | clean"
    assert (parse("l2(1)") + "l1(1)" | "clean").spec == "l2(1) + l1(1) | clean"
    for join in (operator.add, operator.or_):
        with pytest.raises(InputError, match="^corruption must be a spec such as .* got 3$"):
            join(Clean(), 3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("3*l2(1)", "a weight is for one part of several"),
        ("3*l2(1) + l1(1) | clean", r"write 3\*a | b or 3\*\(a \+ b\)"),
        ("0*l2(1) | clean", "weight must be a positive number"),
        ("-1*l2(1) | clean", "weight must be a positive number"),
        ("x*l2(1) | clean", "weight must be a positive number, as in"),
        ("(3*l2(1) | clean) | l1(1)", "all weights must be given at one level"),
        ("2*(l2(1) | l1(1)) | clean", r"^a weight is for one part, .* 2\*l2\(1\) \| 2\*l1\(1\)$"),
        ("2*(l2(1) + l1(1) | clean) | l1(1)", r"as in 2\*\(l2\(1\) \+ l1\(1\)\) \| 2\*clean$"),
        ("linf(0.1) as A | l2(1)", "^a name is for a whole spec, got .* write linf.0.1. here, and"),
        ("l2(1) |", "must not be empty"),
        ("()", "must not be empty"),
        ("(l2(1)", "spec must read"),
        ("fog(3, published=CIFAR-10-C) | clean", "read from files and must stand alone"),
        ("lnf(1) | clean", "did you mean 'linf"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        parse(spec)


def test_names_and_wrong_numbers_of_weights_are_refused():
    with pytest.raises(InputError, match="has a name of its own"):
        OneOf((Named(Clean(), "A"), Clean()))
    with pytest.raises(InputError, match="two parts or more"):
        OneOf((Clean(),))
    for times in (lambda a: 3 * a, lambda a: a * 3):
        with pytest.raises(InputError, match="^weights must be written in a spec, got 3 times C1;"):
            times(parse("C1"))
    with pytest.raises(InputError, match="a weight for each"):
        OneOf((Clean(), Clean()), (1.0,))


def test_parts_of_a_table_get_the_columns_that_suit_them():
    frame = pytest.importorskip("pandas").DataFrame(
        {"age": np.arange(40.0), "town": ["a", "b"] * 20, "height": np.arange(40.0) ** 2}
    )
    data = st.make_dataset(frame, np.arange(40) % 2)
    noise = 'jitter(1, only="age") | swap(1) | linf(0.5) | missing(1, only="height")'
    changed = st.corrupted(data, noise, bounds=None).x != data.x
    changed |= np.isnan(st.corrupted(data, noise, bounds=None).x)
    patterns = {tuple(row) for row in changed.tolist()}
    assert {(True, False, False), (True, False, True)} <= patterns
    assert not any(town and (age or height) for age, town, height in patterns)
    with pytest.raises(InputError, match="must read|single corruptions"):
        parse('(l2(1) | l1(1))(only="age")')


def test_it_is_evaluated_like_any_corruption():
    data = np.random.default_rng(0).random((50, 2)), np.arange(50) % 2
    spec = "linf(0.1) | 2*l2(0.1)"
    records = st.evaluate(lambda x: np.arange(len(x)) % 2, data, spec, k=3, model_id="m")
    assert {record.corruption for record in records} == {"clean", spec}
    pictures = np.zeros((20, 28, 28), np.uint8), np.arange(20) % 2
    records = st.evaluate(lambda x: np.arange(len(x)) % 2, pictures, "C2", model_id="m")
    assert {record.corruption for record in records} == {"clean", "C2(784)"}


@pytest.mark.parametrize("name", ["C1", "C2", "C3"])
def test_named_sets_are_the_published_sizes(name):
    count, some = {"C1": (90, 10), "C2": (30, 10), "C3": (45, 5)}[name]
    for shape, profile in (((32, 32, 3), "cifar"), ((64, 64, 3), "tiny")):
        noise = parse(name).for_shape(shape)
        assert noise.spec == f"{name}({profile})"
        specs = [part.spec for part in noise.bind(UNIT).choice.members]
        published = suite(f"pnorm-{profile}").names
        kept = [s for i, s in enumerate(published) if i % 10 < some]
        kept = [s for s in kept if name != "C2" or s.startswith(("l0(", "l2(", "linf("))]
        assert specs == kept
        assert len(specs) == count
    noise = parse(name).for_shape((28, 28))
    assert parse(noise.spec) == noise
    derived = suite("pnorm").on((28, 28), Bounds(0, 16)).names
    assert {part.spec for part in noise.bind(Bounds(0, 16)).choice.members} <= {*derived}


def test_named_sets_say_what_they_need():
    with pytest.raises(InputError, match="C1.* needs a finite value range"):
        corrupt(np.zeros((2, 5)), "C1", rng=0)
    for sizes in ("imagenet", "0", "-3"):
        with pytest.raises(InputError, match="takes cifar, tiny, or the number"):
            parse(f"C1({sizes})")
    with pytest.raises(InputError, match="C2 takes the name"):
        parse("C2(cifar, 3)")


def test_two_factor_training_sets_have_names():
    sets = suite("two-factor-train").names
    assert len(sets) == 9
    for spec in sets:
        assert parse(display_name(spec)) == parse(spec)
    assert parse("SP0.1 | RL30 + GA0.1").spec == "sp(0.1) | rotation(-30) + ga(mean=0.1, var=0.01)"
    with pytest.raises(InputError, match="takes no arguments"):
        parse("RL30(2)")

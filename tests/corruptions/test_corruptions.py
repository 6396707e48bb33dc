import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm, pnorm_level
from shaketable.corruptions import (
    Clean,
    Gaussian,
    Impulse,
    PNormNoise,
    Sequence,
    corrupt,
    noisy_copies,
    parse,
)
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds


def draw(noise, *, n, d, centre=0.0, seed=0):
    keys = row_keys(seed, np.arange(n), np.arange(1))[:, 0]
    return noise(np.full((n, d), centre), keys) - centre


def test_clip_and_truncate_shift_the_mean_as_their_laws_say():
    n, at_edge = 40_000, {}
    for rule in ("clip", "truncate"):
        noise = PNormNoise(math.inf, 0.1, bounds=Bounds(0, 1, rule))
        at_edge[rule] = draw(noise, n=n, d=1)
        assert at_edge[rule].min() >= 0
    # uniform on [-0.1, 0.1] clipped at 0: mean 0.025, sd 0.0323; uniform on [0, 0.1]: 0.05, 0.0289
    assert at_edge["clip"].mean() == pytest.approx(0.025, abs=4 * 0.0323 / math.sqrt(n))
    assert at_edge["truncate"].mean() == pytest.approx(0.05, abs=4 * 0.0289 / math.sqrt(n))


@pytest.mark.parametrize("p", [1, 2])
def test_truncated_noise_is_uniform_in_ball_and_box(p):
    # from a corner of the box a quarter of the disc is left: radius**2 stays uniform
    delta = draw(PNormNoise(p, 0.5, bounds=Bounds(0, 1, "truncate")), n=4000, d=2)
    assert delta.min() >= 0
    assert stats.kstest((pnorm(delta, p) / 0.5) ** 2, "uniform").pvalue > 1e-3


def test_truncation_is_refused_where_it_cannot_be_sampled():
    noise = PNormNoise(2, 0.1, bounds=Bounds(0, 1, "truncate"))
    with pytest.raises(InputError, match="at most 8 dimensions"):
        draw(noise, n=2, d=9, centre=0.5)
    with pytest.raises(InputError, match="hardly ever"):
        draw(PNormNoise(2, 1e6, bounds=Bounds(0, 1, "truncate")), n=1, d=8, centre=0.5)
    with pytest.raises(InputError, match="lie in the bounds"):
        draw(noise, n=2, d=2, centre=1.5)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "linf({})",
                    "l1({})",
                    "l0.5({}, surface)",
                    "linf({}, vertices)",
                    "gaussian({})",
                    "gaussian({}, mean=-2)",
                    "l2(epsilon={})",
                ]
            ),
            st.floats(min_value=0, max_value=1e300, allow_nan=False),
        )
        | st.tuples(
            st.sampled_from(["l0({})", "l0({}, uniform)", "l0(to=uniform, share={})"]),
            st.floats(min_value=0, max_value=1),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_specs_parse_back_to_themselves(parts):
    spec = " + ".join(form.format(repr(size)) for form, size in parts)
    once = parse(spec)
    assert parse(once.spec) == once
    assert parse(once.spec).spec == once.spec


def test_a_sequence_applies_its_factors_in_order_with_their_own_noise():
    x = np.zeros((500, 3))
    both = corrupt(x, "linf(1) + linf(1)", rng=0)
    # a sum of two independent uniforms on [-1, 1] is triangular on [-2, 2]
    assert stats.kstest(both.ravel(), stats.triang(0.5, loc=-2, scale=4).cdf).pvalue > 1e-3
    assert isinstance(parse("linf(1) + l2(1)"), Sequence)
    assert corrupt(x, "linf(5) + linf(5)", rng=0, bounds=(0, 1)).max() <= 1


def test_corrupt_leaves_its_input_alone_and_follows_its_seed():
    x = np.arange(6.0).reshape(3, 2)
    kept = x.copy()
    noisy = corrupt(x, "linf(0.1)", rng=0)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(noisy, corrupt(x, "linf(0.1)", rng=0))
    assert not np.array_equal(noisy, corrupt(x, "linf(0.1)", rng=1))
    assert noisy.max() > 5 - 0.1
    copy = corrupt(x, "clean")
    copy += 1
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_and_shapes_are_kept(dtype):
    x = np.zeros((4, 3, 2), dtype)
    noisy = corrupt(x, "l2(1)", rng=0)
    assert noisy.dtype == dtype
    assert noisy.shape == x.shape


def test_noisy_copies_do_not_depend_on_how_they_are_batched():
    keys = row_keys(3, np.arange(5), np.arange(4))
    x = np.random.default_rng(0).normal(size=(5, 2))
    noise = parse("l1(0.5)")
    whole = noisy_copies(noise, x, keys).reshape(5, 4, 2)
    np.testing.assert_array_equal(noisy_copies(noise, x[3:], keys[3:, 1:2]), whole[3:, 1])


def test_eps_min_is_looked_up_in_the_norm_of_the_noise():
    assert parse("l2(eps_min)", eps_min=lambda p: p / 10).spec == "l2(0.2)"
    assert isinstance(parse("clean"), Clean)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lnf(0.1)", "did you mean 'linf"),
        ("linf", "takes epsilon"),
        ("linf(1, 2)", "unknown kind of p-norm noise '2.0'"),
        ("linf(1, surfce)", "did you mean 'surface'"),
        ("l2(1, vertices)", "for p = inf"),
        ("linf(1, surface, 2)", "takes epsilon"),
        ("linf(1, epsilon=2)", "takes epsilon"),
        ("linf(epsilon=1, epsilon=2)", "twice"),
        ("linf(size=1)", "takes epsilon"),
        ("l0(1.5)", r"share must lie in \[0, 1\]"),
        ("l0(nan)", r"share must lie in \[0, 1\]"),
        ("l0(0.1, low)", "unknown replacement"),
        ("l0(eps_min)", "share must be a number"),
        ("gaussian(-1)", "sigma must be 0 or more"),
        ("gaussian(1, mean=inf)", "mean must be a finite number"),
        ("gaussian(1, mean=up)", "mean must be"),
        ("linf(big)", "epsilon must be a number"),
        ("linf(-1)", "epsilon must be 0 or more"),
        ("linf(nan)", "epsilon must be 0 or more"),
        ("linf(eps_min)", "known only where data are"),
        ("linf(0.1", "spec must read"),
        ("linf(,)", "empty argument"),
        ("", "must not be empty"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        parse(spec)


def test_integers_come_back_as_floats_or_rounded_to_themselves():
    x = np.arange(256, dtype=np.uint8).reshape(64, 4)
    noisy = corrupt(x, "linf(9)", rng=0, bounds=(0, 255))
    assert noisy.dtype == np.float32
    rounded = corrupt(x, "linf(9)", rng=0, bounds=(0, 255), dtype=np.uint8)
    assert rounded.dtype == np.uint8
    np.testing.assert_array_equal(rounded, np.rint(noisy))
    assert corrupt(x.astype(np.int64), "linf(9)", rng=0, bounds=(0, 255)).dtype == np.float64


def test_the_result_can_be_written_to_an_array_such_as_the_input():
    x = np.ones((5, 3), np.float32)
    wanted = corrupt(x, "l2(1)", rng=0)
    assert corrupt(x, "l2(1)", rng=0, out=x) is x
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.zeros((0, 2)), {}, "at least one point"),
        (np.zeros(()), {}, "one per row"),
        (np.zeros((2, 2), np.uint8), {}, "their range must be declared"),
        (np.zeros((2, 2), np.uint8), {"bounds": (0, 9), "dtype": np.int16}, "float type or that"),
        (np.zeros((2, 2)), {"dtype": np.uint8}, "float type or that"),
        (np.zeros((2, 2), complex), {}, "real numbers"),
        (np.zeros((2, 2), bool), {}, "real numbers"),
        (np.zeros((2, 2)), {"out": np.zeros(2)}, "out must be like x"),
        (np.zeros((2, 2)), {"out": [1]}, "out must be like x"),
        (np.zeros((2, 2)), {"out": np.zeros((2, 2), int)}, "float type or that"),
        (np.zeros((2, 2)), {"dtype": "bogus"}, "number type"),
        (np.zeros((2, 2)), {"rng": "a"}, "rng must be"),
        (np.zeros((2, 2)), {"rng": 1.5}, "rng must be"),
        (np.zeros((2, 2)), {"bounds": (0, 1, 2)}, "two numbers"),
        (np.zeros((2, 2)), {"bounds": "01"}, "two numbers"),
        (np.zeros((2, 2), np.uint8), {"bounds": (-50, 255), "dtype": np.uint8}, "narrow them"),
        (np.zeros((2, 2), np.uint8), {"bounds": (0, 1000), "dtype": np.uint8}, "narrow them"),
    ],
)
def test_what_cannot_be_corrupted_is_refused(x, options, message):
    with pytest.raises(InputError, match=message):
        corrupt(x, "linf(1)", **options)


def test_an_integer_output_is_rounded_to():
    x = np.full((20, 3), 7, np.uint8)
    asked = corrupt(x, "linf(3)", rng=0, bounds=(0, 255), dtype=np.uint8)
    np.testing.assert_array_equal(corrupt(x, "linf(3)", rng=0, bounds=(0, 255), out=x), asked)
    with pytest.raises(InputError, match="corrupted"):
        corrupt(make_dataset(x, [0, 1] * 10), "linf(1)")


@pytest.mark.parametrize(
    "make",
    [
        lambda: PNormNoise("2", 1), lambda: PNormNoise(2, None), lambda: Impulse("1"),
        lambda: Gaussian(None), lambda: Gaussian(1, "up"), lambda: parse(3),
        lambda: corrupt(np.zeros((1, 1)), 3), lambda: corrupt(np.zeros((1, 1)), "clean(1)"),
    ],
)  # fmt: skip
def test_arguments_that_are_no_numbers_are_refused(make):
    with pytest.raises(InputError, match="must|takes nothing"):
        make()


@pytest.mark.parametrize("p", [1e-5, 1e-300, 1e16, 1e300])
def test_orders_that_need_an_exponent_have_specs(p):
    noise = PNormNoise(p, 1e-9)
    assert parse(noise.spec) == noise
    assert pnorm_level(noise.spec) == (p, 1e-9)


@pytest.mark.parametrize("p", [0, -1, math.nan])
def test_orders_that_are_none_are_refused(p):
    with pytest.raises(InputError, match="p must be positive"):
        PNormNoise(p, 1)


def test_impulses_need_a_range():
    with pytest.raises(InputError, match="none that is finite"):
        corrupt(np.zeros((2, 2)), "l0(0.5)")


@pytest.mark.parametrize("ladder", ["l{}({})", "l{}({}, surface)"])
@pytest.mark.parametrize("p", [0.5, 2, "inf"])
def test_the_levels_of_a_ladder_scale_one_draw(p, ladder):
    keys = row_keys(0, np.arange(20), np.arange(1))[:, 0]
    x = np.zeros((20, 7))
    weak, strong = (parse(ladder.format(p, size)) for size in (0.1, 3))
    assert weak.ladder == strong.ladder != weak.spec
    drawn = max(weak, strong, key=lambda c: c.size).draw(x, keys)
    np.testing.assert_array_equal(weak.apply(x, drawn), weak(x, keys))
    np.testing.assert_allclose(strong.apply(x, drawn), 30 * weak.apply(x, drawn), rtol=1e-12)


@pytest.mark.parametrize("to", ["extremes", "uniform"])
def test_the_levels_of_impulse_noise_are_nested(to):
    keys = row_keys(0, np.arange(50), np.arange(1))[:, 0]
    x = np.zeros((50, 40))
    levels = [parse(f"l0({share}, {to})").bind(Bounds(-1, 1)) for share in (0.1, 0.3, 1)]
    drawn = levels[-1].draw(x, keys)
    few, more, every = (level.apply(x, drawn) for level in levels)
    np.testing.assert_array_equal(few, levels[0](x, keys))
    np.testing.assert_array_equal(few[few != 0], more[few != 0])
    np.testing.assert_array_equal(more[more != 0], every[more != 0])
    assert (every != 0).all()


@pytest.mark.parametrize("spec", ["l0.3(1)", "l2(1)", "linf(1)", "l0(0.4)", "gaussian(1)"])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_threads_batches_and_order_change_nothing(spec, n):
    # 300 rows of 3072 values are shared among threads, one alone is not
    keys = row_keys(1, np.arange(300), np.arange(1))[:, 0]
    noise = parse(spec).bind(Bounds(-5, 5))
    x = np.zeros((300, 3072), np.float32)
    whole = noise(x, keys)
    backwards = np.arange(300)[::-1][:n]
    np.testing.assert_array_equal(noise(x[:n], keys[backwards]), whole[backwards])


def test_float32_noise_is_the_rounded_float64_noise():
    for spec in ("l0.5(1)", "l2(1, surface)", "l200(1)", "linf(1)", "gaussian(1)"):
        double, single = (corrupt(np.zeros((9, 5), t), spec, rng=0) for t in (float, np.float32))
        np.testing.assert_array_equal(single, double.astype(np.float32))


def test_bad_bounds_are_refused():
    with pytest.raises(InputError, match="low < high"):
        corrupt(np.zeros((1, 1)), "linf(1)", bounds=(1, 0))
    with pytest.raises(InputError, match="did you mean 'clip'"):
        Bounds(0, 1, "clp")


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ("l0.5(1)", [-0.2916501721458044, 0.009448490839922115, -0.09131577205648658]),
        ("l2(1)", [-0.8491848429662623, 0.20398759120164933, -0.12707095284807746]),
        ("linf(1)", [0.3199654883401466, 0.2256359027483399, -0.8670796967742114]),
        ("l200(1, surface)", [-0.9999999999540364, 0.911627081285239, -0.10118853175835155]),
        ("gaussian(1)", [-1.1093688465126468, 0.2664878920398462, -0.16600456020142978]),
        ("l0(0.5)", [0, 9, 9]),
    ],
)
def test_noise_is_pinned(spec, numbers):
    # another value here means that all noise has changed: after a release, raise keys.SCHEME
    noisy = corrupt(np.zeros((1, 3)), spec, rng=0, bounds=(-9, 9))
    np.testing.assert_allclose(noisy[0], numbers, rtol=1e-12)

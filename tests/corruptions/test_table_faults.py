"""Faults of tables against their laws."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import shaketable as st
from helpers.images import make_keys
from shaketable.core.errors import InputError
from shaketable.corruptions import Jitter, Missing, Rescaling, corrupt, parse
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns

TYPES = ["float32", "float64"]
MEANS, SPREADS = np.array([0.0, 10.0, -300.0, 7.0, 1e-3]), np.array([1.0, 0.1, 50.0, 0.0, 1e-4])


def holds(law, p_value):
    assert p_value > 1e-4, f"{law} does not hold: p = {p_value:.2g}"


def table(n=2000, dtype="float64", seed=0):
    """Columns of unlike scales, one of them constant."""
    noise = np.random.default_rng(seed).normal(size=(n, len(MEANS)))
    return (MEANS + SPREADS * noise).astype(dtype)


def uncorrelated(noise):
    flat = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    assert np.abs(np.corrcoef(flat.T) - np.eye(flat.shape[1])).max() < 5 / math.sqrt(len(flat))
    assert abs((flat[1:] * flat[:-1]).mean()) < 5 / math.sqrt(flat[1:].size)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [0.1, 0.5, 2])
def test_jitter_is_normal_and_as_wide_as_its_column_says(size, dtype):
    x = table(8000, dtype)
    found = corrupt(x, f"jitter({size})", rng=0)
    assert found.dtype == dtype
    noise = found.astype(float) - x
    assert (noise[:, 3] == 0).all()
    moving = [0, 1, 2, 4]
    widths = size * x[:, moving].astype(float).std(axis=0)
    for column, width in zip(noise[:, moving].T, widths, strict=True):
        # numbers of float32 are 1e-5 apart at 300
        holds("the law", stats.kstest(column, stats.norm(0, width).cdf).pvalue)
        assert column.std() == pytest.approx(width, rel=4 / math.sqrt(2 * len(column)))
    uncorrelated(noise[:, moving])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("share", [0, 0.01, 0.3, 1])
def test_missing_values_are_a_share_and_become_the_mean_of_their_column(share, dtype):
    x = table(8000, dtype)
    found = corrupt(x, f"missing({share})", rng=0)
    assert found.dtype == dtype
    hit = found != x
    hit[:, 3] = False  # nothing to see in a constant column
    means = np.broadcast_to(x.mean(axis=0, dtype=float).astype(dtype), x.shape)
    np.testing.assert_array_equal(found[hit], means[hit])
    holds("the share", stats.binomtest(int(hit.sum()), 4 * len(x), share).pvalue)
    if 0 < share < 1:
        for column in hit.T[[0, 1, 2, 4]]:
            holds("the share", stats.binomtest(int(column.sum()), len(x), share).pvalue)
        uncorrelated(hit[:, [0, 1, 2, 4]].astype(float))


def test_what_a_lower_share_hits_a_higher_one_hits_likewise():
    x, keys = table(200), make_keys(200)
    drawn = Missing(1).draw(x, keys)
    few, more, every = (
        Missing(share).for_columns(Columns(lambda: x)).apply(x, drawn) for share in (0.1, 0.3, 1)
    )
    np.testing.assert_array_equal(more[few != x], few[few != x])
    assert (few != x).sum() < (more != x).sum() < (every != x).sum()
    assert (every == every[0]).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_a_wrong_scale_multiplies(dtype):
    x = table(50, dtype)
    for factor in (0.8, 1.2, -1, 0):
        expected = x * np.asarray(factor, dtype)
        np.testing.assert_array_equal(corrupt(x, f"scaling({factor})"), expected)
    np.testing.assert_array_equal(corrupt(x, "scaling(1)"), x)


@pytest.mark.parametrize(
    "spec", ["jitter(3)", "missing(0.5)", "scaling(9)", "jitter(1) + scaling(2)"]
)
def test_declared_bounds_hold(spec):
    x = np.random.default_rng(0).random((500, 4))
    found = corrupt(x, spec, rng=0, bounds=(0, 1))
    free = corrupt(x, spec, rng=0)
    assert found.min() >= 0
    assert found.max() <= 1
    if "+" not in spec:
        np.testing.assert_array_equal(found, free.clip(0, 1))


def test_whole_numbers_stay_whole_and_sizes_are_in_their_units():
    x = np.random.default_rng(0).integers(0, 200, (4000, 2))
    for spec in ("jitter(0.1)", "missing(0.4)", "scaling(1.1)"):
        found = corrupt(x, spec, rng=0, bounds=(0, 1000), dtype=x.dtype)
        assert found.dtype == x.dtype
    moved = corrupt(x, "jitter(0.1)", rng=0, bounds=(-1000, 1000)) - x
    np.testing.assert_array_equal(moved, np.rint(moved))
    # rounding adds a variance of 1/12
    expected = math.sqrt((0.1 * x[:, 0].std()) ** 2 + 1 / 12)
    assert moved[:, 0].std() == pytest.approx(expected, rel=0.05)


def split_table():
    """A training part of small values, and a test part of large ones."""
    rng = np.random.default_rng(1)
    x = np.vstack([rng.normal(1, 0.5, (300, 3)), rng.normal(100, 20, (300, 3))])
    return x, st.make_dataset(x, np.arange(600) % 2, n_train=300)


def test_columns_are_those_of_the_training_part():
    x, data = split_table()
    train = x[:300]
    gone = st.corrupted(data, "missing(1)").x
    np.testing.assert_allclose(gone, np.broadcast_to(train.mean(axis=0), gone.shape))
    noise = st.corrupted(data, "jitter(1)").x - x
    np.testing.assert_allclose(noise[300:].std(axis=0), train.std(axis=0), rtol=0.2)
    whole = st.make_dataset(x, np.arange(600) % 2)
    gone = st.corrupted(whole, "missing(1)").x
    np.testing.assert_allclose(gone, np.broadcast_to(x.mean(axis=0), gone.shape))
    noise = st.corrupted(whole, "jitter(1)").x - x
    np.testing.assert_allclose(noise.std(axis=0), x.std(axis=0), rtol=0.2)


def test_a_model_meets_these_columns_too():
    x, data = split_table()
    seen = []

    def model(points):
        seen.append(points.copy())
        return np.zeros(len(points), int)

    records = st.evaluate(model, data, ["jitter(0.2) + missing(0.1)", "missing(1) as GONE"], k=2)
    assert [c.corruption for c in records] == [
        "clean",
        "jitter(0.2) + missing(0.1)",
        "missing(1) as GONE",
    ]
    clean, both, gone = seen
    np.testing.assert_array_equal(clean, x[300:])
    np.testing.assert_allclose(gone, np.broadcast_to(x[:300].mean(axis=0), gone.shape))
    means = np.isclose(both, x[:300].mean(axis=0), rtol=1e-12)
    holds("the share", stats.binomtest(int(means.sum()), means.size, 0.1).pvalue)
    moved = (both - np.repeat(x[300:], 2, axis=0))[~means.any(axis=1)]
    np.testing.assert_allclose(moved.std(axis=0), 0.2 * x[:300].std(axis=0), rtol=0.2)


def test_the_suite_for_tables_runs():
    _, data = split_table()
    suite = st.suite("two-factor-table")
    records = st.evaluate(lambda x: (x[:, 0] > 50).astype(int), data, suite)
    assert [c.corruption for c in records] == list(suite.names)
    assert {c.k for c in records} == {1}


@pytest.mark.parametrize("spec", ["jitter(0.1)", "missing(0.1)", "missing(0.1) + jitter(1)"])
def test_without_columns_it_says_what_to_do(spec):
    x, keys = table(5), make_keys(5)
    with pytest.raises(
        InputError, match="columns .* must be known first, got none; use corrupt"
    ) as caught:
        parse(spec)(x, keys)
    assert "\n" not in str(caught.value)
    other = parse(spec).for_columns(Columns(lambda: x[:, :2]))
    with pytest.raises(InputError, match="got 2 for 5"):
        other(x, keys)


@pytest.mark.parametrize("spec", ["jitter(0.1)", "missing(0.1) as M", "jitter(1, only=2) + l2(1)"])
def test_one_row_has_no_columns_to_go_by(spec):
    with pytest.raises(InputError, match="of which one row shows nothing; give two rows"):
        corrupt(np.ones((1, 5)), spec)
    assert np.isnan(corrupt(np.ones((1, 5)), "missing(1, empty)")).all()
    assert corrupt(np.ones((1, 5)), 'linf(0.1, only="2") | sp(0.1)', bounds=(0, 1)).shape == (1, 5)


def test_a_frame_gets_gaps_and_an_array_means():
    frame = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0) ** 2})
    for spec in ("missing(0.4)", 'missing(0.4, only="b")', "clean + missing(0.4)"):
        holes = corrupt(frame, spec, rng=0)
        assert 10 < np.isnan(holes).sum() < 80
        filled = corrupt(frame, spec.replace("0.4", "0.4, mean"), rng=0)
        assert np.isfinite(filled).all()
    array = corrupt(frame.to_numpy(), "missing(0.4)", rng=0)
    assert np.isin(array[array != frame], frame.mean()).all()


def test_gaps_are_for_floats():
    x = np.full((3, 64), 9, np.uint8)
    with pytest.raises(InputError, match="leaves values empty, which uint8 cannot hold; convert"):
        corrupt(x, "missing(0.5, empty)")
    assert np.isnan(corrupt(x, "missing(1, empty)", dtype="float32")).all()


def test_half_precision_has_columns():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.tensor([[0.0, 2.0], [4.0, 6.0]], dtype=torch.bfloat16)
    assert corrupt(x, "missing(1)").tolist() == [[2, 4], [2, 4]]
    assert corrupt(x, "jitter(1)", rng=0).dtype == torch.bfloat16


def test_columns_are_those_of_the_data_unless_it_is_called_itself():
    x, keys = table(100), make_keys(100)
    fitted = Jitter(0.1).for_columns(Columns(lambda: np.zeros((3, 5))))
    np.testing.assert_array_equal(fitted(x, keys), x)
    # results are known by the data and the spec, so that other columns must not slip in
    np.testing.assert_array_equal(corrupt(x, fitted, rng=0), corrupt(x, "jitter(0.1)", rng=0))
    assert fitted == Jitter(0.1)


@pytest.mark.parametrize(
    "spec", ["jitter(0.5)", "missing(0.3)", "scaling(1.1)", "missing(0.3) + jitter(1)"]
)
@pytest.mark.parametrize("dtype", TYPES)
def test_tensors_get_the_bytes_of_arrays(spec, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = table(40, dtype)
    found = corrupt(torch.from_numpy(x.copy()), spec, rng=0)
    assert found.numpy().tobytes() == corrupt(x, spec, rng=0).tobytes()


@pytest.mark.parametrize("spec", ["jitter(0.5)", "missing(0.3)", "missing(0.3) + jitter(1)"])
def test_a_row_depends_on_its_key_alone(spec):
    x, keys = table(64), make_keys(64)
    corruption = parse(spec).for_columns(Columns(lambda: x)).bind(Bounds(-1e3, 1e3))
    some = np.array([40, 3, 17])
    np.testing.assert_array_equal(corruption(x[some], keys[some]), corruption(x, keys)[some])


def test_noise_is_pinned():
    # another value here means that all noise has changed: after a release, raise keys.SCHEME
    x = np.array([[0.0, 2.0], [4.0, 6.0]])
    first = [-2.2187376930252936, 2.5329757840796923]
    np.testing.assert_allclose(corrupt(x, "jitter(1)", rng=0)[0], first, rtol=1e-12)
    np.testing.assert_array_equal(corrupt(x, "missing(0.5)", rng=0), [[2, 2], [2, 6]])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("jitter(-1)", "deviations must be 0 or more and finite, got -1.0"),
        ("jitter(inf)", "deviations must be 0 or more"),
        ("missing(1.1)", "share must lie in [0, 1], 0.1 for 10 %, got 1.1"),
        ("missing", "takes share"),
        ("scaling(nan)", "factor must be a finite number"),
        ("scaling(1, 2)", "takes factor"),
        ("scalign(1)", "did you mean 'scaling'"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse(spec)


def test_specs_are_canonical():
    assert [c.spec for c in (Jitter(1), Missing(0.5), Rescaling(2))] == [
        "jitter(1)",
        "missing(0.5)",
        "scaling(2)",
    ]
    assert Jitter(1).ladder == Jitter(2).ladder
    assert (Rescaling(0.9).size, Rescaling(1.2).size) == pytest.approx((0.1, 0.2))

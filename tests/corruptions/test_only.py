"""Corruptions of some columns: the others keep their bytes, these get the noise of their own."""

import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.core.spec import join_names, split_names
from shaketable.corruptions import Only, corrupt, parse
from shaketable.corruptions.compose import Sequence
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.copies import corrupted

X = np.random.default_rng(0).normal(size=(40, 4))
NAMES = ("age", "net income", "rate, in %", 'a "b" (c) + d=e')


@pytest.fixture
def data():
    return make_dataset(X, np.arange(40) % 2, name="table", features=NAMES)


@pytest.mark.parametrize("spec", ["linf(0.1", "l2(1, surface", "gaussian(0.2", "jitter(0.5"])
def test_other_columns_keep_their_bytes(data, spec):
    noisy = corrupted(data, f'{spec}, only="age,{NAMES[1]}")').x
    assert (noisy[:, :2] != X[:, :2]).all()
    assert noisy[:, 2:].tobytes() == X[:, 2:].tobytes()


def test_the_noise_is_that_of_a_table_of_these_columns():
    alone = corrupt(X[:, [1, 3]], "l2(1) + missing(0.3)", rng=5)
    among = corrupt(X, 'l2(1, only="1,3") + missing(0.3, only="3,1")', rng=5)
    np.testing.assert_array_equal(among[:, [1, 3]], alone)


@pytest.mark.parametrize("names", [NAMES, (" lead", "trail "), ("back\\slash", "\\,", '"')])
def test_any_name_is_read_back_from_a_spec(names):
    assert split_names(join_names(names)) == names
    corruption = Only(parse("l2(1)"), names)
    for spec in (corruption.spec, f"{corruption.spec} + linf(0.1)", f"{corruption.spec} as A1"):
        assert parse(spec).spec == spec
    assert parse(corruption.spec) == corruption


def test_levels_of_a_ladder_share_one_draw(data):
    small, large = (
        corrupted(data, f"linf({size}, only=age)", draws="ladder").x - X for size in (0.1, 0.2)
    )
    np.testing.assert_allclose(large, 2 * small, atol=1e-12)


def test_records_have_the_columns_in_their_spec(data):
    records = st.evaluate(
        lambda x: (x[:, 0] > 0).astype(int), data, ["linf(0.5, only=age)", "linf(0.5, only=age)"]
    )
    assert [r.corruption for r in records] == ["clean", 'linf(0.5, only="age")']


def test_columns_of_a_frame_have_their_names():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
    noisy = corrupt(frame, 'l2(1, only="net income")', rng=1)
    np.testing.assert_array_equal(noisy, corrupt(X, 'l2(1, only="1")', rng=1))
    with pytest.raises(InputError, match="^unknown column '0'; .* age"):
        corrupt(frame, "l2(1, only=0)")


def test_tensors_get_the_bytes_of_arrays():
    torch = pytest.importorskip("torch", reason="torch is an optional package")
    spec = 'l2(1, only="0,2")'
    tensor = corrupt(torch.from_numpy(X), spec, rng=1)
    np.testing.assert_array_equal(tensor.numpy(), corrupt(X, spec, rng=1))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("linf(0.1, only=agee)", "did you mean"),
        ('linf(0.1, only="")', "must name a column"),
        ("fog(3, only=age)", "for images"),
    ],
)
def test_messages(data, spec, message):
    with pytest.raises(InputError, match=message):
        corrupted(data, spec)


def test_only_is_for_one_corruption_and_one_table():
    with pytest.raises(InputError, match="each factor"):
        Only(Sequence((parse("l2(1)"), parse("l1(1)"))), ("age",))
    with pytest.raises(InputError, match="leave only= out"):
        corrupt(np.zeros((2, 8, 8)), "linf(0.1, only=0)")
    with pytest.raises(InputError, match="must be known first"):
        parse("linf(0.1, only=age)")(X, np.arange(40, dtype=np.uint64))

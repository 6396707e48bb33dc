import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.evaluation.copies import corrupted, write


@pytest.fixture
def pictures():
    x = np.random.default_rng(0).integers(256, size=(30, 4, 4, 3), dtype=np.uint8)
    return st.make_dataset(x, np.arange(30) % 3, name="pictures", n_train=20)


def test_a_copy_holds_what_evaluate_shakes_with(pictures):
    seen = []

    def model(x):
        seen.append(x)
        return np.zeros(len(x), int)

    st.evaluate(model, pictures, ["l2(0.5)"], k=1, seed=3)
    copy = corrupted(pictures, "l2(0.5)", seed=3)
    np.testing.assert_array_equal(copy.x[20:], seen[-1])
    assert copy.x.dtype == np.float32
    assert 0 <= copy.x.min() <= copy.x.max() <= 1


def test_copies_do_not_depend_on_batches(pictures, monkeypatch):
    whole = corrupted(pictures, "l1(2)").x
    monkeypatch.setattr("shaketable.evaluation.copies.BATCH_VALUES", 100)
    np.testing.assert_array_equal(corrupted(pictures, "l1(2)").x, whole)


def test_an_npz_copy_reads_back_with_its_parts(pictures, tmp_path):
    copy = corrupted(pictures, "l0(0.2)", seed=1)
    path = write(tmp_path / "c.npz", copy, corruption="l0(0.2)", seed=1)
    back = st.load(path)
    assert back.n_train == 20
    np.testing.assert_array_equal(back.x, copy.x)
    np.testing.assert_array_equal(back.labels, copy.labels)
    with np.load(path) as archive:
        assert str(archive["corruption"]) == "l0(0.2)"
    rounded = st.load(write(tmp_path / "u.npz", copy, as_uint8=True))
    assert rounded.x.dtype == np.uint8
    assert np.abs(rounded.rows(slice(None)) - copy.x).max() <= 0.5 / 255 + 1e-6


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_table_reads_back_in_raw_units(ending, tmp_path):
    iris = st.load("iris")
    copy = corrupted(iris.scaled(), "linf(0.01)", bounds=None)
    back = st.load(write(tmp_path / f"iris{ending}", copy, label="kind"), label="kind")
    assert back.features == iris.features
    np.testing.assert_array_equal(back.labels, iris.labels)
    moved = np.abs(back.x - iris.x) / np.ptp(iris.x, axis=0)
    assert 0.009 < moved.max() <= 0.01 + 1e-12


def test_eps_min_is_measured():
    data = st.load("bands(n=200)")
    half = st.separation(data).epsilon_min
    moved = np.abs(corrupted(data, "linf(eps_min)").x - data.x)
    assert 0.9 * half < moved.max() <= half


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("c.txt", {}, "did you mean|Known"),
        ("c.csv", {}, "one table"),
        ("nowhere/c.npz", {}, "cannot be written"),
        ("c.csv", {"as_uint8": True}, "needs values in"),
    ],
)
def test_what_cannot_be_written_is_refused(pictures, tmp_path, name, options, message):
    with pytest.raises(InputError, match=message):
        write(tmp_path / name, corrupted(pictures, "clean"), **options)


def test_a_label_that_is_a_feature_is_refused(tmp_path):
    data = st.load("iris")
    with pytest.raises(InputError, match="name of a feature"):
        write(tmp_path / "c.csv", data, label=data.features[0])

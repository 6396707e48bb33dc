import numpy as np
import pytest

import shaketable as st
from shaketable.evaluation.copies import corrupted


@pytest.fixture
def images():
    x = np.random.default_rng(0).integers(256, size=(30, 4, 4, 3), dtype=np.uint8)
    return st.make_dataset(x, np.arange(30) % 3, name="images", n_train=20)


def test_a_copy_holds_the_noise_of_evaluate(images):
    seen = []

    def model(x):
        seen.append(x)
        return np.zeros(len(x), int)

    st.evaluate(model, images, ["l2(0.5)"], k=1, seed=3)
    copy = corrupted(images, "l2(0.5)", seed=3)
    np.testing.assert_array_equal(copy.x[20:], seen[-1])
    assert copy.x.dtype == np.float32
    assert 0 <= copy.x.min() <= copy.x.max() <= 1


def test_copies_do_not_depend_on_batches(images, monkeypatch):
    whole = corrupted(images, "l1(2)").x
    monkeypatch.setattr("shaketable.evaluation.copies.BATCH_VALUES", 100)
    np.testing.assert_array_equal(corrupted(images, "l1(2)").x, whole)


def test_eps_min_is_measured():
    data = st.load("bands(n=200)")
    half = st.separation(data).epsilon_min
    moved = np.abs(corrupted(data, "linf(eps_min)").x - data.x)
    assert 0.9 * half < moved.max() <= half


def test_points_and_labels_are_data_too(images):
    x, y = images.x, images.labels
    np.testing.assert_array_equal(
        corrupted((x, y), "l2(0.5)").x, corrupted(st.make_dataset(x, y), "l2(0.5)").x
    )

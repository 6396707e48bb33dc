import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from shaketable.core.errors import InputError
from shaketable.corruptions import PNormNoise, corrupt
from shaketable.models.augmented import NoiseAugmented


@parametrize_with_checks(
    [
        NoiseAugmented(LogisticRegression(), epsilon=0.01, k=2, random_state=0),
        NoiseAugmented(KNeighborsClassifier(1), norm=2, epsilon=0.1, k=3, random_state=0),
        NoiseAugmented(KNeighborsClassifier(1), noise="2*l2(0.1) | clean", k=2, random_state=0),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_the_inner_estimator_sees_k_noisy_copies_and_no_originals():
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    model = NoiseAugmented(KNeighborsClassifier(1), epsilon=0.1, k=4, random_state=0).fit(x, y)
    trained = model.estimator_._fit_X.reshape(10, 4, 2)
    distance = np.abs(trained - x[:, None])
    assert distance.min() > 0
    assert distance.max() <= 0.1
    assert len(np.unique(trained - x[:, None])) == 80  # every copy has noise of its own
    assert model.n_features_in_ == 2
    plain = NoiseAugmented(KNeighborsClassifier(1), epsilon=0).fit(x, y)
    np.testing.assert_array_equal(plain.estimator_._fit_X, x)


def test_the_seed_decides_the_noise():
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2

    def seen(state):
        model = NoiseAugmented(KNeighborsClassifier(1), "inf", 0.1, 2, state)
        return model.fit(x, y).estimator_._fit_X

    np.testing.assert_array_equal(seen(3), seen(3))
    assert not np.array_equal(seen(3), seen(4))
    assert not np.array_equal(seen(None), seen(None))


def test_it_can_be_searched_over():
    x = np.random.default_rng(0).normal(size=(40, 2))
    search = GridSearchCV(
        NoiseAugmented(LogisticRegression(), random_state=0), {"epsilon": [0, 0.1]}, cv=2
    ).fit(x, x[:, 0] > 0)
    assert search.best_score_ > 0.8


def test_what_the_inner_estimator_lacks_is_lacking():
    assert not hasattr(NoiseAugmented(KNeighborsClassifier()), "decision_function")
    assert hasattr(NoiseAugmented(LogisticRegression()), "decision_function")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"norm": "x"}, "norm must be"),
        ({"noise": "l2(1)", "epsilon": 1}, "noise and epsilon must not both be given"),
        ({"noise": "l0(0.1)"}, "needs a finite value range"),
        ({"noise": "l2(1)", "shape": (2, 2)}, "shape must have as many values as a row, 1"),
        ({"epsilon": 1, "shape": 1}, r"^shape must be whole numbers, such as .*, got 1$"),
        ({"epsilon": 1, "shape": "a"}, r"^shape must be whole numbers, such as .*, got 'a'$"),
        ({"epsilon": 1, "shape": (-1, -1)}, "^shape must have as many values as a row, 1"),
        ({"epsilon": 1, "bounds": (0, 0.5)}, r"^x must lie in the bounds \[0.0, 0.5\], but its"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        NoiseAugmented(KNeighborsClassifier(1), **options).fit([[0.0], [1.0]], [0, 1])


def see(x, **options):
    y = np.arange(len(x)) % 2
    model = NoiseAugmented(KNeighborsClassifier(1), random_state=0, **options).fit(x, y)
    return model.estimator_._fit_X


def test_noise_by_spec_is_that_by_norm_and_size():
    x = np.random.default_rng(0).random((10, 3))
    by_size = see(x, norm=2, epsilon=0.5, k=4)
    np.testing.assert_array_equal(see(x, noise="l2(0.5)", k=4), by_size)
    np.testing.assert_array_equal(see(x, noise=PNormNoise(2, 0.5), k=4), by_size)
    clipped = see(x, norm=2, epsilon=0.5, k=4, bounds=(0, 1))
    np.testing.assert_array_equal(clipped, by_size.clip(0, 1))
    assert see(np.append(x, [[1 + 1e-7] * 3], axis=0), epsilon=0.5, bounds=(0, 1)).max() == 1
    np.testing.assert_array_equal(see(x, noise="clean"), x)


def test_every_corruption_can_be_trained_with():
    x = np.random.default_rng(0).random((30, 48)).astype("float32")
    copies = see(x, noise="l0(0.25) | sp(0.1) + ga(0.1)", bounds=(0, 1), k=3)
    assert copies.shape == (90, 48)
    assert (copies >= 0).all()
    assert (copies <= 1).all()
    replaced = (copies != np.repeat(x, 3, axis=0)).sum(axis=1)
    assert set(replaced[replaced < 30]) == {12}  # a share of exactly 1/4, or all values
    assert 20 < (replaced == 12).sum() < 70
    turned = see(x, noise="rotation(90)", bounds=(0, 1), k=1, shape=(4, 4, 3)).reshape(-1, 4, 4, 3)
    np.testing.assert_array_equal(turned, np.rot90(x.reshape(-1, 4, 4, 3), -1, axes=(1, 2)))


def test_columns_are_those_of_the_training_points():
    x = np.random.default_rng(0).random((12, 3))
    copies = see(x, noise="missing(0.5)", k=2)
    gaps = copies != np.repeat(x, 2, axis=0)
    assert 10 < gaps.sum() < 62
    np.testing.assert_allclose(copies[gaps], np.broadcast_to(x.mean(axis=0), gaps.shape)[gaps])


@pytest.mark.parametrize("spec", ["linf(0.1)", "C2", "l0(0.25)", "ga(0.1)"])
def test_uint8_images_are_corrupted_as_fractions_and_stay_levels(spec):
    x = np.full((40, 64), 128, np.uint8)
    copies = see(x, noise=spec, k=1)
    assert copies.dtype == float
    np.testing.assert_array_equal(copies, np.rint(copies))
    assert copies.min() >= 0
    assert copies.max() <= 255
    expected = corrupt(x, spec, rng=1).astype(float)
    assert np.abs(copies - 128).mean() == pytest.approx(np.abs(expected - 128).mean(), rel=0.2)
    np.testing.assert_array_equal(copies, see(x, noise=spec, k=1, bounds=(0, 1)))


def test_uint8_is_in_its_own_units_in_tables_and_if_bounds_say_so():
    assert 4 < np.abs(see(np.full((40, 8), 99, np.uint8), epsilon=5) - 99).max() <= 5
    fractions = see(np.full((40, 8), 99, np.uint8), epsilon=5 / 255, shape=(2, 4))
    assert set(np.abs(fractions - 99).ravel()) == {0, 1, 2, 3, 4, 5}
    levels = np.full((40, 64), 99, np.uint8)
    assert 4 < np.abs(see(levels, epsilon=5, bounds=(0, 255)) - 99).max() <= 5
    with pytest.raises(InputError, match=r"^x must lie in the bounds \[0.0, 16.0\]"):
        see(levels, epsilon=5, bounds=(0, 16))


def test_columns_of_a_frame_have_their_names():
    x = np.random.default_rng(0).random((12, 3))
    frame = pytest.importorskip("pandas").DataFrame(x, columns=["age", "income", "rate"])
    moved = see(frame, noise="linf(0.1, only=income)", k=1) != x
    assert moved.all(axis=0).tolist() == [False, True, False]

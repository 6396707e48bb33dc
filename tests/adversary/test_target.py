"""What is attacked: the test part, each point with a key of its own, within the bounds."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from shaketable.adversary.target import Target
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds

X = np.random.default_rng(0).uniform(0, 1, (40, 3))
Y = np.arange(40) % 2


def answer(x):
    return (x[:, 0] > 0.5).astype(int)


def test_only_the_test_part_is_attacked():
    data = make_dataset(X, Y, n_train=25)
    assert Target.of(answer, data).rows.tolist() == list(range(25, 40))
    assert Target.of(answer, data, own=True).rows.tolist() == list(range(40))
    some = Target.of(answer, data, points=4).rows
    assert some.tolist() == sorted(set(some)) == data.sample(4).kept[25:].tolist()
    assert some.tolist() != Target.of(answer, data, points=4, seed=1).rows.tolist()
    whole = make_dataset(X, Y)
    train, test = whole.parts(seed=5)
    target = Target.of(KNeighborsClassifier(1), whole, refit=True, seed=5)
    assert target.rows.tolist() == sorted(test)
    np.testing.assert_array_equal(target.one_nn.points, X[train])
    np.testing.assert_array_equal(target.points, X[np.sort(test)])
    np.testing.assert_array_equal(target.right, target.predict(target.points) == Y[np.sort(test)])


def test_keys_differ_by_row_seed_and_data_and_stay_with_their_row():
    data = make_dataset(X, Y)
    keys = Target.of(answer, data).keys
    assert len(set(keys.tolist())) == 40
    np.testing.assert_array_equal(keys, Target.of(answer, data).keys)
    some = Target.of(answer, data, points=7)
    np.testing.assert_array_equal(keys[some.rows], some.keys)
    for other in (
        Target.of(answer, data, seed=1),
        Target.of(answer, make_dataset(X, 1 - Y)),
        Target.of(answer, make_dataset(X + 1, Y)),
    ):
        assert not set(keys.tolist()) & set(other.keys.tolist())


@pytest.mark.parametrize("constraint", ["none", "genuine-max", "genuine-exact"])
def test_regions_keep_to_the_bounds(constraint):
    data = make_dataset(X, Y, bounds=(0, 1))
    assert Target.of(answer, data).make_region(2, 0.1, constraint).bounds == Bounds(0, 1)
    given = Target.of(answer, data, bounds=(-1, 2)).make_region(2, 0.1, constraint)
    assert given.bounds == Bounds(-1, 2)
    assert Target.of(answer, data, bounds=None).make_region(2, 0.1, constraint).bounds is None


def test_a_model_behind_a_scaling_is_not_taken_for_a_1_nn_of_the_scaled_points():
    data = make_dataset(100 * X, Y).scaled()
    model = KNeighborsClassifier(1).fit(100 * X, Y)
    assert Target.of(model, data, unscale=True).one_nn is None
    assert Target.of(model, data).one_nn is not None

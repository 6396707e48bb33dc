"""Trees in the plane are those of scikit-learn, cut by cut."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from shaketable.core.errors import InputError
from shaketable.reproductions.papers.mscr import forest_kernels
from shaketable.reproductions.papers.mscr.plane_forest import PlaneForest


def draw(kind, n, seed):
    """Points of two classes: as they are, on a grid with many ties, or with a constant column."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    y = np.where(np.sin(7 * x[:, 0]) > x[:, 1] + rng.normal(0, 0.2, n), "in", "out")
    if kind == "grid":
        x = np.round(x, 1)
    if kind == "constant":
        x[:, 1] = 3.0
    if kind == "close":  # values that scikit-learn does not tell apart
        x = np.round(x, 1) + rng.integers(0, 3, (n, 2)) * 0.6e-7
    if kind == "rare":
        y[:] = "out"
        y[: n // 50 + 1] = "in"
    return x, y


@pytest.mark.parametrize("kind", ["plain", "grid", "constant", "close", "rare"])
@pytest.mark.parametrize(("n", "trees"), [(2, 3), (60, 20), (1500, 10)])
def test_trees_are_those_of_scikit_learn(kind, n, trees):
    x, y = draw(kind, n, seed=n)
    y[0] = "in" if y[-1] == "out" else "out"
    for seed in (0, 7):
        theirs = RandomForestClassifier(trees, random_state=seed).fit(x, y)
        ours = PlaneForest(trees, random_state=seed).fit(x, y)
        for tree, start, end in zip(
            theirs.estimators_, ours.roots_[:-1], ours.roots_[1:], strict=True
        ):
            inner = tree.tree_.feature >= 0
            feature = ours.feature_[start:end]
            assert np.array_equal(feature >= 0, inner)
            assert np.array_equal(feature[inner], tree.tree_.feature[inner])
            assert np.array_equal(ours.cut_[start:end][inner], tree.tree_.threshold[inner])
        rng = np.random.default_rng(seed)
        new = np.concatenate([x, rng.random((3000, 2)), rng.normal(0, 5, (300, 2))])
        assert np.array_equal(ours.predict(new), theirs.predict(new))


def test_cells_that_are_decided_need_no_tree():
    x, y = draw("plain", 1500, seed=0)
    model = PlaneForest(10, random_state=0).fit(x, y)
    share_open = (model.cells_ == forest_kernels.OPEN).mean()
    assert 0.01 < share_open < 0.6
    new = np.random.default_rng(1).random((20_000, 2))
    told = model.predict(new)
    model.cells_[:] = forest_kernels.OPEN  # ask all trees
    assert np.array_equal(model.predict(new), told)


def test_points_may_be_many():
    """Ranks have 24 bits, weights 15."""
    x, y = draw("plain", 70_000, seed=1)
    theirs = RandomForestClassifier(1, random_state=0).fit(x, y)
    ours = PlaneForest(1, random_state=0).fit(x, y)
    assert np.array_equal(ours.predict(x), theirs.predict(x))


def test_other_data_are_refused():
    x = np.random.default_rng(0).random((9, 3))
    with pytest.raises(InputError, match="two columns and two classes, got 3 and 2"):
        PlaneForest().fit(x, np.arange(9) % 2)
    with pytest.raises(InputError, match="got 2 and 3"):
        PlaneForest().fit(x[:, :2], np.arange(9) % 3)

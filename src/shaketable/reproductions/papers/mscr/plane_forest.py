"""The random forest of scikit-learn on data in the plane: the same trees, grown many times faster.

A tree here is, cut by cut, the tree that `sklearn.tree.DecisionTreeClassifier` grows from the same
seed: the same bootstrap, the same draws of a column at every node, the same best cut by the Gini
index. What differs is how it is found. Points are sorted once for all trees, and stay sorted while
nodes are divided. For answers, the plane is divided into cells; where less than half of the trees
have any leaf of a class, they cannot outvote the others, and none of them is asked.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.reproductions.papers.mscr.forest_kernels import (
    CELLS,
    LARGEST,
    RANK_BITS,
    answer,
    decide_cells,
    grow,
)


class PlaneForest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """`RandomForestClassifier(n_estimators)` for two columns and two classes, with its answers.

    Parameters
    ----------
    n_estimators
        Number of trees.
    random_state
        Seed.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> x = np.random.default_rng(0).random((200, 2))
    >>> y = x[:, 0] > x[:, 1]
    >>> ours, theirs = (
    ...     kind(100, random_state=0).fit(x, y) for kind in (PlaneForest, RandomForestClassifier)
    ... )
    >>> new = np.random.default_rng(1).random((1000, 2))
    >>> bool((ours.predict(new) == theirs.predict(new)).all())
    True
    """

    def __init__(self, n_estimators: int = 100, random_state: Any = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:  # noqa: N803  (scikit-learn's name)
        """Grow the trees.

        Parameters
        ----------
        X
            Points in the plane.
        y
            Their labels, of two classes.

        Returns
        -------
        Self
            The fitted model itself.
        """
        x = np.ascontiguousarray(np.asarray(X, np.float32).T)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(x) != 2 or len(self.classes_) != 2:
            raise InputError(
                f"a plane forest is for two columns and two classes, got {len(x)} and "
                f"{len(self.classes_)}; use RandomForestClassifier"
            )
        order = np.argsort(x, axis=1, kind="stable")
        values = np.take_along_axis(x, order, axis=1)
        rank = np.argsort(order, axis=1).astype(np.uint64)
        coded = rank[0] | rank[1] << RANK_BITS | codes.astype(np.uint64) << 2 * RANK_BITS
        points, order = coded[order], order.astype(np.int32)
        draw = check_random_state(self.random_state)
        seeds = np.array([draw.randint(LARGEST) for _ in range(self.n_estimators)], np.uint32)
        trees = [grow(values, points, order, seed) for seed in seeds]
        parts = zip(*trees, strict=True)
        self.feature_, self.cut_, self.right_, self.share_ = map(np.concatenate, parts)
        self.roots_ = np.cumsum([0, *(len(tree[0]) for tree in trees)])
        self.low_, high = x.min(axis=1).astype(float), x.max(axis=1).astype(float)
        self.scale_ = CELLS / np.maximum(high - self.low_, 1e-30)
        self.cells_ = decide_cells(
            self.feature_, self.cut_, self.right_, self.share_, self.roots_, self.low_, self.scale_
        )
        return self

    def predict(self, X: Array) -> Array:  # noqa: N803
        """Label of every row.

        Parameters
        ----------
        X
            Points.

        Returns
        -------
        Array
            Labels.
        """
        x = np.ascontiguousarray(X, np.float32)
        codes = answer(
            x,
            self.cells_,
            self.low_,
            self.scale_,
            self.feature_,
            self.cut_,
            self.right_,
            self.share_,
            self.roots_,
        )
        return np.asarray(self.classes_[codes])

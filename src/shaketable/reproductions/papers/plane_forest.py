"""The random forest of scikit-learn on data in the plane: the same trees, grown many times faster.

A tree here is, cut by cut, the tree that `sklearn.tree.DecisionTreeClassifier` grows from the same
seed: the same bootstrap, the same draws of a column at every node, the same best cut by the Gini
index. What differs is how it is found. Points are sorted once for all trees, and stay sorted while
nodes are divided. For answers, the plane is divided into cells; where less than half of the trees
have any leaf of a class, they cannot outvote the others, and none of them is asked.
"""

# numba compiles some of these functions from the types of a call, so they carry no annotations
# ruff: noqa: PLR0914, PLR0915, PLR0917

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from shaketable.core.compiling import compiled, inner
from shaketable.core.errors import InputError
from shaketable.core.types import Array

_SAME = np.float32(1e-7)  # values that are no further apart are not told apart
_LARGEST = 2**31 - 1
_CELLS = 512  # per axis
_OPEN = 2


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
        order = np.argsort(x, axis=1, kind="stable").astype(np.int32)
        values = x[:, order].transpose(1, 0, 2).copy()
        sign = np.where(codes[order] == 1, 1, -1).astype(np.float32)
        draw = check_random_state(self.random_state)
        seeds = np.array([draw.randint(_LARGEST) for _ in range(self.n_estimators)], np.uint32)
        trees = [_grow(values, sign, order, seed) for seed in seeds]
        parts = zip(*trees, strict=True)
        self.feature_, self.cut_, self.right_, self.share_ = map(np.concatenate, parts)
        self.roots_ = np.cumsum([0, *(len(tree[0]) for tree in trees)])
        self.low_, high = x.min(axis=1).astype(float), x.max(axis=1).astype(float)
        self.scale_ = _CELLS / np.maximum(high - self.low_, 1e-30)
        self.cells_ = _decide_cells(
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
        codes = _answer(
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


@inner
def _seed(state, seed):  # type: ignore[no-untyped-def]
    """Set the state of the Mersenne twister as `numpy.random.RandomState(seed)` does."""
    state[0] = seed
    for i in range(1, 624):
        before = state[i - 1]
        state[i] = np.uint32(1812433253) * (before ^ (before >> np.uint32(30))) + np.uint32(i)


@inner
def _twist(state):  # type: ignore[no-untyped-def]
    """Move the Mersenne twister on by 624 numbers."""
    for i in range(624):
        after = state[i + 1 if i < 623 else 0]
        joined = (state[i] & np.uint32(0x80000000)) | (after & np.uint32(0x7FFFFFFF))
        odd = np.uint32(0x9908B0DF) * (joined & np.uint32(1))
        state[i] = state[i + 397 if i < 227 else i - 227] ^ (joined >> np.uint32(1)) ^ odd


@inner
def _temper(y):  # type: ignore[no-untyped-def]
    """Return the random number that a word of the Mersenne twister stands for."""
    y ^= y >> np.uint32(11)
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    return y ^ (y >> np.uint32(18))


@inner
def _resample(seed, n):  # type: ignore[no-untyped-def]
    """Count how often each point is drawn by ``RandomState(seed).randint(0, n, n)``.

    Also returns the number that ``RandomState(seed).randint(0, 2**31 - 1)`` is.
    """
    mask = np.uint32(1)
    while mask < np.uint32(n - 1):
        mask = np.uint32(2) * mask + np.uint32(1)
    times = np.zeros(mask + np.uint32(1), np.uint8)  # numbers from n on are drawn again
    state = np.empty(624, np.uint32)
    _seed(state, seed)
    done, start = 0, -1
    while done < n:
        _twist(state)
        for i in range(624):
            word = _temper(state[i])
            if start < 0 and (word & np.uint32(_LARGEST)) < np.uint32(_LARGEST):
                start = np.int64(word & np.uint32(_LARGEST))
            drawn = word & mask
            times[drawn] += 1
            done += drawn < np.uint32(n)
            if done == n:
                break
    return times, np.uint32(start)


@inner
def _draw(state, low, high):  # type: ignore[no-untyped-def]
    """Next state of the generator of scikit-learn's trees, and a whole number from it."""
    if state == 0:
        state = np.uint32(1)
    state ^= np.uint32(state << np.uint32(13))
    state ^= np.uint32(state >> np.uint32(17))
    state ^= np.uint32(state << np.uint32(5))
    return state, low + np.int64(state & np.uint32(_LARGEST)) % (high - low)


@inner
def _find_cut(value, weight, start, end, first, second):  # type: ignore[no-untyped-def]
    """Best cut of sorted values by the Gini index: its place, and the weights left of it.

    Weights of the second class are positive, of the first negative; `first` and `second` are sums.
    The best cut is never between two values that only points of one class have.
    """
    best, place, best_first, best_second = -np.inf, end, 0.0, 0.0
    total, left, b = first + second, 0.0, 0.0
    p, tied = start, False
    while True:
        w = weight[p]
        left += abs(w)
        b += max(w, np.float32(0))
        p += 1
        if p >= end:
            return place, best_first, best_second
        if value[p] <= value[p - 1] + _SAME:
            tied = True
            continue
        pure = not tied and (w > 0) == (weight[p] > 0)
        tied = False
        if pure and (p + 1 >= end or value[p + 1] > value[p] + _SAME):
            continue
        a = left - b
        right, c, d = total - left, first - a, second - b
        impurity_left = 1.0 - (a * a + b * b) / (left * left)
        impurity_right = 1.0 - (c * c + d * d) / (right * right)
        gain = -right * impurity_right - left * impurity_left
        if gain > best:
            best, place, best_first, best_second = gain, p, a, b


@inner
def _divide(by, points, weight, start, end, at, keep_left, keep_right):  # type: ignore[no-untyped-def]
    """Put the points left of a cut first, both parts in their order; a part may be dropped."""
    x0, x1 = points
    if keep_left and keep_right:
        aside, aside_w = np.empty((2, end - start), np.float32), np.empty(end - start, np.float32)
        left, other = start, 0
        for i in range(start, end):
            goes = by[i] <= at
            a, b, w = x0[i], x1[i], weight[i]
            x0[left], x1[left], weight[left] = a, b, w
            aside[0, other], aside[1, other], aside_w[other] = a, b, w
            left += goes
            other += not goes
        for i in range(other):
            x0[left + i], x1[left + i], weight[left + i] = aside[0, i], aside[1, i], aside_w[i]
    elif keep_left:
        left = start
        for i in range(start, end):
            goes = by[i] <= at
            x0[left], x1[left], weight[left] = x0[i], x1[i], weight[i]
            left += goes
    elif keep_right:
        last = end - 1
        for i in range(end - 1, start - 1, -1):
            goes = by[i] > at
            x0[last], x1[last], weight[last] = x0[i], x1[i], weight[i]
            last -= goes


@compiled
def _grow(values, sign, order, seed):  # type: ignore[no-untyped-def]
    """Grow one tree: column of every node in preorder, cut, right child, share of class 2."""
    n = values.shape[2]
    times, state = _resample(seed, n)
    m = 0
    for i in range(n):
        m += times[i] > 0
    v, w = np.empty((2, 2, m + 1), np.float32), np.empty((2, m + 1), np.float32)
    for f in range(2):
        j = 0
        for i in range(n):
            t = times[order[f, i]]
            v[f, 0, j], v[f, 1, j] = values[f, 0, i], values[f, 1, i]
            w[f, j] = t * sign[f, i]
            j += t > 0
    first = second = 0.0
    for j in range(m):
        if w[0, j] > 0:
            second += w[0, j]
        else:
            first -= w[0, j]
    feature, right = np.empty(2 * m, np.int8), np.zeros(2 * m, np.int32)
    cut, share = np.zeros(2 * m, np.float64), np.zeros(2 * m, np.float64)
    stack = np.empty((m + 2, 4), np.int64)  # start, end, constants, parent if right child
    sums = np.empty((m + 2, 2), np.float64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, m, 0, -1
    sums[0, 0], sums[0, 1] = first, second
    features, constants = np.array([0, 1]), np.zeros(2, np.int64)
    top = nodes = 0
    while top >= 0:
        start, end, known, parent = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        first, second = sums[top, 0], sums[top, 1]
        top -= 1
        node = nodes
        nodes += 1
        if parent >= 0:
            right[parent] = node
        feature[node] = -1
        share[node] = second / (first + second)
        if first == 0 or second == 0:
            continue
        # draw a column that is not constant here, as scikit-learn does
        f_i, visited, found, drawn, total, chosen = 2, 0, 0, 0, known, -1
        while f_i > total and (visited < 1 or visited <= found + drawn):
            visited += 1
            state, f_j = _draw(state, drawn, f_i - found)
            if f_j < known:
                features[drawn], features[f_j] = features[f_j], features[drawn]
                drawn += 1
                continue
            f_j += found
            f = features[f_j]
            if v[f, f, end - 1] <= v[f, f, start] + _SAME:
                features[f_j], features[total] = features[total], features[f_j]
                found += 1
                total += 1
                continue
            f_i -= 1
            features[f_i], features[f_j] = features[f_j], features[f_i]
            chosen = f
        for i in range(known):
            features[i] = constants[i]
        for i in range(known, known + found):
            constants[i] = features[i]
        if chosen < 0:
            continue
        f, g = chosen, 1 - chosen
        p, a, b = _find_cut(v[f, f], w[f], start, end, first, second)
        if p >= end:
            continue
        at = np.float64(v[f, f, p - 1]) / 2.0 + np.float64(v[f, f, p]) / 2.0
        feature[node], cut[node] = f, at
        mixed = a > 0 and b > 0, first > a and second > b
        _divide(v[g, f], (v[g, 0], v[g, 1]), w[g], start, end, at, mixed[0], mixed[1])
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = p, end, total, node
        sums[top, 0], sums[top, 1] = first - a, second - b
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = start, p, total, -1
        sums[top, 0], sums[top, 1] = a, b
    return feature[:nodes].copy(), cut[:nodes].copy(), right[:nodes].copy(), share[:nodes].copy()


@inner
def _find_cell(value, low, scale):  # type: ignore[no-untyped-def]
    """Cell of a value along an axis; never falls as the value rises."""
    return np.int64(min(max((value - low) * scale, 0.0), _CELLS - 1.0))


@compiled
def _decide_cells(feature, cut, right, share, roots, low, scale):  # type: ignore[no-untyped-def]
    """Class that has the majority everywhere in a cell, or `_OPEN`."""
    counts = np.zeros((2, _CELLS + 1, _CELLS + 1), np.int32)
    trees = len(roots) - 1
    box, ends = np.empty((1000, 4), np.int64), np.empty(1000, np.int64)
    for t in range(trees):
        box[0, 0] = box[0, 2] = 0
        box[0, 1] = box[0, 3] = _CELLS - 1
        ends[0] = roots[t]
        top = 0
        while top >= 0:
            i = ends[top]
            a, b, c, d = box[top, 0], box[top, 1], box[top, 2], box[top, 3]
            top -= 1
            f = feature[i]
            if f < 0:
                for k in range(2):
                    if (share[i] if k else 1.0 - share[i]) > 0:
                        counts[k, a, c] += 1
                        counts[k, b + 1, c] -= 1
                        counts[k, a, d + 1] -= 1
                        counts[k, b + 1, d + 1] += 1
                continue
            at = _find_cell(cut[i], low[f], scale[f])
            top += 1
            box[top, 0], box[top, 1], box[top, 2], box[top, 3] = a, b, c, d
            box[top, 2 * f] = at
            ends[top] = roots[t] + right[i]
            top += 1
            box[top, 0], box[top, 1], box[top, 2], box[top, 3] = a, b, c, d
            box[top, 2 * f + 1] = at
            ends[top] = i + 1
    cells = np.empty((_CELLS, _CELLS), np.uint8)
    for k in range(2):
        for i in range(_CELLS):
            for j in range(_CELLS):
                here = counts[k, i, j]
                if i > 0:
                    here += counts[k, i - 1, j]
                if j > 0:
                    here += counts[k, i, j - 1]
                if i > 0 and j > 0:
                    here -= counts[k, i - 1, j - 1]
                counts[k, i, j] = here
    for i in range(_CELLS):
        for j in range(_CELLS):
            few = [2 * counts[k, i, j] < trees for k in range(2)]
            cells[i, j] = 1 if few[0] else 0 if few[1] else _OPEN
    return cells


@compiled
def _answer(x, cells, low, scale, feature, cut, right, share, roots):  # type: ignore[no-untyped-def]
    """Class of every point."""
    codes = np.empty(len(x), np.uint8)
    enough = (len(roots) - 1) / 2 + 1e-6
    for i in range(len(x)):
        a, b = _find_cell(x[i, 0], low[0], scale[0]), _find_cell(x[i, 1], low[1], scale[1])
        codes[i] = cells[a, b]
        if codes[i] != _OPEN:
            continue
        first = second = 0.0
        for root in roots[:-1]:
            j = root
            while feature[j] >= 0:
                j = j + 1 if x[i, feature[j]] <= cut[j] else root + right[j]
            first += 1.0 - share[j]
            second += share[j]
            if max(first, second) > enough:
                break
        codes[i] = second > first
    return codes

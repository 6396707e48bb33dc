"""Ensembles of trees in one form, read from scikit-learn, XGBoost and LightGBM."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.adversary.proofs.tree_kernels import sum_leaves
from shaketable.core.compiling import compiled
from shaketable.core.types import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of trees, whose largest component, the first of equal ones, is the class.

    Nodes are in preorder: a left child follows its parent.
    """

    roots: IntArray
    """First node of every tree."""
    feature: IntArray
    """Feature that a node looks at; -1 for leaves."""
    cut: FloatArray
    """A node goes left if the feature, a float64, is at most this."""
    right: IntArray
    """Right child of every node."""
    left_if_missing: Array
    """Whether a node goes left if the feature is missing."""
    leaf: IntArray
    """Row of `values` of every leaf."""
    values: FloatArray
    """What leaves add to the classes, (leaves, classes)."""
    base: FloatArray
    """What is added to the classes in any case."""
    rounding: FloatArray
    """By how much a sum that the model computes may differ from the true one, (classes,)."""
    votes: bool = False
    """Whether the model's sums are those of float64 in the order of trees, and means are compared.
    Then equal sums are told apart from nearly equal ones."""

    @property
    def even(self) -> bool:
        """Whether leaves that add the same to a difference of two classes add the same to both.

        So do shares of two classes.
        """
        return self.classes == 2

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.values.shape[1])


@dataclass(frozen=True, eq=False)
class _Tree:
    """One tree as libraries describe it: nodes in any order, the root first."""

    feature: Array
    cut: Array
    left: Array
    right: Array
    left_if_missing: Array
    values: FloatArray
    """What leaves add to the classes, (nodes, classes)."""


def read_trees(model: Any) -> Trees | None:
    """Return a fitted classifier made of trees in our form; None for other models.

    Categorical splits, linear leaves and regressors are other models.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> trees = read_trees(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))
    >>> trees.values.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    cls = type(model)
    name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    if name not in _READERS:
        return None
    read, score = _READERS[name]
    trees = read(model)
    return trees if trees is not None and _agrees(trees, model, score) else None


def _agrees(trees: Trees, model: Any, score: Callable[[Any, Array], Array]) -> bool:
    """Whether sums at random cuts of all features, and just above them, are those of the model."""
    inner = trees.feature >= 0
    rng = np.random.default_rng(0)
    x = np.zeros((_CHECKED, model.n_features_in_))
    for feature in np.unique(trees.feature[inner]):
        cuts = np.clip(rng.choice(trees.cut[trees.feature == feature], _CHECKED), -_HUGE, _HUGE)
        above = np.nextafter(cuts, np.inf)
        x[:, feature] = np.where(rng.random(_CHECKED) < 0.5, cuts, above)
    nodes = trees.feature, trees.cut, trees.right, trees.left_if_missing, trees.leaf
    sums = sum_leaves(nodes, trees.roots, trees.values, trees.base, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # x has no names
        told = np.asarray(score(model, x), np.float64)
    if told.ndim == 1:
        told = np.column_stack([np.zeros(len(told)), told])
    off = np.abs((sums - sums[:, :1]) - (told - told[:, :1]))
    slack = trees.rounding + trees.rounding[0] + _DRIFT * np.abs(sums).max()
    return bool((off <= 2 * slack).all())


_CHECKED, _HUGE = 64, 1e30  # a cut at infinity asks for missing values alone


def _join(
    trees: Iterable[_Tree], base: FloatArray, *, share: float, votes: bool = False
) -> Trees | None:
    """Put trees behind each other; `share` is the relative error of one addition.

    Twice that allows for how the model makes probabilities of sums.
    """
    parts = [_order(tree) for tree in trees]
    if not parts:
        return None
    sizes = np.array([len(part[0]) for part in parts])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    feature, cut, right, missing, values = (np.concatenate(c) for c in zip(*parts, strict=True))
    right = right + np.repeat(roots, sizes)
    leaves = feature < 0
    leaf = np.where(leaves, np.cumsum(leaves) - 1, 0)
    values = np.ascontiguousarray(values[leaves])
    first = np.searchsorted(np.flatnonzero(leaves), roots)
    most = np.maximum.reduceat(np.abs(values), first, axis=0)
    size = np.abs(base) + np.cumsum(most, axis=0)  # of the sums after every tree
    rounding = share * (2 * size.sum(axis=0) + 8) + _DRIFT * size[-1]
    if votes and _is_whole(values * 2.0**20):  # then all sums are exact
        rounding, votes = np.zeros(len(base)), False
    return Trees(roots, feature, cut, right, missing, leaf, values, base, rounding, votes)


def _is_whole(values: FloatArray) -> bool:
    return bool((values == np.rint(values)).all())


def _order(tree: _Tree) -> tuple[Array, ...]:
    """Feature, cut, right child, way of missing values, and value of every node, in preorder."""
    order, right = _walk(np.asarray(tree.left, np.int64), np.asarray(tree.right, np.int64))
    feature = np.where(tree.left[order] < 0, -1, np.asarray(tree.feature, np.int64)[order])
    cut = np.asarray(tree.cut, np.float64)[order]
    return feature, cut, right, np.asarray(tree.left_if_missing, bool)[order], tree.values[order]


@compiled
def _walk(left, right):  # type: ignore[no-untyped-def]  # numba takes them from the call
    """Nodes in preorder, and the place of every one's right child."""
    order, place = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
    stack, parent = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
    stack[0], parent[0] = 0, -1
    top, n = 0, 0
    while top >= 0:
        i, p = stack[top], parent[top]
        top -= 1
        if p >= 0:
            place[p] = n
        order[n], place[n] = i, 0
        if left[i] >= 0:
            top += 1
            stack[top], parent[top] = right[i], n
            top += 1
            stack[top], parent[top] = left[i], -1
        n += 1
    return order[:n], place[:n]


def _round_down(cut: Array, *, strict: bool = False) -> FloatArray:
    """Largest float64 that, rounded to float32, is at most a cut, or below it if `strict`.

    >>> last = _round_down(np.array([0.1]))[0]
    >>> float(np.float32(last)) <= 0.1, float(np.float32(np.nextafter(last, 1))) <= 0.1
    (True, False)
    """
    with np.errstate(over="ignore"):
        low = np.asarray(cut, np.float64).astype(np.float32)
        over = (low >= cut) if strict else (low > cut)
        low = np.where(over, np.nextafter(low, np.float32(-np.inf)), low)
        wide = low.astype(np.float64)
        middle = wide / 2 + np.nextafter(low, np.float32(np.inf)).astype(np.float64) / 2
        rounds_up = middle.astype(np.float32) > low
    down = np.where(rounds_up, np.nextafter(middle, -np.inf), middle)
    return np.where(np.isfinite(down), down, wide)


def _place(values: Array, k: int, classes: int) -> FloatArray:
    """Put values of class k into a table of all classes."""
    table = np.zeros((len(values), classes))
    table[:, k] = values
    return table


def _of_sklearn(tree: Any, values: FloatArray, features: Array | None = None) -> _Tree:
    """One tree of scikit-learn, maybe of a choice of the features."""
    nodes = tree.__getstate__()["nodes"]
    feature = tree.feature if features is None else np.asarray(features)[tree.feature]
    left_if_missing = nodes["missing_go_to_left"]
    cut = _round_down(tree.threshold)
    return _Tree(feature, cut, tree.children_left, tree.children_right, left_if_missing, values)


def _shares(tree: Any) -> FloatArray:
    """Share of every class in every node."""
    counts = tree.value[:, 0, :]
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


_GRAIN, _SINGLE = 2.0**-53, 2.0**-24
_DRIFT = 1e-9  # share that the kernels' own sums may be off by


def _read_tree(model: Any) -> Trees | None:
    return _read_votes(model, [model], [None])


def _read_forest(model: Any) -> Trees | None:
    return _read_votes(model, model.estimators_, [None] * len(model.estimators_))


def _read_bagging(model: Any) -> Trees | None:
    return _read_votes(model, model.estimators_, model.estimators_features_)


def _read_votes(model: Any, members: Any, features: Any) -> Trees | None:
    """Trees whose shares of classes are averaged."""
    from sklearn.tree import DecisionTreeClassifier

    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) or len(classes) < 2:
        return None
    if not all(
        isinstance(m, DecisionTreeClassifier) and m.tree_.value.shape[1:] == (1, len(classes))
        for m in members
    ):
        return None
    shares = [_shares(member.tree_) for member in members]
    trees = [
        _of_sklearn(member.tree_, share, feature)
        for member, share, feature in zip(members, shares, features, strict=True)
    ]
    return _join(trees, np.zeros(len(classes)), share=_GRAIN, votes=True)


def _read_gradient_boosting(model: Any) -> Trees | None:
    """Trees for every class, or for the second of two."""
    from sklearn.dummy import DummyClassifier

    start = model.init_
    if len(model.classes_) < 2 or not (start == "zero" or isinstance(start, DummyClassifier)):
        return None
    k = len(model.classes_)
    one = k == 2
    base = np.zeros(k)
    # the same for all points
    base[int(one) :] = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    trees = (
        _of_sklearn(
            stage.tree_, _place(model.learning_rate * stage.tree_.value[:, 0, 0], j + one, k)
        )
        for stages in model.estimators_
        for j, stage in enumerate(stages)
    )
    return _join(trees, base, share=_GRAIN)


def _read_histogram_boosting(model: Any) -> Trees | None:
    k = len(model.classes_)
    if k < 2 or getattr(model, "_preprocessor", None) is not None:  # it encodes categories
        return None
    one = k == 2
    base = np.zeros(k)
    base[int(one) :] = np.ravel(model._baseline_prediction)
    stages = [(j, tree.nodes) for step in model._predictors for j, tree in enumerate(step)]
    if any(nodes["is_categorical"].any() for _, nodes in stages):
        return None
    trees = (
        _Tree(
            nodes["feature_idx"],
            nodes["num_threshold"],
            np.where(nodes["is_leaf"] > 0, -1, nodes["left"].astype(np.int64)),
            nodes["right"],
            nodes["missing_go_to_left"],
            _place(nodes["value"], j + one, k),
        )
        for j, nodes in stages
    )
    return _join(trees, base, share=_GRAIN)


def _read_xgboost(model: Any) -> Trees | None:
    if not np.isnan(model.missing):
        return None
    booster = model.get_booster()
    best = getattr(booster, "best_iteration", None) if _stopped_early(booster) else None
    booster = booster if best is None else booster[: best + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective, gradient = learner["objective"]["name"], learner["gradient_booster"]
    k = len(model.classes_)
    one = objective in {"binary:logistic", "binary:logitraw"}
    many = objective in {"multi:softprob", "multi:softmax"}
    if gradient["name"] != "gbtree" or k < 2 or not (one if k == 2 else many):
        return None
    told = np.fromstring(learner["learner_model_param"]["base_score"].strip("[]"), sep=",")
    if objective == "binary:logistic":
        told = np.log(told / (1 - told))
    base = np.zeros(k)
    base[int(one) :] = told
    kept = gradient["model"]
    trees = []
    for tree, j in zip(kept["trees"], kept["tree_info"], strict=True):
        if any(tree["split_type"]) or int(tree["tree_param"]["size_leaf_vector"]) > 1:
            return None
        condition = np.array(tree["split_conditions"], np.float32).astype(np.float64)
        trees.append(
            _Tree(
                np.array(tree["split_indices"]),
                _round_down(condition, strict=True),
                np.array(tree["left_children"]),
                np.array(tree["right_children"]),
                np.array(tree["default_left"], bool),
                _place(condition, j + one, k),
            )
        )
    return _join(trees, base, share=_SINGLE)


def _stopped_early(booster: Any) -> bool:
    return booster.attr("best_iteration") is not None


def _read_lightgbm(model: Any) -> Trees | None:
    booster = model.booster_
    told = booster.dump_model()
    objective = told["objective"].partition(" ")[0]
    k = len(model.classes_)
    one = objective == "binary"
    if k < 2 or not (one if k == 2 else objective in {"multiclass", "multiclassova"}):
        return None
    if "[linear_tree: 1]" in booster.model_to_string(num_iteration=1):
        return None
    trees = []
    for i, tree in enumerate(told["tree_info"]):
        rows = list(_list_nodes(tree["tree_structure"]))
        if any(row is None for row in rows):
            return None
        feature, cut, left, right, missing, values = map(np.array, zip(*rows, strict=True))
        j = 1 if one else i % told["num_tree_per_iteration"]
        trees.append(_Tree(feature, cut, left, right, missing, _place(values, j, k)))
    return _join(trees, np.zeros(k), share=_GRAIN)


def _list_nodes(node: dict[str, Any]) -> Iterator[tuple[float, ...] | None]:
    """Nodes of a tree of LightGBM, in preorder; None for one of another kind."""
    todo, n = [(node, -1)], 0
    rows: list[list[float] | None] = []
    while todo:
        node, parent = todo.pop()
        if parent >= 0 and rows[parent] is not None:
            rows[parent][3] = n  # type: ignore[index]
        n += 1
        if "split_feature" not in node:
            rows.append([0, 0.0, -1, -1, False, node["leaf_value"]])
            continue
        if node["decision_type"] != "<=" or node["missing_type"] not in {"None", "NaN"}:
            yield None
            return
        cut = float(node["threshold"])
        missing = node["default_left"] if node["missing_type"] == "NaN" else cut >= 0
        rows.append([node["split_feature"], cut, n, -1, missing, 0.0])
        todo += [(node["right_child"], n - 1), (node["left_child"], -1)]
    yield from (None if row is None else tuple(row) for row in rows)


def _score_votes(model: Any, x: Array) -> Array:
    return np.asarray(len(getattr(model, "estimators_", [model])) * model.predict_proba(x))


def _score_sums(model: Any, x: Array) -> Array:
    return np.asarray(model.decision_function(x))


_READERS: Mapping[str, tuple[Callable[[Any], Trees | None], Callable[[Any, Array], Array]]] = {
    "sklearn.DecisionTreeClassifier": (_read_tree, _score_votes),
    "sklearn.ExtraTreeClassifier": (_read_tree, _score_votes),
    "sklearn.RandomForestClassifier": (_read_forest, _score_votes),
    "sklearn.ExtraTreesClassifier": (_read_forest, _score_votes),
    "sklearn.BaggingClassifier": (_read_bagging, _score_votes),
    "sklearn.GradientBoostingClassifier": (_read_gradient_boosting, _score_sums),
    "sklearn.HistGradientBoostingClassifier": (_read_histogram_boosting, _score_sums),
    "xgboost.XGBClassifier": (_read_xgboost, lambda m, x: m.predict(x, output_margin=True)),
    "xgboost.XGBRFClassifier": (_read_xgboost, lambda m, x: m.predict(x, output_margin=True)),
    "lightgbm.LGBMClassifier": (_read_lightgbm, lambda m, x: m.predict(x, raw_score=True)),
}
"""How a kind of model is read, and what the sums of its trees are as it tells them."""

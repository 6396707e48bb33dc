"""Check files of XGBoost before XGBoost reads them: it ends the process on some damaged ones.

It trusts lengths in UBJSON files, and follows the nodes of trees without a look at their numbers.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from shaketable.core.errors import InputError

_NUMBERS = {"i": "i1", "U": "u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"T": True, "F": False, "Z": None}
_DEEPEST = 64  # objects within objects; models have seven
_NO_PARENT = 2**31 - 1
_PER_NODE = (
    *("left_children", "right_children", "parents", "split_indices"),
    *("split_conditions", "default_left", "split_type"),
)


def check_model(content: bytes, name: str, *, binary: bool) -> None:
    """Raise an `InputError` if a model, saved as UBJSON or JSON, is damaged.

    >>> check_model(b"{}", "m.json", binary=False)
    Traceback (most recent call last):
    shaketable.core.errors.InputError: model file 'm.json' must hold a model of XGBoost that is \
complete: 'learner' is missing; save it again
    """
    try:
        model = _Reader(content).read_all() if binary else json.loads(content)
        _check_learner(model["learner"])
    except KeyError as error:
        raise _damaged(name, f"{error} is missing") from error
    except (ValueError, TypeError, IndexError, AttributeError, struct.error) as error:
        raise _damaged(name, str(error)) from error
    except RecursionError as error:
        raise _damaged(name, "it is nested too deeply") from error


def _damaged(name: str, why: str) -> InputError:
    return InputError(
        f"model file {name!r} must hold a model of XGBoost that is complete: {why}; save it again"
    )


class _Reader:
    """Reads UBJSON: a letter says what follows, and numbers have their largest byte first."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def read_all(self) -> Any:
        value = self._value(self._letter(), 0)
        if self.at != len(self.content):
            raise ValueError(f"{len(self.content) - self.at} bytes follow its end")
        return value

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.content) - self.at:
            raise ValueError(f"byte {self.at} declares {size} bytes, which are not there")
        self.at += size
        return self.content[self.at - size : self.at]

    def _letter(self) -> str:
        return self._take(1).decode("latin-1")

    def _array(self, letter: str, count: int) -> Any:
        if letter not in _NUMBERS:
            raise ValueError(f"byte {self.at} is of the unknown kind {letter!r}")
        kind = np.dtype(_NUMBERS[letter])
        return np.frombuffer(self._take(count * kind.itemsize), kind)

    def _size(self) -> int:
        return int(self._array(self._letter(), 1)[0])

    def _text(self) -> str:
        return self._take(self._size()).decode("utf-8")

    def _value(self, letter: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if letter == "{":
            return self._object(depth)
        if letter == "[":
            return self._list(depth)
        if letter == "S":
            return self._text()
        if letter in _CONSTANTS:
            return _CONSTANTS[letter]
        return self._array(letter, 1)[0]

    def _object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while self.content[self.at : self.at + 1] != b"}":
            key = self._text()
            values[key] = self._value(self._letter(), depth + 1)
        self._letter()
        return values

    def _list(self, depth: int) -> Any:
        letter = self._letter()
        if letter == "$":
            kind, mark = self._letter(), self._letter()
            if mark != "#":
                raise ValueError(f"byte {self.at} must be '#', got {mark!r}")
            return self._array(kind, self._size())
        if letter == "#":
            return [self._value(self._letter(), depth + 1) for _ in range(self._size())]
        values = []
        while letter != "]":
            values.append(self._value(letter, depth + 1))
            letter = self._letter()
        return values


def _check_learner(learner: Any) -> None:
    settings = learner["learner_model_param"]
    features, classes = int(settings["num_feature"]), max(1, int(settings["num_class"]))
    outputs = max(classes, int(settings.get("num_target", 1)))
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        _check(len(booster["model"]["weights"]) == (features + 1) * outputs, "its weights")
        return
    model = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
    trees, info = model["trees"], np.asarray(model["tree_info"])
    count = int(model["gbtree_model_param"]["num_trees"])
    _check(len(trees) == count == len(info), "the number of its trees")
    _check(_within(info, 0, outputs), "the classes of its trees")
    if booster["name"] == "dart":
        _check(len(booster["weight_drop"]) == count, "the weights of its trees")
    if "iteration_indptr" in model:
        starts = np.asarray(model["iteration_indptr"])
        _check(starts[0] == 0 and starts[-1] == count, "the numbers of its rounds")
        _check(bool((np.diff(starts) >= 0).all()), "the order of its rounds")
    for k, tree in enumerate(trees):
        _check_tree(tree, features, f"of tree {k}")


def _check(right: bool, what: str) -> None:
    if not right:
        raise ValueError(f"{what} cannot be right")


def _within(values: Any, low: int, stop: int) -> bool:
    return bool(((values >= low) & (values < stop)).all())


def _check_tree(tree: Any, features: int, which: str) -> None:
    settings = tree["tree_param"]
    size = int(settings["num_nodes"])
    _check(int(settings["num_feature"]) == features, f"the number of features {which}")
    _check(size > 0 and all(len(tree[name]) == size for name in _PER_NODE), f"the nodes {which}")
    left, right = np.asarray(tree["left_children"]), np.asarray(tree["right_children"])
    inner, outputs = left != -1, int(settings["size_leaf_vector"])
    if outputs <= 1:
        _check(len(tree["base_weights"]) == size, f"the leaves {which}")
        _check(bool((right[~inner] == -1).all()), f"the leaves {which}")
    else:  # leaves name a row of weights instead of a right child
        rows = len(tree["leaf_weights"]) // outputs
        _check(_within(right[~inner], 0, rows), f"the leaves {which}")
    children = np.concatenate([left[inner], right[inner]])
    _check(_within(children, 1, size), f"the children {which}")
    _check(len(np.unique(children)) == len(children), f"the children {which}")  # so no cycles
    parents, nodes = np.asarray(tree["parents"]), np.flatnonzero(inner)
    _check(bool((parents[children] == np.tile(nodes, 2)).all()), f"the parents {which}")
    others = np.delete(parents, children)
    _check(_within(others[others != _NO_PARENT], -1, size), f"the parents {which}")
    _check(_within(np.asarray(tree["split_indices"])[inner], 0, features), f"the splits {which}")
    nodes, starts = np.asarray(tree["categories_nodes"]), np.asarray(tree["categories_segments"])
    sizes, categories = np.asarray(tree["categories_sizes"]), tree["categories"]
    _check(len(nodes) == len(starts) == len(sizes), f"the categories {which}")
    _check(_within(nodes, 0, size), f"the categories {which}")
    _check(_within(starts, 0, len(categories) + 1), f"the categories {which}")
    _check(_within(starts + sizes, 0, len(categories) + 1), f"the categories {which}")
    by_category = np.flatnonzero(np.asarray(tree["split_type"])[inner])
    _check(len(by_category) <= len(nodes), f"the categories {which}")

"""Check of LightGBM's text files: the library ends the program if one is damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from shaketable.core.errors import InputError

_PER_SPLIT = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_STATISTICS = {
    "leaf_weight": 0,
    "leaf_count": 0,
    "split_gain": 1,
    "internal_value": 1,
    "internal_weight": 1,
    "internal_count": 1,
}
"""Arrays that predictions do not need, and how many entries they have less than leaves."""
_LINEAR = ("is_linear", "leaf_const", "num_features", "leaf_features", "leaf_coeff")
_WORDS = ("tree", "average_output")
_NAMES = {
    *("Tree", "num_leaves", "num_cat", "cat_boundaries", "cat_threshold", "leaf_value"),
    *("shrinkage", *_PER_SPLIT, *_STATISTICS, *_LINEAR),
}


def read_trees(text: str, path: str) -> str:
    """Return a model without the parameters of its training, which predictions do not need.

    Raises `InputError` unless all its trees are whole and lead to what is there.
    """
    try:
        _require(text.replace("\n", "").isprintable(), "it has signs that are no text")
        head, _, rest = text.partition("\n\n")
        _require(head.startswith("tree\n"), "it does not begin with 'tree'")
        facts = _read_facts(head)
        n_features = _read_numbers(facts, "max_feature_idx", int, 1)[0] + 1
        for name in ("feature_names", "feature_infos"):
            found = len(facts[name].split(" "))
            _require(found == n_features, f"{name} has {found} entries for {n_features} features")
        _read_numbers(facts, "num_class", int, 1)
        _read_numbers(facts, "num_tree_per_iteration", int, 1)
        body = rest.encode()
        for number, size in enumerate(map(int, facts["tree_sizes"].split())):
            block, body = body[:size].decode(), body[size:]
            _require(len(block.encode()) == size, f"tree {number} is not whole")
            _check_tree(_read_facts(block), number, n_features)
        _require(body.startswith(b"end of trees\n"), "what follows the trees is missing")
        _require(b"\nend of parameters\n" in body, "its end is missing")
        trees = text[: text.index("\nend of trees\n")]
    except KeyError as error:
        reason = f"{error.args[0]} is missing"
    except (ValueError, IndexError) as error:
        reason = str(error)
    else:
        last = text.rstrip("\n").rpartition("\n")[2]
        categories = f"\n{last}\n" if last.startswith("pandas_categorical:") else ""
        return f"{trees}\nend of trees\n{categories}"
    raise InputError(
        f"model file {path!r} must be a whole model of LightGBM, saved as text, but {reason}; save "
        "it again with save_model"
    )


def _check_tree(facts: Mapping[str, str], number: int, n_features: int) -> None:
    _require(facts["Tree"] == str(number), f"tree {number} is called {facts['Tree']}")
    leaves, categories = (_read_numbers(facts, n, int, 1)[0] for n in ("num_leaves", "num_cat"))
    _require(leaves >= 1 and categories >= 0, f"tree {number} has {leaves} leaves")
    _read_numbers(facts, "leaf_value", float, leaves)
    for name in set(facts) - {"Tree"}:
        _require(name in _NAMES, f"tree {number} has {name!r}, which is not known")
        _read_numbers(facts, name, float)
    if leaves == 1:
        return
    for name, less in _STATISTICS.items():
        if name in facts:
            _read_numbers(facts, name, float, leaves - less)
    for name in _PER_SPLIT:
        _read_numbers(facts, name, float, leaves - 1)
    used = _read_numbers(facts, "split_feature", int)
    _require(min(used) >= 0 and max(used) < n_features, f"tree {number} uses an unknown feature")
    for name in ("left_child", "right_child"):
        for parent, child in enumerate(_read_numbers(facts, name, int)):
            known = parent < child < leaves - 1 if child >= 0 else ~child < leaves
            _require(known, f"tree {number} leads to {child}, which is not there")
    if categories:
        edges = _read_numbers(facts, "cat_boundaries", int, categories + 1)
        _require(
            edges[0] == 0 and all(a <= b for a, b in pairwise(edges)), "categories are mixed up"
        )
        _read_numbers(facts, "cat_threshold", int, edges[-1])
    kinds, limits = (_read_numbers(facts, n, float) for n in ("decision_type", "threshold"))
    for kind, limit in zip(kinds, limits, strict=True):
        if int(kind) & 1:
            _require(0 <= limit < categories, f"tree {number} uses unknown categories")


def _read_facts(block: str) -> dict[str, str]:
    """Return the values of a block by name; lines have the form ``name=value``."""
    lines = [line.split("=", 1) for line in block.rstrip("\n").split("\n") if line not in _WORDS]
    _require(all(len(line) == 2 for line in lines), "a line has no '='")
    return dict(lines)


def _read_numbers(
    facts: Mapping[str, str],
    name: str,
    kind: Callable[[str], float],
    count: int | None = None,
) -> Sequence[int]:
    numbers = [kind(word) for word in facts[name].split()]
    _require(count in (None, len(numbers)), f"{name} has {len(numbers)} numbers, not {count}")
    return numbers  # type: ignore[return-value]  # whole numbers where they are used as such


def _require(fine: bool, otherwise: str) -> None:
    if not fine:
        raise ValueError(otherwise)

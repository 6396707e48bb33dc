"""Which options decide an attack: each has to be named here, so that a new one is thought about."""

import inspect

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from shaketable.adversary import blocks
from shaketable.adversary.curve import adversarial_curve
from shaketable.adversary.worst_case import worst_case
from shaketable.data.arrays import make_dataset

X = np.random.default_rng(0).uniform(size=(60, 3))
Y = (X.sum(axis=1) > 1.5).astype(int)
DATA = make_dataset(X, Y, bounds=(-1, 2))


def fit(**options):
    return DecisionTreeClassifier(random_state=0, **options).fit(X, Y)


BASE = {
    "model": fit(max_depth=4),
    "data": DATA,
    "epsilons": [0.02, 0.1],
    "norm": 2,
    "constraints": ["genuine-max"],
    "attacks": ["random(queries=20)"],
}
DECIDES = {
    "model": fit(max_depth=3),
    "data": make_dataset(X[::-1].copy(), Y[::-1], bounds=(-1, 2)),
    "epsilons": [0.03],
    "norm": 1,
    "constraints": ["none"],
    "attacks": ["random(queries=21)"],
    "bounds": (0, 1),
    "seed": 1,
    "refit": True,
    "split": True,
    "points": 20,
}
LEAVES = {"name": "other", "random": 3, "progress": True}
OTHERS = {"own", "store", "unscale"}
"""For models that are trained here, the results file itself, and for scaled data."""


@pytest.fixture
def worked(monkeypatch):
    """Blocks that are attacked, one entry each."""
    done, work = [], blocks._Block.work
    monkeypatch.setattr(
        blocks._Block, "work", lambda block, report: done.append(block) or work(block, report)
    )
    return done


def test_every_option_is_classified():
    assert set(inspect.signature(worst_case).parameters) == {*DECIDES, *LEAVES, *OTHERS}
    curve = {"constraint" if name == "constraints" else name for name in {*DECIDES, *LEAVES}}
    assert set(inspect.signature(adversarial_curve).parameters) == (curve - {"random"}) | OTHERS


@pytest.mark.parametrize("option", DECIDES)
def test_what_decides_is_attacked_anew(option, tmp_path, worked):
    changed = BASE | {option: DECIDES[option]}
    alone, needed = worst_case(**changed), len(worked)
    worst_case(**BASE, store=tmp_path / "s.sqlite")
    worked.clear()
    beside = worst_case(**changed, store=tmp_path / "s.sqlite")
    assert len(worked) == needed
    assert beside.json() == alone.json()


@pytest.mark.parametrize("option", LEAVES)
def test_what_does_not_decide_is_not(option, tmp_path, worked, capsys):
    first = worst_case(**BASE, store=tmp_path / "s.sqlite")
    worked.clear()
    again = worst_case(**BASE | {option: LEAVES[option]}, store=tmp_path / "s.sqlite")
    assert not worked
    assert [a.value for a in again.curves[0]] == [a.value for a in first.curves[0]]


@pytest.mark.parametrize(
    ("data", "changes"),
    [(DATA, {"refit": True, "own": True}), (make_dataset(2 * X, Y).scaled(), {"unscale": True})],
)
def test_where_and_in_which_units_a_model_is_attacked_decides(data, changes, tmp_path, worked):
    base = BASE | {"data": data, "refit": "own" in changes}
    alone, needed = worst_case(**base | changes), len(worked)
    worst_case(**base, store=tmp_path / "s.sqlite")
    worked.clear()
    beside = worst_case(**base | changes, store=tmp_path / "s.sqlite")
    assert len(worked) == needed
    assert beside.json() == alone.json()

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from helpers.parts import StoppedError, StoppingParts
from shaketable.adversary import blocks
from shaketable.adversary.curve import adversarial_curve, compute_curve
from shaketable.adversary.target import Target
from shaketable.adversary.worst_case import worst_case
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.store import Store

X = np.random.default_rng(0).uniform(size=(60, 3))
DATA = make_dataset(X, np.where(X.sum(axis=1) > 1.5, "far", "near"))
TREE = DecisionTreeClassifier(random_state=0).fit(X, DATA.labels)
OPTIONS = {"attacks": ["random(queries=20)", "rays(queries=100)"], "norm": 2}
SIZES = [0.02, 0.1]


@pytest.fixture
def asked(monkeypatch):
    """Numbers of points that the attacks are run on, one entry per block."""
    counts = []
    work = blocks._Block.work

    def count(block, report):
        counts.append(len(block.rows))
        return work(block, report)

    monkeypatch.setattr(blocks._Block, "work", count)
    return counts


def test_the_size_of_blocks_changes_nothing(monkeypatch, asked):
    whole = adversarial_curve(TREE, DATA, SIZES, constraint="genuine-max", **OPTIONS)
    assert asked[0] == 60
    asked.clear()
    monkeypatch.setattr(blocks, "_BLOCK", 17)
    split = adversarial_curve(TREE, DATA, SIZES, constraint="genuine-max", **OPTIONS)
    assert asked[:4] == [17, 17, 17, 9]
    assert whole.json() == split.json(), "the number of queries as well"
    for one, two in zip(whole, split, strict=True):
        np.testing.assert_array_equal(one.examples.moved, two.examples.moved)


@pytest.mark.parametrize("crash", [1, 4, 9])
def test_after_a_crash_it_goes_on_to_the_same_numbers(monkeypatch, asked, crash):
    monkeypatch.setattr(blocks, "_BLOCK", 17)
    target = Target.of(TREE, DATA)
    undisturbed = compute_curve(target, SIZES, **OPTIONS)
    total = len(asked)
    keep = StoppingParts(crash)
    with pytest.raises(StoppedError):
        compute_curve(target, SIZES, **OPTIONS, keep=keep)
    asked.clear()
    keep.left = 1000
    resumed = compute_curve(Target.of(TREE, DATA), SIZES, **OPTIONS, keep=keep)
    assert len(asked) == total - crash
    assert resumed.json() == undisturbed.json()
    for one, two in zip(resumed, undisturbed, strict=True):
        np.testing.assert_array_equal(one.examples.moved, two.examples.moved)


def test_a_results_file_keeps_attacks_and_tells_settings_apart(tmp_path, asked):
    store = tmp_path / "r.sqlite"
    first = worst_case(TREE, DATA, SIZES, **OPTIONS, store=store)
    count = len(asked)
    again = worst_case(TREE, DATA, SIZES, **OPTIONS, store=store)
    assert len(asked) == count, "nothing is attacked again"
    assert again.json() == first.json()
    other = DecisionTreeClassifier(criterion="entropy", random_state=1).fit(X, DATA.labels)
    for model, changes in ((other, {}), (TREE, {"seed": 1}), (TREE, {"norm": 1})):
        before = len(asked)
        worst_case(model, DATA, SIZES, **OPTIONS | changes, store=store)
        assert len(asked) > before


def test_two_may_use_a_results_file_at_once(tmp_path, asked):
    path = tmp_path / "r.sqlite"
    with Store(path) as first, Store(path) as second:
        one = compute_curve(Target.of(TREE, DATA), SIZES[:1], **OPTIONS, keep=first)
        count = len(asked)
        two = compute_curve(Target.of(TREE, DATA), SIZES[:1], **OPTIONS, keep=second)
    assert len(asked) == count, "what one has done, the other need not do"
    assert one.json() == two.json()


def test_functions_are_attacked_every_time(tmp_path, asked):
    def model(x):
        return np.where(x.sum(axis=1) > 1.5, "far", "near")

    for _ in range(2):
        asked.clear()
        adversarial_curve(model, DATA, 0.02, **OPTIONS, store=tmp_path / "r.sqlite")
        assert asked


def test_a_store_that_is_no_file_is_refused(tmp_path):
    with pytest.raises((InputError, OSError), match="results file"):
        worst_case(TREE, DATA, SIZES, store=tmp_path)

import numpy as np
import pytest

from helpers.parts import StoppedError, StoppingParts
from shaketable.separations.one_nn import one_nn
from shaketable.separations.search import blocks
from shaketable.separations.separation import separation

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(size=(900, 20)), RNG.integers(0, 3, 900)


@pytest.fixture
def compared(monkeypatch):
    """Tasks that are done."""
    monkeypatch.setattr(blocks, "_BLOCK", 192)
    monkeypatch.setattr(blocks, "_PAUSE", -1)
    tasks = []
    lower = blocks._lower

    def note(points, metric, task, best):
        tasks.append(task)
        return lower(points, metric, task, best)

    monkeypatch.setattr(blocks, "_lower", note)
    return tasks


def test_after_a_crash_it_goes_on_to_the_same_numbers(compared):
    expected = separation(X, Y, norm=2)
    total = len(compared)
    assert total == 2 * 15, "five blocks"
    keep = StoppingParts(20)
    with pytest.raises(StoppedError):
        separation(X, Y, norm=2, keep=keep)
    compared.clear()
    keep.left = 1000
    resumed = separation(X, Y, norm=2, keep=keep)
    # a thread may have gone on after the crash, with a task that was not kept
    assert len(set(compared)) == total - 20
    for name in ("nearest", "opponent", "closest", "closest_distance", "by_class"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(expected, name))
    compared.clear()
    separation(X, Y, norm=2, keep=keep)
    assert not compared, "all is known"
    for changes in ({"closest": 3}, {"points": False}):
        separation(X, Y, norm=2, **changes, keep=keep)
        assert compared, changes
        compared.clear()


def test_one_nn_goes_on_too(compared):
    keep = StoppingParts(1000)
    first = one_nn((X, Y), keep=keep)
    compared.clear()
    assert one_nn((X, Y), keep=keep).accuracy == first.accuracy
    assert not compared

"""Models whose memory runs out get fewer points at a time, and answer the same."""

import numpy as np
import pytest

from shaketable.core.errors import ModelError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.models.classifier import as_classifier

X = np.random.default_rng(0).uniform(size=(100, 2))
DATA = make_dataset(X, np.where(X[:, 0] > 0.5, "yes", "no"))


class Hungry:
    """Fails for more points than fit; notes how many it got."""

    def __init__(self, most, error):
        self.most, self.error, self.sizes = most, error, []

    def __call__(self, x):
        self.sizes.append(len(x))
        if len(x) > self.most:
            raise self.error
        return np.where(x[:, 0] > 0.5, "yes", "no")


def ask_for_too_much():
    """The error of numpy for an array that no memory can hold."""
    with pytest.raises(MemoryError) as error:
        np.empty(2**57)
    return error.value


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ask_for_too_much(),
        RuntimeError("std::bad_alloc"),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    ],
)
def test_half_as_many_points_are_given_until_they_fit(error):
    model = Hungry(30, error)
    records = evaluate(model, DATA, "linf(0.2)", k=2, model_id="hungry")
    whole = evaluate(Hungry(10**6, error), DATA, "linf(0.2)", k=2, model_id="fed")
    assert [c.hits.tolist() for c in records] == [c.hits.tolist() for c in whole]
    assert model.sizes[:3] == [100, 50, 25]
    assert max(model.sizes[3:]) == 25, "it is not asked for more again"


def test_a_single_point_that_is_too_much_is_an_error():
    model = Hungry(0, MemoryError("no luck"))
    with pytest.raises(ModelError, match="Hungry ran out of memory .MemoryError: no luck.; use a"):
        as_classifier(model, DATA)(X)
    assert model.sizes[-1] == 1


def test_a_module_is_given_fewer_points_too():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Net(torch.nn.Linear):
        most, alive = 30, 0

        def forward(self, x):
            if len(x) > self.most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return super().forward(x)

    torch.manual_seed(0)
    net = Net(2, 2)
    small = as_classifier(net, DATA)
    found = small(X)
    assert small.memory.rows == 25
    net.most = 1000
    assert found.tolist() == as_classifier(net, DATA)(X).tolist()
    net.most = 0
    with pytest.raises(ModelError, match="1 points are too many for it on cpu"):
        small(X)

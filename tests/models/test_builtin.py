import numpy as np
import pytest

from shaketable.data.arrays import make_dataset
from shaketable.models.builtin import BUILTIN, builtin, example
from shaketable.models.classifier import as_classifier
from shaketable.models.fitting import fit

X = np.array([[0.0], [0.2], [0.8], [1.0]])
DATA = make_dataset(X, ["no", "no", "yes", "yes"])


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_models_learn(name):
    data = make_dataset(np.repeat(X, 10, axis=0), np.repeat(DATA.labels, 10))
    model = fit(builtin(name), data, np.arange(data.n), seed=0)
    assert as_classifier(model, data)(X).tolist() == [0, 0, 1, 1]


def test_thresholds_belong_to_what_lies_above_them():
    x = np.array([[-4.0], [-0.1], [0.0], [0.9], [1.0]])
    assert example("f1")(x).tolist() == [-1, -1, -1, -1, 1]
    assert example("f2")(x).tolist() == [-1, -1, 1, 1, 1]
    assert example("f3")(x).tolist() == [-1, -1, 1, 1, 1]

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.fitting import clone_seeded, fit

X = np.array([[0.0], [0.2], [0.8], [1.0]])
DATA = make_dataset(X, ["no", "no", "yes", "yes"])


def test_seeding_reaches_every_nested_part_and_leaves_the_original_alone():
    original = make_pipeline(RandomForestClassifier(n_jobs=-1))
    copy = clone_seeded(original, 3)
    assert isinstance(copy[0].random_state, int)
    assert copy[0].n_jobs == 1
    assert original[0].random_state is None
    assert clone_seeded(original, 4)[0].random_state != copy[0].random_state
    both = clone_seeded(make_pipeline(PCA(), RandomForestClassifier()), 3)
    assert both[0].random_state != both[1].random_state  # parts have random numbers of their own


def test_a_callable_cannot_be_fitted():
    with pytest.raises(InputError, match="no scikit-learn estimator"):
        clone_seeded(lambda x: x, 0)


def test_a_module_cannot_be_fitted():
    nn = pytest.importorskip("torch", reason="torch is not installed").nn
    with pytest.raises(InputError, match="model Linear cannot be fitted.*pass a fitted model"):
        fit(nn.Linear(1, 2), DATA, np.arange(4), seed=0)

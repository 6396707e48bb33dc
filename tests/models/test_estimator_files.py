"""Models in skops files: read as they are, or refused with the types that must be trusted."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from helpers.threshold import X, Y, threshold
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model

skops = pytest.importorskip("skops.io", reason="skops is not installed")
pytestmark = pytest.mark.usefixtures("own_directory")
DATA = make_dataset(X, Y)


def test_an_estimator_comes_back_with_its_answers_and_its_identity():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    skops.dump(model, "m.skops")
    loaded = load_model("m.skops")[0]
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    joblib.dump(model, "m.joblib")
    pickled = load_model("m.joblib", trust=True)[0]
    assert as_classifier(loaded, DATA).identity == as_classifier(pickled, DATA).identity is not None


def test_types_that_skops_does_not_trust_must_be_trusted():
    model = make_pipeline(FunctionTransformer(abs), LogisticRegression()).fit(X, Y)
    model.steps[0] = ("own", FunctionTransformer(threshold_of))
    model.steps[0][1].fit(X)
    skops.dump(model, "m.skops")
    with pytest.raises(InputError, match=r"it holds .*threshold_of, which skops does not trust"):
        load_model("m.skops")
    assert load_model("m.skops", trust=True)[0].predict(X).tolist() == model.predict(X).tolist()


def threshold_of(x):
    return np.stack([threshold(x), threshold(x)], axis=1)


def test_a_file_that_is_no_skops_file_says_so():
    with open("m.skops", "w") as file:
        file.write("nothing")
    with pytest.raises(InputError, match="'m.skops' cannot be loaded: File is not a zip file"):
        load_model("m.skops")

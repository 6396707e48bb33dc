"""Models of MLflow, as objects and as folders."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
pytest.importorskip("mlflow.sklearn", reason="mlflow's scikit-learn flavour is not installed")
pytestmark = [
    pytest.mark.usefixtures("own_directory"),
    pytest.mark.filterwarnings("ignore"),  # many, of mlflow itself
]
X = np.random.default_rng(0).uniform(size=(50, 2))
FRAME = pd.DataFrame(X, columns=["width", "height"])
LABELS = np.where(X[:, 0] > 0.5, "wide", "slim")
DATA = make_dataset(FRAME, LABELS)


def save(folder, model, example):
    signature = mlflow.models.infer_signature(example, model.predict(example))
    mlflow.sklearn.save_model(
        model, folder, signature=signature, pip_requirements=[], serialization_format="cloudpickle"
    )


def test_a_model_takes_the_columns_of_its_signature():
    model = LogisticRegression(C=1e3).fit(FRAME[["height", "width"]], LABELS)
    save("model", model, FRAME[["height", "width"]])
    loaded = mlflow.pyfunc.load_model("model")
    expected = model.predict(FRAME[["height", "width"]])
    for given in (loaded, load_model("model", trust=True)[0]):
        classifier = as_classifier(given, DATA)
        assert np.array(DATA.classes)[classifier(X)].tolist() == expected.tolist()
        assert classifier.identity == as_classifier(loaded, DATA).identity is not None
    assert as_classifier(load_model("model", trust=True)[0], DATA).name == "model"
    assert len(evaluate(loaded, DATA, "linf(0.1)", k=1)) == 2
    with pytest.raises(InputError, match="a MLmodel file may hold code"):
        load_model("model")


def test_tensors_come_in_their_shape_and_type():
    seen = []

    class Mean(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            seen.append(model_input)
            return np.where(model_input.mean(axis=(1, 2)) > 0.5, "wide", "slim")

    images = np.random.default_rng(1).uniform(size=(20, 4, 3)).astype(np.float32)
    signature = mlflow.models.infer_signature(images, np.array(["slim"]))
    mlflow.pyfunc.save_model("model", python_model=Mean(), signature=signature, pip_requirements=[])
    loaded = mlflow.pyfunc.load_model("model")
    data = make_dataset(images.astype(np.float64), np.array(["slim", "wide"] * 10))
    assert len(as_classifier(loaded, data)(data.x)) == 20

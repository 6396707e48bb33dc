import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from shaketable.identity import content_hash

X, Y = load_iris(return_X_y=True)
MODELS = {
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(1, algorithm="kd_tree"),
    "svm": SVC,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_training_gives_the_same_hash_and_other_data_another(name):
    first = content_hash(MODELS[name]().fit(X, Y))
    assert first is not None
    assert first == content_hash(MODELS[name]().fit(X, Y))
    changed = X.copy()
    changed[0, 0] += 1e-9 if name == "neighbours" else 1
    assert first != content_hash(MODELS[name]().fit(changed, Y))
    assert first != content_hash(MODELS[name]().fit(X, (Y + 1) % 3))


def test_predicting_does_not_change_the_identity():
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    before = content_hash(model)
    model.predict(X)
    assert content_hash(model) == before


def test_parameters_count():
    assert content_hash(SVC(C=1.0)) != content_hash(SVC(C=2.0))


def test_the_hash_is_the_same_in_another_process():
    code = (
        "from sklearn.datasets import load_iris\n"
        "from sklearn.ensemble import RandomForestClassifier\n"
        "from shaketable.identity import content_hash\n"
        "model = RandomForestClassifier(5, random_state=0).fit(*load_iris(return_X_y=True))\n"
        "print(content_hash(model))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == content_hash(MODELS["forest"]().fit(X, Y))


def test_what_cannot_be_seen_has_no_identity():
    secret = 3
    assert content_hash(lambda x: x + secret) is None
    assert content_hash(FunctionTransformer(lambda x: x)) is None
    assert content_hash(threading.Lock()) is None  # an object that cannot be saved


def test_padding_between_fields_is_not_content():
    padded = np.dtype(
        {"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16}
    )
    raw = np.zeros(2, padded)
    dirty = np.frombuffer(bytearray(b"\xff" * 32), padded).copy()
    dirty["a"], dirty["b"] = raw["a"], raw["b"]
    assert content_hash(raw) == content_hash(dirty)


def test_cycles_end():
    loop: list[object] = []
    loop.append(loop)
    assert content_hash(loop) is not None


@pytest.mark.parametrize("name", MODELS)
def test_predicting_and_saving_leave_the_identity_alone(name, tmp_path):
    model = MODELS[name]().fit(X, Y)
    before = content_hash(model)
    model.predict(X)
    assert content_hash(model) == before
    joblib.dump(model, tmp_path / "m.joblib")
    assert content_hash(joblib.load(tmp_path / "m.joblib")) == before


def test_shared_parts_count_like_copies():
    part = np.arange(3)
    assert content_hash([part, part]) == content_hash([part, part.copy()])
    assert content_hash([part, part]) != content_hash([part, part + 1])


def _double(x):
    return x * 2.0


def _treble(x):
    return x * 3.0


def _rooted(x):
    return np.sqrt(x)


def _logged(x):
    return np.log(x)


def test_functions_count_by_what_they_do():
    for one, two in [(_double, _treble), (_rooted, _logged)]:
        one.__qualname__ = two.__qualname__ = "same"
        assert content_hash(FunctionTransformer(one)) != content_hash(FunctionTransformer(two))


def test_classes_of_ones_own_count_by_their_methods():
    def make(threshold):
        code = f"class Mine:\n    def predict(self, x):\n        return x > {threshold}\n"
        scope = {"__name__": "mine"}
        exec(code, scope)
        return scope["Mine"]

    assert content_hash(make(0.5)()) == content_hash(make(0.5)())
    assert content_hash(make(0.5)()) != content_hash(make(0.9)())

"""Models of Keras 3 with the torch backend, in a process of their own."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

if find_spec("keras") is None or find_spec("torch") is None:
    pytest.skip("keras with torch is not installed", allow_module_level=True)

CODE = """
import keras
import numpy as np
import shaketable as st
from shaketable.models.classifier import as_classifier

keras.utils.set_random_seed(0)
layers = [keras.layers.Conv2D(4, 3), keras.layers.Flatten(), keras.layers.Dense(3)]
model = keras.Sequential([keras.Input((6, 5, 1)), *layers], name="small")
x = np.random.default_rng(0).uniform(size=(40, 6, 5, 1)).astype(np.float32)
codes = model.predict(x, verbose=0).argmax(axis=1)
data = st.make_dataset(x, np.array(list("abc"))[codes], classes=tuple("abc"))
whole = st.evaluate(model, data, "linf(0.2)", k=2)
as_function = st.evaluate(lambda x: model.predict(x, verbose=0), data, "linf(0.2)", k=2)
assert whole.models == ["small"], whole.models
assert whole.cells[0].accuracy == 1
assert [c.hits.tolist() for c in whole] == [c.hits.tolist() for c in as_function]
first = as_classifier(model, data).identity
assert first == as_classifier(model, data).identity is not None
model.layers[-1].bias.assign([1.0, 0.0, 0.0])
assert as_classifier(model, data).identity != first
"""


def test_a_keras_model_is_taken_as_it_is_and_as_a_function():
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    subprocess.run([sys.executable, "-c", CODE], check=True, env=environment)

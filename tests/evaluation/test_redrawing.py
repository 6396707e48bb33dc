from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.data.bounds import Bounds
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.redrawing import draw_again
from shaketable.models.classifier import as_classifier

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 3))
Y = (X[:, 0] > 0.5).astype(int)
IMAGES = RNG.integers(0, 256, size=(20, 8, 8, 3), dtype=np.uint8)


def score(x):
    mean = np.asarray(x, dtype=float).reshape(len(x), -1)[:, 0]
    return (mean > 0.5).astype(int)


def check(model, data, corruptions, **options):
    records = evaluate(model, data, corruptions, model_id="m", k=4, **options)
    ask = as_classifier(model, data)
    places = np.array([3, 0, 17])
    for cell in records:
        inputs = draw_again(cell, data, places)
        assert inputs.shape == (3, cell.k, *data.shape)
        answers = ask(inputs.reshape(-1, *data.shape)).reshape(3, cell.k)
        np.testing.assert_array_equal(answers, cell.answers.predicted[places])
        np.testing.assert_array_equal(draw_again(cell, data, places, range(1)), inputs[:, :1])
    return records


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bounds": (0, 1)},
        {"bounds": Bounds(0, 1, "truncate")},
        {"draws": "ladder"},
        {"seed": 7},
    ],
    ids=str,
)
def test_answers_to_inputs_drawn_again_are_those_on_record(options):
    data = st.make_dataset(X, Y)
    records = check(score, data, ["linf(0.3)", "l2(0.3)", "linf(0.6)", "jitter(0.5)"], **options)
    noisy = draw_again(records.cells[1], data, range(40))
    assert not np.array_equal(noisy[:, 0], noisy[:, 1])


def test_images_under_common_corruptions_suites_and_faults():
    data = st.make_dataset(IMAGES, np.arange(20) % 2)
    faults = ["fog(3)", "gaussian_noise(2)", "sp(0.2) + rotation(30)", "linf(0.2) | sp(0.1)"]
    check(score, data, faults)
    check(score, data, suite("pnorm-cifar").names[:30:7])
    check(score, st.make_dataset(X, Y, bounds=(0, 1)), suite("pnorm"))


def test_rows_of_a_frame_with_text():
    frame = pd.DataFrame({"colour": RNG.choice(["red", "blue"], 40), "n": RNG.integers(0, 50, 40)})
    label = np.where(frame["n"] > 25, "yes", "no")
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
    data = st.make_dataset(frame, label)
    check(model.fit(frame, label), data, ["swap(0.5)", "typo(0.5)", "missing(0.3)"])


def test_other_data_and_noise_of_a_device_are_refused():
    data = st.make_dataset(X, Y)
    cell = evaluate(score, data, "linf(0.1)").cells[1]
    with pytest.raises(InputError, match="the same data only"):
        draw_again(cell, st.make_dataset(X + 1, Y), [0])
    on_device = replace(cell, setting=replace(cell.setting, noise="device"))
    with pytest.raises(InputError, match="made on a device"):
        draw_again(on_device, data, [0])

"""Models of scaled data take features in their own units wherever they are used."""

from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.adapted import adapt
from shaketable.models.classifier import as_classifier
from shaketable.models.feature_scaling import FeatureScaling, attach_scaling, detach_scaling
from shaketable.models.fitting import fit

RNG = np.random.default_rng(0)
N = 90
GROUP = RNG.integers(0, 2, N)
NUMBERS = np.column_stack([RNG.integers(20, 80, N), RNG.normal(3e4, 1e4, N), GROUP, 1 - GROUP])
LABELS = np.where((NUMBERS[:, 0] > 50) ^ (GROUP > 0), "yes", "no")
NAMES = ["age", "income", "a", "b"]
FRAME = pd.DataFrame(
    {
        "age": NUMBERS[:, 0].astype(int),
        "job": pd.Categorical(np.where(GROUP > 0, "clerk", "smith")),
        "income": pd.array(np.rint(NUMBERS[:, 1]).astype(int), dtype="Int64"),
    }
)
FRAME.loc[3, "income"] = pd.NA
ARRAY = make_dataset(NUMBERS, LABELS, features=NAMES)
BOOSTED = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3)

KINDS = {
    "array": (ARRAY, KNeighborsClassifier(1)),
    "uint8": (
        make_dataset(RNG.integers(40, 200, (N, 3, 4, 3)).astype(np.uint8), LABELS),
        KNeighborsClassifier(1),
    ),
    "chosen": (ARRAY.touching(only=["age"]), DecisionTreeClassifier(max_depth=3)),
    "one-hot": (ARRAY.touching(one_hot=[["a", "b"]]), DecisionTreeClassifier(max_depth=3)),
    "numbers": (
        make_dataset(pd.DataFrame(NUMBERS, columns=NAMES).astype({"age": int}), LABELS),
        KNeighborsClassifier(1),
    ),
    "frame": (make_dataset(FRAME, LABELS), BOOSTED.set_params(categorical_features="from_dtype")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_of_scaled_data_answers_as_in_training(kind, tmp_path):
    raw, unfitted = KINDS[kind]
    scaled = raw.scaled()
    model = fit(unfitted, scaled, np.arange(0, N, 2), seed=0)
    expected = as_classifier(model, scaled)(scaled.x)
    joblib.dump(attach_scaling(model, scaled), tmp_path / "m.joblib")
    loaded = joblib.load(tmp_path / "m.joblib")
    narrow = raw.sample(N - 20).scaled()
    for each in (loaded, attach_scaling(adapt(model), scaled), adapt(loaded)):
        for data in (raw, scaled):
            for unscale in (False, True):
                answer = as_classifier(each, data, unscale=unscale)(data.rows(slice(None)))
                np.testing.assert_array_equal(answer, expected)
        other = as_classifier(each, narrow)(narrow.x)
        assert (other == expected[narrow.kept]).mean() > 0.97, "rounding may change an answer"
    points = raw.decode(raw.rows(slice(None)))
    flat = points if hasattr(points, "columns") else points.reshape(N, -1)
    assert loaded.predict(flat).tolist() == [raw.classes[code] for code in expected]
    assert len({*expected.tolist()}) == 2


def test_models_of_data_that_were_not_scaled_stay_as_they_are():
    model = fit(KNeighborsClassifier(1), ARRAY, np.arange(N), seed=0)
    assert attach_scaling(model, ARRAY) is model
    for other in (model, make_pipeline(StandardScaler(), model), SimpleNamespace(steps=3)):
        assert detach_scaling(other) == (other, None)


def test_a_model_that_is_fitted_again_leaves_its_old_scaling():
    scaled = ARRAY.scaled()
    model = attach_scaling(fit(KNeighborsClassifier(1), scaled, np.arange(N), seed=0), scaled)
    for each in (model, attach_scaling(adapt(KNeighborsClassifier(1)), scaled)):
        again = fit(each, ARRAY, np.arange(N), seed=0)
        assert (as_classifier(again, ARRAY)(ARRAY.x) == ARRAY.y).all()


def test_the_scaling_is_part_of_what_a_model_is_known_by():
    scaled = ARRAY.scaled()
    model = fit(KNeighborsClassifier(1), scaled, np.arange(N), seed=0)
    whole = attach_scaling(model, scaled)
    identities = [as_classifier(m, ARRAY).identity for m in (model, whole)]
    assert identities[0] is not None
    assert identities[0] != identities[1] == as_classifier(whole, scaled).identity


def test_a_frame_with_other_columns_is_refused():
    raw, unfitted = KINDS["frame"]
    model = attach_scaling(fit(unfitted, raw.scaled(), np.arange(N), seed=0), raw.scaled())
    other = make_dataset(FRAME.drop(columns="age"), LABELS)
    with pytest.raises(InputError, match="must get the columns .* got data without age; give it"):
        model[0].bind(other, other.table, "m")
    with pytest.raises(InputError, match="x must be a data frame with the columns"):
        model.predict(NUMBERS)
    scaled = ARRAY.scaled()
    model = attach_scaling(fit(KNeighborsClassifier(1), scaled, np.arange(N), seed=0), scaled)
    with pytest.raises(InputError, match="must get the 4 features .* got 3; give it the same"):
        as_classifier(model, make_dataset(NUMBERS[:, :3], LABELS))


def test_a_model_of_a_frame_of_numbers_takes_arrays_and_columns_in_any_order():
    raw, unfitted = KINDS["numbers"]
    scaled = raw.scaled()
    model = attach_scaling(fit(unfitted, scaled, np.arange(N), seed=0), scaled)
    frame = raw.decode(raw.x)
    for x in (frame, NUMBERS):
        assert model.predict(x).tolist() == LABELS.tolist()
    for x in (frame[NAMES[::-1]], NUMBERS):
        data = make_dataset(x, LABELS)
        assert (as_classifier(model, data)(data.x) == data.y).all()
    with pytest.raises(InputError, match="must get the columns .* got data without age, income"):
        as_classifier(model, make_dataset(NUMBERS[:, 1:], LABELS))


def test_columns_of_a_frame_are_scaled_by_name():
    data = make_dataset(pd.DataFrame({"x": [0.0, np.nan, 4.0], "y": [1.0, 2.0, 3.0]}), [0, 1, 0])
    scaling = FeatureScaling.of(data.scaled())
    plain = make_dataset(np.array([[3.0, 2.0], [1.0, 0.0]]), [0, 1], features=["y", "x"])
    (answer,) = scaling.bind(plain, None, "m")(plain.x)[["x", "y"]].to_numpy()[:1].tolist()
    assert answer == [0.5, 1.0]

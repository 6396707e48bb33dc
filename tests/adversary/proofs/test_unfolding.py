"""Looking through the steps of models: features follow the columns that move, or nothing is said."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import shaketable as st
from helpers.frames import make_people
from shaketable.adversary.proofs.unfolding import unfold
from shaketable.models.adapted import adapt
from shaketable.models.builtin import builtin
from shaketable.models.feature_scaling import attach_scaling
from shaketable.models.fitting import fit
from shaketable.models.preprocess import Preprocess

FRAME, Y = make_people(120)
DATA = st.make_dataset(FRAME, Y)
NUMBERS = ["age", "income", "weight"]
IRIS = st.load("iris")


def check(found, data, *, rtol=1e-9):
    """Features change with every column as the slopes say, gaps aside."""
    rng = np.random.default_rng(1)
    moved = np.ones(data.d, bool) if data.table is None else data.table.moved
    rows = data.rows(np.arange(20))
    flat = rows.reshape(20, -1)
    step = rng.uniform(0.5, 2, (20, moved.sum())) * np.isfinite(flat[:, moved])
    changed = flat.copy()
    changed[:, moved] += step
    difference = found.transform(changed.reshape(rows.shape)) - found.transform(rows)
    difference = np.nan_to_num(difference)  # of features that are missing
    np.testing.assert_allclose(difference, step @ found.slope.T, rtol=rtol, atol=1e-6)
    assert ((found.slope != 0).sum(axis=1) <= 1).all()
    assert found.slope.any()


def test_the_preparation_of_built_in_models():
    for name in ("logistic", "rf", "1nn", "svm", "mlp"):
        model = fit(builtin(name, DATA), DATA, np.arange(DATA.n), seed=0)
        found = unfold(model, DATA, False)
        assert type(found.estimator).__module__.startswith("sklearn.")
        assert found.codes.tolist() == [0, 1]
        check(found, DATA, rtol=1e-5)
        np.testing.assert_array_equal(
            found.classifier(DATA.x),
            found.codes[
                np.searchsorted(
                    found.estimator.classes_, found.estimator.predict(found.transform(DATA.x))
                )
            ],
        )


def test_users_own_pipelines():
    numbers = make_pipeline(SimpleImputer(), MinMaxScaler(), "passthrough")
    columns = ColumnTransformer(
        [
            ("numbers", numbers, NUMBERS),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["job", "size"]),
            ("member", "passthrough", ["member"]),
            ("date", "drop", ["since"]),
        ]
    )
    model = make_pipeline(columns, SelectKBest(k=6), LogisticRegression()).fit(FRAME, Y)
    check(unfold(model, DATA, False), DATA, rtol=1e-5)
    grid = {"logisticregression__C": [1.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), grid, cv=2)
    found = unfold(search.fit(IRIS.x, IRIS.labels), IRIS, False)
    check(found, IRIS)
    np.testing.assert_allclose(found.scale, 1 / IRIS.x.std(axis=0))
    assert found.grain < 1e-15


def test_scaled_features():
    scaled, rows = IRIS.scaled(), np.arange(IRIS.n)
    model = fit(builtin("logistic", scaled), scaled, rows, seed=0)
    saved = attach_scaling(model, scaled)
    check(unfold(saved, IRIS, False), IRIS)
    check(unfold(saved, scaled, False), scaled)
    raw = fit(builtin("logistic", IRIS), IRIS, rows, seed=0)
    found = unfold(raw, scaled, True)
    check(found, scaled)
    np.testing.assert_allclose(found.scale, scaled.scaling.span / raw[0].scale_)
    people = DATA.scaled()
    model = fit(builtin("logistic", people), people, np.arange(DATA.n), seed=0)
    check(unfold(attach_scaling(model, people), DATA, False), DATA, rtol=1e-5)
    check(unfold(model, people, False), people)
    model = fit(builtin("logistic", DATA), DATA, np.arange(DATA.n), seed=0)
    found = unfold(model, people, True)
    check(found, people, rtol=1e-4)
    assert 0 < found.blur[0] < 1e-8  # ages are whole numbers
    assert found.grain > 1e-8  # weights are float32


def test_frames_of_plain_numbers_in_any_order():
    import pandas as pd

    frame = pd.DataFrame(IRIS.x, columns=list("abcd"))
    model = LogisticRegression().fit(frame[list("cbda")] / 9, IRIS.labels)
    found = unfold(model, st.make_dataset(frame, IRIS.labels), False)
    assert found.source.tolist() == [2, 1, 3, 0]
    assert unfold(model, st.make_dataset(frame, IRIS.labels), False).scale.tolist() == [1] * 4


def test_images_are_flattened():
    x = np.random.default_rng(0).integers(0, 255, (30, 4, 4, 3), dtype=np.uint8)
    data = st.make_dataset(x, np.arange(30) % 2)
    model = RandomForestClassifier(3).fit(data.rows(slice(None)).reshape(30, -1), data.y)
    found = unfold(model, data, False)
    assert found.source.tolist() == list(range(48))
    check(found, data, rtol=1e-5)


class Doubler(StandardScaler):
    """A transformer of another kind, under a known type."""

    def transform(self, x):
        return 2 * super().transform(x)


@pytest.mark.parametrize(
    "step",
    [
        Doubler(),
        Normalizer(),
        PolynomialFeatures(2),
        MinMaxScaler(clip=True),
        FunctionTransformer(np.sqrt),
        SimpleImputer(missing_values=0.2),
        SimpleImputer(add_indicator=True),
        OneHotEncoder(handle_unknown="ignore"),
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0, 1])),
        make_column_transformer((StandardScaler(), [0, 1]), (Normalizer(), [2, 3])),
        Pipeline([("inner", FunctionTransformer(np.log1p))]),
    ],
    ids=str,
)
def test_unknown_steps_and_steps_that_are_not_linear(step):
    model = make_pipeline(step, LogisticRegression(max_iter=1000)).fit(IRIS.x, IRIS.labels)
    assert unfold(model, IRIS, False) is None


def test_other_models_and_declarations():
    assert unfold(lambda x: x[:, 0] > 0, IRIS, False) is None
    model = LogisticRegression(max_iter=1000).fit(IRIS.x, IRIS.labels)
    halved = adapt(model, preprocess=Preprocess(scale=2.0))
    assert unfold(halved, IRIS, False) is None
    assert unfold(adapt(model, classes=IRIS.classes), IRIS, False) is not None


def test_dates_that_move_are_rounded_so_nothing_is_said():
    data = DATA.touching(only=["age", "since"])
    model = fit(builtin("logistic", data), data, np.arange(data.n), seed=0)
    assert unfold(model, data, False) is None


def test_classes_that_the_data_lack():
    some = np.flatnonzero(IRIS.y < 2)
    model = LogisticRegression(max_iter=1000).fit(IRIS.x, IRIS.labels)
    data = st.make_dataset(IRIS.x[some], IRIS.labels[some])
    assert unfold(model, data, False).codes.tolist() == [0, 1, -1]

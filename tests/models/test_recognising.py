"""Boosted models that were fitted on categories take the same frame with text."""

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.frames import make_people
from shaketable.models.recognising import make_categories


def make_frames():
    frame = make_people(120)[0].drop(columns="since").astype({"job": "category"})
    y = np.where((frame["job"] == "nurse") | (frame["age"] > 70), "yes", "no")
    return frame, frame.astype({"job": object, "size": object}), y


def fit_xgboost(frame, y):
    xgboost = pytest.importorskip("xgboost", reason="needs XGBoost")
    if not hasattr(xgboost.Booster, "get_categories"):
        pytest.skip("this XGBoost knows categories by their places only")
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3, enable_categorical=True)
    return model.fit(frame, (y == "yes").astype(int))


def fit_lightgbm(frame, y):
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM")
    model = lightgbm.LGBMClassifier(n_estimators=5, min_data_per_group=5, verbose=-1)
    return model.fit(frame, (y == "yes").astype(int))


@pytest.mark.parametrize("fit", [fit_xgboost, fit_lightgbm])
@pytest.mark.parametrize("native", [False, True])
def test_text_counts_as_the_categories_of_the_fit(fit, native):
    frame, text, y = make_frames()
    model = fit(frame, y)
    expected = np.array(["no", "yes"])[model.predict(frame)]
    assert (model.predict(frame) != model.predict(frame.assign(job=frame["job"].array[::-1]))).any()
    if native:
        model = model.get_booster() if hasattr(model, "get_booster") else model.booster_
    # rows in another order, and only some of the categories
    rows = np.flatnonzero(frame["job"].isin(["nurse", "chef"]))[::-1]
    part = text.iloc[rows].reset_index(drop=True)
    records = st.evaluate(
        st.adapt(model, classes=["no", "yes"]), (part, y[rows]), "swap(0, only=job)", k=1
    )
    for cell in records:
        np.testing.assert_array_equal(cell.hits, expected[rows] == y[rows])


def test_only_text_becomes_categories():
    frame = pd.DataFrame({"a": ["x", None], "b": [1.0, np.nan], "c": [True, False]})
    made = make_categories(frame)
    assert [str(dtype) for dtype in made.dtypes] == ["category", "float64", "bool"]
    assert made["a"].isna().tolist() == [False, True]
    array = np.zeros((2, 2))
    assert make_categories(array) is array

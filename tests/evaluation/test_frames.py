"""Models on data frames: they get the columns and the types that they were fitted on."""

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.frames import make_people, make_pipeline_for_people
from shaketable.core.errors import InputError, ModelError

FRAME, Y = make_people()
TRAIN, TEST = slice(0, 120), slice(120, 200)
SPECS = ["linf(2)", "jitter(0.5)", "swap(0.3)", "typo(0.3)", "missing(0.2)", "linf(9, only=age)"]


@pytest.fixture(scope="module")
def fitted():
    return make_pipeline_for_people().fit(FRAME[TRAIN], Y[TRAIN])


def accuracies(records):
    return {r.corruption: r.hits.sum() / (r.k * r.n) for r in records}


def test_clean_accuracy_is_that_of_scikit_learn(fitted):
    found = accuracies(st.evaluate(fitted, (FRAME[TEST], Y[TEST]), SPECS, k=2))
    assert found["clean"] == fitted.score(FRAME[TEST], Y[TEST])
    assert len(found) == 7
    assert found["jitter(0.5)"] < found["clean"]


def test_models_get_the_columns_and_types_of_the_data():
    seen = []

    def model(frame):
        seen.append(frame)
        return np.where(frame["age"] > 50, "yes", "no")

    st.evaluate(model, (FRAME, Y), SPECS[:2], k=1)
    pd.testing.assert_frame_equal(seen[0], FRAME)
    for frame in seen[1:]:
        assert (frame.dtypes.drop("age") == FRAME.dtypes.drop("age")).all()
        rest = ["job", "size", "member", "since"]
        pd.testing.assert_frame_equal(frame[rest], FRAME[rest])


def test_a_store_recognises_a_frame(fitted, tmp_path):
    path = tmp_path / "r.sqlite"
    first = st.evaluate(fitted, (FRAME[TEST], Y[TEST]), SPECS[:1], k=1, store=path)
    again = st.evaluate(fitted, (FRAME[TEST], Y[TEST]), SPECS[:1], k=1, store=path)
    assert [r.created for r in first] == [r.created for r in again]


def test_refit_and_unscale_on_frames(fitted):
    data = st.make_dataset(FRAME, Y)
    again = accuracies(st.evaluate(make_pipeline_for_people(), data, SPECS[:1], k=1, refit=True))
    assert again["clean"] > 0.6
    raw = accuracies(st.evaluate(fitted, data, SPECS[1:2], k=1))
    scaled = accuracies(st.evaluate(fitted, data.scaled(), SPECS[1:2], k=1, unscale=True))
    assert raw["clean"] == scaled["clean"]


def test_arrays_with_gaps_are_arrays_for_models():
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = FRAME[["age", "income"]].to_numpy()
    model = HistGradientBoostingClassifier(max_iter=5).fit(x, Y)
    found = accuracies(st.evaluate(model, (x, Y), ["linf(1)", "missing(0.5)"], k=1))
    assert found["clean"] == model.score(x, Y)
    frame = pd.DataFrame(x, columns=["a", "b"])
    assert accuracies(st.evaluate(model, (frame, Y), ["linf(1)"], k=1))["clean"] == found["clean"]


NUMBERS = FRAME[["age", "weight"]].assign(rooms=np.arange(200) % 7)


def test_models_of_a_frame_of_numbers_get_the_frame():
    seen = []

    def model(frame):
        seen.append(frame)
        return np.where(frame["age"] > 50, "yes", "no")

    specs = ["linf(2)", "missing(0.2)", "swap(0.2, only=rooms)"]
    records = st.evaluate(model, (NUMBERS, Y), specs, k=1)
    clean, noisy, holes, swapped = seen
    pd.testing.assert_frame_equal(clean, NUMBERS)
    assert noisy.dtypes.astype(str).tolist() == ["float64", "float32", "float64"]
    assert 60 < holes.isna().to_numpy().sum() < 180
    assert holes.isna().any(axis=0).all()
    pd.testing.assert_frame_equal(swapped.drop(columns="rooms"), NUMBERS.drop(columns="rooms"))
    assert swapped["rooms"].dtype == NUMBERS["rooms"].dtype
    names = [record.corruption for record in records]
    assert names == ["clean", "linf(2)", "missing(0.2, empty)", 'swap(0.2, only="rooms")']
    assert st.metrics.accuracy(records, corruption="missing(0.2)").value > 0.5


def test_a_csv_file_of_numbers_is_a_frame_too(tmp_path):
    NUMBERS.assign(risk=Y).to_csv(tmp_path / "numbers.csv", index=False)
    data = st.load(tmp_path / "numbers.csv", label="risk")
    types = []

    def model(frame):
        types.append(frame.dtypes.astype(str).tolist())
        return np.where(frame["age"] > 50, "yes", "no")

    st.evaluate(model, data, "linf(2)", k=1)
    assert types == [["int64", "float64", "int64"], ["float64"] * 3]
    with pytest.raises(
        ModelError, match=r"failed on a data frame \(frame.to_numpy\(\) is an array"
    ):
        st.evaluate(lambda x: x[:, 0], data, "linf(2)")


def test_a_pipeline_by_names_is_trained_on_a_frame_of_numbers():
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    encoder = ColumnTransformer([("some", StandardScaler(), ["rooms", "age"])])
    model = make_pipeline(encoder, LogisticRegression())
    data = st.make_dataset(NUMBERS, Y, n_train=120)
    found = accuracies(st.evaluate(model, data, "linf(2)", k=1, refit=True))
    fitted = model.fit(NUMBERS[TRAIN], Y[TRAIN])
    assert found["clean"] == fitted.score(NUMBERS[TEST], Y[TEST])


@pytest.mark.parametrize("order", [["age", "weight", "rooms"], ["rooms", "age", "weight"]])
def test_noise_in_a_frame_of_numbers_is_that_of_the_array(order, tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    x = NUMBERS.to_numpy(np.float64)
    specs = ["linf(3)", "jitter(0.5)", "missing(0.3, mean)", 'swap(0.5, only="{}")']
    on_array = DecisionTreeClassifier(random_state=0).fit(x, Y)
    on_frame = DecisionTreeClassifier(random_state=0).fit(NUMBERS.astype(float)[order], Y)
    array = st.make_dataset(x, Y, features=tuple(NUMBERS))
    given, types = (array, (NUMBERS.astype(float), Y)), []

    class Spy(DecisionTreeClassifier):
        def predict(self, x):
            types.append(type(x))
            return super().predict(x)

    on_array.__class__ = Spy
    for model in (on_array, on_frame):
        first, second = [
            st.evaluate(model, data, [s.format("rooms") for s in specs], k=3) for data in given
        ]
        assert [r.corruption for r in first] == [r.corruption for r in second]
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a.hits, b.hits)
            assert (a.k, a.n, a.fingerprint) == (b.k, b.n, b.fingerprint)
    assert set(types) == {np.ndarray}  # it was fitted on one


def test_gaps_of_a_frame_and_means_of_an_array_are_kept_apart(tmp_path):
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=5).fit(NUMBERS.to_numpy(), Y)
    store = tmp_path / "r.sqlite"
    found = [
        accuracies(st.evaluate(model, (x, Y), "missing(0.5)", k=5, store=store))
        for x in (NUMBERS.to_numpy(), NUMBERS)
    ]
    assert found[0]["clean"] == found[1]["clean"]
    assert found[0]["missing(0.5)"] != found[1]["missing(0.5, empty)"]


def test_a_requirement_may_leave_the_gaps_of_a_frame_unsaid():
    def model(frame):
        return np.where(frame["age"] > 50, "yes", "no")

    checked = st.check(
        st.evaluate(model, (NUMBERS, Y), ["missing(0.1)"], k=2), "error[missing(0.1)] <= 90"
    )
    assert checked


def test_a_model_that_refuses_missing_values_is_named():
    from sklearn.linear_model import LogisticRegression

    x = FRAME[["age", "weight"]]
    model = LogisticRegression().fit(x, Y)
    with pytest.raises(ModelError, match=r"(?s)under missing\(0.1, empty\): .*NaN.*, mean\) fills"):
        st.evaluate(model, (x, Y), ["missing(0.1)"], k=1)

    def scores(frame):
        return np.stack([frame["age"] - 50.0, 50.0 - frame["age"]], axis=1)

    with pytest.raises(
        InputError, match=r"under missing\(0.1, empty\): .*NaN scores.*mean\) fills"
    ):
        st.evaluate(scores, (x, Y), ["missing(0.1)"], k=1)
    with pytest.raises(
        InputError, match=r"^model scores returned NaN scores; no class can be read"
    ):
        st.evaluate(lambda x: scores(x) * np.nan, (x, Y), ["linf(1)"], k=1, name="scores")


def test_an_assessment_says_which_columns_noise_changes():
    frame = FRAME.drop(columns="since")
    model = make_pipeline_for_people().fit(frame[TRAIN], Y[TRAIN])
    data = st.make_dataset(frame, Y, n_train=120).touching(keep="income", others="gower")
    found = st.assess(model, data, k=1)
    assert found.clean.value == model.score(frame[TEST], Y[TEST])
    assert "noise changes age, weight and leaves income, job, size, member" in str(found)
    with pytest.raises(InputError, match="test must be given"):
        st.assess(model, (frame, Y))


def test_a_model_without_an_encoder_is_told_so():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ModelError, match="with text, dates or gaps, which a pipeline can"):
        st.evaluate(LogisticRegression(), (FRAME, Y), ["linf(1)"], refit=True)
    with pytest.raises(InputError, match="device_noise is for points that are plain numbers"):
        st.evaluate(lambda frame: frame["job"], (FRAME, Y), ["linf(1)"], device_noise=True)


def test_sizes_of_suites_are_those_of_the_columns_that_move(fitted):
    data = st.make_dataset(FRAME[TEST], Y[TEST]).touching(only=["age", "income", "weight"])
    records = st.evaluate(fitted, data, st.suite("ice"), k=1, bounds=(0, 999))
    plain = st.make_dataset(np.zeros((80, 3)), Y[TEST], bounds=(0, 999))
    expected = st.suite("ice").on(plain.shape, plain.bounds).names
    assert [r.corruption for r in records][1:] == list(expected)


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_boosted_models_get_categories(package):
    library = pytest.importorskip(package, reason=f"{package} is an optional package")
    frame = FRAME.assign(job=FRAME["job"].astype("category")).drop(columns="since")
    frame = frame.rename(columns={"weight": "net weight"})
    settings = {"n_estimators": 5, "n_jobs": 1}
    if package == "xgboost":
        model = library.XGBClassifier(enable_categorical=True, **settings)
    else:
        model = library.LGBMClassifier(verbose=-1, min_child_samples=5, **settings)
    codes = (Y == "yes").astype(int)
    model.fit(frame[TRAIN], codes[TRAIN])
    found = accuracies(st.evaluate(model, (frame[TEST], codes[TEST]), SPECS, k=1, model_id="m"))
    assert found["clean"] == model.score(frame[TEST], codes[TEST])
    assert found["swap(0.3)"] != found["clean"]


def test_studies_train_on_frames():
    data = st.make_dataset(FRAME.drop(columns="since"), Y).touching(others="gower")
    records = st.study(
        data,
        {"trees": make_pipeline_for_people()},
        train_eps=[0, 1],
        test_eps=[0, 1],
        k=2,
        runs=1,
        n_jobs=1,
    )
    assert {(r.train, r.corruption) for r in records} >= {
        ("clean", "clean"),
        ("linf(1)", "linf(1)"),
    }

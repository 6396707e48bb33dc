"""Built-in data sets are as their docstrings say."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier

from shaketable.core.errors import InputError
from shaketable.data.bounds import Bounds
from shaketable.data.builtin import BUILTIN, SHAPES, bands, people, shapes, sunset, toy1d
from shaketable.data.dataset import Dataset
from shaketable.data.files import load
from shaketable.data.writing import write_dataset
from shaketable.models.builtin import builtin


def separation(data: Dataset) -> float:
    return float(cdist(data.x[data.y == 0], data.x[data.y == 1], "chebyshev").min())


def forest_accuracy(data: Dataset) -> float:
    train, test = data.parts()
    x = data.rows(slice(None)).reshape(data.n, -1)
    forest = RandomForestClassifier(50, random_state=0).fit(x[train], data.y[train])
    return float(np.mean(forest.predict(x[test]) == data.y[test]))


@pytest.mark.parametrize("wanted", [1e-9, 0.001, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("n", [2, 11, 1000])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bands_are_exactly_as_far_apart_as_asked_for(wanted: float, n: int, seed: int) -> None:
    data = bands(n=n, separation=wanted, seed=seed)
    assert abs(separation(data) - wanted) <= 4 * np.finfo(float).eps
    assert np.bincount(data.y).tolist() == [n // 2, n - n // 2]
    assert data.x.min() > 0
    assert data.x.max() < 1


def test_bands_are_dense_enough_that_the_pulled_point_hardly_moves() -> None:
    data = bands()
    opponents = cdist(data.x[data.y == 0], data.x[data.y == 1], "chebyshev")
    assert np.partition(opponents.min(axis=1), 3)[3] < 0.025
    assert 0.97 < forest_accuracy(data) < 1


def test_bands_depend_on_the_seed_alone() -> None:
    assert bands().fingerprint == "438e873ae92db7a849cffdef75775b90"
    assert bands(seed=1).fingerprint != bands().fingerprint


@pytest.mark.parametrize("n", [4, 7, 200])
def test_toy1d_is_two_half_open_intervals(n: int) -> None:
    data = toy1d(n)
    x, left = data.x[:, 0], n // 2
    assert data.x.shape == (n, 1)
    assert data.labels.tolist() == [-1] * left + [1] * (n - left)
    assert (x[0], x[left]) == (-2, 1)
    assert np.allclose(np.diff(x[:left]), 1 / left)
    assert np.allclose(np.diff(x[left:]), 1 / (n - left))
    # the last point on the left is a step short of -1
    assert separation(data) == pytest.approx(2 + 1 / left)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_sunset_is_uniform_on_a_sphere_and_its_tangent_plane(d: int) -> None:
    data = sunset(n=4000, d=d)
    sphere, plane = data.x[data.labels == "A"], data.x[data.labels == "B"]
    assert len(sphere) == len(plane) == 2000
    centred = sphere - np.eye(d)[-1]
    assert np.allclose((centred**2).sum(axis=1), 1)
    # a coordinate of a uniform point on the sphere, squared, is Beta(1/2, (d-1)/2)
    for coordinate in (0, -1):
        law = stats.beta(0.5, (d - 1) / 2)
        assert stats.kstest(centred[:, coordinate] ** 2, law.cdf).pvalue > 1e-3
        assert stats.binomtest(int((centred[:, coordinate] > 0).sum()), 2000).pvalue > 1e-3
    assert np.all(plane[:, -1] == 0)
    assert stats.kstest(plane[:, 0], stats.uniform(-2, 4).cdf).pvalue > 1e-3
    assert np.abs(plane[:, :-1]).max(axis=1).min() > 0
    assert separation(data) > 0


def test_shapes_are_ten_balanced_kinds_of_images_a_forest_can_tell() -> None:
    data = shapes(n=1000)
    assert data.x.shape == (1000, 32, 32, 3)
    assert data.x.dtype == np.uint8
    assert data.bounds == Bounds(0, 1)
    assert data.classes == SHAPES
    assert np.bincount(data.y).tolist() == [100] * 10
    assert data.clashes() == []
    assert forest_accuracy(data) > 0.6
    assert data.fingerprint == "84ccb104a6ff4581dfc73e560a70b4d2"


def test_people_are_a_frame_of_numbers_text_and_a_flag_with_gaps() -> None:
    frame = people().decode(people().x)
    assert frame.shape == (1500, 8)
    assert frame.dtypes[["age", "income", "owns_home"]].astype(str).tolist() == [
        "int64", "float64", "bool",
    ]  # fmt: skip
    assert sorted(frame["job"].dropna().unique()) == [
        "clerk", "cook", "driver", "engineer", "nurse", "retired", "student",
    ]  # fmt: skip
    gaps = frame.isna().sum()
    assert gaps[gaps > 0].index.tolist() == ["job", "income"]
    assert stats.binomtest(int(gaps["job"]), 1500, 0.06).pvalue > 0.01
    assert stats.binomtest(int(gaps["income"]), 1500, 0.08).pvalue > 0.01
    assert frame["age"].between(18, 78).all()
    assert set(frame["job"][frame["age"] > 64].dropna()) == {"retired"}


def test_people_depend_on_the_seed_and_the_row_alone() -> None:
    assert people().fingerprint == "e6a8bcc533cbc6b9093bb90b625982cb"
    assert people(seed=1).fingerprint != people().fingerprint
    few, more = people(n=40), people(n=90)
    assert few.decode(few.x).equals(more.decode(more.x)[:40])
    assert few.labels.tolist() == more.labels[:40].tolist()


def test_who_repays_is_uneven_and_can_be_learnt() -> None:
    data = load("people")
    train, test = data.parts()
    frame, most = data.decode(data.x), np.mean(data.labels == "yes")
    assert 0.7 < most < 0.77
    forest = builtin("rf", data).set_params(randomforestclassifier__random_state=0)
    forest.fit(frame.iloc[train], data.labels[train])
    assert 0.84 < forest.score(frame.iloc[test], data.labels[test]) < 0.92
    assert data.clashes() == []


def test_people_are_the_same_data_in_a_file(tmp_path: Path) -> None:
    file = write_dataset(tmp_path / "people.csv", people(), label="repaid")
    read = load(file, label="repaid")
    assert read.fingerprint == people().fingerprint
    assert read.decode(read.x).equals(people().decode(people().x))


def test_columns_of_a_built_in_table_are_chosen_as_those_of_a_file() -> None:
    plain, changed = load("people"), load("people", drop="sex", types={"region": "category"})
    assert changed.features == ("age", "region", "job", "income", "amount", "rate", "owns_home")
    assert changed.decode(changed.x)["region"].dtype == "category"
    assert changed.labels.tolist() == plain.labels.tolist()
    assert load("people", by=["sex"], drop="sex").groupings[0].labels == ("f", "m")
    assert load("people(n=99)", non_numeric="drop").name == "people(n=99)"
    assert load("people", non_numeric="drop").features == (
        "age", "income", "amount", "rate", "owns_home",
    )  # fmt: skip
    with pytest.raises(InputError, match="got others in 'people': sex, region, job; choose 'drop'"):
        load("people", non_numeric="error")
    with pytest.raises(InputError, match="unknown column 'repaid'"):
        load("people", drop="repaid")


def test_known_sets_are_scikit_learns() -> None:
    iris, digits = load("iris"), load("digits")
    assert np.array_equal(iris.x, load_iris().data)
    assert iris.classes == ("setosa", "versicolor", "virginica")
    assert iris.features is not None
    assert iris.features[0] == "sepal length (cm)"
    assert np.array_equal(digits.x, load_digits().data)
    assert digits.classes == tuple(range(10))
    assert digits.bounds == Bounds(0, 16)
    assert load("breast_cancer").classes == ("benign", "malignant")


def test_wine_ranges_differ_2645_fold() -> None:
    (note,) = load("wine").notes()
    assert "factor of 2,645" in note
    assert "proline spans 1402, nonflavanoid_phenols only 0.53" in note
    assert load("wine", scale=True).notes() == []


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_set_can_be_loaded_and_describes_itself(name: str) -> None:
    assert load(name).name == name
    assert len((BUILTIN[name].__doc__ or "").splitlines()[0]) > 30


@pytest.mark.parametrize(
    "spec", ["bands(n=50, separation=0.05)", "bands( 50,0.05 )", "bands(50, separation=5e-2)"]
)
def test_options_are_given_by_place_or_name(spec: str) -> None:
    data = load(spec)
    assert data.fingerprint == bands(n=50, separation=0.05).fingerprint
    assert data.name in (
        "bands(n=50, separation=0.05)",
        "bands(50, 0.05)",
        "bands(50, separation=0.05)",
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bands(foo=1)", r"bands takes n, separation, seed, got 'bands\(foo=1\)'"),
        ("bands(1, 2, 3, 4)", "bands takes n, separation, seed"),
        ("bands(50, n=50)", "bands takes n, separation, seed"),
        ("iris(3)", "iris takes no options"),
        ("bands(n=-3)", "n must be a whole number, 2 or more, got -3"),
        ("bands(n=2.5)", "n must be a whole number, 2 or more, got 2.5"),
        ("bands(n=nan)", "n must be a whole number, 2 or more, got nan"),
        ("bands(n=inf)", "n must be a whole number, 2 or more, got inf"),
        ("bands(n=many)", "n must be a number, got 'many'"),
        ("bands(seed=-1)", "seed must be a whole number, 0 or more"),
        ("bands(separation=0)", "separation must lie between 1e-9 and 1, got 0"),
        ("bands(separation=0.3)", "separation 0.3 leaves no room for 1000 points"),
        ("sunset(d=1)", "d must be a whole number, 2 or more"),
        ("shapes(n=1)", "n must be a whole number, 2 or more"),
        ("people(n=1)", "n must be a whole number, 2 or more"),
        ("people(n=100000000)", "n must be at most 71428571 for points of 14 values"),
        ("toy1d(n=1)", "n must be a whole number, 2 or more"),
        ("bands(n=50", "spec must read"),
        ("bands(n=99999999999999)", "n must be at most 500000000 for points of 2 values, got 9999"),
        ("sunset(n=2000, d=1000000)", "n must be at most 1000 for points of 1000000 values"),
        ("shapes(n=1000000)", "n must be at most 325520"),
        ("toy1d(n=2000000000)", "n must be at most 1000000000"),
    ],
)
def test_wrong_options_are_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(spec)

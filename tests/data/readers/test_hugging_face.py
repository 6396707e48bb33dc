"""Data sets of Hugging Face's library: images, arrays and tables, made here."""

import numpy as np
import pytest

from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.data.arrays import join, make_dataset
from shaketable.data.files import as_dataset, load
from shaketable.evaluation.evaluate import evaluate

datasets = pytest.importorskip("datasets", reason="needs Hugging Face's datasets")

X, Y = make_images(24, 6, 6), [i % 3 for i in range(24)]


def make_split(rows=slice(24), **more):
    features = {"img": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b", "c", "d"])}
    columns = {"img": list(X[rows]), "label": Y[rows]}
    for name, (values, kind) in more.items():
        columns[name], features[name] = values[rows], kind
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


def test_images_with_declared_classes():
    expected = make_dataset(X, Y, classes=(0, 1, 2, 3))
    for split in (make_split(), make_split().with_format("numpy")):
        assert load(split).fingerprint == as_dataset(split).fingerprint == expected.fingerprint
    some = load(make_split(), points=10, seed=1)
    assert some.fingerprint == expected.sample(10, seed=1).fingerprint
    assert some.name == "dataset, 10 of 24 points, seed 1"
    several = make_split(coarse=([v % 2 for v in Y], datasets.ClassLabel(num_classes=2)))
    assert load(several, label="coarse").classes == (0, 1)
    with pytest.raises(InputError, match="several could be it: label, coarse; give label="):
        load(several)
    with pytest.raises(InputError, match="label must be a column, got 'species'; there are img"):
        load(several, label="species")


def test_splits_are_the_parts():
    expected = join((X[:18], Y[:18]), (X[18:], Y[18:]), classes=(0, 1, 2, 3))
    train, test = make_split(slice(18)), make_split(slice(18, 24))
    both = datasets.DatasetDict(train=train, validation=test)
    assert load(both).fingerprint == expected.fingerprint
    for seed in range(5):
        sample = expected.sample(12, seed=seed)
        assert load(both, points=12, seed=seed).fingerprint == sample.fingerprint
    of_training = expected.sample(4, part="train")
    assert load(both, points=4, part="train").fingerprint == of_training.fingerprint
    assert load(datasets.DatasetDict(test=test)).n_train is None
    assert as_dataset(train, test=test).n_train == 18
    with pytest.raises(InputError, match=r"got train, test, validation; give two .*'validation'"):
        load(datasets.DatasetDict(train=train, test=test, validation=test))


def test_tables_and_arrays():
    columns = {"a": np.arange(6.0), "b": np.arange(6) * 2, "y": ["u", "v"] * 3}
    data = load(datasets.Dataset.from_dict(columns))
    assert (data.features, data.classes) == (("a", "b"), ("u", "v"))
    np.testing.assert_array_equal(data.x, np.c_[columns["a"], columns["b"]])
    cubes = np.random.default_rng(0).uniform(size=(6, 2, 3, 4)).astype(np.float32)
    kinds = {"x": datasets.Array3D((2, 3, 4), "float32"), "y": datasets.Value("string")}
    source = datasets.Dataset.from_dict(
        {"x": cubes, "y": columns["y"]}, features=datasets.Features(kinds)
    )
    np.testing.assert_array_equal(load(source).x, cubes)
    two = source.add_column("z", [[1.0]] * 6)
    with pytest.raises(InputError, match="one column of arrays, got x, z; leave out the others"):
        load(two)


def test_a_table_may_hold_text_and_is_sampled_as_a_whole_one():
    jobs = ["cook", "clerk", "pilot", None] * 15
    columns = {"age": np.arange(60.0), "job": jobs, "y": [0, 1] * 30}
    source = datasets.Dataset.from_dict(columns)
    data = load(source)
    assert data.features == ("age", "job")
    assert load(source, points=2, seed=1).fingerprint == data.sample(2, seed=1).fingerprint
    seen = []

    def remember(frame):
        seen.append(frame)
        return np.zeros(len(frame), int)

    evaluate(remember, data, [])
    assert seen[0]["job"].tolist()[:3] == jobs[:3]


def test_streams_and_tables_without_a_label_are_refused():
    with pytest.raises(InputError, match="this is streamed; take some of them"):
        load(make_split().to_iterable_dataset())
    with pytest.raises(InputError, match="column of the classes, as there are a, b; give label="):
        load(datasets.Dataset.from_dict({"a": [1, 2], "b": [3, 4]}))
    with pytest.raises(
        InputError, match="a label in every row, got none in 1 row of 2, first in row 1"
    ):
        load(datasets.Dataset.from_dict({"a": [1, 2], "y": [3, None]}))

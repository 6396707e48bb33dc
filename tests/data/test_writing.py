from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from shaketable.cli.corrupt import COPY_ENDINGS
from shaketable.core.errors import InputError
from shaketable.data.writing import ENDINGS, write_dataset


@pytest.fixture
def images():
    x = np.random.default_rng(0).integers(256, size=(30, 4, 4, 3), dtype=np.uint8)
    return st.make_dataset(x, np.arange(30) % 3, name="images", n_train=20)


def test_an_npz_copy_reads_back_with_its_parts(images, tmp_path):
    floats = np.random.default_rng(1).uniform(size=images.x.shape).astype(np.float32)
    copy = replace(images, x=floats)
    path = write_dataset(tmp_path / "c.npz", copy, facts={"corruption": "l0(0.2)"})
    back = st.load(path)
    assert back.n_train == 20
    np.testing.assert_array_equal(back.x, copy.x)
    np.testing.assert_array_equal(back.labels, copy.labels)
    with np.load(path) as archive:
        assert str(archive["corruption"]) == "l0(0.2)"
    rounded = st.load(write_dataset(tmp_path / "u.npz", copy, as_uint8=True))
    assert rounded.x.dtype == np.uint8
    assert np.abs(rounded.rows(slice(None)) - copy.x).max() <= 0.5 / 255 + 1e-6


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_table_reads_back_in_raw_units(ending, tmp_path):
    iris = st.load("iris")
    scaled = iris.scaled()
    copy = replace(scaled, x=scaled.x + np.random.default_rng(0).uniform(-0.01, 0.01, iris.x.shape))
    back = st.load(write_dataset(tmp_path / f"iris{ending}", copy, label="kind"), label="kind")
    assert back.features == iris.features
    np.testing.assert_array_equal(back.labels, iris.labels)
    moved = np.abs(back.x - iris.x) / np.ptp(iris.x, axis=0)
    assert 0.009 < moved.max() <= 0.01 + 1e-12


def test_a_frame_of_numbers_fits_an_npz_file_also_with_values_missing(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5, 3.5]})
    data = st.make_dataset(frame, list("abab"))
    copy = replace(data, x=np.where(data.x == 2.5, np.nan, data.x))
    missing = st.corrupted(data, "missing(0.5)")
    for each in (data, copy, missing, data.touching(only="a")):
        back = st.load(write_dataset(tmp_path / "c.npz", each))  # "a frame of several kinds"
        np.testing.assert_array_equal(back.x, each.x)
    assert np.isnan(missing.x).any()
    with pytest.raises(InputError, match="holds plain numbers"):
        write_dataset(tmp_path / "c.npz", st.make_dataset(frame.assign(c="x"), list("abab")))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("c.txt", {}, "did you mean|Known"),
        ("c.csv", {}, "one table"),
        ("nowhere/c.npz", {}, "cannot be written"),
        ("c.csv", {"as_uint8": True}, "needs values in"),
    ],
)
def test_what_cannot_be_written_is_refused(images, tmp_path, name, options, message):
    with pytest.raises(InputError, match=message):
        write_dataset(tmp_path / name, images, **options)


def test_a_label_that_is_a_feature_is_refused(tmp_path):
    data = st.load("iris")
    with pytest.raises(InputError, match="name of a feature"):
        write_dataset(tmp_path / "c.csv", data, label=data.features[0])


def test_the_command_line_names_the_same_endings():
    assert COPY_ENDINGS == ENDINGS

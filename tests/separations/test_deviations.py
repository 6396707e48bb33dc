"""eps_min is also given in standard deviations of columns, from which its size can be judged."""

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.commands import run_command, run_json
from helpers.pages import read_page
from shaketable.separations.audit import audit
from shaketable.separations.pair import compare_with_columns, describe_deviations

X = np.array([[0.0, 10.0, 5.0], [2.0, 30.0, 5.0], [4.0, 80.0, 5.0], [6.0, 40.0, 5.0]])
FRAME = pd.DataFrame(X, columns=["age", "monthly pay", "constant"]).assign(job=list("abab"))
Y = ["no", "yes", "no", "yes"]


def test_sizes_are_those_of_the_training_part_in_columns_that_change() -> None:
    data = st.make_dataset(X, Y, features=("age", "pay", "constant"))
    assert compare_with_columns(data, 0.5) == pytest.approx(
        {"age": 0.5 / X[:, 0].std(), "pay": 0.5 / X[:, 1].std()}
    )
    split = st.make_dataset(X, Y, n_train=2)
    assert compare_with_columns(split, 1.0) == {"feature 0": 1.0, "feature 1": 0.1}
    gapped = FRAME.assign(age=[0.0, 2.0, np.nan, np.nan])
    kept = st.make_dataset(gapped, Y).touching(keep="monthly pay")
    assert compare_with_columns(kept, 0.5) == {"age": 0.5}
    images = np.zeros((4, 8, 8), np.uint8)
    assert compare_with_columns(st.make_dataset(images, Y), 0.5) == {}
    assert compare_with_columns(st.make_dataset(images.reshape(4, 64), Y), 0.5) == {}


def test_words_name_the_columns_of_both_ends() -> None:
    assert describe_deviations({}) == ""
    assert describe_deviations({"monthly pay": 0.25}) == "0.25 standard deviations of 'monthly pay'"
    both = describe_deviations({"a": 0.5, "b": 0.125, "c": 0.25})
    assert both == "0.125 (b) to 0.5 (a) standard deviations of a column"


def test_every_door_shows_it(tmp_path, capsys) -> None:
    path = str(tmp_path / "people.csv")
    table = FRAME.drop(columns="job").assign(y=Y)
    pd.concat([table] * 4).to_csv(path, index=False)  # the same distances and spreads
    flags = ["--label", "y"]
    eps = 10.0  # rows 1 and 0 differ by 20
    low, high = eps / X[:, 1].std(), eps / X[:, 0].std()
    words = f"{low:.4g} ('monthly pay') to {high:.4g} (age) standard deviations of a column"
    code, out, _ = run_command(capsys, "separation", path, *flags)
    assert code == 0
    assert f"eps_min = 10.0, that is {words}\n" in out
    found = run_json(capsys, "separation", path, *flags)
    assert found["epsilon_min_deviations"] == pytest.approx({"monthly pay": low, "age": high})
    evaluate = ["evaluate", "--data", path, *flags, "--model", "1nn", "--quiet"]
    found = run_json(capsys, *evaluate)
    (sizes,) = found["eps_min_deviations"]
    assert sizes["norm"] == "inf"
    assert sizes["columns"] == pytest.approx({"monthly pay": low, "age": high})
    assert f"L-inf eps_min = 10 is {words}" in found["notes"]
    assert "eps_min_deviations" not in run_json(capsys, *evaluate, "--corruptions", "linf(1)")
    data = st.load(path, label="y")
    result = st.separation(data)
    page = read_page(audit(result, data).report(tmp_path / "page.html"))
    assert f"eps_min = 10.0, that is {words}." in " ".join(page.text.split())

"""What is said about the closest pair is what its two points show, in every door."""

from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_json
from helpers.pages import read_page
from shaketable.data.dataset import Dataset
from shaketable.separations.audit import audit
from shaketable.separations.pair import describe_gaps, list_gaps
from shaketable.separations.separation import separation


def make_census() -> Dataset:
    """A table whose widest feature, gain, is 0 in both points of the closest pair, rows 1 and 2."""
    x = [[60, 9, 99999], [40, 10, 0], [41, 13, 0], [20, 4, 15000], [70, 1, 5000]]
    y = ["rich", "poor", "rich", "poor", "poor"]
    return st.make_dataset(np.array(x, float), y, features=("age", "years", "gain"), name="census")


@pytest.mark.parametrize(
    ("norm", "shares"),
    [
        ("inf", {"years": 1.0, "age": 0.0}),
        (1, {"years": 0.75, "age": 0.25}),
        (2, {"years": 0.9, "age": 0.1}),
        (300, {"years": 1.0, "age": 3.0**-300}),
    ],
)
def test_the_features_of_the_closest_pair_are_those_in_which_it_differs(
    norm: str | float, shares: dict[str, float]
) -> None:
    data = make_census()
    result = separation(data, norm=norm)
    assert result.pair == (1, 2)
    gaps = list_gaps(data, result.pair, result.p)
    assert gaps is not None
    assert [gap.difference for gap in gaps] == [3, 1]
    assert {gap.feature: gap.share for gap in gaps} == pytest.approx(shares)


def test_equally_large_differences_share_an_l_inf_distance() -> None:
    data = st.make_dataset([[0.0, 0.0, 0.0], [2.0, 1.0, -2.0]], [0, 1])
    gaps = list_gaps(data, (0, 1), np.inf)
    assert gaps is not None
    assert [(gap.feature, gap.share) for gap in gaps] == [
        ("feature 0", 0.5),
        ("feature 2", 0.5),
        ("feature 1", 0),
    ]


def test_sentences_name_three_features_and_count_the_others() -> None:
    data = st.make_dataset([[0.0] * 6, [8, 4, 2, 1, 1, 0]], [0, 1])
    assert describe_gaps(list_gaps(data, (0, 1), 1)) == (
        "they differ in feature 0 by 8 (50 % of the distance), in feature 1 by 4 (25 %), in "
        "feature 2 by 2 (12.5 %) and in 2 other features (12.5 %)"
    )
    alone = st.make_dataset([[0.0, 7.0], [8.0, 7.0]], [0, 1])
    assert describe_gaps(list_gaps(alone, (0, 1), 2)) == (
        "they differ only in feature 0 by 8 (100 % of the distance)"
    )
    images = st.make_dataset(np.array([np.zeros((8, 8)), np.ones((8, 8))]), [0, 1])
    assert describe_gaps(list_gaps(images, (0, 1), 2)) == ""


SENTENCE = "they differ in years by 3 (100 % of the distance) and in age by 1 (0 %)"


def test_terminal_and_json_say_what_the_pair_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, file = make_census(), tmp_path / "census.csv"
    rows = [f"{','.join(map(str, x))},{y}" for x, y in zip(data.x, data.labels, strict=True)]
    file.write_text("\n".join(["age,years,gain,label", *rows]))
    code, out, err = run_command(capsys, "separation", file, "--label", "label")
    assert code == 0, err
    assert f"\nthe two points: {SENTENCE}\n" in out
    assert "gain spans 99999, years only 12" in err
    assert "decides" not in err
    found = run_json(capsys, "separation", file, "--label", "label", "--norm", "2")
    assert found["pair_features"] == [
        {"feature": "years", "difference": 3, "share": pytest.approx(90)},
        {"feature": "age", "difference": 1, "share": pytest.approx(10)},
    ]
    argv = ["--data", file, "--test", file, "--label", "label", "--model", "1nn", "--quiet"]
    for command in (["evaluate"], ["study", "--runs", "2", "--jobs", "1"]):
        _, out, err = run_command(capsys, *command, *argv)
        assert f"note: L-inf eps_min is set by rows 1 and 2: {SENTENCE}\n" in err


def test_pages_and_assess_say_what_the_pair_says(tmp_path: Path) -> None:
    data = make_census()
    page = read_page(audit(separation(data), data).report(tmp_path / "s.html"))
    assert SENTENCE.removeprefix("they ") in " ".join(page.text.split())
    train = data.x, data.labels
    result = st.assess(lambda x: np.where(x[:, 1] > 10, "rich", "poor"), train, train, k=2)
    said = SENTENCE.replace("years", "feature 1").replace("age", "feature 0")
    assert f"L-inf eps_min is set by rows 1 and 2: {said}" in str(result)
    page = read_page(result.report(tmp_path / "r.html"))
    assert f"the two points: {said}." in " ".join(page.text.split())


def test_tables_of_like_ranges_have_no_note(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["evaluate", "--data", "iris", "--model", "1nn", "--quiet"]
    assert "set by rows" not in run_command(capsys, *argv)[2]

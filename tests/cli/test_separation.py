import json
import re
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")


def test_separation_keeps_its_contract(capsys):
    found = run_json(capsys, "separation", "bands(separation=0.05)")
    assert found["norm"] == "inf"
    assert found["two_r"] == pytest.approx(0.05)
    assert found["epsilon_min"] == found["two_r"] / 2
    assert len(found["pair"]) == 2
    assert run_json(capsys, "separation", "iris", "--norm", "2")["norm"] == 2


def test_separation_in_words(capsys):
    code, out, _ = run_command(capsys, "separation", "iris")
    assert code == 0
    assert "eps_min" in out
    assert "setosa" in out
    assert "rows 101 and 142" in out  # the only two flowers that are equal in all four lengths
    assert ["0.2", "0.5", "0.8", "1.5", "2"] in [line.split() for line in out.splitlines()]
    (table,) = re.findall(r"closest pairs.*?\n\n", out.replace(" \n", "\n"), re.S)
    ranks = [re.split(r"  +", line.strip()) for line in table.splitlines() if "row " in line]
    assert ranks[0] == ["1", "class versicolor (row 70)", "class virginica (row 127)", "0.2", "0.1"]
    assert [r[0] for r in ranks] == [str(i) for i in range(1, 11)]


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def test_separation_as_json_says_what_the_library_says(capsys):
    code, out, _ = run_command(capsys, "separation", "wine", "--closest", 4, "--one-nn", "--json")
    assert code == 0
    found = json.loads(out, parse_constant=no_constant)
    data = st.load("wine")
    expected = st.separation(data, closest=5)
    assert [c["rows"] for c in found["closest"]] == expected.closest[:4].tolist()
    assert found["closest"][0]["rows"] == found["pair"]
    for i, c in enumerate(found["closest"], start=1):
        assert c["distance"] == expected.closest_distance[i - 1]
        assert c["epsilon_min_without"] == expected.closest_distance[i] / 2
        assert c["classes"] == [data.classes[data.y[row]] for row in c["rows"]]
    quartiles = np.quantile(expected.nearest, [0, 0.25, 0.5, 0.75, 1])
    assert list(found["nearest"].values()) == quartiles.tolist()
    assert found["duplicates"] == {
        "groups": 0,
        "points": 0,
        "groups_in_both_parts": None,
        "rows": [],
    }
    assert found["clashes"] == []
    one_nn = st.one_nn(data, norm="inf")
    assert tuple(found["one_nn"]["accuracy"].values()) == tuple(100 * v for v in one_nn.accuracy)
    assert found["one_nn"]["test_points"] == len(one_nn.test)


def test_only_the_minimum_is_asked_for(capsys):
    found = run_json(capsys, "separation", "wine", "--minimum")
    assert found["nearest"] is None
    assert "one_nn" not in found
    whole = run_json(capsys, "separation", "wine")
    assert {**whole, "nearest": None} == found
    assert "quartiles" not in run_command(capsys, "separation", "wine", "--minimum")[1]


def test_many_classes_are_listed_not_tabled(capsys):
    x = np.random.default_rng(0).normal(size=(200, 2))
    np.savez("many.npz", x=x, y=np.arange(200) % 25)
    _, out, _ = run_command(capsys, "separation", "many.npz")
    assert "280 more pairs of classes" in out
    np.savez("very.npz", x=np.arange(1001.0), y=np.arange(1001))
    found = run_json(capsys, "separation", "very.npz")
    assert found["by_class"] is None
    assert "not kept for 1001 classes" in run_command(capsys, "separation", "very.npz")[1]


def test_separation_writes_its_page(capsys):
    x = np.random.default_rng(0).integers(0, 256, (30, 6, 5), dtype=np.uint8)
    np.savez("images.npz", x=x, y=np.arange(30) % 2)
    for flag in ("--report",):
        code, _, err = run_command(
            capsys, "separation", "images.npz", flag, "p.html", "--closest", 3
        )
        assert code == 0
        assert "page: p.html" in err
        page = Path("p.html").read_text()
        assert page.count("data:image/png") == 6
        Path("p.html").unlink()


def test_a_quiet_separation_shows_no_bar(capsys):
    many = "shapes(n=400)"  # few points are compared at once
    assert run_command(capsys, "separation", many, "--quiet")[2].count("\n") == 1  # the note
    assert "comparing" in run_command(capsys, "separation", many)[2]


def test_rows_are_those_of_the_file(capsys):
    Path("c.csv").write_text("a,k\n0,x\n0,y\n3,x\n5,y\n9,x\n20,y\n")
    found = run_json(capsys, "separation", "c.csv", "--label", "k", "--drop-clashes")
    assert found["pair"] == [2, 3]
    code, out, _ = run_command(capsys, "separation", "c.csv", "--label", "k", "--drop-clashes")
    assert code == 0
    assert "without 2 clashing points" in out
    assert "row 2 ('x') and row 3 ('y')" in out
    assert found["closest"][0]["rows"] == [2, 3]
    assert found["clashes"] == [{"rows": [0, 1], "classes": ["x", "y"]}]
    assert "coincide with a point of another class: rows 0 ('x') and 1 ('y')" in out
    scaled = ["separation", "c.csv", "--label", "k", "--drop-clashes", "--scale"]
    assert run_json(capsys, *scaled)["two_r"] == pytest.approx(
        2 / 17
    )  # over the rows that are left


def test_clashes_are_named_and_can_be_dropped(capsys):
    Path("c.csv").write_text("a,b,k\n0,0,x\n0,0,y\n1,0,x\n5,0,y\n9,9,x\n7,7,y\n")
    assert "(0, 1)" in run_failing(capsys, "separation", "c.csv", "--label", "k")
    assert run_json(capsys, "separation", "c.csv", "--label", "k", "--drop-clashes")["two_r"] == 2


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["separation"], "DATA"),
        (["separation", "irs"], "did you mean 'iris'"),
        (["separation", "missing.csv"], "does not exist"),
        (["separation", "iris", "--norm", "x"], "norm must be"),
        (["separation", "iris", "--frobnicate"], "--frobnicate"),
        (["separation", "iris", "--closest", "0"], "whole number of at least 1, got '0'"),
        (["separation", "iris", "--closest", "few"], "whole number of at least 1, got 'few'"),
        (["separation", "iris", "--report", "no/p.html"], "not exist"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)


@pytest.mark.parametrize("fixed", [False, True])
def test_points_that_coincide_are_counted_as_json_also_across_parts(capsys, fixed):
    x, y = np.array([[0.0], [1.0], [0.0], [2.0]]), np.array([0, 1, 0, 1])
    parts = {"x_train": x, "y_train": y, "x_test": x[1:], "y_test": y[1:]}
    np.savez("data.npz", **(parts if fixed else {"x": x, "y": y}))
    found = run_json(capsys, "separation", "data.npz")["duplicates"]
    assert (found["groups"], found["groups_in_both_parts"]) == ((3, 3) if fixed else (1, None))

import json

import numpy as np
import pytest

import shaketable as st
from commands import fails, in_a_folder_of_its_own, loads, run

__all__ = ["in_a_folder_of_its_own"]


def test_corrupt_writes_what_the_library_makes(capsys, tmp_path):
    code, out, _ = run(capsys, "corrupt", "iris", "--corruption", "l2(0.1)", "-o", "noisy.csv",
                       "--seed", 4, "--label", "kind")  # fmt: skip
    assert code == 2, "a built-in set takes no label"
    code, out, _ = run(capsys, "corrupt", "iris", "--corruption", "l2(0.1)", "-o", "noisy.csv",
                       "--seed", 4)  # fmt: skip
    assert code == 0
    assert "iris under l2(0.1): 150 points" in out
    back = st.load("noisy.csv", label="label")
    np.testing.assert_allclose(back.x, st.corrupted(st.load("iris"), "l2(0.1)", seed=4).x)


def test_corrupted_pictures_keep_their_range_and_can_be_uint8(capsys):
    run(capsys, "corrupt", "shapes(n=20)", "--corruption", "linf(0.3)", "-o", "f.npz")
    run(capsys, "corrupt", "shapes(n=20)", "--corruption", "linf(0.3)", "-o", "u.npz", "--uint8")
    with np.load("f.npz") as floats, np.load("u.npz") as rounded:
        assert floats["x"].dtype == np.float32
        assert 0 <= floats["x"].min() <= floats["x"].max() <= 1
        assert rounded["x"].dtype == np.uint8
        np.testing.assert_array_equal(rounded["x"], np.rint(floats["x"] * 255))
        assert str(floats["corruption"]) == "linf(0.3)"


def test_balls_volumes_are_table_6_in_its_right_order(capsys):
    code, out, err = run(capsys, "balls", "volumes", "-o", "v.svg")
    assert code == 0
    for number in ("1.91", "3.142", "6.079", "19.74", "401.5", "9037", "4.063e+07", "5.988e+10"):
        assert number in out
    assert "chart: v.svg" in err
    found = loads(capsys, "balls", "volumes", "-d", "5")
    assert [round(v["factor"], 2) for v in found] == [6.08, 19.74]


def test_balls_overlap_as_numbers_and_table(capsys):
    arguments = ("balls", "overlap", "--norms", "1,inf", "-d", "50", "--n", "100")
    found = loads(capsys, *arguments, "--epsilons", "0.1,100", "--second", "l2(1)")
    assert [o["p"] for o in found] == ["1", "inf"]
    assert found[0]["first_in_second"]["value"] == [1, 0]
    assert found[0]["second_in_first"]["value"] == [0, 1]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "L-inf" in out


def test_balls_samples_is_a_chart(capsys):
    code, _, _ = run(capsys, "balls", "samples", "--norms", "0.5,3", "--surface", "--n", 50,
                     "-o", "s.json")  # fmt: skip
    assert code == 0
    with open("s.json") as file:
        assert "L0.5 sphere" in json.dumps(json.load(file))


def test_a_gallery_shows_the_suite_at_its_largest(capsys):
    code, out, _ = run(capsys, "gallery", "shapes(n=20)", "--row", 3, "-o", "g.html")
    assert code == 0
    assert "7 pictures" in out
    with open("g.html", encoding="utf-8") as file:
        page = file.read()
    assert "l2(0.5, surface)" in page
    assert "linf(0.01, vertices)" in page
    run(capsys, "gallery", "shapes(n=20)", "--inside", "-o", "i.html")
    with open("i.html", encoding="utf-8") as file:
        assert "surface" not in file.read()
    assert run(capsys, "gallery", "shapes(n=20)", "--corruptions", "l2(9)", "-o", "p.png")[0] == 0


def test_evaluate_takes_a_suite(capsys):
    found = loads(capsys, "evaluate", "--data", "shapes(n=60)", "--model", "logistic",
                  "--suite", "pnorm-cifar", "--quiet")  # fmt: skip
    (suite,) = found["suites"]
    assert suite["suite"] == "pnorm-cifar"
    assert len(suite["cells"]) == 90
    assert suite["derived"] is None


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["corrupt", "iris", "--corruption", "l2(0.1)"], "--out"),
        (["corrupt", "iris", "--corruption", "l2(-1)", "-o", "a.csv"], "epsilon must be 0"),
        (["corrupt", "iris", "--corruption", "l0(0.5)", "-o", "a.csv"], "none is declared"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.txt"], "ending"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "no/a.csv"], "does not exist"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.npz", "--uint8"], "values in"),
        (["gallery", "iris", "-o", "g.png"], "value range"),
        (["gallery", "shapes(n=20)", "--row", "99", "-o", "g.png"], "row"),
        (["gallery", "shapes(n=20)", "-o", "g.gif"], "must end in"),
        (["balls", "smples", "-o", "s.png"], "did you mean 'samples'"),
        (["balls", "samples"], "--out"),
        (["balls", "overlap", "--second", "cube"], "--second must be a ball"),
        (["balls", "overlap", "--norms", "x"], "norm must be"),
        (["balls", "overlap", "-d", "2,3"], "one dimension"),
        (["balls", "volumes", "-d", "1.5"], "whole numbers"),
        (["balls", "volumes", "--norms", "2"], "two norms"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "pnorm-cifar"], "value range"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "pnorm-cfar"], "did you mean"),
        (["evaluate", "--model", "rf", "--data", "digits", "--suite", "pnorm-cifar", "--range",
          "0,16"], "use 'pnorm'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in fails(capsys, *argv)

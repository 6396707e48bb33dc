import json
import os
import sqlite3

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")


def test_corrupt_writes_what_the_library_makes(capsys, tmp_path):
    code, out, _ = run_command(
        capsys,
        "corrupt",
        "iris",
        "--corruption",
        "l2(0.1)",
        "-o",
        "noisy.csv",
        "--seed",
        4,
        "--label",
        "kind",
    )
    assert code == 2, "a built-in set takes no label"
    code, out, _ = run_command(
        capsys, "corrupt", "iris", "--corruption", "l2(0.1)", "-o", "noisy.csv", "--seed", 4
    )
    assert code == 0
    assert "iris under l2(0.1): 150 points" in out
    back = st.load("noisy.csv", label="label")
    np.testing.assert_allclose(back.x, st.corrupted(st.load("iris"), "l2(0.1)", seed=4).x)


def test_corrupted_pictures_keep_their_range_and_can_be_uint8(capsys):
    run_command(capsys, "corrupt", "shapes(n=20)", "--corruption", "linf(0.3)", "-o", "f.npz")
    run_command(
        capsys, "corrupt", "shapes(n=20)", "--corruption", "linf(0.3)", "-o", "u.npz", "--uint8"
    )
    with np.load("f.npz") as floats, np.load("u.npz") as rounded:
        assert floats["x"].dtype == np.float32
        assert 0 <= floats["x"].min() <= floats["x"].max() <= 1
        assert rounded["x"].dtype == np.uint8
        np.testing.assert_array_equal(rounded["x"], np.rint(floats["x"] * 255))
        assert str(floats["corruption"]) == "linf(0.3)"


def test_the_data_are_never_overwritten(capsys):
    run_command(capsys, "corrupt", "shapes(n=20)", "--corruption", "l2(1)", "-o", "a.npz")
    error = run_failing(capsys, "corrupt", "a.npz", "--corruption", "l2(1)", "-o", "./a.npz")
    assert "name a new file" in error
    assert run_command(capsys, "corrupt", "a.npz", "--corruption", "l2(1)", "-o", "B.NPZ")[0] == 0
    assert st.load("B.NPZ").n == 20


def test_a_suite_is_written_and_read_from_the_command_line(capsys):
    arguments = ("evaluate", "--data", "shapes(n=60)", "--model", "logistic", "--quiet",
                 "--store", "s.sqlite", "--suite", "common-15")  # fmt: skip
    code, out, _ = run_command(capsys, "corrupt", "shapes(n=60)", "--suite", "common-15", "-o", "c",
                       "--quiet")  # fmt: skip
    assert code == 0
    assert "75 corruptions of 60 points, ladder draws, seed 0" in out
    assert "evaluate --published c" in out
    (made,), (read,) = (
        run_json(capsys, *arguments, *more)["suites"] for more in ((), ("--published", "c"))
    )
    assert made["metric"] == read["metric"]
    assert (made["published"], read["published"]) == (None, "c")
    code, out, _ = run_command(capsys, "score", "s.sqlite")
    assert "published pictures from c" in " ".join(out.split())
    assert "is not empty" in run_failing(
        capsys, "corrupt", "iris", "--suite", "common-15", "-o", "c"
    )


def test_frost_takes_its_textures_from_a_folder(capsys):
    from PIL import Image

    os.mkdir("ice")
    Image.new("RGB", (60, 50), (250, 0, 0)).save("ice/a.png")
    code, _, err = run_command(capsys, "corrupt", "shapes(n=20)", "--suite", "common-15", "-o", "c",
                       "--frost-textures", "ice", "--quiet")  # fmt: skip
    assert code == 0, err
    with open("c/manifest.json") as file:
        assert json.load(file)["frost"]["textures"] == "ice"
    found = run_json(capsys, "evaluate", "--data", "shapes(n=60)", "--model", "logistic", "--suite",
                  "common-15", "--frost-textures", "ice", "--quiet")  # fmt: skip
    specs = [c["corruption"] for c in found["suites"][0]["cells"]]
    assert any(spec.startswith("frost(1, cifar, textures=ice, id=h") for spec in specs)


def test_pictures_in_a_folder_from_the_command_line(capsys):
    from PIL import Image

    shapes = st.load("shapes(n=100)")
    for row, label in enumerate(shapes.labels):
        os.makedirs(f"in/{label}", exist_ok=True)
        Image.fromarray(shapes.x[row]).save(f"in/{label}/{row}.png")
    code, out, err = run_command(
        capsys, "corrupt", "in", "--suite", "common-15", "-o", "out", "--quiet"
    )
    assert code == 0, err
    assert "with a manifest" in out
    arguments = ("evaluate", "--data", "in", "--model", "logistic", "--quiet", "--suite")
    (made,), (read,) = (
        run_json(capsys, *arguments, "common-15", *more)["suites"]
        for more in ((), ("--published", "out"))
    )
    assert made["metric"] == read["metric"]


def test_scaled_tables_have_a_range_for_suites(capsys):
    found = run_json(capsys, "evaluate", "--data", "wine", "--scale", "--model", "1nn", "--suite",
                  "pnorm", "--quiet")  # fmt: skip
    assert "13 values in a range of 1" in found["suites"][0]["derived"]
    assert found["suites"][0]["bounds"] == "clip[0, 1]"


def test_suites_keep_their_k_beside_other_noise_and_two_ranges_their_sizes(capsys):
    arguments = ("evaluate", "--data", "digits", "--model", "logistic", "--store", "s.sqlite",
                 "--model-id", "m", "--quiet")  # fmt: skip
    found = run_json(capsys, *arguments, "--suite", "ice", "--corruptions", "linf(1)")
    assert [(m["k"], len(m["cells"])) for m in found["models"]] == [(10, 2)]
    assert [s["k"] for s in found["suites"]] == [1]
    run_json(capsys, *arguments, "--suite", "ice", "--range=-2,18")
    again = run_json(capsys, "score", "s.sqlite")
    assert [s["suite"] for s in again["suites"]] == ["ice", "ice"]
    assert len({s["derived"] for s in again["suites"]}) == 2


def test_an_unfinished_suite_is_told(capsys):
    run_command(
        capsys,
        "evaluate",
        "--data",
        "digits",
        "--model",
        "logistic",
        "--suite",
        "ice",
        "--store",
        "s.sqlite",
        "--quiet",
        "--report",
        "p.html",
    )
    with sqlite3.connect("s.sqlite") as db:
        db.execute("DELETE FROM cells WHERE corruption LIKE 'l50%'")
    code, _, err = run_command(capsys, "score", "s.sqlite")
    assert code == 0
    assert "suite ice is not finished, 5 of 6" in err


def test_device_noise_is_told_on_the_page(capsys):
    pytest.importorskip("torch")
    with open("net.py", "w") as file:
        file.write(
            "import torch\ntorch.manual_seed(0)\n"
            "net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))\n"
        )
    arguments = ("evaluate", "--data", "shapes(n=30)", "--model", "net:net", "--device-noise")
    code, _, err = run_command(
        capsys, *arguments, "--suite", "pnorm-cifar", "--report", "p.html", "--quiet"
    )
    assert code == 0, err
    with open("p.html", encoding="utf-8") as file:
        assert "made on the model" in file.read()


def test_balls_volumes_are_table_6_in_its_right_order(capsys):
    code, out, err = run_command(capsys, "balls", "volumes", "-o", "v.svg")
    assert code == 0
    for number in ("1.91", "3.142", "6.079", "19.74", "401.5", "9037", "4.063e+07", "5.988e+10"):
        assert number in out
    assert "chart: v.svg" in err
    found = run_json(capsys, "balls", "volumes", "-d", "5")
    assert [round(v["factor"], 2) for v in found] == [6.08, 19.74]


def test_balls_overlap_as_numbers_and_table(capsys):
    arguments = ("balls", "overlap", "--norms", "1,inf", "-d", "50", "--n", "100")
    found = run_json(capsys, *arguments, "--epsilons", "0.1,100", "--second", "l2(1)")
    assert [o["p"] for o in found] == ["1", "inf"]
    assert found[0]["first_in_second"]["value"] == [1, 0]
    assert found[0]["second_in_first"]["value"] == [0, 1]
    code, out, _ = run_command(capsys, *arguments)
    assert code == 0
    assert "L-inf" in out


def test_balls_samples_is_a_chart(capsys):
    code, _, _ = run_command(capsys, "balls", "samples", "--norms", "0.5,3", "--surface", "--n", 50,
                     "-o", "s.json")  # fmt: skip
    assert code == 0
    with open("s.json") as file:
        assert "L0.5 sphere" in json.dumps(json.load(file))


def test_a_gallery_shows_the_suite_at_its_largest(capsys):
    code, out, _ = run_command(capsys, "gallery", "shapes(n=20)", "--row", 3, "-o", "g.html")
    assert code == 0
    assert "7 images" in out
    with open("g.html", encoding="utf-8") as file:
        page = file.read()
    assert "l2(0.5, surface)" in page
    assert "linf(0.01, vertices)" in page
    run_command(capsys, "gallery", "shapes(n=20)", "--inside", "-o", "i.html")
    with open("i.html", encoding="utf-8") as file:
        assert "surface" not in file.read()
    assert (
        run_command(capsys, "gallery", "shapes(n=20)", "--corruptions", "l2(9)", "-o", "p.png")[0]
        == 0
    )


def test_evaluate_takes_a_suite(capsys):
    found = run_json(capsys, "evaluate", "--data", "shapes(n=60)", "--model", "logistic",
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
        (["corrupt", "iris", "--corruption", "l0(0.5)", "-o", "a.csv"], "none that is finite"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.txt"], "must end in .npz"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "no/a.csv"], "does not exist"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.npz", "--uint8"], "values in"),
        (["corrupt", "iris", "-o", "a.npz"], "--corruption --suite"),
        (["corrupt", "iris", "--corruption", "l2(1)", "--suite", "ice", "-o", "a"], "not allowed"),
        (["corrupt", "iris", "--suite", "common-19", "-o", "a"], "is for pictures"),
        (["corrupt", "iris", "--suite", "pnorm", "-o", "a"], "needs a finite value range"),
        (["corrupt", "iris", "--suite", "two-factor", "-o", "a"], "'two-factor-table'"),
        (["corrupt", "iris", "--grid", "sp(0.1)", "-o", "a"], "two factors or more"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.npz", "--frost-textures", "b"],
         "needs a suite"),
        (["evaluate", "--data", "iris", "--model", "rf", "--published", "a"], "needs a suite"),
        (["evaluate", "--data", "shapes(n=60)", "--model", "1nn", "--suite", "common-19",
          "--published", "a"], "does not exist"),
        (["evaluate", "--data", "shapes(n=20)", "--model", "rf", "--suite", "common-19",
          "--published", "a", "--frost-textures", "b"], "leave out --frost-textures"),
        (["gallery", "iris", "-o", "g.png"], "must hold pictures"),
        (["gallery", "shapes(n=20)", "--row", "99", "-o", "g.png"], "row"),
        (["gallery", "shapes(n=20)", "-o", "g.gif"], "must end in"),
        (["balls", "smples", "-o", "s.png"], "did you mean 'samples'"),
        (["balls", "samples"], "with -o"),
        (["balls", "overlap", "--second", "cube"], "--second must be a ball"),
        (["balls", "overlap", "--norms", "x"], "norm must be"),
        (["balls", "overlap", "-d", "2,3"], "one dimension"),
        (["balls", "overlap", "--norms", "0.001", "-d", "3", "--n", "9"], "less extreme"),
        (["balls", "volumes", "--norms", "1e-320,2"], "floats hold"),
        (["evaluate", "--sute", "pnorm"], "did you mean '--suite'"),
        (["evaluate", "--model", "rf", "--data", "no.npz", "--corruptions", "l2[1]"], "spec must"),
        (["balls", "volumes", "-d", "1.5"], "whole numbers"),
        (["balls", "volumes", "--norms", "2"], "two norms"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "pnorm-cifar"], "got 4 values"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "pnorm-cfar"], "did you mean"),
        (["evaluate", "--model", "rf", "--data", "digits", "--suite", "pnorm-cifar", "--range",
          "0,16"], "use 'pnorm'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)

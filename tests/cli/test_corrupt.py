import json
import os

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


def test_corrupted_images_keep_their_range_and_can_be_uint8(capsys):
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
    arguments = (
        "evaluate",
        "--data",
        "shapes(n=60)",
        "--model",
        "1nn",
        "--quiet",
        "--store",
        "s.sqlite",
        "--suite",
    )
    code, out, _ = run_command(
        capsys, "corrupt", "shapes(n=60)", "--suite", "common-15", "-o", "c", "--quiet"
    )
    assert code == 0
    assert "75 corruptions of 60 points, ladder draws, seed 0" in out
    assert "evaluate --suite 'common-15(published=c)' reads them" in out
    (made,), (read,) = (
        run_json(capsys, *arguments, suite)["suites"]
        for suite in ("common-15", "common-15(published=c)")
    )
    assert made["metric"] == read["metric"]
    assert (made["published"], read["published"]) == (None, "c")
    code, out, _ = run_command(capsys, "report", "s.sqlite")
    assert "published images from c" in " ".join(out.split())
    assert "is not empty" in run_failing(
        capsys, "corrupt", "iris", "--suite", "common-15", "-o", "c"
    )


def test_frost_takes_its_textures_from_a_folder(capsys):
    from PIL import Image

    os.mkdir("ice")
    Image.new("RGB", (60, 50), (250, 0, 0)).save("ice/a.png")
    code, _, err = run_command(
        capsys,
        "corrupt",
        "shapes(n=20)",
        "--suite",
        "common-15(frost=ice)",
        "-o",
        "c",
        "--quiet",
    )
    assert code == 0, err
    with open("c/manifest.json") as file:
        assert json.load(file)["frost"]["textures"] == "ice"
    found = run_json(
        capsys,
        "evaluate",
        "--data",
        "shapes(n=60)",
        "--model",
        "1nn",
        "--suite",
        "common-15(frost=ice, jpeg=85)",
        "--quiet",
    )
    specs = [c["corruption"] for c in found["suites"][0]["cells"]]
    assert any(spec.startswith("frost(1, cifar, jpeg=85, textures=ice, id=h") for spec in specs)


def test_images_in_a_folder_from_the_command_line(capsys):
    from PIL import Image

    shapes = st.load("shapes(n=60)")
    for row, label in enumerate(shapes.labels):
        os.makedirs(f"in/{label}", exist_ok=True)
        Image.fromarray(shapes.x[row]).save(f"in/{label}/{row}.png")
    code, out, err = run_command(
        capsys, "corrupt", "in", "--suite", "common-15", "-o", "out", "--quiet"
    )
    assert code == 0, err
    assert "with a manifest" in out
    arguments = ("evaluate", "--data", "in", "--model", "1nn", "--quiet", "--suite")
    (made,), (read,) = (
        run_json(capsys, *arguments, suite)["suites"]
        for suite in ("common-15", "common-15(published=out)")
    )
    assert made["metric"] == read["metric"]


def test_a_gallery_shows_the_suite_at_its_largest(capsys):
    code, out, _ = run_command(capsys, "corrupt", "shapes(n=20)", "--row", 3, "-o", "g.html")
    assert code == 0
    assert "7 images" in out
    with open("g.html", encoding="utf-8") as file:
        page = file.read()
    assert "l2(0.5, surface)" in page
    assert "linf(0.01, vertices)" in page
    run_command(capsys, "corrupt", "shapes(n=20)", "--inside", "-o", "i.html")
    with open("i.html", encoding="utf-8") as file:
        assert "surface" not in file.read()
    assert (
        run_command(capsys, "corrupt", "shapes(n=20)", "--corruption", "l2(9)", "-o", "p.png")[0]
        == 0
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["corrupt", "iris", "--corruption", "l2(0.1)"], "--out"),
        (["corrupt", "iris", "--corruption", "l2(-1)", "-o", "a.csv"], "epsilon must be 0"),
        (
            ["corrupt", "iris", "--corruption", "l0(0.5)", "-o", "a.csv"],
            "needs a finite value range",
        ),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.txt"], "must end in .npz"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "no/a.csv"], "does not exist"),
        (["corrupt", "iris", "--corruption", "l2(1)", "-o", "a.npz", "--uint8"], "values in"),
        (["corrupt", "iris", "-o", "a.npz"], "one of --corruption, --suite and --grid, got 0"),
        (["corrupt", "iris", "--corruption", "l2(1)", "--suite", "ice", "-o", "a"], "got 2; for"),
        (["corrupt", "iris", "--corruption", "l2(1)", "--row", "1", "-o", "a.csv"], "a gallery"),
        (["corrupt", "iris", "-o", "g.png"], "must hold images"),
        (["corrupt", "shapes(n=20)", "--row", "99", "-o", "g.png"], "row"),
        (["corrupt", "iris", "--suite", "common-19", "-o", "a"], "is for images"),
        (["corrupt", "iris", "--suite", "pnorm", "-o", "a"], "a finite value range"),
        (["corrupt", "iris", "--suite", "two-factor", "-o", "a"], "'two-factor-table'"),
        (["corrupt", "iris", "--grid", "sp(0.1)", "-o", "a"], "two factors or more"),
        (
            ["corrupt", "shapes(n=20)", "--suite", "common-15(jpeg=101)", "-o", "a"],
            "jpeg must be a quality from 1 to 100, such as 85, got 101",
        ),
        (
            ["corrupt", "iris", "--suite", "ice(frost=b)", "-o", "a"],
            "frost= is for suites of common corruptions, such as common-19, got 'ice'",
        ),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)

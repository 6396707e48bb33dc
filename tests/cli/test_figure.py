from pathlib import Path

import pytest

from helpers.commands import run_command, run_failing

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=100)"
STUDY = ("study", "--data", BANDS, "--model", "1nn", "--runs", 2, "--k", "1,2", "--jobs", 1)


def test_figures_are_drawn_from_a_study_with_several_k(capsys):
    code, out, err = run_command(capsys, *STUDY, "--quiet", "--store", "r.sqlite")
    assert code == 0, err
    assert "1nn, k = 1 on" in out
    assert "1nn, k = 2 on" in out
    code, _, err = run_command(capsys, "figure", "k", "r.sqlite", "-o", "k.pdf")
    assert (code, err) == (0, "chart: k.pdf\n")
    assert Path("k.pdf").read_bytes().startswith(b"%PDF")
    argv = ("figure", "convergence", "r.sqlite", "--metric", "accuracy", "-o", "c.svg")
    assert run_command(capsys, *argv)[0] == 0
    svg = Path("c.svg").read_text(encoding="utf-8")
    assert "<title>In the last third of 2 runs, the mean accuracy moves" in svg


def test_the_plane_is_drawn_from_a_model_and_its_data(capsys):
    argv = ("figure", "plane", "--data", BANDS, "--model", "step=1nn", "--k", 2, "-o", "p.png")
    code, _, err = run_command(capsys, *argv)
    assert code == 0, err
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["figure", "planes", "-o", "a.png"], "did you mean 'plane'"),
        (["figure", "tradeoff", "-o", "a.png"], "drawn from one results file, got 0"),
        (["figure", "tradeoff", "r.sqlite", "-o", "a.doc"], "must end in"),
        (["figure", "tradeoff", "r.sqlite", "-o", "a.svg"], "does not exist"),
        (["figure", "k", "r.sqlite", "--metric", "mce", "-o", "a.svg"], "--metric is no option"),
        (["figure", "errors", "r", "--arrow", "a", "-o", "a.svg"], "must be 'FROM -> TO'"),
        (["figure", "plane", "r.sqlite", "-o", "a.svg"], "drawn from --data and --model"),
        (["figure", "learning", ".", "-o", "a.svg"], "must hold files of networks"),
        (["study", "--data", "iris", "--model", "1nn", "--k", "1,x"], "whole number, several"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)

import json

import pytest

from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")


def test_balls_volumes_are_table_6_in_its_right_order(capsys):
    code, out, err = run_command(capsys, "figure", "balls-volumes", "-o", "v.svg")
    assert code == 0
    for number in ("1.91", "3.142", "6.079", "19.74", "401.5", "9037", "4.063e+07", "5.988e+10"):
        assert number in out
    assert "chart: v.svg" in err
    found = run_json(capsys, "figure", "balls-volumes", "-d", "5")
    assert [round(v["factor"], 2) for v in found] == [6.08, 19.74]


def test_balls_overlap_as_numbers_and_table(capsys):
    arguments = ("figure", "balls-overlap", "--norms", "1,inf", "-d", "50", "--n", "100")
    found = run_json(capsys, *arguments, "--epsilons", "0.1,100", "--corruption", "l2(1)")
    assert [o["p"] for o in found] == ["1", "inf"]
    assert found[0]["first_in_second"]["value"] == [1, 0]
    assert found[0]["second_in_first"]["value"] == [0, 1]
    code, out, _ = run_command(capsys, *arguments)
    assert code == 0
    assert "L-inf" in out


def test_balls_samples_is_a_chart(capsys):
    argv = ("figure", "balls-samples", "--norms", "0.5,3", "--surface", "--n", 50, "-o", "s.json")
    code, _, _ = run_command(capsys, *argv)
    assert code == 0
    with open("s.json") as file:
        assert "L0.5 sphere" in json.dumps(json.load(file))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["figure", "balls-smples", "-o", "s.png"], "did you mean 'balls-samples'"),
        (["figure", "balls-samples"], "with -o"),
        (["figure", "balls-samples", "--json"], "no numbers to print"),
        (["figure", "balls-volumes", "r.sqlite"], "drawn from no file"),
        (["figure", "balls-overlap", "--corruption", "cube"], "--corruption must be a ball"),
        (["figure", "balls-overlap", "--norms", "x"], "norm must be"),
        (["figure", "balls-overlap", "-d", "2,3"], "one dimension"),
        (["figure", "balls-overlap", "--norms", "0.001", "-d", "3", "--n", "9"], "less extreme"),
        (["figure", "balls-volumes", "--norms", "1e-320,2"], "floats hold"),
        (["figure", "balls-volumes", "-d", "1.5"], "whole numbers"),
        (["figure", "balls-volumes", "--norms", "2"], "two norms"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)

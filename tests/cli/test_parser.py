import re
import shlex

import pytest

from helpers.commands import run_failing
from shaketable.cli.commands import COMMANDS
from shaketable.cli.parser import Parser, parse_args

pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["sepration", "iris"], "did you mean 'separation'"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)


@pytest.mark.parametrize("values", ["-1,1", "-.5,1", "-inf,inf", "-2,-1"])
def test_values_may_begin_with_a_minus(values):
    low, high = map(float, values.split(","))
    for command in ("train", "evaluate", "study", "harden", "adversary"):
        eps = ["--eps", "-1,2"] if command == "adversary" else []
        assert parse_args([command, "--bounds", values, *eps], COMMANDS).bounds == (low, high)
    args = parse_args(["evaluate", "--classes", "-1=no,1=yes"], COMMANDS)
    assert args.classes == ("-1=no", "1=yes")


@pytest.mark.parametrize(
    "argv",
    [
        ["harden", "--suite", "pnorm", "--suite", "common-19"],
        ["harden", "--target", "linf(0.1)", "--target", "l2(1)"],
        ["train", "--noise", "clean", "--noise", "C1"],
        ["train", "--recipe=fast", "--recipe=points"],
    ],
)
def test_a_flag_of_which_one_value_counts_must_be_given_once(capsys, argv):
    flag = argv[1].partition("=")[0]
    assert f"argument {flag}: must be given once; leave one out; see" in run_failing(capsys, *argv)


def test_values_of_one_flag_stand_together(capsys):
    argv = ["evaluate", "--corruptions", "linf(1)", "--corruptions", "l2(1)"]
    assert "--corruptions: must be given once; write all values after one" in run_failing(
        capsys, *argv
    )
    assert parse_args([*argv[:3], "l2(1)"], COMMANDS).corruptions == ("linf(1)", "l2(1)")


def test_another_command_line_is_another_matter():
    parser = Parser()
    parser.add_argument("--suite")
    assert [parser.parse_args(["--suite", name]).suite for name in "ab"] == ["a", "b"]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_examples_of_the_help_are_commands(name):
    for example in COMMANDS.get(name).EXAMPLES.replace("\\\n", " ").splitlines():
        program, *argv = shlex.split(example)
        assert program == "shaketable"
        assert parse_args(argv, COMMANDS).run is COMMANDS.get(name).run


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_group_of_flags_is_listed_once(capsys, name):
    with pytest.raises(SystemExit):
        parse_args([name, "--help"], COMMANDS)
    titles = re.findall(r"^\S.*:$", capsys.readouterr().out, flags=re.MULTILINE)
    assert sorted(set(titles)) == sorted(titles)

import json

import pytest
from shaketable.cli.settings import parse_settings, read_settings

from shaketable.cli import evaluate, study
from shaketable.cli.parser import Parser
from shaketable.core.errors import InputError

STUDY = [
    ["--data", "a.csv", "--label", "y", "--drop", "id", "--drop", "a,b", "--scale"],
    ["--types", "since=date,zip=text", "--only", r"age,net\, income", "--one-hot", "c_"],
    ["--column-bounds", "age=0:,size=-1.5:2", "--step", "age=1", "--range=-1,1e-300"],
    ["--model", "a=rf", "--model", "1nn", "--classes", "1=no,2=yes", "--norm", "2"],
    ["--train-eps", "0,1e-5,eps_min", "--test-eps", "eps_min", "--k", "3", "--seed", "7"],
    ["--train", "clean", "--train", "l2(1, surface) | 'x'", "--draws", "shared"],
    ["--corruptions", "l2(1)", "sp(0.1) + ga(0.1, 0.2)", "--suite", "pnorm", "--suite", "ice"],
    ["--grid", "sp(0.1), sp(0.2)", "rotation(30)", "--grid", "ga(0, 1)", "sp(0.1)"],
    ["--require", "mscr >= -1", "--min-mscr", "-2.5", "--bounds", "none"],
    ["--network", "mlp(width=4)", "--epochs", "2", "--suite", "common-19(frost=ice here)"],
]
EVALUATE = [
    ["--data", "iris", "--model", "rf", "--features"],
    ["--features", "jitter(0.1)", "--by", "age", "--preprocess", "size=8", "mean=1,2,3"],
    ["--draws", "ladder", "--device-noise", "--fit", "--model-id", "m", "--points", "10"],
]


def make_parser(command):
    parser = Parser(prog="shaketable study")
    command.add_flags(parser)
    return parser


@pytest.mark.parametrize(
    ("command", "words"),
    [*((study, words) for words in STUDY), *((evaluate, words) for words in EVALUATE)],
)
def test_settings_say_what_the_flags_said(command, words):
    args = make_parser(command).parse_args(words)
    settings = json.loads(json.dumps(read_settings(args, command.add_flags)))
    assert settings
    assert parse_settings(settings, make_parser(command), where="here") == args


def test_flags_win_over_settings_and_over_those_that_they_exclude():
    settings = {"runs": 3, "train": ["clean", "C1"], "format": "latex", "scale": True}
    words = ["--train", "C2", "--json", "--runs", "4"]
    args = parse_settings(settings, make_parser(study), where="here", words=words)
    assert (args.runs, args.train, args.format, args.json) == (4, ["C2"], "text", True)
    assert args.scale


def test_a_flag_of_another_kind_is_a_setting_by_its_declaration():
    def parse_sizes(text: str) -> "list[float]":
        return [float(word) for word in text.split(",")]

    parser = Parser()
    parser.add_argument("--sizes", type=parse_sizes)
    parser.add_argument("--rate", type=float)
    settings = {"sizes": [1, 2.5], "rate": -0.5}
    assert vars(parse_settings(settings, parser, where="here")) == {
        "sizes": [1, 2.5],
        "rate": -0.5,
    }
    with pytest.raises(InputError, match=r"here: rate = \"fast\": invalid float value: 'fast'$"):
        parse_settings({"rate": "fast"}, parser, where="here")


def test_what_belongs_to_one_call_is_no_setting():
    args = make_parser(study).parse_args(["--dry-run", "--trust", "--store", "s", "--quiet"])
    assert read_settings(args, study.add_flags) == {}

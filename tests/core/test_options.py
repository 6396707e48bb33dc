"""Options as flags, as settings of files, and as fields: all say the same."""

import json
from dataclasses import dataclass

import pytest

from shaketable.cli.commands import COMMANDS
from shaketable.cli.parser import parse_args
from shaketable.core.errors import InputError
from shaketable.core.options import (
    LIST,
    WHOLE,
    contains,
    list_values,
    make_options,
    option,
    read_settings,
    switch,
    write_settings,
)
from shaketable.evaluation.evaluate_options import EvaluateOptions, StudyOptions

STUDY = [
    ["--data", "a.csv", "--label", "y", "--column", "id=drop", "--column", r"a\,b=drop", "--scale"],
    ["--column", "since=date", "--column", r"age,net\, income=only", "--column", "c_=onehot"],
    ["--column", "age=0: step 1", "--column", "size=-1.5:2", "--bounds=-1,1e-300"],
    ["--model", "a=rf", "--model", "1nn", "--classes", "1=no,2=yes", "--norm", "2"],
    ["--train-eps", "0,1e-5,eps_min", "--test-eps", "eps_min", "--k", "3", "--seed", "7"],
    ["--train", "clean", "--train", "l2(1, surface) | 'x'", "--draws", "shared"],
    ["--corruptions", "l2(1)", "sp(0.1) + ga(0.1, 0.2)", "--suite", "pnorm", "--suite", "ice"],
    ["--grid", "sp(0.1), sp(0.2)", "rotation(30)", "--grid", "ga(0, 1)", "sp(0.1)", "as given"],
    ["--require", "mscr >= -1", "--bounds", "none", "--k", "1,2", "--precision", "0.5 of mscr"],
    ["--bounds", "truncate(-1, 2.5)", "--precision", "3", "--group", "a=*", "--baseline", "b"],
    ["--network", "mlp(width=4)@w.pt", "--suite", "common-19(frost=ice here)"],
    ["--recipe", "fast(epochs=2, batch=8, shift=no)", "--stop-early", "--runs", "3"],
]
EVALUATE = [
    ["--data", "iris", "--model", "rf", "--features"],
    ["--features", "jitter(0.1)", "--by", "age", "--preprocess", "size=8", "mean=1,2,3"],
    ["--draws", "ladder", "--device-noise", "--fit", "--model-id", "m", "--points", "10"],
    ["--k", "auto", "--held-out", "--reference", "rf", "--bounds", "clip"],
]


@pytest.mark.parametrize(
    "words",
    [*(["study", *words] for words in STUDY), *(["evaluate", *words] for words in EVALUATE)],
)
def test_settings_say_what_the_flags_said(words):
    options = parse_args(words, COMMANDS).options
    settings = json.loads(json.dumps(write_settings(options)))
    assert settings
    values = read_settings(type(options), settings, where="here")
    assert make_options(type(options), values) == options


def test_flags_win_over_settings_and_over_those_that_they_exclude():
    settings = {"runs": 3, "train": ["clean", "C1"], "format": "latex", "scale": True}
    given = {"train_eps": (0,), "json": True, "runs": 4}
    values = read_settings(StudyOptions, settings, where="here", given=given)
    assert values == {"scale": True}
    with pytest.raises(InputError, match="here: train_eps is not allowed with train; leave one"):
        read_settings(StudyOptions, {"train": "clean", "train_eps": [0]}, where="here")


def test_an_option_is_a_setting_by_its_declaration():
    @dataclass(frozen=True)
    class Inner:
        rate: float | None = option("how fast", read=float)
        old: bool = switch("no option of the whole")

    @dataclass(frozen=True)
    class Options:
        sizes: tuple = option("how large", (), read=lambda t: tuple(t.split(",")), form=LIST)
        runs: int = option("how often", 10, read=int, form=WHOLE, kept=False)
        inner: Inner = contains(Inner, without=("old",), rate="how quickly")

    values = read_settings(Options, {"sizes": [1, 2.5], "rate": -0.5}, where="here")
    assert values == {"sizes": ("1", "2.5"), "rate": -0.5}
    options = make_options(Options, values | {"runs": 3, "old": True})
    assert options == Options(("1", "2.5"), 3, Inner(-0.5))
    assert list_values(options) == {**values, "runs": 3}
    assert write_settings(options) == {"sizes": ["1", "2.5"], "rate": -0.5}
    assert write_settings(options, everything=True)["runs"] == 3
    with pytest.raises(InputError, match=r"here: rate = \"fast\": invalid float value: 'fast'$"):
        read_settings(Options, {"rate": "fast"}, where="here")
    with pytest.raises(InputError, match="unknown key in here: 'old'"):
        read_settings(Options, {"old": True}, where="here")


def test_what_belongs_to_one_call_is_no_setting():
    args = parse_args(["study", "--dry-run", "--trust", "--store", "s", "--quiet"], COMMANDS)
    assert write_settings(args.options) == {}


def test_columns_may_be_a_table_in_a_file():
    settings = {"column": {"a,b": "drop", "age": "0:120 step 1"}}
    values = read_settings(EvaluateOptions, settings, where="here")
    assert values["column"] == (r"a\,b=drop", "age=0:120 step 1")

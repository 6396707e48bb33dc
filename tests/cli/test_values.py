"""What flags stand for: bounds as they say, and a seed that reaches the numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from shaketable.data.bounds import Bounds
from shaketable.data.options import parse_bounds, write_bounds
from shaketable.evaluation.noise import apply_rule, choose_bounds
from shaketable.models.builtin import builtin
from shaketable.models.options import ModelOptions

pytestmark = pytest.mark.usefixtures("own_directory")
DATA = st.make_dataset(np.array([[0.2], [0.4], [0.8]]), [0, 1, 1], bounds=(0, 1))


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("clip", Bounds(0, 1)),
        ("truncate", Bounds(0, 1, "truncate")),
        ("none", None),
        ("-1,2", Bounds(-1, 2)),
        ("clip(-1, 2)", Bounds(-1, 2)),
        ("truncate(-1, 2)", Bounds(-1, 2, "truncate")),
    ],
)
def test_bounds_that_are_named_come_before_those_of_the_data(text, bounds):
    named = parse_bounds(text)
    assert choose_bounds(DATA, named) == bounds
    assert (
        parse_bounds(",".join(map(str, w)) if isinstance(w := write_bounds(named), list) else w)
        == named
    )
    careful = replace(DATA, bounds=Bounds(0, 1, "truncate"))
    assert choose_bounds(careful, named) == bounds


def test_the_rule_of_a_recipe_counts_unless_one_is_named():
    limits = Bounds(0, 1)
    assert apply_rule(limits, "truncate", given=(0, 1)) == Bounds(0, 1, "truncate")
    assert apply_rule(limits, "truncate", given="declared") == Bounds(0, 1, "truncate")
    assert apply_rule(limits, "truncate", given="clip") == limits


def test_the_seed_reaches_the_noise(capsys):
    np.savez("d.npz", x=np.random.default_rng(0).uniform(size=(60, 2)), y=np.arange(60) % 2)
    base = ["evaluate", "--data", "d.npz", "--model", "1nn", "--corruptions", "linf(0.2)"]
    data = st.load("d.npz")
    for seed in (0, 5):
        (found,) = run_json(capsys, *base, "--seed", seed, "--quiet")["models"]
        records = st.evaluate(builtin("1nn"), data, "linf(0.2)", seed=seed, refit=True)
        assert found["seed"] == seed
        expected = [100 * cell.accuracy for cell in records]
        assert [cell["mean"] for cell in found["cells"]] == pytest.approx(expected)


def test_every_command_takes_a_sample_of_the_points(capsys):
    some = st.load("iris", points=40, seed=3)
    sample = "--points", 40, "--seed", 3
    found = run_json(capsys, "separation", "iris", *sample)
    assert found["epsilon_min"] == st.separation(some).epsilon_min
    code, _, err = run_command(
        capsys, *("corrupt", "iris", "--corruption", "linf(0)", "-o", "c.npz", *sample)
    )
    assert code == 0, err
    np.testing.assert_array_equal(st.load("c.npz").x, some.x)
    models = "--data", "iris", "--model", "1nn", "--quiet", *sample
    fixed = "--corruptions", "linf(0.1)", "--k", 2
    (found,) = run_json(capsys, "evaluate", *models, *fixed)["models"]
    assert found["data"] == some.name == "iris, 40 of 150 points, seed 3"
    assert found["n"] == 8, "a fifth of the sample"
    levels = "--train-eps", "0", "--runs", 2, "--jobs", 1
    assert run_json(capsys, "study", *models, *levels)["data"] == some.name
    agreement = ("adversary", "--agreement", "neither")
    assert run_json(capsys, *agreement, *models, "--model", "rf")["n"] == 8
    models = "--data", "iris", "--model", "1nn", "--quiet", "--points", 9, "--seed", 3
    found = run_json(capsys, "adversary", *models, "--eps", "0.1", "--attack", "random(10)")
    assert found["curves"][0]["points"][0]["n"] == 9, "of the 30 test points"


def test_a_written_copy_states_how_it_was_made(capsys):
    run_command(
        capsys,
        *("corrupt", "shapes(n=20)", "--corruption", "linf(0.3)", "-o", "f.npz", "--seed", 4),
        *("--draws", "ladder"),
    )
    with np.load("f.npz") as file:
        facts = {name: file[name].item() for name in ("corruption", "seed", "bounds", "draws")}
    assert facts == {
        "corruption": "linf(0.3)",
        "seed": 4,
        "bounds": "clip[0, 1]",
        "draws": "ladder",
    }


@pytest.mark.parametrize(
    ("text", "name", "model"),
    [
        ("rf", "rf", "rf"),
        ("old=rf", "old", "rf"),
        ("new = net.onnx", "new", "net.onnx"),
        ("net (clean)=m:net", "net (clean)", "m:net"),
        ("v1.2=runs/lr=0.1/net.onnx", "v1.2", "runs/lr=0.1/net.onnx"),
        ("runs/lr=0.1/net.onnx", "runs/lr=0.1/net.onnx", "runs/lr=0.1/net.onnx"),
        ("m:net@lr=0.1.pt", "m:net@lr=0.1.pt", "m:net@lr=0.1.pt"),
        ("./lr=0.1.onnx", "./lr=0.1.onnx", "./lr=0.1.onnx"),
        ("resnet9(width=8)@w.pt", "resnet9(width=8)@w.pt", "resnet9(width=8)@w.pt"),
        ("net=resnet9(width=8)@w.pt", "net", "resnet9(width=8)@w.pt"),
        ("rf(l2(1) | sp(p=1))=m.joblib", "rf(l2(1) | sp(p=1))", "m.joblib"),
    ],
)
def test_a_model_may_be_given_a_name(text, name, model):
    assert ModelOptions(model=(text,)).named() == {name: model}


def test_a_name_that_is_not_clear_is_refused(capsys):
    Path("lr=0.1.onnx").touch()
    command = ("evaluate", "--data", "iris", "--model")
    assert "for the file write ./lr=0.1.onnx" in run_failing(capsys, *command, "lr=0.1.onnx")
    assert "got '=rf'; add what is missing" in run_failing(capsys, *command, "=rf")
    twice = run_failing(capsys, *command, "a=rf", "--model", "a=svm")
    assert "--model a=svm: the name 'a' is taken by 'rf'" in twice


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "--k", "1"],
        ["study", "--runs", "1", "--jobs", "1"],
        ["adversary", "--eps", "0.1"],
        ["adversary", "--agreement", "majority"],
    ],
)
def test_names_of_models_reach_the_results(capsys, command):
    flags = ("--data", "toy1d", "--model", "old=1nn", "--model", "new=svm")
    out = run_json(capsys, *command, *flags, "--quiet")
    found = {"old": False, "new": False}

    def look(value):
        if isinstance(value, str) and value in found:
            found[value] = True
        for part in value if isinstance(value, dict | list) else ():
            look(part)
            look(value[part] if isinstance(value, dict) else part)

    look(out)
    assert found == {"old": True, "new": True}

"""The commands that train networks."""

import signal
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from helpers.commands import run_command, run_failing, run_json  # noqa: E402
from shaketable import load  # noqa: E402
from shaketable.activities.networks import make_network  # noqa: E402
from shaketable.cli.commands import COMMANDS  # noqa: E402
from shaketable.cli.parser import parse_args  # noqa: E402
from shaketable.models.networks import build_network, load_network  # noqa: E402
from shaketable.training import train  # noqa: E402
from shaketable.training.loop import Trainer  # noqa: E402
from shaketable.training.regimes import RegimeStep  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_directory", "one_thread")

TINY = ["--data", "bands(n=100)", "--network", "mlp(width=4, depth=1)"]
TINY += ["--recipe", "auto(epochs=2)"]


def test_train_writes_a_network_that_evaluate_takes_without_trust(capsys, tmp_path):
    found = run_json(capsys, "train", *TINY, "--noise", "linf(0.01)", "-o", "m.pt", "--quiet")
    assert found["noise"] == "linf(0.01)"
    assert found["file"] == "m.pt"
    assert [entry["epoch"] for entry in found["curve"]] == [1, 2]
    assert all(0 <= entry["held_out"] <= 100 for entry in found["curve"])
    assert not (tmp_path / "m.pt.checkpoint").exists()
    assert "weights" not in found
    recipe = ["--recipe", "twofactor-alexnet(epochs=2)", "--quiet"]
    again = run_json(capsys, "train", *TINY[:3], f"{TINY[3]}@m.pt", *recipe)
    assert len(again["weights"]) == 16
    _, _, notes = run_command(capsys, "train", *TINY[:4], *recipe)
    assert "none are given (--network SPEC@FILE.pt): mlp" in notes
    evaluated = run_json(
        capsys,
        "evaluate",
        "--model",
        "m.pt",
        "--data",
        "bands(n=100)",
        "--corruptions",
        "linf(0.1)",
    )
    assert [model["label"] for model in evaluated["models"]] == ["m.pt"]


def test_points_are_those_that_the_network_is_trained_on(capsys):
    whole = load("bands(n=100)")
    for name, rows in (("train.npz", slice(60)), ("test.npz", slice(60, 100))):
        np.savez(name, x=whole.x[rows], y=whole.y[rows])
    files = ["--data", "train.npz", "--test", "test.npz", "--points", 20]
    found = run_json(capsys, "train", *files, *TINY[2:], "--quiet")
    some = load("train.npz", test="test.npz", points=20, part="train")
    assert (some.n_train, some.n) == (20, 60)
    assert found["data"] == some.fingerprint
    alone = train("mlp(width=4, depth=1)", some, epochs=2, validate=True)
    assert [step["accuracy"] for step in found["curve"]] == [100 * s.accuracy for s in alone.curve]
    assert [step["held_out"] for step in found["curve"]] == [100 * s.held_out for s in alone.curve]
    assert (found["curve"][-1]["accuracy"] * 20 / 100) % 1 == pytest.approx(0)


@pytest.mark.filterwarnings("default")
def test_weights_that_do_not_fit_are_named(capsys):
    network = build_network("mlp(width=4, depth=1)", shape=(2,), classes=3)
    torch.save(network.state_dict(), "w.pt")
    _, _, err = run_command(capsys, "train", *TINY[:3], f"{TINY[3]}@w.pt", *TINY[4:], "--quiet")
    left = "weights in 'w.pt' do not fit 2 of 8 tensors of the network, which stay as they are: "
    assert f"note: {left}" in err


@pytest.mark.usefixtures("heeded_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_training_is_kept_and_goes_on(capsys, monkeypatch, number):
    argv = ["train", *TINY, "--noise", "linf(0.01)", "--quiet", "-o"]
    compute, steps = RegimeStep.compute, []

    def interrupt(self, network, batch):
        steps.append(len(batch.x))
        if len(steps) == 3:
            signal.raise_signal(number)
        return compute(self, network, batch)

    with monkeypatch.context() as patch:
        patch.setattr(RegimeStep, "compute", interrupt)
        error = run_failing(capsys, *argv, "m.pt", code=130)
    assert error.endswith(
        "interrupted; the training is kept in m.pt.checkpoint, run the same command to go on\n"
    )
    assert len(steps) == 3
    for name in ("m.pt", "whole.pt"):
        assert run_command(capsys, *argv, name)[0] == 0
    first, again = (load_network(name).module.state_dict() for name in ("m.pt", "whole.pt"))
    assert all(torch.equal(first[name], again[name]) for name in again)


@pytest.mark.usefixtures("heeded_interrupts")
def test_a_second_interrupt_does_not_wait(capsys, monkeypatch):
    def interrupt_twice(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it waits")

    monkeypatch.setattr(RegimeStep, "compute", interrupt_twice)
    error = run_failing(capsys, "train", *TINY, "--quiet", "-o", "m.pt", code=130)
    assert error == "shaketable: interrupted; nothing was kept\n"


def test_train_prints_its_learning_curve(capsys):
    _, out, _ = run_command(capsys, "train", *TINY, "--no-curve", "--quiet")
    assert "mlp(width=4, depth=1)" in " ".join(out.split())
    rows = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit()]
    assert [row[0] for row in rows] == ["1", "2"]


def test_flips_and_crops_can_be_switched_off(capsys):
    for recipe, expected in ("auto(epochs=2)", True), ("auto(epochs=2, shift=no)", False):
        flags = [*TINY[:4], "--recipe", recipe]
        found = run_json(capsys, "train", *flags, "--no-curve", "--quiet")
        assert found["recipe"]["shift"] is expected
        for command in ("study", "harden"):
            networks = parse_args([command, *flags], COMMANDS).options.networks
            assert make_network(networks, TINY[3], device=None).plan.shift is expected


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--recipe", "slow"], "unknown recipe 'slow'"),
        (["--recipe", "auto(epoch=2)"], "unknown option of a recipe: 'epoch'; did you mean"),
        (["--recipe", "auto(epochs=x)"], "epochs must be a whole number, got 'x'"),
        (["--recipe", "auto(shift=2)"], "shift must be yes or no, got 2"),
        (["--noise", "linf(0.1"], "linf"),
        (["--recipe", "auto(batch=0)"], "batch must be a whole number of at least 1, got 0"),
        (["-o", "m.onnx"], ".pt"),
        (
            ["--recipe", "auto(rate=1e30)", "-o", "m.pt", "--json"],
            "training has diverged: its loss",
        ),
        (["--network", "mlp"], "--network must name one network, got 2"),
    ],
)
def test_what_cannot_be_trained_is_one_line(capsys, flags, message):
    given = TINY[:4] if "--recipe" in flags else TINY
    assert message in run_failing(capsys, "train", *given, *flags, "--quiet")


def test_studies_train_networks_and_estimators_by_regime(capsys, tmp_path):
    found = run_json(
        capsys,
        "study",
        *TINY,
        "--network",
        "mlp(width=2)",
        "--model",
        "1nn",
        "--train",
        "clean",
        "--train",
        "linf(0.01) | l2(0.02)",
        "--corruptions",
        "linf(0.02)",
        "--runs",
        2,
        "--jobs",
        1,
        "--store",
        "s.sqlite",
        "--keep-models",
        "models",
        "--quiet",
    )
    models = "1nn", "mlp(width=4, depth=1)", "mlp(width=2)"
    names = {f"{m}({t})" for m in models for t in ("clean", "linf(0.01) | l2(0.02)")}
    assert {entry["label"] for entry in found["models"]} == names
    assert {entry["runs"] for entry in found["models"]} == {2}
    pairs = {(d["first"], d["second"]) for d in found["accuracy_differences"]}
    assert ("1nn(linf(0.01) | l2(0.02))", "1nn(clean)") in pairs
    assert len(list(tmp_path.glob("models/*"))) == 12


def test_a_network_must_be_known(capsys):
    for command in ("train", "study"):
        error = run_failing(capsys, command, *TINY[:2], "--network", "resnet8")
        assert "unknown network 'resnet8'; did you mean" in error


def test_two_models_of_a_study_cannot_have_one_name(capsys):
    error = run_failing(capsys, "study", *TINY, *TINY[2:4])
    assert "the name 'mlp(width=4, depth=1)' is taken by another model; leave one out" in error


def test_training_noise_is_named_once(capsys):
    error = run_failing(capsys, "study", *TINY, "--train", "clean", "--train-eps", "0.1", "--quiet")
    assert "argument --train-eps: not allowed with argument --train" in error


NO_PLACE = "/proc/m.pt"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="every folder can be written to")
def test_a_network_that_cannot_be_written_is_refused_before_training(capsys):
    for command in (["train", *TINY], ["harden", "--data", "iris", "--model", "rf"]):
        error = run_failing(capsys, *command, "-o", NO_PLACE)
        assert "argument -o/--out: it cannot be written to '/proc/m.pt' (" in error


def test_models_are_kept_in_a_folder(capsys):
    Path("file").touch()
    argv = ["study", "--data", "bands(n=40)", "--model", "1nn", "--runs", 1, "--jobs", 1]
    for place in ("file", "file/models"):
        error = run_failing(capsys, *argv, "--keep-models", place, "--quiet")
        assert f"keep_models must be a folder that can be written to, got '{place}' (" in error


@pytest.mark.parametrize("command", ["study", "harden"])
def test_a_device_needs_a_network(capsys, command):
    error = run_failing(capsys, command, "--data", "iris", "--model", "rf", "--device", "cpu")
    assert "--device is for networks, and none is named; add --network or --recipe, or" in error
    error = run_failing(capsys, command, *TINY[:4], "--recipe", "auto(rate=1)")
    assert "--recipe takes rate and precision for train only" in error


def test_the_precision_can_be_chosen(capsys, monkeypatch):
    given = []
    take = Trainer._autocast
    monkeypatch.setattr(
        Trainer, "_autocast", lambda self: (given.append(self.precision), take(self))[1]
    )
    for more in ("", ", precision=bfloat16"):
        recipe = f"auto(epochs=2{more})"
        assert run_command(capsys, "train", *TINY[:4], "--recipe", recipe, "--quiet")[0] == 0
    assert set(given) == {"auto", "bfloat16"}
    error = run_failing(capsys, "train", *TINY[:4], "--recipe", "auto(precision=half)")
    assert "precision must be auto, float32 or bfloat16, got 'half'" in error

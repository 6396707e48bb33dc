"""Checkpoints: trainings that were killed go on to the same weights; and what is refused."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from helpers.commands import run_failing  # noqa: E402
from helpers.disks import flip_bit, limit_file_size  # noqa: E402
from helpers.evil import check_it_works, make_contents  # noqa: E402
from helpers.networks import same_weights  # noqa: E402
from shaketable import make_dataset  # noqa: E402
from shaketable.core.errors import InputError  # noqa: E402
from shaketable.training.loop import Checkpoint, Trainer  # noqa: E402
from shaketable.training.trained import train  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 2))
POINTS = make_dataset(X, X.sum(axis=1) > 1)
IMAGES = make_dataset(RNG.integers(0, 256, (60, 8, 8, 3), dtype=np.uint8), np.arange(60) % 3)


class KilledError(Exception):
    """Ends a training as a signal would."""


def interrupt_after(steps, monkeypatch):
    """Save a checkpoint after every step, and end the training after so many."""

    def save(self, trainer):
        self.save(trainer)
        if trainer.done == steps:
            raise KilledError

    monkeypatch.setattr(Checkpoint, "save_if_due", save)


@pytest.mark.parametrize("steps", [1, 3, 5])  # of 3 per epoch: within it, at its end
def test_a_training_goes_on_from_its_checkpoint_to_the_same_weights(steps, tmp_path, monkeypatch):
    settings = {"noise": "TA + C2", "epochs": 3, "batch": 16, "seed": 3}
    whole = train("wrn(depth=10, width=1, dropout=0.3)", IMAGES, **settings)
    path = tmp_path / "run.checkpoint"
    with monkeypatch.context() as patch:
        interrupt_after(steps, patch)
        with pytest.raises(KilledError):
            train("wrn(depth=10, width=1, dropout=0.3)", IMAGES, checkpoint=path, **settings)
    resumed = train("wrn(depth=10, width=1, dropout=0.3)", IMAGES, checkpoint=path, **settings)
    assert same_weights(whole, resumed)
    fields = ("epoch", "loss", "accuracy", "rate")
    curves = [[[getattr(r, f) for f in fields] for r in t.curve] for t in (whole, resumed)]
    assert curves[0] == curves[1]
    with pytest.raises(InputError, match=r"other data or settings; delete it .*another file$"):
        train(
            "wrn(depth=10, width=1, dropout=0.3)", IMAGES, checkpoint=path, **settings | {"seed": 4}
        )


def test_killed_at_any_moment_it_ends_with_the_same_weights(tmp_path):
    code = (
        "import sys, torch; torch.set_num_threads(1)\n"
        "import numpy as np\n"
        "from shaketable import make_dataset\n"
        "from shaketable.training.loop import Checkpoint\n"
        "from shaketable.training.trained import train\n"
        "save = lambda self, trainer: (self.save(trainer), print(trainer.done, flush=True))\n"
        "Checkpoint.save_if_due = save\n"
        "x = np.random.default_rng(0).uniform(size=(100, 2))\n"
        "data = make_dataset(x, x[:, 0] > 0.5)\n"
        "train('mlp(width=8)', data, noise='linf(0.1)', epochs=20, checkpoint=sys.argv[1])\n"
    )
    path = tmp_path / "c"
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if int(line) == 7:
                process.send_signal(signal.SIGKILL)
                break
    x = np.random.default_rng(0).uniform(size=(100, 2))
    data, options = make_dataset(x, x[:, 0] > 0.5), {"noise": "linf(0.1)", "epochs": 20}
    assert 7 <= torch.load(path, weights_only=True)["done"] < 20 * 5
    whole = train("mlp(width=8)", data, **options)
    assert same_weights(whole, train("mlp(width=8)", data, checkpoint=path, **options))


def test_a_checkpoint_of_another_start_or_precision_is_refused(tmp_path, monkeypatch):
    train("mlp(width=4)", POINTS, epochs=1).save(tmp_path / "start.pt")
    path, start = tmp_path / "c", {"weights": tmp_path / "start.pt"}
    with monkeypatch.context() as patch:
        interrupt_after(1, patch)
        with pytest.raises(KilledError):
            train("mlp(width=4)", POINTS, epochs=1, checkpoint=path, **start)
    for other in ({}, {"precision": "bfloat16", **start}):
        with pytest.raises(InputError, match="other data or settings"):
            train("mlp(width=4)", POINTS, epochs=1, checkpoint=path, **other)
    train("mlp(width=4)", POINTS, epochs=1, checkpoint=path, **start)


def test_a_training_that_diverges_ends_with_its_epoch_and_leaves_no_checkpoint(
    tmp_path, monkeypatch
):
    path, options = tmp_path / "c", {"epochs": 3, "batch": 40, "checkpoint": tmp_path / "c"}
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save_if_due", Checkpoint.save)
        with pytest.raises(InputError, match=r"got nan in epoch 1 of 3; try a smaller learning "):
            train("mlp(width=4)", POINTS, rate=1e30, **options)
    assert not path.exists()
    train("mlp(width=4)", POINTS, rate=0.1, **options)  # as the message says


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"no checkpoint")
    with pytest.raises(InputError, match="cannot be read .*delete it to train from the start$"):
        train("mlp", POINTS, epochs=1, checkpoint=path)
    torch.save({"format": "other"}, path)
    with pytest.raises(InputError, match="is no checkpoint of this version; delete or move it$"):
        train("mlp", POINTS, epochs=1, checkpoint=path)


def test_a_changed_or_incomplete_checkpoint_is_refused(tmp_path, monkeypatch):
    path, start = tmp_path / "c", {"epochs": 2, "checkpoint": tmp_path / "c"}
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        with pytest.raises(KilledError):
            train("mlp(width=4)", POINTS, **start)
    whole = path.read_bytes()
    content = torch.load(path, weights_only=True)
    momentum = content["optimizer"]["state"][0]["momentum_buffer"]
    for tensor in (*content["weights"].values(), momentum, content["sums"]):
        if tensor.numel() > 1:
            path.write_bytes(whole)
            flip_bit(path, tensor.numpy().tobytes(), at=1)
            with pytest.raises(InputError, match=r"cannot be read \(BadZipFile\); delete it to"):
                train("mlp(width=4)", POINTS, **start)
    for key in ("identity", "weights", "optimizer", "curve", "done"):
        torch.save({name: part for name, part in content.items() if name != key}, path)
        why = "does not say of which" if key == "identity" else f"cannot be used .KeyError: '{key}"
        with pytest.raises(InputError, match=f"checkpoint '.*' {why}.*; delete it to train from"):
            train("mlp(width=4)", POINTS, **start)
    path.write_bytes(whole)
    assert len(train("mlp(width=4)", POINTS, **start).curve) == 2


def test_a_full_disk_is_one_line(capsys, own_directory, monkeypatch):
    argv = [
        "train",
        "--data",
        "bands(n=100)",
        "--network",
        "mlp(width=4)",
        "--recipe",
        "auto(epochs=1)",
    ]
    argv += ["-o", "m.pt", "--quiet"]
    for at_each_step in (False, True):
        with limit_file_size(3000), monkeypatch.context() as patch:
            if at_each_step:
                patch.setattr(Checkpoint, "save_if_due", Checkpoint.save)
            message = run_failing(capsys, *argv)
        what = "checkpoint" if at_each_step else "network"
        assert f"{what} cannot be written to 'm.pt" in message
        assert "(File too large); name another file, or free some space" in message
        assert not any(tmp for tmp in Path().iterdir()), "no half of a file is left"


def test_code_in_checkpoints_and_weights_is_not_run(tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "c.pt"
    check_it_works(mark)
    for content in make_contents(mark).values():
        path.write_bytes(content)
        for option in ("checkpoint", "weights"):
            with pytest.raises(InputError):
                train("mlp", POINTS, epochs=1, **{option: path})
            assert not mark.exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "no/such/c.pt",
            "checkpoint cannot be written to '.*no/such': its folder does not exist; make it",
        ),
        (
            "folder",
            "checkpoint must be written to a file, got the folder '.*folder'; name a file in",
        ),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(
    tmp_path, monkeypatch, place, message
):
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(Trainer, "run", lambda *_, **__: pytest.fail("it is trained"))
    with pytest.raises(InputError, match=f"^{message}"):
        train("mlp(width=4)", POINTS, epochs=1, checkpoint=tmp_path / place)

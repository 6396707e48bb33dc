"""What tells one training from another: every option that decides the weights, and no other."""

import inspect
from dataclasses import fields, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from helpers.networks import same_weights  # noqa: E402
from shaketable import make_dataset  # noqa: E402
from shaketable.core.errors import InputError  # noqa: E402
from shaketable.data.bounds import Bounds  # noqa: E402
from shaketable.training.loop import Checkpoint  # noqa: E402
from shaketable.training.recipes import Recipe  # noqa: E402
from shaketable.training.trained import UntrainedNetwork, train  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3)).astype(np.uint8)
DATA = make_dataset(IMAGES, np.arange(12) % 2)
BASE = {"network": "resnet9(width=2)", "data": DATA, "noise": "linf(0.1)", "epochs": 2, "batch": 6}
DECIDES = {
    "network": "resnet9(width=3)",
    "data": make_dataset(IMAGES, 1 - np.arange(12) % 2),
    "noise": "linf(0.2)",
    "recipe": "pnorm-wrn",
    "epochs": 3,
    "batch": 5,
    "rate": 0.01,
    "shift": False,
    "bounds": Bounds(0, 1, "truncate"),
    "rows": np.arange(10),
    "seed": 1,
    "precision": "bfloat16",
    "weights": "start.pt",
}
LEAVES = {"validate": True, "device": "cpu", "compiled": False, "progress": True}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Checkpoint after the first step of a training, and the training without a break."""
    path = tmp_path_factory.mktemp("training") / "c"

    def save(checkpoint, trainer):
        checkpoint.save(trainer)
        raise InterruptedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save_if_due", save)
        with pytest.raises(InterruptedError):
            train(**BASE, checkpoint=path)
    return path, train(**BASE)


def test_every_option_of_a_training_is_one_that_decides_or_one_that_does_not():
    options = set(inspect.signature(train).parameters)
    assert options == {*DECIDES, *LEAVES, "checkpoint"}


@pytest.mark.parametrize("option", DECIDES)
def test_no_training_goes_on_from_a_checkpoint_of_another(interrupted, option, tmp_path):
    changed = {option: DECIDES[option]}
    if option == "weights":
        changed = {option: tmp_path / "start.pt"}
        interrupted[1].save(changed[option])
    with pytest.raises(InputError, match="is of a training with other data or settings"):
        train(**BASE | changed, checkpoint=interrupted[0])


@pytest.mark.parametrize("option", LEAVES)
def test_a_training_goes_on_whatever_does_not_change_its_weights(interrupted, option, capsys):
    path, whole = interrupted
    assert same_weights(whole, train(**BASE, **{option: LEAVES[option]}, checkpoint=path))


NETWORK = {
    "network": "resnet9(width=3)",
    "recipe": "pnorm-wrn",
    "epochs": 3,
    "batch": 5,
    "weights": "start.pt",
    "shift": False,
}
RUNNING = {"device": "cpu", "compiled": True, "validate": True}


def test_every_field_of_an_untrained_network_decides_or_does_not(interrupted, tmp_path):
    known = {field.name for field in fields(UntrainedNetwork)}
    assert known == {*NETWORK, *RUNNING}
    base = UntrainedNetwork("resnet9(width=2)")
    interrupted[1].save(tmp_path / "start.pt")
    changes = NETWORK | {"weights": tmp_path / "start.pt"}
    identities = {replace(base, **{name: value}).identity for name, value in changes.items()}
    assert len(identities | {base.identity}) == 7
    same = [replace(base, **{name: value}) for name, value in RUNNING.items()]
    assert {network.identity for network in same} == {base.identity}
    first = (tmp_path / "start.pt").read_bytes()
    network = replace(base, weights=tmp_path / "start.pt")
    before = network.identity
    (tmp_path / "start.pt").write_bytes(first + b"\0")
    assert network.identity != before, "the content counts, not the name"


RECIPE = {
    "network": "resnet9(width=3)",
    "epochs": 3,
    "batch": 5,
    "rate": 0.01,
    "schedule": "onecycle(0.3)",
    "planned": 7,
    "momentum": 0.5,
    "nesterov": True,
    "weight_decay": 0.1,
    "smoothing": 0.1,
    "shift": False,
    "margin": 1,
    "rule": "truncate",
    "fresh": False,
}


def test_every_value_of_a_recipe_decides_but_its_words():
    assert {f.name for f in fields(Recipe)} == {*RECIPE, "about", "pretrained"}
    recipes = [Recipe(), *(replace(Recipe(), **{name: value}) for name, value in RECIPE.items())]
    assert len({UntrainedNetwork(recipe=recipe).identity for recipe in recipes}) == len(recipes)
    words = replace(Recipe(), about="of one's own", pretrained=True)
    assert UntrainedNetwork(recipe=words).identity == UntrainedNetwork(recipe=Recipe()).identity

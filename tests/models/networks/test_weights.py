from pathlib import Path

import numpy as np
import pytest

from helpers.commands import run_command, run_failing
from helpers.disks import flip_bit
from shaketable.core.errors import InputError, ShaketableWarning
from shaketable.data.arrays import make_dataset
from shaketable.models.loading import load_model
from shaketable.models.options import ModelOptions

torch = pytest.importorskip("torch", reason="torch is not installed")

from shaketable.models.networks.files import load_network, save_network  # noqa: E402
from shaketable.models.networks.registry import build_network  # noqa: E402  (needs torch)
from shaketable.models.networks.weights import match_names, read_weights  # noqa: E402
from shaketable.models.torch_modules import ModuleAnswer  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_directory")


def make_module(shape=(8, 8, 3), classes=3):
    return build_network("resnet9(width=2)", shape=shape, classes=classes, seed=0).eval()


@pytest.mark.parametrize(
    "prefix", ["", "module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."]
)
@pytest.mark.parametrize("entry", [None, "state_dict", "model_state_dict", "model"])
def test_weights_are_found_in_usual_checkpoints(prefix, entry):
    own = make_module().state_dict()
    saved = {prefix + name: tensor for name, tensor in own.items()}
    torch.save(saved if entry is None else {"epoch": 3, entry: saved}, "w.pt")
    weights = match_names(read_weights("w.pt"), make_module())
    assert list(weights) == list(own)
    assert all(torch.equal(weights[name], own[name]) for name in own)
    model, _ = load_model("resnet9(width=2)@w.pt", shape=(8, 8, 3))
    assert all(torch.equal(tensor, own[name]) for name, tensor in model.state_dict().items())


def test_a_prefix_stays_that_the_network_has_itself():
    parallel = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    assert list(match_names(parallel.state_dict(), parallel)) == ["module.weight", "module.bias"]


@pytest.mark.parametrize("content", [{}, [1], {"a": 1}, {"optimizer": {}, "epoch": 3}])
def test_a_file_without_weights_is_refused(content):
    torch.save(content, "w.pt")
    with pytest.raises(InputError, match=r"'w.pt' does not hold weights alone \(.*\); save them"):
        read_weights("w.pt")


@pytest.mark.parametrize("shape", [(8, 8, 3), (64, 64, 3), (28, 28), (1, 64, 64)])
@pytest.mark.parametrize("classes", [2, 5])
def test_a_network_is_made_for_the_shape_of_the_data(shape, classes):
    module = make_module(shape, classes)
    torch.save(module.state_dict(), "w.pt")
    x = np.random.default_rng(0).random((5, *shape)).astype(np.float32)
    data = make_dataset(x, np.arange(5) % classes)
    model, _ = ModelOptions().load("resnet9(width=2)@w.pt", data)
    assert (ModuleAnswer("a", model)(x) == ModuleAnswer("b", module)(x)).all()


def test_preprocessing_decides_the_shape_that_a_network_is_made_for():
    module = make_module((64, 64, 3))
    torch.save(module.state_dict(), "w.pt")
    x = np.random.default_rng(0).random((2, 32, 32, 3)).astype(np.float32)
    options = ModelOptions(preprocess=("size=64",))
    adapted, _ = options.load("resnet9(width=2)@w.pt", make_dataset(x, [0, 1]))
    large = adapted.preprocess(x)
    scores = ModuleAnswer("a", module)(large)
    assert (ModuleAnswer("b", adapted.model)(large) == scores).all()
    assert (ModuleAnswer("c", make_module((32, 32, 3)))(large) != scores).any(), "it matters"


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "--k", "1"],
        ["adversary", "--eps", "0.1", "--attack", "random(queries=2)", "--quiet"],
        ["adversary", "--agreement", "neither", "--model", "1nn"],
        ["figure", "plane", "-o", "plane.svg"],
    ],
)
def test_commands_make_networks_for_their_data(capsys, command):
    module = build_network("mlp(width=4, depth=1)", shape=(2,), classes=2, seed=0)
    torch.save(module.state_dict(), "w.pt")
    argv = [*command, "--data", "bands(n=20)", "--model", "mlp(width=4, depth=1)@w.pt"]
    code, _, err = run_command(capsys, *argv)
    assert code == 0, err


def test_a_study_says_how_to_train_from_weights(capsys):
    torch.save(make_module().state_dict(), "w.pt")
    argv = ["study", "--data", "shapes(n=20)", "--model", "resnet9(width=2)@w.pt"]
    assert "with or without weights to start from (--network SPEC@FILE.pt)" in run_failing(
        capsys, *argv
    )


def test_a_whole_network_is_not_taken_for_weights():
    save_network("net.pt", make_module(), network="resnet9(width=2)", shape=(8, 8, 3), classes=3)
    with pytest.raises(InputError, match="^file 'net.pt' holds a whole network.* it is, net.pt$"):
        load_model("resnet9(width=2)@net.pt", shape=(8, 8, 3))


def test_compiled_networks_are_saved_as_what_they_are():
    compiled = torch.compile(make_module(), backend="eager")
    save_network("net.pt", compiled, network="resnet9(width=2)", shape=(8, 8, 3), classes=3)
    assert list(load_network("net.pt").module.state_dict()) == list(make_module().state_dict())


def test_a_changed_weight_is_noticed(capsys):
    state = make_module().state_dict()
    for tensor in state.values():
        if tensor.numel() > 8:
            torch.save(state, "w.pt")
            read_weights("w.pt")
            flip_bit("w.pt", tensor.numpy().tobytes(), at=tensor.numel() // 2)
            with pytest.raises(InputError, match=r"is damaged \(checksum of .*\); restore it"):
                read_weights("w.pt")
    np.savez("data.npz", x=np.zeros((4, 8, 8, 3), np.uint8), y=[0, 1, 2, 0])
    argv = ["--data", "data.npz", "--model", "resnet9(width=2)@w.pt", "--corruptions", "clean"]
    assert "'w.pt' is damaged" in run_failing(capsys, "evaluate", *argv, "--quiet")
    Path("w.pt").write_bytes(Path("w.pt").read_bytes()[:2000])
    with pytest.raises(InputError, match=r"is damaged \(it was cut short\)"):
        read_weights("w.pt")


def test_weights_of_old_files_are_noted_as_unchecked():
    state = make_module().state_dict()
    torch.save(state, "old.pt", _use_new_zipfile_serialization=False)
    with pytest.warns(ShaketableWarning, match=r"'old.pt' has no checksums, .*save it again"):
        weights = read_weights("old.pt")
    assert all(torch.equal(weights[name], tensor) for name, tensor in state.items())

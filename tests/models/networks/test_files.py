import os
import subprocess
import sys

import numpy as np
import pytest

from helpers.commands import run_failing, run_json
from helpers.disks import flip_bit, limit_file_size
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model
from shaketable.models.networks.files import VERSION, load_network, save_network

torch = pytest.importorskip("torch", reason="torch is not installed")

from shaketable.models.networks.registry import build_network  # noqa: E402  (needs torch)

SHAPE = (8, 8, 3)
LABELS = ["ape", "bee", "cat"]


def make_module(spec="resnet9(width=2)", shape=SHAPE, classes=3):
    """A network in evaluation mode, whose statistics of batches are not the initial ones."""
    module = build_network(spec, shape=shape, classes=classes, seed=0)
    x = torch.rand(32, *shape, generator=torch.Generator().manual_seed(0))
    module(x.permute(0, 3, 1, 2) if len(shape) == 3 else x)
    return module.eval()


def save(path, **changes):
    arguments = {"network": "resnet9(width=2)", "shape": SHAPE, "classes": 3, "labels": LABELS}
    save_network(path, make_module(), **arguments | changes)


@pytest.mark.parametrize(
    ("spec", "shape"), [("resnet9(width=2)", SHAPE), ("mlp(width=4, depth=1)", (2,))]
)
def test_a_saved_network_gives_the_same_scores_to_the_bit(tmp_path, spec, shape):
    module = make_module(spec, shape)
    info = {"epochs": 3, "noise": "linf(0.1)", "loss": [0.5, 0.25]}
    save_network(
        tmp_path / "m.pt", module, network=spec, shape=shape, classes=3, labels=LABELS, info=info
    )
    state = torch.random.get_rng_state()
    loaded = load_network(tmp_path / "m.pt")
    assert torch.equal(torch.random.get_rng_state(), state), "no random numbers are used up"
    x = torch.rand(5, *(shape[::-1]))
    assert torch.equal(loaded.module(x), module(x))
    assert (loaded.shape, loaded.classes, loaded.labels) == (shape, 3, tuple(LABELS))
    assert loaded.info == info
    assert all(p.requires_grad for p in loaded.module.parameters()), "it can be trained further"
    assert not loaded.module.training


def test_a_network_of_scaled_data_takes_them_in_their_own_units(tmp_path):
    x = np.random.default_rng(0).uniform(40, 90, (30, *SHAPE)).astype(np.float32)
    raw = make_dataset(x, [LABELS[i % 3] for i in range(30)])
    scaled = raw.scaled()
    expected = as_classifier(make_module(), scaled)(scaled.x)
    for labels in (LABELS, None):
        save(tmp_path / "m.pt", scaling=scaled.scaling, labels=labels)
        model, _ = load_model(str(tmp_path / "m.pt"))
        for data in (raw, scaled):
            classifier = as_classifier(model, data, unscale=True)
            assert (classifier(data.x) == expected).all()
            assert (classifier.device is not None) == (data is scaled), "gradients are kept"
    assert len(set(expected.tolist())) > 1


def test_a_file_names_its_network_with_all_options(tmp_path):
    module = build_network("mlp(depth=0)", shape=(2,), classes=2)
    save_network(tmp_path / "m.pt", module, network="mlp( depth=0 )", shape=(2,), classes=2)
    assert load_network(tmp_path / "m.pt").network == "mlp(width=128, depth=0)"


@pytest.mark.parametrize("order", [LABELS, LABELS[::-1]])
def test_scores_are_those_of_the_labels_in_the_file(tmp_path, order):
    save(tmp_path / "m.pt", labels=order)
    x = np.random.default_rng(0).random((30, *SHAPE))
    data = make_dataset(x, [LABELS[i % 3] for i in range(30)])
    model, unfitted = load_model(str(tmp_path / "m.pt"))
    assert not unfitted
    codes = as_classifier(model, data)(data.x)
    scores = make_module()(torch.tensor(x).permute(0, 3, 1, 2).float())
    assert [data.classes[c] for c in codes] == [order[i] for i in scores.argmax(1)]
    assert len(set(codes.tolist())) > 1


def test_labels_of_numpy_come_back_as_plain_numbers(tmp_path):
    save(tmp_path / "m.pt", labels=np.array([3, 5, 7]))
    assert load_network(tmp_path / "m.pt").labels == (3, 5, 7)


def test_models_are_known_by_their_content(tmp_path):
    data = make_dataset(np.zeros((3, *SHAPE)), LABELS)
    identities = []
    for changes in ({}, {"info": {"epochs": 1}}, {"labels": LABELS[::-1]}):
        save(tmp_path / "m.pt", **changes)
        identities.append(as_classifier(load_model(str(tmp_path / "m.pt"))[0], data).identity)
    assert None not in identities
    assert identities[0] == identities[1] != identities[2]


def test_evaluate_takes_it_without_trust(capsys, tmp_path):
    order = ["cat", "ape", "bee"]  # not that of the data's classes
    save(tmp_path / "m.pt", labels=order)
    x = np.random.default_rng(0).random((12, *SHAPE))
    y = np.array(order)[make_module()(torch.tensor(x).permute(0, 3, 1, 2).float()).argmax(1)]
    np.savez(tmp_path / "d.npz", x=np.concatenate([x, x[:3]]), y=[*y, *LABELS])
    argv = ["evaluate", "--data", tmp_path / "d.npz", "--model", tmp_path / "m.pt", "--quiet"]
    (found,) = run_json(capsys, *argv, "--corruptions", "linf(0)", "--k", "1")["models"]
    right = 12 + sum(a == b for a, b in zip(y[:3], LABELS, strict=True))
    assert [cell["mean"] for cell in found["cells"]] == pytest.approx([100 * right / 15] * 2)


def test_an_older_file_stays_if_the_disk_is_full(tmp_path):
    save(tmp_path / "m.pt")
    before = (tmp_path / "m.pt").read_bytes()
    message = r"network cannot be written to .*m.pt' \(File too large\); name another file, or free"
    for size in (0, 700, len(before) - 100):
        with limit_file_size(size), pytest.raises(InputError, match=message):
            save(tmp_path / "m.pt", info={"epochs": 2})
    assert (tmp_path / "m.pt").read_bytes() == before
    assert os.listdir(tmp_path) == ["m.pt"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ["a", "b"]}, r"labels must be 3 different texts or numbers, one per class"),
        ({"labels": ["1", 1, 2]}, r"labels must be 3 different texts"),
        ({"labels": [None, 1, 2]}, r"labels must be 3 different texts"),
        ({"info": {"x": np.zeros(2)}}, "info must hold values that JSON can hold"),
        ({"info": {"x": float("nan")}}, "info must hold values that JSON can hold"),
        ({"network": "resnet8"}, "unknown network 'resnet8'; did you mean 'resnet9'"),
    ],
)
def test_what_cannot_be_loaded_is_not_saved(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        save(tmp_path / "m.pt", **changes)
    assert os.listdir(tmp_path) == []


# Files that are damaged, or made by others


def change(path, **changes):
    """Write a file of a network again, with other values."""
    content = torch.load(path, weights_only=True)
    torch.save({**content, **changes}, path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, f"must have version {VERSION}, got 2; update shaketable"),
        ({"shape": [8, 8.5, 3]}, r"is damaged \(shape is \[8, 8.5, 3\]\)"),
        ({"shape": [4, 4, 3]}, "needs images of at least 8x8 pixels"),
        ({"shape": [2**40, 2**40, 3]}, None),
        ({"classes": "3"}, r"is damaged \(classes or shape"),
        ({"labels": ["a"]}, r"is damaged \(labels must be 3"),
        ({"labels": 3}, r"is damaged \(labels must be 3"),
        ({"network": 3}, r"is damaged \(network, info"),
        ({"network": "resnet9(("}, r"is damaged \(spec must read"),
        ({"network": "resnet9(depth=2)"}, "has no option 'depth'; known: width"),
        ({"network": "mlp"}, "do not fit network 'mlp'"),
        ({"network": "resnet9(width=3)"}, "do not fit network"),
        ({"network": "resnet9(width=1e12)"}, "do not fit network|could not be made"),
        ({"weights": {}}, "do not fit network .* Missing key"),
        ({"weights": [1]}, "is damaged"),
        ({"weights": {1: 2}}, "do not fit network"),
        ({"info": None}, "is damaged"),
        ({"scaling": {"low": 3}}, "is damaged"),
        ({"scaling": dict.fromkeys(("low", "span"), torch.zeros(3))}, "is damaged .scaling is of"),
    ],
)
def test_a_changed_file_is_one_line(capsys, tmp_path, changes, message):
    save(tmp_path / "m.pt")
    change(tmp_path / "m.pt", **changes)
    if message is None:
        assert load_network(tmp_path / "m.pt").shape == tuple(changes["shape"])
        return
    with pytest.raises(InputError, match=message) as error:
        load_model(str(tmp_path / "m.pt"))
    assert "\n" not in str(error.value)


def test_a_file_cut_short_is_refused_in_one_line(capsys, tmp_path):
    save(tmp_path / "m.pt")
    np.savez(tmp_path / "d.npz", x=np.zeros((3, *SHAPE)), y=LABELS)
    content = (tmp_path / "m.pt").read_bytes()
    argv = ["evaluate", "--data", tmp_path / "d.npz", "--model", tmp_path / "m.pt", "--quiet"]
    for length in (0, 100, len(content) // 2, len(content) - 10):
        (tmp_path / "m.pt").write_bytes(content[:length])
        error = run_failing(capsys, *argv, "--corruptions", "linf(0)")
        assert "is damaged (BadZipFile); restore it" in error or length <= 100


def test_a_changed_weight_is_noticed(tmp_path):
    save(tmp_path / "m.pt")
    flip_bit(tmp_path / "m.pt", make_module().linear.weight.detach().numpy().tobytes())
    with pytest.raises(InputError, match=r"is damaged \(BadZipFile\); restore it, or train"):
        load_model(str(tmp_path / "m.pt"))


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def test_code_in_a_file_that_claims_to_be_ours_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("m.pt")
    change("m.pt", info=Evil())
    for trust in (False, True):
        with pytest.raises(InputError, match=r"'m.pt' is damaged \(UnpicklingError\)"):
            load_model("m.pt", trust=trust)
    assert os.listdir() == ["m.pt"]


def test_other_files_must_be_trusted_as_before(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "whole.pt")
    torch.save({"format": "another"}, tmp_path / "other.pt")
    (tmp_path / "text.pt").write_text("shaketable network")
    for name in ("whole.pt", "other.pt", "text.pt"):
        with pytest.raises(InputError, match=r"must be trusted: a \.pt file may hold code"):
            load_model(str(tmp_path / name))
        if name != "whole.pt":
            with pytest.raises(InputError, match="does not hold a trained network|is damaged"):
                load_network(tmp_path / name)
    with pytest.raises(InputError, match="does not exist"):
        load_network(tmp_path / "none.pt")


def test_a_network_of_another_module_must_be_trusted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    source = "import torch\ndef make(classes, width=3):\n"
    source += "    return torch.nn.Sequential(torch.nn.Linear(2, width), "
    source += "torch.nn.Linear(width, classes))\n"
    (tmp_path / "my_networks.py").write_text(source)
    spec = "my_networks:make(width=5)"
    module = build_network(spec, shape=(2,), classes=3)
    save_network("m.pt", module, network=spec, shape=(2,), classes=3)
    monkeypatch.delitem(sys.modules, "my_networks")
    with pytest.raises(InputError, match=r"must be trusted: its network is my_networks:make"):
        load_model("m.pt")
    assert "my_networks" not in sys.modules
    model, _ = load_model("m.pt", trust=True)
    x = torch.rand(4, 2)
    assert torch.equal(model(x), module(x))
    monkeypatch.delitem(sys.modules, "my_networks")


def test_torch_is_imported_when_it_is_needed():
    code = "import sys, shaketable.models.loading, shaketable.models.networks.files\n"
    code += "import shaketable.models.torch_files, shaketable.cli.list_names\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"network": "resnet9(width=4)"},
        {"network": "mlp"},
        {"classes": 4, "labels": None},
        {"shape": (8, 8)},
    ],
)
def test_a_network_that_could_not_be_loaded_is_not_saved(tmp_path, changes):
    with pytest.raises(
        InputError, match="^network must be the spec that makes the module, for its"
    ):
        save(tmp_path / "m.pt", **changes)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path):
    with pytest.raises(
        InputError, match="^network cannot be written to '.*x.pt': its folder does not"
    ):
        save(tmp_path / "gone" / "x.pt")
    with pytest.raises(InputError, match="^network must be written to a file, got the folder"):
        save(tmp_path)

import subprocess
import sys

import numpy as np
import pytest

from helpers.disks import flip_bit
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model
from shaketable.models.torch_files import load_module

torch = pytest.importorskip("torch", reason="torch is not installed")

X = np.array([[0.0], [0.2], [0.8], [1.0]])
DATA = make_dataset(X, ["no", "no", "yes", "yes"])


def test_a_saved_module_comes_back(tmp_path):
    module = torch.nn.Linear(5, 2)
    torch.save(module, tmp_path / "m.pt")
    loaded = load_module(tmp_path / "m.pt")
    assert torch.equal(loaded.weight, module.weight)


@pytest.mark.parametrize("part", ["_parameters", "_buffers", "_modules", "training"])
def test_a_module_without_its_parts_is_refused_when_it_is_loaded(tmp_path, part):
    module = torch.nn.Linear(5, 2)
    del module.__dict__[part]
    torch.save(module, tmp_path / "m.pt")
    with pytest.raises(AttributeError, match=part):  # an InputError of the loader
        load_module(tmp_path / "m.pt")


@pytest.mark.skipif(torch.cuda.is_available(), reason="no device is missing")
def test_a_module_saved_on_a_missing_device_comes_back_on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
    torch.save(torch.nn.Linear(5, 2), tmp_path / "m.pt")
    assert load_module(tmp_path / "m.pt").weight.device.type == "cpu"
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(tmp_path / "m.pt", weights_only=False)


@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_modules_are_found_in_files_of_torch(suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    source = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
    source += "        return torch.cat([1 - x, x], dim=1)\n"
    name = f"my_net_for_test{suffix[1:]}"
    (tmp_path / f"{name}.py").write_text(source)
    code = f"import torch, {name}\ntorch.save({name}.Net(), 'net{suffix}')"
    subprocess.run([sys.executable, "-c", code], check=True)
    model, unfitted = load_model(
        f"net{suffix}", trust=True
    )  # its class is in the working directory
    assert not unfitted
    assert as_classifier(model, DATA)(X).tolist() == [0, 0, 1, 1]

    torch.save(torch.nn.Linear(1, 2).state_dict(), f"weights{suffix}")
    with pytest.raises(InputError, match=rf"weights only; .*network@weights\{suffix}$"):
        load_model(f"weights{suffix}", trust=True)
    (tmp_path / f"{name}.py").unlink()
    monkeypatch.delitem(sys.modules, name)
    with pytest.raises(InputError, match=f"No module named '{name}'; run from the directory"):
        load_model(f"net{suffix}", trust=True)


NETWORKS = """
import torch
def make():
    return torch.nn.Sequential(torch.nn.Linear(1, 2))
net = make()
number = 3
def fail():
    raise SystemExit(0)
"""


@pytest.fixture
def networks(tmp_path, monkeypatch):
    (tmp_path / "networks_for_test.py").write_text(NETWORKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "networks_for_test", raising=False)
    module = torch.nn.Sequential(torch.nn.Linear(1, 2))
    torch.save(module.state_dict(), "weights.pt")
    torch.save(module, "whole.pt")
    torch.save(torch.nn.Linear(3, 2).state_dict(), "others.pt")
    return module


@pytest.mark.parametrize("network", ["make", "net"])
def test_weights_with_their_network_need_no_trust(networks, network):
    model, unfitted = load_model(f"networks_for_test:{network}@weights.pt")
    assert not unfitted
    assert torch.equal(model[0].weight, networks[0].weight)
    named = sys.modules["networks_for_test"].net
    assert not torch.equal(named[0].weight, networks[0].weight), "the object named is not changed"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("make@none.pt", "file of weights 'none.pt' does not exist; check the path"),
        ("make@whole.pt", r"'whole.pt' does not hold weights alone \(UnpicklingError\); save them"),
        ("make@others.pt", r"do not fit network 'networks_for_test:make': Error.* Missing key"),
        ("number@weights.pt", "could not be made: TypeError: 'int' object is not callable"),
        ("fail@weights.pt", r"networks_for_test:fail could not be made: sys.exit\(0\); correct it"),
        ("gone@weights.pt", "network 'networks_for_test:gone': .* name an attribute"),
    ],
)
def test_weights_that_cannot_be_used_are_one_line(networks, source, message):
    with pytest.raises(InputError, match=message) as error:
        load_model(f"networks_for_test:{source}", trust=True)
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_a_changed_weight_of_a_trusted_file_is_noticed(own_directory):
    network = torch.nn.Linear(30, 3)
    torch.save(network, "whole.pt")
    torch.jit.trace(network, torch.zeros(1, 30)).save("script.pt")
    torch.export.save(torch.export.export(network, (torch.zeros(2, 30),)), "program.pt2")
    for name in ("whole.pt", "script.pt", "program.pt2"):
        load_model(name, trust=True)
        flip_bit(name, network.weight.detach().numpy().tobytes(), at=50)
        with pytest.raises(InputError, match=rf"model file '{name}' cannot be loaded: checksum of"):
            load_model(name, trust=True)

import sys

import pytest

from helpers.commands import run_command, run_failing, run_json
from helpers.plugin import install_plugin
from shaketable.core.errors import InputError
from shaketable.models.networks.registry import (
    NETWORKS,
    build_network,
    count_parameters,
    resolve_network,
)

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
import torch
def make(shape, classes, width=3, bias=True):
    return torch.nn.Sequential(
        torch.nn.Linear(shape[0], width, bias=bias), torch.nn.Linear(width, classes)
    )
def without(width=2):
    return torch.nn.Linear(4, width)
def everything(**options):
    everything.options = options
    return torch.nn.Linear(1, 2)
class Net(torch.nn.Linear):
    def __init__(self, *, classes):
        super().__init__(2, classes)
net = torch.nn.Linear(2, 2)
number = 3
def fail():
    raise SystemExit(0)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "networks_of_others.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("networks_of_others", None)


def weights(network):
    return torch.cat([p.detach().reshape(-1) for p in network.parameters()])


@pytest.mark.parametrize(
    ("spec", "shape"), [("resnet9(width=2)", (8, 8, 3)), ("mlp(width=4)", (3,))]
)
def test_a_seed_decides_the_weights_and_nothing_else(spec, shape):
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    first = weights(build_network(spec, shape=shape, classes=3, seed=1))
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.rand(3)
    assert torch.equal(weights(build_network(spec, shape=shape, classes=3, seed=1)), first)
    assert not torch.equal(weights(build_network(spec, shape=shape, classes=3, seed=2)), first)
    torch.manual_seed(1)
    assert torch.equal(weights(build_network(spec, shape=shape, classes=3)), first)


def test_equal_networks_have_equal_specs():
    assert resolve_network("wrn( width=4 )") == resolve_network("wrn(dropout=.30, width=4)")
    assert resolve_network("vgg-19") == "vgg-19"
    for name in NETWORKS:
        assert resolve_network(resolve_network(name)) == resolve_network(name)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("resnet8", "unknown network 'resnet8'; did you mean 'resnet9'"),
        ("resnet9(depth=3)", r"network resnet9\(depth=3\) has no option 'depth'; known: width"),
        ("vgg-19(width=3)", "has no option 'width'; it has none"),
        ("resnet9(shape=3)", "has no option 'shape'; known: width"),
        ("resnet9(8)", "options must be written name=value; known: width"),
        ("vgg-19(8)", "options must be written name=value; it has none"),
        ("resnet9(width=0)", "width must be a whole number of at least 1, got 0"),
        ("resnet9(width=1.5)", "width must be a whole number of at least 1, got 1.5"),
        ("resnet9(width=wide)", "width must be a whole number of at least 1, got 'wide'"),
        ("wrn(depth=27)", "depth must be 6n [+] 4, such as 16, 22, 28 or 40, got 27"),
        ("wrn-28-4(dropout=1)", r"dropout must lie in \[0, 1\), got 1"),
        ("mlp(depth=-1)", "depth must be a whole number of at least 0, got -1"),
        ("networks_of_others:number", "must be a torch module, or a class or function"),
        ("networks_of_others:fail", r"could not be made: sys.exit\(0\)"),
        ("networks_of_others:make(height=3)", "no option 'height'; known: width, bias"),
        ("networks_of_others:without(width=a)", "could not be made: TypeError"),
        ("networks_of_others:gone", "name an attribute of the module"),
    ],
)
def test_what_cannot_be_built_is_one_line(module, spec, message):
    with pytest.raises(InputError, match=message) as error:
        build_network(spec, shape=(8, 8, 3), classes=2)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shape": (7, 32, 3)}, "needs images of at least 8x8 pixels.*; use mlp"),
        ({"shape": (10, 10, 2)}, "8x8 pixels.*; move channels to the first axis$"),
        ({"shape": (2,)}, r"needs images of at least 8x8 pixels, got points of shape \(2,\)"),
        ({"shape": (8, 0, 3)}, "sides of a shape must be a whole number of at least 1, got 0"),
        ({"classes": 1}, "classes must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_what_the_data_decide_is_checked(given, message):
    with pytest.raises(InputError, match=message):
        build_network("resnet9(width=1)", **{"shape": (8, 8, 3), "classes": 2} | given)


def test_factories_of_others_get_what_they_take(module):
    given = {"shape": (5, 5, 1), "classes": 4}
    made = build_network("networks_of_others:make(width=2, bias=false)", **given)
    assert [layer.weight.shape for layer in made] == [(2, 5), (4, 2)]
    assert made[0].bias is None
    assert build_network("networks_of_others:without", **given).weight.shape == (2, 4)
    assert build_network("networks_of_others:Net", **given).weight.shape == (4, 2)
    build_network("networks_of_others:everything(a=1.5, b=x)", **given)
    everything = sys.modules["networks_of_others"].everything
    assert everything.options == {**given, "a": 1.5, "b": "x"}
    net = build_network("networks_of_others:net", **given)
    named = sys.modules["networks_of_others"].net
    assert torch.equal(net.weight, named.weight)
    assert net is not named, "training must not change the object named"
    assert resolve_network("networks_of_others:make") == "networks_of_others:make(width=3)"


def test_networks_of_installed_packages_are_found(capsys, monkeypatch, tmp_path):
    source = "import torch\ndef tiny(shape, classes, width=2):\n    '''Tiny one.'''\n"
    source += "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, classes))\n"
    before = run_json(capsys, "list", "networks")
    assert all(name in run_command(capsys, "list", "networks")[1] for name in before)
    install_plugin(
        monkeypatch,
        tmp_path,
        NETWORKS,
        name="tiny_networks",
        source=source,
        entry_points={"tiny": "tiny_networks:tiny", "lost": "tiny_networks:lost"},
    )
    network = build_network("tiny(width=3)", shape=(32, 32, 3), classes=7)
    assert count_parameters(network) == 3073 * 7
    listed = run_json(capsys, "list", "networks")
    tiny = "Tiny one (0.0307 M parameters at 32x32x3, 10 classes)"
    assert listed.pop("tiny(width=2)") == tiny
    assert "cannot be loaded" in listed.pop("lost")
    assert listed == before
    assert before["wrn-28-10(dropout=0.3)"].endswith("(36.5 M parameters at 32x32x3, 10 classes)")


def test_without_torch_the_remedy_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = run_failing(capsys, "list", "networks")
    assert "networks need torch, which is not installed; pip install 'shaketable[torch]'" in message

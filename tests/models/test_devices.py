"""Where networks compute: on the device that is named, else on the GPU if there is one."""

from dataclasses import replace

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing
from shaketable.core.errors import InputError
from shaketable.evaluation.records import DEVICE
from shaketable.evaluation.rerun import find_devices
from shaketable.models.adapted import Adapted
from shaketable.models.devices import choose_device, find_device, place_model
from shaketable.models.networks.files import save_network
from shaketable.models.networks.registry import build_network
from shaketable.models.onnx_models import choose_providers
from shaketable.models.torch_files import wrap

torch = pytest.importorskip("torch", reason="torch is not installed")

CUDA = torch.cuda.is_available()
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not CUDA, reason="no CUDA"))]
DATA = ("--data", "bands(n=40)")


def save(path="net.pt", seed=0):
    """Network of the command line, for points of two features."""
    module = build_network("mlp(width=4)", shape=(2,), classes=2, seed=seed)
    labels = st.load("bands(n=40)").classes
    save_network(path, module, network="mlp(width=4)", shape=(2,), classes=2, labels=labels)
    return path


def test_the_gpu_is_the_default(monkeypatch):
    for there, kind in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device().type == kind


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "got 'gpu': torch knows none of this name; name another, or leave it out"),
        ("meta", r"device must be one that torch can use here \(cpu.*\), got 'meta'"),
        pytest.param("cuda", "got 'cuda'", marks=pytest.mark.skipif(CUDA, reason="there is one")),
    ],
)
def test_devices_that_cannot_be_used_are_refused(name, message):
    with pytest.raises(InputError, match=message):
        choose_device(name)


@pytest.mark.parametrize("device", DEVICES)
def test_modules_are_moved_and_others_are_not(device):
    module = torch.nn.Linear(2, 2)
    placed = place_model(Adapted(module, {0: "a", 1: "b"}), device)
    assert placed.classes == {0: "a", 1: "b"}
    assert next(placed.model.parameters()).device.type == device
    assert find_device(placed).partition(":")[0] == device
    assert place_model(max, device) is max
    assert find_device(max) is None


@pytest.mark.parametrize("device", DEVICES)
def test_exported_programs_stay_where_they_are(device):
    given = torch.export.export(torch.nn.Linear(2, 2).eval(), (torch.zeros(3, 2),))
    program = wrap(given, "net.pt2")
    assert find_device(place_model(program)) == "cpu"
    if device == "cpu":
        assert place_model(program, device) is program
        return
    with pytest.raises(InputError, match="must be the one it was exported for, cpu, got 'cuda'"):
        place_model(program, device)


@pytest.mark.parametrize("device", DEVICES)
def test_records_say_where_a_network_computed(device):
    data = st.load("bands(n=40)")
    net = build_network("mlp(width=4)", shape=(2,), classes=2, seed=0)
    there = st.evaluate(net.to(device), data, "linf(0.1)", k=1)
    assert [c.versions[DEVICE].partition(":")[0] for c in there] == [device] * 2
    here = st.evaluate(net.to("cpu"), data, "linf(0.1)", k=1)
    assert [c.key for c in there] == [c.key for c in here], "a cell is the same on every device"
    forest = st.evaluate(lambda x: np.full(len(x), data.classes[0]), data, "linf(0.1)", k=1)
    assert not any(DEVICE in c.versions for c in forest)


def test_cells_of_another_device_are_compared_as_such():
    data = st.load("bands(n=40)")
    here = list(st.evaluate(torch.nn.Linear(2, 2), data, "linf(0.1)", k=1))
    there = [replace(c, versions={**c.versions, DEVICE: "cuda:0 (GPU)"}) for c in here]
    assert find_devices(there, here) == {DEVICE: ("cuda:0 (GPU)", "cpu")}
    former = [replace(c, versions={}) for c in here]  # files of former versions do not tell
    assert find_devices(former, here) == find_devices(here, here) == {}


@pytest.mark.parametrize(
    ("available", "device", "chosen"),
    [
        (["CUDAExecutionProvider"], None, [("CUDAExecutionProvider", {"device_id": "0"})]),
        (["CUDAExecutionProvider"], "cuda:2", [("CUDAExecutionProvider", {"device_id": "2"})]),
        (["ROCMExecutionProvider"], "cuda", [("ROCMExecutionProvider", {"device_id": "0"})]),
        (["CUDAExecutionProvider"], "cpu", []),
        (["AzureExecutionProvider"], None, []),
    ],
)
def test_onnx_takes_the_providers_that_are_installed(available, device, chosen):
    cpu = "CPUExecutionProvider"
    assert choose_providers([*available, cpu], device) == [*chosen, cpu]


@pytest.mark.parametrize("device", ["cuda", "mps", "cuda:x"])
def test_onnx_without_a_provider_is_refused(device):
    available = ["CUDAExecutionProvider"] * (device != "cuda") + ["CPUExecutionProvider"]
    with pytest.raises(InputError, match=f"got '{device}' .installed: .*; name cpu, or leave it"):
        choose_providers(available, device)


@pytest.mark.usefixtures("own_directory")
@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--model", "net.pt", "--corruptions", "linf(0.1)", "--k", 1),
        ("adversary", "--model", "net.pt", "--eps", "0.01", "--attack", "pgd(steps=1)"),
        ("adversary", "--agreement", "neither", "--model", "net.pt", "--model", "b=other.pt"),
    ],
    ids=["evaluate", "adversary", "agreement"],
)
def test_commands_say_where_networks_compute(capsys, command):
    save()
    save("other.pt", seed=1)
    code, _, err = run_command(capsys, *command, *DATA, "--quiet", "--device", "cpu")
    assert code == 0, err
    assert "note: computed on cpu: net.pt" in err
    assert "got 'meta'" in run_failing(capsys, *command, *DATA, "--quiet", "--device", "meta")


@pytest.mark.usefixtures("own_directory")
def test_results_are_made_again_on_a_device(capsys):
    save()
    argv = (
        "evaluate",
        "--model",
        "net.pt",
        "--corruptions",
        "linf(0.1)",
        "--k",
        1,
        *DATA,
        "--quiet",
    )
    argv = (*argv, "--store", "s.sqlite", "--report", "p.html", "--device", "cpu")
    assert run_command(capsys, *argv)[0] == 0
    with open("p.html", encoding="utf-8") as page:
        assert "Networks computed on" in page.read()
    out = run_command(capsys, "rerun", "s.sqlite", "--show")[1]
    assert "device" not in out, "where a network computes is no part of how results are made"
    assert run_command(capsys, "rerun", "s.sqlite", "--device", "cpu", "--quiet")[0] == 0
    assert "got 'meta'" in run_failing(capsys, "rerun", "s.sqlite", "--device", "meta", "--quiet")


@pytest.mark.usefixtures("own_directory")
def test_other_models_say_that_they_have_no_device(capsys):
    argv = ("evaluate", "--model", "1nn", "--corruptions", "linf(0.1)", "--k", 1, *DATA, "--quiet")
    assert "computed on" not in run_command(capsys, *argv)[2]
    err = run_command(capsys, *argv, "--device", "cpu")[2]
    assert "note: --device changed nothing: no model is a network" in err

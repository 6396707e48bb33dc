"""One network as a module, an exported program, TorchScript and ONNX: the same counts."""

import sys
import warnings

import numpy as np
import pytest

from helpers.commands import run_json
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model
from shaketable.models.onnx_models import OnnxModel

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn

IMAGES = np.random.default_rng(0).uniform(size=(60, 6, 5)).astype(np.float32)
NOISE = ["linf(0.3)", "l2(1)"]


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    parts = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten())
    net = nn.Sequential(*parts, nn.Linear(48, 3)).eval()
    with torch.no_grad():  # all classes are about equally frequent
        net[-1].bias -= net(torch.tensor(IMAGES)[:, None]).mean(dim=0)
    return net


@pytest.fixture(scope="module")
def data(net):
    with torch.inference_mode():
        y = net(torch.tensor(IMAGES)[:, None]).argmax(dim=1).numpy()
    return make_dataset(IMAGES, np.array(["a", "b", "c"])[y], classes=("a", "b", "c"))


@pytest.fixture(scope="module")
def program(net):
    any_batch = ({0: torch.export.Dim.AUTO},)
    return torch.export.export(net, (torch.zeros(2, 1, 6, 5),), dynamic_shapes=any_batch)


def counts(model, data):
    return [cell.hits.tolist() for cell in evaluate(model, data, NOISE, k=4)]


def test_the_same_network_in_every_form_has_the_same_counts(net, data, program, tmp_path):
    onnx = tmp_path / "net.onnx"
    forms = {
        "program": program,
        "program of 7": torch.export.export(net, (torch.ones(7, 1, 6, 5),)),
    }
    torch.export.save(program, tmp_path / "net.pt2")
    forms["file of a program"] = load_model(str(tmp_path / "net.pt2"), trust=True)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.trace(net, torch.ones(1, 1, 6, 5)).save(tmp_path / "net.pt")
        if pytest.importorskip("onnx", reason="onnx is not installed"):
            names = {"dynamic_axes": {"x": {0: "n"}}, "input_names": ["x"]}
            torch.onnx.export(net, (torch.ones(2, 1, 6, 5),), onnx, dynamo=False, **names)
    forms["TorchScript"] = load_model(str(tmp_path / "net.pt"), trust=True)[0]
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    forms["ONNX"] = OnnxModel(onnx)
    expected = counts(net, data)
    assert sum(expected[0]) == len(IMAGES) > sum(expected[1]) / 4
    assert {
        form: counts(model, data) == expected for form, model in forms.items()
    } == dict.fromkeys(forms, True)
    identities = {form: as_classifier(model, data).identity for form, model in forms.items()}
    assert None not in identities.values()
    assert identities["program"] == identities["file of a program"]


def test_a_changed_weight_is_another_program(data, net, program):
    other = torch.export.export(net, (torch.zeros(2, 1, 6, 5),))
    first = as_classifier(other, data).identity
    with torch.no_grad():
        other.state_dict["5.bias"] += 1
    assert as_classifier(other, data).identity not in (first, None)


def test_a_program_in_training_mode_is_refused(net, data):
    net.train()
    try:
        program = torch.export.export(net, (torch.zeros(2, 1, 6, 5),))
    finally:
        net.eval()
    with pytest.raises(InputError, match=r"in training mode \(batch_norm\); call eval\(\)"):
        as_classifier(program, data)


def test_a_program_of_several_inputs_is_refused(data):
    class Sum(nn.Module):
        def forward(self, x, y):
            return x + y

    program = torch.export.export(Sum(), (torch.zeros(2, 3), torch.zeros(2, 3)))
    with pytest.raises(InputError, match="must take one input, got 2"):
        as_classifier(program, data)


def test_points_of_another_shape_are_refused(program):
    data = make_dataset(IMAGES[:, :5], np.arange(60) % 3)
    with pytest.raises(InputError, match=r"refused points of shape \(5, 5\): .*\(1, 6, 5\)"):
        as_classifier(program, data)(data.x)


@pytest.mark.usefixtures("own_directory")
def test_the_command_line_takes_programs_that_are_trusted(capsys, data, program, monkeypatch):
    torch.export.save(program, "net.pt2")
    np.savez("d.npz", x=IMAGES, y=data.labels)
    command = ("evaluate", "--data", "d.npz", "--model", "net=net.pt2", "--quiet", "--k", "1")
    found = run_json(capsys, *command, "--trust", "--corruptions", "linf(0.01)")
    assert found["models"][0]["cells"][0]["mean"] == 100
    with pytest.raises(InputError, match="a .pt2 file may hold code"):
        load_model("net.pt2")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"need torch, .* pip install 'shaketable\[torch\]'"):
        load_model("net.pt2", trust=True)

"""Torch modules as models, against the same functions in numpy."""

from types import SimpleNamespace

import numpy as np
import pytest

from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.models.classifier import as_classifier

torch = pytest.importorskip("torch", reason="torch is not installed")
modules = pytest.importorskip("shaketable.models.torch_modules")
nn = torch.nn

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))


class Function(nn.Module):
    """A module without parameters that calls a function."""

    def __init__(self, forward):
        super().__init__()
        self.function = forward

    def forward(self, x):
        return self.function(x)


def linear(n_classes, *, dtype=torch.float64):
    torch.manual_seed(n_classes)
    return nn.Linear(5, n_classes, dtype=dtype)


def in_numpy(module):
    weight, bias = (p.detach().cpu().double().numpy() for p in module.parameters())
    return lambda x: x @ weight.T + bias


def points(shape, n_classes):
    """As many points as classes, and data that hold them."""
    x = RNG.normal(size=(n_classes, *shape))
    return x, make_dataset(x, range(n_classes))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n_classes", [2, 7])
def test_a_linear_module_answers_as_in_numpy(n_classes, device):
    module, data = linear(n_classes), make_dataset(X, np.arange(60) % n_classes)
    expected = in_numpy(module)(X).argmax(axis=1)
    classifier = as_classifier(module.to(device), data)
    assert classifier.device == next(module.parameters()).device
    assert classifier.name == "Linear"
    assert np.array_equal(classifier(X), expected)
    assert np.array_equal(classifier(torch.from_numpy(X).to(device)), expected)
    assert as_classifier(lambda x: x, data).device is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_points_take_the_type_of_the_module_and_scores_come_back_in_one_numpy_has(dtype):
    module = linear(3, dtype=getattr(torch, dtype))
    scores = modules.ModuleAnswer("m", module)(X)
    assert scores.dtype == ("float64" if dtype == "float64" else "float32")
    # each of 5 products and 5 sums is off by half a unit in the last place at most, of |x| < 8
    assert np.allclose(scores, in_numpy(module)(X), atol=80 * torch.finfo(module.weight.dtype).eps)


def test_evaluation_of_a_module_gives_the_counts_of_the_same_function():
    module, y = linear(3), np.arange(60) % 3
    kinds = [
        evaluate(model, (X, y), ["linf(0.1)", "l2(1.0)"], k=4)
        for model in (module, in_numpy(module))
    ]
    for ours, reference in zip(*kinds, strict=True):
        assert ours.corruption == reference.corruption
        assert np.array_equal(ours.hits, reference.hits)


def test_cells_of_the_same_weights_are_reused(tmp_path):
    data, store = (X, np.arange(60) % 3), tmp_path / "results.db"
    first = evaluate(linear(3), data, ["linf(0.1)"], store=store)
    again = evaluate(linear(3), data, ["linf(0.1)"], store=store)
    assert [c.created for c in again] == [c.created for c in first]
    with torch.no_grad():
        (changed := linear(3)).weight[0, 0] += 1e-3
    other = evaluate(changed, data, ["linf(0.1)"], store=store)
    assert not {c.key for c in other} & {c.key for c in first}


def test_modes_are_as_before_also_after_an_error():
    module = nn.Sequential(nn.BatchNorm1d(5), nn.Dropout(0.9), nn.Sequential(linear(2).float()))
    module[1].eval()
    module[2].eval()
    module[2][0].train()
    before = [part.training for part in module.modules()]
    answer = modules.ModuleAnswer("m", module)
    statistics = module[0].running_mean.clone()
    assert np.array_equal(answer(X), answer(X))  # dropout and batch statistics are off
    assert torch.equal(module[0].running_mean, statistics)
    assert [part.training for part in module.modules()] == before
    with pytest.raises(InputError, match="refused"):
        answer(X[:, :3])
    assert [part.training for part in module.modules()] == before


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_reach_a_module_channels_first(channels):
    x, data = points((8, 7, channels), 2)
    total = Function(lambda x: torch.stack([x[:, 0, -1, 0], x[:, -1, 2, 3]], dim=1))
    expected = np.stack([x[:, -1, 0, 0], x[:, 2, 3, -1]], axis=1).argmax(axis=1)
    assert np.array_equal(as_classifier(total, data)(x), expected)
    first = np.moveaxis(x, -1, 1)
    assert np.array_equal(as_classifier(total, make_dataset(first, range(2)))(first), expected)


@pytest.mark.parametrize(
    ("shape", "module", "given"),
    [
        ((6, 6), nn.Sequential(nn.Conv2d(1, 2, 6), nn.Flatten()), (1, 6, 6)),
        ((6, 6), nn.Sequential(nn.Conv1d(6, 2, 6), nn.Flatten()), (6, 6)),
        ((6, 6), nn.Sequential(nn.Flatten(), nn.Linear(36, 2)), (6, 6)),
        ((3, 4, 4), nn.Flatten(), (3, 4, 4)),
        ((6, 5, 2), nn.Flatten(), (6, 5, 2)),
        ((6, 5, 4, 3), nn.Flatten(), (6, 5, 4, 3)),
        ((6,), nn.Conv2d(1, 2, 6), (6,)),
    ],
)
def test_only_what_is_known_to_be_an_image_is_rearranged(shape, module, given):
    assert modules.arrange_images(torch.zeros(2, *shape), module).shape[1:] == given
    if isinstance(module, nn.Sequential):
        assert modules.ModuleAnswer("m", module)(np.zeros((2, *shape))).shape == (2, 2)


def test_what_a_module_gets_is_contiguous_and_its_own():
    module = Function(lambda x: x.view(-1).zero_().reshape(len(x), -1)[:, :2])
    x = np.ones((2, 8, 8, 3), np.float32)
    x.flags.writeable = False
    answer, tensor = modules.ModuleAnswer("m", module), torch.ones(2, 8, 8, 3)
    for given in (x, x[::-1], x[..., 0], tensor, tensor[..., 0]):
        assert not answer(given).any()
    assert x.all()
    assert tensor.all()


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (
            lambda x: x[:, :1],
            r"^model mine must return.*one column per class, got torch.float32 of shape \(60, 1\)",
        ),
        (lambda x: x[:, 0], r"one column per class, got torch.float32 of shape \(60,\)"),
        (lambda x: (x[:, :2], x), "got tuple; wrap it in a function"),
        (lambda x: {"out": x[:, :2]}, "got dict; wrap"),
        (lambda x: x[:, :2] * 1j, "got torch.complex64"),
        (lambda x: x[:, :2] * torch.nan, "NaN scores"),
        (lambda x: x[:3, :2], "one answer per point"),
        (lambda x: x @ x, r"^model mine refused points of shape \(5,\): [^\n]+$"),
        (lambda x: nn.Linear(2, 2).load_state_dict({}), r"Error\(s\)[^\n]+\Z"),  # of many lines
        (lambda x: x.flatten(3), r"refused points of shape \(5,\): Dimension out of range"),
        (lambda x: torch._assert(False, "Wrong image size"), "Wrong image size"),
        (lambda x: torch.empty(2**50), "allocate.*smaller model, or move it to another device"),
    ],
)
def test_answers_that_are_no_scores_and_refusals_are_errors_of_one_line(forward, message):
    data = make_dataset(X, np.arange(60) % 2)
    with pytest.raises(InputError, match=message):
        as_classifier(Function(forward), data, name="mine")(X)


def test_logits_are_taken_out_of_a_record():
    data = make_dataset(X, np.arange(60) % 2)
    module = Function(lambda x: SimpleNamespace(loss=None, logits=x[:, :2]))
    assert np.array_equal(as_classifier(module, data)(X), X[:, :2].argmax(axis=1))


def test_a_module_on_several_devices_is_refused():
    module = nn.Sequential(linear(2), nn.Linear(2, 2, device="meta"))
    with pytest.raises(InputError, match="on one device, got cpu, meta; wrap it in a function"):
        as_classifier(module, make_dataset(X, np.arange(60) % 2))


def test_scaled_features_reach_a_module_in_raw_units():
    module, data = linear(3), make_dataset(X, np.arange(60) % 3)
    behind = as_classifier(module, data.scaled(), unscale=True)
    assert np.array_equal(behind(data.scaled().x), in_numpy(module)(X).argmax(axis=1))
    assert behind.device is None  # it takes arrays only


def test_device_noise_has_the_same_laws_and_is_recorded_apart():
    net = nn.Linear(2, 2)
    x = np.random.default_rng(0).uniform(size=(400, 2))
    y = (x[:, 0] > 0.5).astype(int)
    here = evaluate(net, (x, y), ["linf(0.3)", "l2(0.3)"], k=4)
    there = evaluate(net, (x, y), ["linf(0.3)", "l2(0.3)"], k=4, device_noise=True)
    assert {c.setting.noise for c in there} == {"none", "device"}
    assert {c.setting.noise for c in here} == {"none", "cpu"}
    assert all("torch" in c.versions for c in here)
    for a, b in zip(here, there, strict=True):
        assert a.accuracy == pytest.approx(b.accuracy, abs=0.1)
        assert (a.key == b.key) is (a.corruption == "clean")
    first, second = (metrics.series(r)[1] for r in (here, there))
    assert not metrics.meets_same_noise(first, second)
    assert len(metrics.series(here + there)) == 5
    shared = evaluate(net, (x, y), ["linf(0.3)"], k=4, device_noise=True, draws="shared")
    with pytest.raises(InputError, match="draws must be independent"):
        metrics.mscr(shared)
    with pytest.raises(InputError, match="device_noise needs a torch module"):
        evaluate(lambda p: np.zeros(len(p), int), (x, y), ["linf(0.3)"], device_noise=True)


class Bright(nn.Module):
    """Tells bright images by one value: exact on every device, whatever the batch."""

    def __init__(self):
        super().__init__()
        self.limit = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        above = x[:, :, 0, 0].amax(dim=1) - self.limit
        return torch.stack([-above, above], dim=1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ahead", [None, 1, 4])
@pytest.mark.parametrize("kind", ["uint8", "float32", "float64"])
def test_batches_made_ahead_give_the_same_records(monkeypatch, device, ahead, kind):
    images = np.random.default_rng(1).integers(256, size=(40, 8, 8, 3), dtype=np.uint8)
    x = images if kind == "uint8" else (images / 255).astype(kind)
    data = make_dataset(x, np.arange(40) % 2, bounds=(0, 1))
    specs = ["linf(0.2)", "linf(0.4)", "fog(2)", "fog(5)", "sp(0.2) + rotation(30)", "l0(0.1)"]
    monkeypatch.setattr("shaketable.evaluation.cells.BATCH_ROWS", 7)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    expected = evaluate(Bright(), data, specs, k=3, draws="ladder")
    if ahead is not None:
        monkeypatch.setattr(modules.Sender, "batches_ahead", lambda self, size: ahead)
        monkeypatch.setattr(modules.Sender, "overlaps", True)
    records = evaluate(Bright().to(device), data, specs, k=3, draws="ladder")
    assert [r.hits.tolist() for r in records] == [r.hits.tolist() for r in expected]
    assert len({tuple(r.hits) for r in records}) > 3


@pytest.mark.parametrize("device", DEVICES)
def test_levels_that_a_device_changes_are_those_of_the_cpu(device):
    images = np.random.default_rng(1).integers(256, size=(40, 8, 8, 3), dtype=np.uint8)
    data = make_dataset(images, np.arange(40) % 2)
    specs = ["sp(0.2) + rotation(30)", "ga(0.1)", "shot_noise(3)", "shot_noise(5)", "fog(2)"]
    here = evaluate(Bright(), data, specs, k=3)
    net = Bright().to(device)
    there = evaluate(net, data, [*specs, "linf(0.2)"], k=3, device_noise=True)
    assert [c.setting.noise for c in there] == ["none", *["cpu"] * 5, "device"]
    for a, b in zip(here, there.cells[:6], strict=True):
        assert (a.key, a.hits.tolist()) == (b.key, b.hits.tolist()), "paired with all models"


def test_floats_are_changed_on_the_cpu():
    x = np.random.default_rng(1).random((20, 8, 8, 3), dtype=np.float32)
    data = make_dataset(x, np.arange(20) % 2, bounds=(0, 1))
    here, there = (
        evaluate(Bright(), data, ["sp(0.2)", "rotation(30)"], k=2, device_noise=on)
        for on in (False, True)
    )
    assert [c.hits.tolist() for c in here] == [c.hits.tolist() for c in there]
    assert [c.key for c in here] == [c.key for c in there]


@pytest.mark.parametrize("device", DEVICES)
def test_bytes_become_the_floats_that_arrays_have(device):
    x = torch.arange(256, dtype=torch.uint8, device=device)
    floats = np.arange(256, dtype=np.uint8) / np.float32(255)
    assert modules.to_floats(x).cpu().numpy().tobytes() == floats.tobytes()
    assert modules.to_floats(x.double()).dtype == torch.float64


@pytest.mark.parametrize("device", DEVICES)
def test_points_are_sent_to_the_device_as_they_are(device):
    answer = modules.ModuleAnswer("m", Bright().to(device))
    send = answer.sender()
    images = RNG.integers(256, size=(5, 8, 8, 3), dtype=np.uint8)
    there = send(images)
    assert (there.device.type, there.dtype) == (device, torch.uint8)
    assert np.array_equal(there.cpu().numpy(), images)
    assert np.array_equal(send(images, floats=True).cpu().numpy(), images / np.float32(255))
    assert send.batches_ahead(1 << 40) == (device == "cuda")


def test_points_take_the_type_of_the_first_parameter_that_holds_floats():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = nn.Parameter(torch.zeros(1, dtype=torch.int64), requires_grad=False)
            self.layer = nn.Linear(3, 2, dtype=torch.float64)

        def forward(self, x):
            assert x.dtype == torch.float64
            return self.layer(x)

    data = make_dataset(np.eye(3), [0, 1, 1])
    assert as_classifier(Mixed(), data)(np.eye(3, dtype=np.float32)).shape == (3,)

"""Training: it learns, noise buys robustness, and all of it follows from the seed."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from helpers.networks import copy_weights, same_weights  # noqa: E402
from shaketable import evaluate, load, make_dataset, metrics  # noqa: E402
from shaketable.core.errors import InputError, ShaketableWarning  # noqa: E402
from shaketable.models.loading import load_model  # noqa: E402
from shaketable.models.networks import load_network  # noqa: E402
from shaketable.training.recipes import Recipe  # noqa: E402
from shaketable.training.trained import train  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 2))
POINTS = make_dataset(X, np.where(X.sum(axis=1) > 1, "above", "below"), name="halves")
IMAGES = make_dataset(
    RNG.integers(0, 256, (60, 8, 8, 3), dtype=np.uint8), RNG.integers(0, 3, 60), name="noise"
)
TINY = "resnet9(width=2)"


def test_a_network_learns_and_answers_with_the_labels_of_the_data():
    trained = train("mlp(width=16, depth=1)", POINTS, epochs=30, validate=True)
    assert trained.curve[-1].loss < 0.5 * trained.curve[0].loss
    assert trained.curve[-1].held_out > 0.9
    _, test = POINTS.parts(seed=0)
    held_out = (POINTS.x[test], POINTS.labels[test])
    (clean,) = evaluate(trained.model, held_out, [])
    assert clean.accuracy == trained.curve[-1].held_out
    assert [result.epoch for result in trained.curve] == list(range(1, 31))


def test_held_out_points_are_those_that_rows_leave_out():
    rows = np.arange(POINTS.n // 2)
    trained = train("mlp(width=4)", POINTS, rows=rows, epochs=2, validate=True)
    (clean,) = evaluate(trained.model, (POINTS.x[len(rows) :], POINTS.labels[len(rows) :]), [])
    assert clean.accuracy == trained.curve[-1].held_out
    everything = train("mlp(width=4)", POINTS, rows=np.arange(POINTS.n), epochs=1, validate=True)
    assert everything.curve[-1].held_out is None


def test_a_mask_of_rows_stands_for_their_numbers():
    mask = np.arange(POINTS.n) % 2 == 0
    options = {"noise": "linf(0.1)", "epochs": 1}
    first, again = (
        train("mlp(width=4)", POINTS, rows=rows, **options) for rows in (mask, np.flatnonzero(mask))
    )
    assert same_weights(first, again)


@pytest.mark.parametrize(
    ("rows", "got"),
    [
        ([], r"float64 of shape \(0,\)"),
        ([-1, 3], "2 from -1 to 3, 2 of them different"),
        ([3, 3, 3], "3 from 3 to 3, 1 of them different"),
        ([0, POINTS.n], "2 from 0 to 200, 2 of them different"),
        ([0.0, 1.0], r"float64 of shape \(2,\)"),
        ([[0, 1]], r"int64 of shape \(1, 2\)"),
        (np.ones(POINTS.n - 1, bool), r"bool of shape \(199,\)"),
        (np.zeros(POINTS.n, bool), "a mask without True"),
    ],
)
def test_rows_must_be_different_rows_of_the_data(rows, got):
    rule = r"^rows must be different row numbers from 0 to 199, or a mask of 200 truth values"
    with pytest.raises(InputError, match=f"{rule}, got {got}; leave rows out"):
        train("mlp(width=4)", POINTS, rows=rows, epochs=1)


def test_noise_in_training_buys_robustness():
    data = load("shapes(n=300)")
    _, test = data.parts(seed=0)
    held_out = (data.x[test], data.labels[test])
    change, mscr = {}, {}
    for noise in ("clean", "linf(0.3)"):
        trained = train("resnet9(width=4)", data, noise=noise, epochs=10)
        records = evaluate(trained.model, held_out, ["linf(0.6)", "linf(eps_min)"], k=2)
        assert records.cells[0].accuracy > 0.6
        change[noise] = metrics.relative_loss(records, corruption="linf(0.6)").value
        mscr[noise] = metrics.mscr(records).value
    assert change["clean"] < -0.2
    assert change["linf(0.3)"] > change["clean"] + 0.2
    assert mscr["linf(0.3)"] > mscr["clean"]


@pytest.mark.parametrize(
    "noise", ["clean", "TA + linf(0.1)", "mixup(1) + sp(0.1)", "l2(1) | clean"]
)
def test_the_same_seed_gives_the_same_weights(noise):
    first, again, other = (
        train(TINY, IMAGES, noise=noise, epochs=2, seed=seed) for seed in (0, 0, 1)
    )
    assert same_weights(first, again)
    assert not same_weights(first, other)


def test_torchs_own_random_numbers_are_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train("mlp(width=4)", POINTS, epochs=1)
    assert torch.equal(torch.rand(3), expected)


def test_noise_is_drawn_anew_in_every_epoch_unless_it_is_drawn_once():
    seen = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            if self.training:
                seen.append(x.detach().sort(dim=0).values)
            return self.layer(x)

    recipe = Recipe(epochs=2, batch=200, shift=False)
    for fresh in (True, False):
        seen.clear()
        train(Spy(), POINTS, noise="linf(0.1)", recipe=replace(recipe, fresh=fresh), batch=200)
        first, second = seen
        assert torch.equal(first, second) != fresh
        rows, _ = POINTS.parts(seed=0)
        clean = torch.from_numpy(POINTS.x[rows]).float().sort(dim=0).values
        assert 0 < (first - clean).abs().max() <= 0.1


def test_images_are_mirrored_and_cropped_unless_shift_is_off():
    seen = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(192, 3)

        def forward(self, x):
            seen.extend((255 * x.detach()).round().to(torch.uint8).numpy())
            return self.layer(x.flatten(1))

    known = {image.tobytes() for image in IMAGES.x.transpose(0, 3, 1, 2)}
    shares = []
    for shift in (None, False):
        seen.clear()
        train(Spy(), IMAGES, recipe="fast", epochs=1, shift=shift)
        shares.append(np.mean([image.tobytes() in known for image in seen]))
    assert shares[0] < 0.5
    assert shares[1] == 1


def test_noise_stays_within_the_declared_range_by_the_rule_of_the_recipe():
    seen = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(192, 2)

        def forward(self, x):
            seen.append(x.detach())
            return self.layer(x.flatten(1))

    black = make_dataset(np.zeros((40, 8, 8, 3), np.uint8), [0, 1] * 20)
    for rule, mean in (("clip", 0.025), ("truncate", 0.05)):
        seen.clear()
        train(Spy(), black, noise="linf(0.1)", recipe=Recipe(epochs=1, shift=False, rule=rule))
        values = torch.cat(seen)
        assert 0 <= values.min() < values.max() <= 0.1
        assert values.mean().item() == pytest.approx(mean, rel=0.05)  # at x = 0; see Bounds


def test_the_learning_rate_follows_the_schedule():
    recipe = Recipe(epochs=10, batch=16, rate=0.5, schedule="steps(4, 8, factor=0.1)")
    trained = train("mlp(width=4)", POINTS, recipe=recipe)
    assert [result.rate for result in trained.curve] == pytest.approx(
        [0.5] * 4 + [0.05] * 4 + [0.005] * 2
    )


def test_labels_are_smoothed():
    sure = make_dataset([[0.0], [1.0]] * 40, ["a", "b"] * 40)
    losses = [
        train("mlp(width=8)", sure, recipe=Recipe(epochs=40, batch=16, rate=0.1, smoothing=s))
        .curve[-1]
        .loss
        for s in (0.0, 0.2)
    ]
    entropy = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))  # of targets 0.9 and 0.1
    assert losses[0] < 0.02
    assert losses[1] == pytest.approx(entropy, abs=0.02)


def test_a_network_file_says_how_it_was_trained(tmp_path):
    trained = train("mlp(width=4)", POINTS, noise="linf(0.1)", epochs=2, seed=7)
    trained.save(tmp_path / "m.pt")
    loaded = load_network(tmp_path / "m.pt")
    assert loaded.labels == ("above", "below")
    assert loaded.info["noise"] == "linf(0.1)"
    assert loaded.info["recipe"]["network"] == loaded.network == "mlp(width=4, depth=3)"
    assert loaded.info["seed"] == 7
    assert loaded.info["data"] == POINTS.fingerprint
    assert [entry["loss"] for entry in loaded.info["curve"]] == [r.loss for r in trained.curve]


def test_training_starts_from_weights_in_a_file(tmp_path):
    first = train("mlp(width=8)", POINTS, epochs=10)
    first.save(tmp_path / "m.pt")
    options = {"epochs": 1, "rate": 1e-9}
    again = train("mlp(width=8)", POINTS, weights=tmp_path / "m.pt", **options)
    assert again.curve[0].loss < 1.1 * first.curve[-1].loss
    assert train("mlp(width=8)", POINTS, **options).curve[0].loss > 2 * again.curve[0].loss
    more = make_dataset(POINTS.x, (4 * POINTS.x[:, 0]).astype(int))  # scores of other classes
    left = "do not fit 2 of 20 tensors of the network, which stay as they are: 10.weight, 10.bias$"
    with pytest.warns(ShaketableWarning, match=left) as caught:
        moved = train("mlp(width=8)", more, weights=tmp_path / "m.pt", **options)
    assert caught[0].filename == __file__
    assert torch.allclose(
        *(t.module.state_dict()[next(iter(t.module.state_dict()))] for t in (first, moved)),
        atol=1e-6,
    )
    with pytest.raises(InputError, match="of another network: .* fit; name the network"):
        train("mlp(width=9)", POINTS, weights=tmp_path / "m.pt", **options)


def test_training_starts_from_usual_checkpoints(tmp_path):
    start = train(TINY, IMAGES, epochs=1)
    saved = {f"module.{name}": w for name, w in copy_weights(start).items() if "num_b" not in name}
    torch.save({"epoch": 3, "state_dict": saved}, tmp_path / "c.pt")
    start.save(tmp_path / "m.pt")
    again, same_again = (
        train(TINY, IMAGES, epochs=1, weights=tmp_path / name) for name in ("c.pt", "m.pt")
    )
    counters = {name for name in copy_weights(again) if "num_b" in name}
    assert all(
        torch.equal(w, copy_weights(same_again)[name])
        for name, w in copy_weights(again).items()
        if name not in counters
    )


def test_a_module_of_ones_own_is_copied_and_trained(tmp_path, monkeypatch):
    mine = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
    before = mine[0].weight.detach().clone()
    trained = train(mine, POINTS, epochs=30)
    assert torch.equal(mine[0].weight, before)
    assert trained.curve[-1].accuracy > 0.9
    with pytest.raises(InputError, match=r"^network must be known by name .*factory@weights\.pt$"):
        trained.save(tmp_path / "m.pt")
    monkeypatch.syspath_prepend(tmp_path)
    source = "from torch import nn\n\ndef make(shape=(2,)):\n"
    source += "    return nn.Sequential(nn.Linear(*shape, 8), nn.ReLU(), nn.Linear(8, 2))\n"
    (tmp_path / "their_networks.py").write_text(source)
    torch.save(trained.module.state_dict(), tmp_path / "w.pt")
    loaded, _ = load_model(f"their_networks:make@{tmp_path / 'w.pt'}")
    assert torch.equal(loaded(torch.eye(2)), trained.module(torch.eye(2)))
    named = train("their_networks:make", POINTS, epochs=1)
    named.save(tmp_path / "m.pt")
    scores = load_network(tmp_path / "m.pt", trust=True).module(torch.eye(2))
    assert torch.equal(scores, named.module(torch.eye(2)))


def test_points_on_disk_train_alike(tmp_path):
    np.save(tmp_path / "x.npy", IMAGES.x)
    mapped = replace(IMAGES, x=np.load(tmp_path / "x.npy", mmap_mode="r"))
    options = {"epochs": 1, "noise": "l2(1)"}
    assert same_weights(train(TINY, IMAGES, **options), train(TINY, mapped, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "TA"}, r"^trivialaugment is for images, got points of 2 values; leave it out$"),
        ({"noise": "linf(0.1) + TA"}, "^TA cannot stand at its place"),
        ({"noise": "C1"}, "range"),
        ({"noise": "missing(0.1, empty)"}, "^missing.0.1, empty. leaves values empty, which net"),
        ({"recipe": "fats"}, "unknown recipe 'fats'; did you mean 'fast'"),
        ({"device": "gpu"}, "^device must be .*'gpu': torch knows none of this name; name another"),
        (
            {"device": "meta"},
            r"^device must be one that torch can use here \(cpu.*\), got 'meta': ",
        ),
        ({"network": 3}, "^network must be a spec such as 'resnet9', or a torch module, got 3$"),
        ({"network": nn.ReLU()}, "^network must have weights to train"),
        (
            {"network": nn.Linear(2, 1)},
            r"one score per class, of shape \(16, 2\) .*, got \(16, 1\); give its last layer 2 ",
        ),
        ({"network": nn.Linear(3, 2)}, "^model network failed: RuntimeError: mat1 and mat2 shapes"),
        ({"batch": 1}, "^a step must have 2 points or more for batch normal.* a larger batch="),
        ({"precision": "fp8"}, "^unknown precision 'fp8'; Known: auto, bfloat16, float32$"),
        ({"rate": 1e39}, "rate must be a positive number of float32, got 1e\\+39"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"network": "mlp(depht=2)"}, "has no option 'depht'"),
        ({"recipe": Recipe(), "network": "resnet9"}, "resnet9"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        train(**{"network": "mlp", "data": POINTS, "epochs": 1} | options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")
def test_cuda_that_is_not_there_is_refused():
    with pytest.raises(
        InputError, match=r"^device must be one that torch can use here \(cpu\), got 'cuda'"
    ):
        train("mlp", POINTS, device="cuda")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"planned": -3}, "^planned must be a whole number of at least 1, got -3$"),
        ({"momentum": 0, "nesterov": True}, "^momentum must be above 0 with nesterov, got 0; "),
        ({"network": nn.Linear(2, 2)}, "^network of a recipe must be a spec .*, got Linear"),
    ],
)
def test_recipes_that_cannot_be_followed_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Recipe(**values)


def test_networks_are_compiled_for_every_batch_size_by_itself(monkeypatch):
    # else the sizes of earlier trainings change the rounding: by 6e-9 of the weights of an mlp
    asked = []
    monkeypatch.setattr(torch, "compile", lambda module, **options: asked.append(options) or module)
    train("mlp(width=4)", POINTS, epochs=1, compiled=True)
    train("mlp(width=4)", POINTS, epochs=1)
    assert asked == [{"dynamic": False}]


def test_evaluate_takes_what_was_trained():
    trained = train("mlp(width=4)", POINTS, epochs=1)
    first, second = (evaluate(model, POINTS, []) for model in (trained, trained.model))
    assert first.cells[0].accuracy == second.cells[0].accuracy
    assert first.cells[0].model_id == second.cells[0].model_id


def test_columns_that_were_chosen_are_named_as_what_networks_do_not_take():
    with pytest.raises(InputError, match="columns that were chosen; leave out Dataset.touching"):
        train(
            "mlp",
            make_dataset(POINTS.x, POINTS.y, features=["a", "b"]).touching(keep="a"),
            epochs=1,
        )

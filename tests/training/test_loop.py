"""The loop: what changes from step to step and epoch to epoch, what is the same when resumed."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from helpers.networks import same_weights  # noqa: E402
from shaketable import make_dataset  # noqa: E402
from shaketable.core.keys import row_keys  # noqa: E402
from shaketable.corruptions import Clean  # noqa: E402
from shaketable.training.loop import Batch, Checkpoint  # noqa: E402
from shaketable.training.recipes import Recipe, make_recipe  # noqa: E402
from shaketable.training.regimes import RegimeStep, parse_regime  # noqa: E402
from shaketable.training.trained import train  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

N = 12
DATA = make_dataset(np.arange(N)[:, None] / 8.0, np.arange(N) % 2, n_train=10)
RECIPE = Recipe(epochs=3, batch=4, rate=0.1, shift=False, schedule="steps(1, 2, factor=0.5)")


class Spy(nn.Module):
    """A small network that keeps its training points, and which of its units were dropped."""

    def __init__(self, dropout=0.5):
        super().__init__()
        self.first, self.last = nn.Linear(1, 16), nn.Linear(16, 2)
        self.dropout = nn.Dropout(dropout)
        for parameter in self.parameters():
            nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))

    def forward(self, x):
        kept = self.dropout(torch.ones(len(x), 16))
        if self.training:
            SEEN.append((x[:, 0].tolist(), kept.tolist()))
        return self.last(kept * self.first(x))


SEEN = []


def look(**options):
    """Train a spy; return it, with the points and the masks of every step."""
    SEEN.clear()
    trained = train(Spy(), DATA, recipe=options.pop("recipe", RECIPE), batch=4, **options)
    return trained, [points for points, _ in SEEN], [masks for _, masks in SEEN]


def join(batches):
    return [value for batch in batches for value in batch]


def test_every_epoch_has_all_points_in_an_order_of_its_own():
    _, points, _ = look()
    assert [len(batch) for batch in points] == [4, 3, 3] * 3
    orders = [join(points[i : i + 3]) for i in (0, 3, 6)]
    assert [sorted(order) for order in orders] == [DATA.x[:10, 0].tolist()] * 3
    assert len(set(map(tuple, orders))) == 3
    assert look(seed=1)[1] != points
    assert look()[1] == points


def test_units_are_dropped_anew_in_every_step():
    _, _, masks = look()
    assert len({str(mask[:3]) for mask in masks}) == 9  # of 3 points in each, by chance 2**-48
    assert look()[2] == masks
    assert look(seed=1)[2] != masks


@pytest.mark.parametrize("steps", range(1, 9))
def test_a_resumed_training_has_the_same_points_noise_and_masks(steps, tmp_path, monkeypatch):
    noise = {"noise": "linf(0.05)"}
    whole, points, masks = look(**noise)

    def save(checkpoint, trainer):
        if trainer.done == steps:
            checkpoint.save(trainer)
            raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save_if_due", save)
        with pytest.raises(InterruptedError):
            look(checkpoint=tmp_path / "c", **noise)
    before = list(SEEN)
    resumed, later_points, later_masks = look(checkpoint=tmp_path / "c", **noise)
    assert [p for p, _ in before] + later_points == points
    assert [m for _, m in before] + later_masks == masks
    assert same_weights(whole, resumed)
    assert [replace(r, seconds=0) for r in whole.curve] == [
        replace(r, seconds=0) for r in resumed.curve
    ]


@pytest.mark.parametrize("fresh", [True, False])
def test_noise_is_a_points_own_and_new_in_every_epoch_or_drawn_once(fresh):
    clean = join(look()[1])
    noisy = join(look(noise="linf(0.05)", recipe=replace(RECIPE, fresh=fresh))[1])
    added = np.subtract(noisy, clean).round(9)
    assert 0 < np.abs(added).max() <= 0.05 + 1e-6
    by_point = {x: {a for a, c in zip(added, clean, strict=True) if c == x} for x in set(clean)}
    assert {len(values) for values in by_point.values()} == ({3} if fresh else {1})
    assert len({min(values) for values in by_point.values()}) == 10


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_weights_and_curve_are_those_of_the_same_steps_by_hand(nesterov, smoothing):
    recipe = replace(
        RECIPE, nesterov=nesterov, smoothing=smoothing, momentum=0.8, weight_decay=0.02
    )
    trained, points, masks = look(recipe=recipe)
    spy, network = Spy(), trained.module
    optimizer = torch.optim.SGD(
        spy.parameters(), 0.1, momentum=0.8, weight_decay=0.02, nesterov=nesterov
    )
    losses, hits = [], []
    for step, (given, kept) in enumerate(zip(points, masks, strict=True)):
        optimizer.param_groups[0]["lr"] = (0.1, 0.05, 0.025)[step // 3]
        x = torch.tensor(given)[:, None]
        scores = spy.last(torch.tensor(kept) * spy.first(x))
        y = (8 * x[:, 0]).long() % 2
        loss = cross_entropy(scores, y, label_smoothing=smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() * len(x))
        hits.append((scores.argmax(1) == y).sum().item())
    for by_hand, own in zip(spy.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(own, by_hand)
    for epoch, result in enumerate(trained.curve):
        part = slice(3 * epoch, 3 * epoch + 3)
        assert result.epoch == epoch + 1
        assert result.loss == pytest.approx(sum(losses[part]) / 10, rel=1e-5)
        assert result.accuracy == sum(hits[part]) / 10
        assert result.rate == pytest.approx((0.1, 0.05, 0.025)[epoch])


def test_the_rate_is_that_of_the_middle_of_each_step():
    recipe = replace(RECIPE, schedule="onecycle(0.2)", epochs=4)
    trained, _, _ = look(recipe=recipe)
    rate = recipe.make_schedule()
    wanted = [rate((3 * epoch - 0.5) / 12) for epoch in range(1, 5)]
    assert [result.rate for result in trained.curve] == pytest.approx(wanted)


def test_precision_is_float32_on_a_processor_unless_it_is_asked_for():
    plain, same, less = (
        look(precision=precision)[0] for precision in ("float32", "auto", "bfloat16")
    )
    assert same_weights(plain, same)
    assert not same_weights(plain, less)


class KeepsKeys:
    """An augmentation, and noise, that change nothing and keep the keys that they get."""

    spec, takes_targets = "keeps-keys", False

    def __init__(self):
        self.keys = []

    def __call__(self, x, keys):
        self.keys.append(np.array(keys))
        return x

    def bind(self, bounds):
        return self


def test_parts_of_a_regime_have_keys_of_their_own():
    images = make_dataset(np.zeros((6, 8, 8, 3), np.uint8), np.arange(6) % 2)
    rows, parts = np.arange(6), [KeepsKeys(), KeepsKeys(), KeepsKeys()]
    regime = replace(parse_regime("clean"), augmentations=tuple(parts[:2]))
    recipe = replace(make_recipe("fast"), shift=False)
    step = RegimeStep.of(regime, recipe, images, rows, None)
    step = replace(step, noise=parts[2])
    assert not isinstance(step.noise, Clean)
    keys, noise_keys = row_keys(3, rows, np.arange(2)).T
    batch = Batch(torch.zeros(6, 8, 8, 3), torch.zeros(6, dtype=torch.long), rows, keys, keys)
    step.change(nn.Flatten(), batch)
    step.change(nn.Flatten(), batch._replace(noise_keys=noise_keys))
    drawn = [part.keys[0] for part in parts]
    assert len(set(np.concatenate([keys, *drawn]).tolist())) == 24, "no key serves twice"
    for part in parts[:2]:
        np.testing.assert_array_equal(part.keys[0], part.keys[1])
    assert not np.isin(parts[2].keys[1], parts[2].keys[0]).any()


def test_an_augmentation_that_is_named_twice_is_drawn_twice():
    images = np.zeros((64, 8, 8), np.uint8)
    images[:, :, 0] = 255  # a flip moves the bar to the other side
    data = make_dataset(images, np.arange(64) % 2)
    recipe = replace(make_recipe("fast"), shift=False)
    keys = row_keys(0, np.arange(64), np.arange(1))[:, 0]
    batch = Batch(
        torch.from_numpy(data.rows(np.arange(64))), torch.zeros(64), np.arange(64), keys, keys
    )
    sides = []
    for spec in ("flipcrop(0)", "flipcrop(0) + flipcrop(0)"):
        step = RegimeStep.of(parse_regime(spec), recipe, data, np.arange(64), None)
        sides.append(step.change(nn.Flatten(), batch).x[:, 0, 0] > 0.5)
    once, twice = sides
    both = once == twice  # the second flip left the image as the first one made it
    assert 16 < both.sum() < 48
    assert 16 < once.sum() < 48


@pytest.mark.parametrize("fresh", [True, False])
def test_augmentations_are_drawn_anew_in_every_epoch(fresh):
    images = make_dataset(np.zeros((8, 8, 8), np.uint8), np.arange(8) % 2)
    keeps = KeepsKeys()
    regime = replace(parse_regime("clean"), augmentations=(keeps,))
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    recipe = replace(RECIPE, fresh=fresh)
    train(network, images, noise=regime, recipe=recipe, batch=4, rows=np.arange(8))
    keys = np.concatenate(keeps.keys).tolist()
    assert len(keys) == len(set(keys)) == 3 * 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeps, "keys", [])
        train(network, images, noise=regime, recipe=recipe, batch=4, rows=np.arange(8), seed=1)
        assert not set(keys) & set(np.concatenate(keeps.keys).tolist())

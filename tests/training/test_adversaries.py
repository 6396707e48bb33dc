"""Adversarial training: where the attack may go, what it finds, and what the losses are."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from shaketable.adversary.attacks.gradients import PGD
from shaketable.adversary.region import Region
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.core.spec import parse_call
from shaketable.data.bounds import Bounds
from shaketable.models.classifier import as_classifier

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy, log_softmax, softmax  # noqa: E402

from shaketable.models.networks.registry import build_network  # noqa: E402
from shaketable.training import train  # noqa: E402
from shaketable.training.adversaries import (  # noqa: E402
    AdversarialTraining,
    describe_adversaries,
    read_adversary,
)
from shaketable.training.loop import Batch  # noqa: E402
from shaketable.training.recipes import make_recipe  # noqa: E402
from shaketable.training.regimes import RegimeStep, parse_regime  # noqa: E402

SUNSET = st.load("sunset(n=120)")
ALL = np.arange(120)
TILES = st.make_dataset(
    np.random.default_rng(0).integers(0, 256, (30, 8, 8, 3)).astype(np.uint8), np.arange(30) % 3
)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_batch(data=SUNSET, rows=ALL, seed=0):
    keys = row_keys(seed, rows, np.arange(1))[:, 0]
    x = torch.from_numpy(data.rows(rows)).float()
    return Batch(x, torch.from_numpy(data.y[rows]), rows, keys, keys)


@cache
def _train_network():
    return train("mlp(width=16)", SUNSET, epochs=2, rows=ALL).module


def make_network():
    """A network that knows the data a little, so that it can be fooled."""
    return deepcopy(_train_network())


def find_worst(training, network, batch, data=SUNSET, *, bounds=None, rows=None):
    """Where the attack of a training moves a batch, flat, and the region it must not leave."""
    loss = training.on(data, batch.rows if rows is None else rows, bounds)
    channels = data.x.ndim > 2
    worst = loss.find_worst(
        network, lambda x: network(x.permute(0, 3, 1, 2) if channels else x), batch
    )
    return worst.reshape(len(worst), -1), loss


def make_region(training, data, rows, bounds=None, voronoi=None):
    flat = data.rows(rows).reshape(len(rows), -1).astype(np.float64)
    return Region(
        flat,
        data.shape,
        np.dtype(np.float32),
        training.norm,
        training.epsilon,
        training.constraint,
        voronoi,
        bounds,
    )


@pytest.mark.parametrize("kind", ["pgd_at", "trades"])
@pytest.mark.parametrize("norm", [1, 2, 3, np.inf])
@pytest.mark.parametrize("epsilon", [0.003, 0.4])
def test_points_stay_in_ball_range_and_cell(kind, norm, epsilon):
    bounds, batch, network = Bounds(-2.1, 2.1), make_batch(), make_network()
    for constraint in ("none", "genuine-max"):
        training = AdversarialTraining(kind, epsilon, norm, 5, constraint=constraint)
        worst, loss = find_worst(training, network, batch, bounds=bounds)
        region = make_region(training, SUNSET, ALL, bounds, loss.region.voronoi)
        assert region.contains(ALL, worst.numpy()).all()
        assert (loss.region.voronoi is None) == (constraint == "none")
    far = pnorm(worst.numpy() - SUNSET.x, norm)
    assert far.max() > 0.9 * epsilon  # it does use its room
    # cells: the nearest training point is the own one, by a search that knows no cells
    gaps = pnorm((worst.numpy()[:, None] - SUNSET.x[None]).reshape(-1, 2), norm).reshape(120, 120)
    assert (gaps.argmin(axis=1) == ALL).all()


@pytest.mark.parametrize("norm", [2, np.inf])
def test_images_stay_in_ball_and_range(norm):
    training = AdversarialTraining("pgd_at", 0.05 if np.isinf(norm) else 0.5, norm, 3)
    batch = make_batch(TILES, np.arange(30))
    network = build_network("resnet9(width=4)", shape=TILES.shape, classes=3, seed=0)
    network(torch.rand(64, 3, 8, 8))  # for the statistics of batches
    worst, loss = find_worst(training, network, batch, TILES, bounds=TILES.bounds)
    assert (
        make_region(training, TILES, np.arange(30), TILES.bounds)
        .contains(np.arange(30), worst.numpy())
        .all()
    )
    assert loss.region.x.size == 0  # no float64 copy of the images where no cell needs them


def test_points_outside_the_range_are_not_pushed_farther():
    training = AdversarialTraining("pgd_at", 0.3, 2.0, 5)
    bounds = Bounds(-0.5, 1.5)  # which many points exceed
    data = st.make_dataset(SUNSET.x.astype(np.float32), SUNSET.y)
    worst, _ = find_worst(training, make_network(), make_batch(), data, bounds=bounds)
    assert make_region(training, data, ALL, bounds).contains(ALL, worst.numpy()).all()


def test_cells_are_those_of_the_training_points():
    rows = np.arange(0, 120, 2)
    training = AdversarialTraining("pgd_at", 1.0, 2.0, 5, constraint="genuine-max")
    some = rows[::-3]  # a batch in another order
    worst, loss = find_worst(training, make_network(), make_batch(rows=some), rows=rows)
    assert loss.region.voronoi.x.shape == (60, 2)
    gaps = np.linalg.norm(worst.numpy()[:, None] - SUNSET.x[rows][None], axis=2)
    assert (rows[gaps.argmin(axis=1)] == some).all()


@pytest.mark.parametrize("norm", [2, np.inf])
def test_starts_are_uniform_in_the_ball_and_keyed(norm):
    class Flat(nn.Module):
        """Scores without slopes, so that no step but the noise's is taken."""

        def forward(self, x):
            return torch.stack([0 * x[:, 0], 0 * x[:, 0]], 1)

    n = 2000
    data = st.make_dataset(np.zeros((n, 2)), np.arange(n) % 2)
    starts = []

    def ask(x):
        starts.append(x.detach().clone())
        return Flat()(x)

    training = AdversarialTraining("pgd_at", 0.5, norm, 1)
    loss = training.on(data, np.arange(n), None)
    batch = make_batch(data, np.arange(n))
    loss.find_worst(Flat(), ask, batch)
    radius = pnorm(starts[0].numpy(), norm) / 0.5
    assert stats.kstest(radius**2, "uniform").pvalue > 1e-3
    first = starts[0][:, 0].numpy()
    assert abs(first.mean()) < 0.03
    order = np.random.default_rng(0).permutation(n)
    loss.find_worst(Flat(), ask, make_batch(data, order))
    assert torch.equal(starts[1], starts[0][order])
    loss.find_worst(Flat(), ask, make_batch(data, np.arange(n), seed=1))
    assert not torch.isclose(starts[2], starts[0]).any(dim=1).all()


def test_what_is_found_does_not_depend_on_the_batch():
    training = AdversarialTraining("trades", 0.2, 2.0, 5, constraint="genuine-max")
    network = make_network()
    whole, _ = find_worst(training, network, make_batch(), rows=ALL)
    order = np.random.default_rng(0).permutation(120)[:30]
    part, _ = find_worst(training, network, make_batch(rows=order), rows=ALL)
    torch.testing.assert_close(part, whole[order], rtol=0, atol=1e-5)


def climb(training, network, x, raised, start):
    """Projected gradient ascent, written once more."""
    epsilon, norm, steps, moved = training.epsilon, training.norm, training.steps, start
    for _ in range(steps):
        moved = moved.detach().requires_grad_()
        (slope,) = torch.autograd.grad(raised(network(moved)).sum(), moved)
        unit = slope.sign() if np.isinf(norm) else slope / slope.norm(dim=1, keepdim=True)
        away = moved.detach() + 2.5 * epsilon / steps * unit - x
        if np.isinf(norm):
            away = away.clamp(-epsilon, epsilon)
        else:
            away = away * (epsilon / away.norm(dim=1, keepdim=True)).clamp(max=1)
        moved = x + away
    return moved.detach()


@pytest.mark.parametrize("kind", ["pgd_at", "trades"])
@pytest.mark.parametrize("norm", [2, np.inf])
def test_the_attack_is_pgd(kind, norm):
    network, batch, epsilon, steps = make_network(), make_batch(), 0.1, 7
    y, shares = batch.targets, softmax(network(batch.x), 1).detach()

    def raised(scores):
        if kind == "pgd_at":
            return cross_entropy(scores, y, reduction="none")
        return (shares * (shares.log() - log_softmax(scores, 1))).sum(1)

    asked = []

    def ask(x):
        asked.append(x.detach())
        return network(x)

    training = AdversarialTraining(kind, epsilon, norm, steps)
    worst = training.on(SUNSET, ALL, None).find_worst(network, ask, batch)
    start = asked[0] if kind == "pgd_at" else asked[1]
    ours = climb(training, network, batch.x, raised, start)
    # rounding decides where slopes nearly vanish, so a few points may differ
    assert ((worst - ours).abs().amax(1) < 1e-4).float().mean() > 0.95
    gain = (raised(network(worst)) - raised(network(start))).detach()
    assert (gain > 0).float().mean() > 0.95
    # and it is as strong as the attack of evaluation
    if kind == "pgd_at":
        target = as_classifier(network, SUNSET)
        right = np.flatnonzero(target(SUNSET.x.astype(np.float32)) == SUNSET.y)
        region = make_region(training, SUNSET, ALL)
        hit = PGD(steps, loss="ce")(target, region, right, SUNSET.y[right], batch.keys[right]).hit
        fooled = (network(worst).argmax(1) != y).numpy()[right]
        assert hit.any()
        assert abs(hit.sum() - fooled.sum()) <= 2


def test_losses_are_the_published_ones():
    batch, smoothing = make_batch(), 0.1
    for spec in ("pgd_at(0.1)", "pgd_at(0.1, alpha=0.3)", "trades(0.1, beta=2)"):
        training = read_adversary(parse_call(spec), None)
        loss = training.on(SUNSET, ALL, None)
        network = make_network().eval()
        worst = loss.find_worst(network, network, batch)
        outcome = loss(network, network, batch, smoothing)
        clean, moved = network(batch.x).double(), network(worst).double()

        def ce(scores):
            aims = torch.full_like(scores, smoothing / 2)
            aims[torch.arange(120), batch.targets] += 1 - smoothing
            return -(aims * log_softmax(scores, 1)).sum(1).mean()

        if training.kind == "pgd_at":
            expected = (1 - training.weight) * ce(clean) + training.weight * ce(moved)
        else:
            shares = softmax(clean, 1)  # KL(f(x) || f(x')), not the other way round
            change = (shares * (log_softmax(clean, 1) - log_softmax(moved, 1))).sum(1).mean()
            expected = ce(clean) + 2 * change
        torch.testing.assert_close(outcome.loss.double(), expected)
        weights = list(network.parameters())  # both parts of a loss must move them
        slopes = (torch.autograd.grad(value, weights) for value in (outcome.loss, expected))
        for slope, by_hand in zip(*slopes, strict=True):
            torch.testing.assert_close(slope, by_hand, rtol=1e-3, atol=1e-6)
        adversarial = spec == "pgd_at(0.1)"
        torch.testing.assert_close(outcome.scores.double(), moved if adversarial else clean)


@pytest.mark.parametrize("spec", ["pgd_at(0.1, alpha=0)", "trades(0.1, beta=0)"])
def test_weight_0_is_plain_training(spec):
    def fit(noise):
        net = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 2))
        for parameter in net.parameters():
            nn.init.constant_(parameter, 0.1)
        return train(net, SUNSET, noise=noise, epochs=2).module.state_dict()

    plain, weightless = fit("clean"), fit(spec)
    assert all(torch.equal(plain[name], weightless[name]) for name in plain)


@pytest.mark.parametrize(
    ("spec", "counted"),
    [("pgd_at(0.5)", [1]), ("pgd_at(0.5, alpha=0.5)", [0, 1]), ("trades(0.5)", [0, 1])],
)
def test_batches_that_normalisation_counts(spec, counted):
    network = nn.Sequential(nn.BatchNorm1d(2, momentum=1.0), nn.Linear(2, 2)).train()
    seen = []
    network[0].register_forward_hook(
        lambda part, given, _: seen.append(given[0].detach().clone()) if part.training else None
    )
    loss = read_adversary(parse_call(spec), None).on(SUNSET, ALL, None)
    batch = make_batch()
    worst = loss.find_worst(network, network, batch)
    assert not seen
    assert network[0].num_batches_tracked == 0  # the attack changes no statistics
    assert network.training
    assert all(parameter.requires_grad for parameter in network.parameters())
    loss(network, network, batch)
    assert len(seen) == len(counted)
    for given, which in zip(seen, counted, strict=True):
        assert torch.equal(given, (batch.x, worst)[which])


@pytest.mark.parametrize("spec", ["pgd_at(0.1, alpha=0.5)", "trades(0.1)"])
def test_dropout_is_off_in_the_attack_and_on_in_the_loss(spec):
    network = nn.Sequential(nn.Linear(2, 64), nn.Dropout(0.5), nn.Linear(64, 2)).train()
    loss = read_adversary(parse_call(spec), None).on(SUNSET, ALL, None)
    worst = [loss.find_worst(network, network, make_batch()) for _ in range(2)]
    assert torch.equal(*worst)
    first, second = (loss(network, network, make_batch()).loss for _ in range(2))
    assert first != second


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # which torch.compile looks at
@pytest.mark.parametrize("spec", ["pgd_at(0.1)", "trades(0.1)"])
def test_mixed_precision_and_compiled_networks(spec):
    loss = read_adversary(parse_call(spec), None).on(SUNSET, ALL, None)
    batch, gradients = make_batch(), []
    for way in ("plain", "mixed", "compiled"):
        network = make_network().train()
        called = torch.compile(network, backend="aot_eager") if way == "compiled" else network
        with torch.autocast("cpu", torch.bfloat16, enabled=way == "mixed"):
            outcome = loss(called, called, batch)
        assert outcome.loss.dtype == torch.float32
        outcome.loss.backward()
        assert network.training
        gradients.append(torch.cat([p.grad.flatten() for p in network.parameters()]))
    plain, mixed, compiled = gradients
    torch.testing.assert_close(compiled, plain, rtol=1e-3, atol=1e-4)
    assert torch.cosine_similarity(mixed, plain, dim=0) > 0.98


def test_training_buys_robustness():
    values = []
    for noise in ("clean", "pgd_at(0.1, norm=2, steps=3)", "trades(0.1, norm=2, steps=3)"):
        options = {"epochs": 40, "batch": 60, "rate": 0.1, "rows": ALL}
        module = train("mlp(width=16)", SUNSET, noise=noise, **options).module
        moved, _ = find_worst(AdversarialTraining("pgd_at", 0.1, 2.0), module, make_batch())
        values.append((module(moved).argmax(1) == make_batch().targets).float().mean().item())
    clean, pgd_at, trades = values
    assert min(pgd_at, trades) > clean + 0.05


def test_training_is_repeatable():
    noise = "trades(0.1, norm=2, steps=2, constraint=genuine-max)"
    first, second = (
        train("mlp(width=8)", SUNSET, noise=noise, epochs=2).module.state_dict() for _ in range(2)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_eps_min_is_half_the_separation():
    trained = train("mlp(width=4)", SUNSET, noise="pgd_at(eps_min, norm=2)", epochs=1)
    size = st.separation(SUNSET, norm=2).epsilon_min
    assert trained.info["noise"] == AdversarialTraining("pgd_at", size, 2.0).spec
    assert parse_regime(trained.info["noise"]).adversary.epsilon == size


def test_cells_are_found_once(monkeypatch):
    found = []
    from shaketable.training import adversaries

    real = adversaries.VoronoiCells.of
    monkeypatch.setattr(
        adversaries.VoronoiCells, "of", lambda *args, **kw: found.append(1) or real(*args, **kw)
    )
    noise = "pgd_at(0.3, norm=2, steps=1, constraint=genuine-max)"
    train("mlp(width=4)", SUNSET, noise=noise, epochs=3)
    assert len(found) == 1
    train("mlp(width=4)", SUNSET, noise="pgd_at(0.3, norm=2, steps=1)", epochs=1)
    assert len(found) == 1


def test_with_cells_images_are_not_shifted():
    for constraint, shifted in (("none", True), ("genuine-max", False)):
        regime = parse_regime(f"trades(0.1, constraint={constraint})")
        step = RegimeStep.of(regime, make_recipe("fast"), TILES, np.arange(30), TILES.bounds)
        assert bool(step.augmentations) == shifted


def test_images_train_with_an_adversary_around_augmented_ones():
    regime = "trivialaugment + linf(0.05) + pgd_at(0.03, steps=1)"
    trained = train("resnet9(width=4)", TILES, noise=regime, epochs=1)
    assert trained.info["noise"] == (
        "trivialaugment + linf(0.05) + pgd_at(0.03, norm=inf, steps=1, alpha=1)"
    )
    assert np.isfinite(trained.curve[0].loss)


def test_specs_parse_back_and_are_described():
    for spec in ("pgd_at(0.1, norm=2, steps=3, alpha=0.5)", "trades(0.1, constraint=genuine-max)"):
        training = read_adversary(parse_call(spec), None)
        assert read_adversary(parse_call(training.spec), None) == training
    assert [form.partition("(")[0] for form in describe_adversaries()] == ["pgd_at", "trades"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("pgd_at", r"must read like pgd_at\(EPS"),
        ("pgd_at(0.1, beta=6)", r"must read like pgd_at\(EPS"),
        ("pgd_at(0)", "epsilon must be a distance above 0, got 0"),
        ("pgd_at(eps_min)", "eps_min needs data; give a number here"),
        ("pgd_at(small)", "epsilon must be a distance above 0, got 'small'"),
        ("pgd_at(0.1, alpha=1.5)", r"alpha must lie in \[0, 1\], got 1.5"),
        ("trades(0.1, beta=-1)", "beta must be 0 or more, got -1"),
        ("trades(0.1, steps=0)", "steps must be"),
        ("trades(0.1, steps=1.5)", "steps must be"),
        ("trades(0.1, norm=0.5)", "norm must be 1 or more, got 0.5"),
        ("trades(0.1, constraint=genuine)", "constraint 'genuine'"),
        ("trades(0.1, constraint=genuine-exact)", "got genuine-exact: points without"),
        ("mixup(0.2) + pgd_at(0.1)", r"mixup\(alpha=0.2\) mixes labels; leave one of the two out"),
        ("linf(0.1) + pgd_at(0.1, constraint=genuine-max)", "noise must be left out"),
    ],
)
def test_wrong_specs_are_refused(spec, words):
    with pytest.raises(InputError, match=words):
        parse_regime(spec)


def test_unknown_kinds_and_clashes_are_refused():
    with pytest.raises(InputError, match="adversarial training"):
        AdversarialTraining("fgsm", 0.1)
    clash = st.make_dataset([[0.0], [0.0], [1.0]], [0, 1, 1])
    with pytest.raises(InputError, match="drop_clashes"):
        AdversarialTraining("pgd_at", 0.1, constraint="genuine-max").on(clash, np.arange(3), None)

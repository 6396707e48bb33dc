"""PGD and APGD against closed forms on linear models."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from shaketable.adversary.attacks.registry import parse_attack
from shaketable.adversary.region import Region
from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.models.classifier import as_classifier

torch = pytest.importorskip("torch", reason="torch is not installed")
from helpers.networks import make_classifier, make_keys, make_linear, make_network, make_points  # noqa: E402
from helpers.regions import make_region  # noqa: E402

gradient_search = pytest.importorskip("shaketable.adversary.attacks.gradient_search")
ascent = pytest.importorskip("shaketable.adversary.attacks.gradient_search")
losses = pytest.importorskip("shaketable.adversary.attacks.gradient_search")
region_tensors = pytest.importorskip("shaketable.adversary.region_tensors")
nn = torch.nn
PGD, APGD = gradient_search.PGD, gradient_search.APGD

NORMS = [1.0, 1.5, 2.0, 3.0, math.inf]
ATTACKS = [
    PGD(),
    PGD(loss="ce"),
    PGD(steps=8, loss="targeted", restarts=2),
    APGD(steps=10),
    APGD(steps=10, loss="dlr"),
    APGD(steps=10, loss="targeted", restarts=2),
]


def run_attack(attack, model, region, *, seed=0):
    """Found around all points, which count as labelled rightly."""
    n = len(region.x)
    y = model(region.cast_for_model(np.arange(n), region.x))
    return attack(model, region, np.arange(n), y, make_keys(n, seed)), y


def distances(module, x, p):
    """How far every point is from a linear model's nearest boundary, by the dual norm."""
    weight, bias = (part.detach().double().numpy() for part in module.parameters())
    scores = x @ weight.T + bias
    y = scores.argmax(axis=1)
    q = {1.0: math.inf, math.inf: 1.0}.get(p) or p / (p - 1)
    apart = np.full(scores.shape, math.inf)
    for j in range(scores.shape[1]):
        slope = pnorm(weight[j] - weight[y], q)
        wrong = y != j
        apart[wrong, j] = (scores[np.arange(len(x)), y] - scores[:, j])[wrong] / slope[wrong]
    return apart.min(axis=1)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.spec)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_two_linear_classes_are_reported_apart_at_their_distance_to_the_boundary(p, attack, dtype):
    x, module = make_points(50, 7, dtype=dtype), make_linear(2, 7, dtype)
    apart = distances(module, x, p)
    close = 1e-5 if dtype == "float64" else 1e-4
    for middle in np.sort(apart)[[10, 40]]:
        for epsilon in (middle * (1 - close), middle * (1 + close)):
            region = make_region(x, epsilon, dtype=dtype, p=p)
            found, _ = run_attack(attack, make_classifier(module, 2), region)
            assert np.array_equal(found.hit, apart < epsilon)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("make", [PGD, APGD])
def test_of_three_linear_classes_the_one_within_reach_is_found(p, make):
    x, module = make_points(60, 7), make_linear(3, 7)
    apart = distances(module, x, p)
    for middle in np.sort(apart)[[10, 50]]:
        for epsilon in (middle * (1 - 1e-5), middle * (1 + 1e-5)):
            region, model = make_region(x, epsilon, p=p), make_classifier(module, 3)
            found, _ = run_attack(make(8, loss="targeted", restarts=2), model, region)
            assert np.array_equal(found.hit, apart < epsilon)
            for loss in ("ce", "margin", "dlr"):  # may aim at the wrong class
                found, _ = run_attack(make(8, loss=loss), model, region)
                assert not (found.hit & (apart >= epsilon)).any()


@pytest.mark.parametrize("attack", [PGD(), APGD(steps=10)], ids=["pgd", "apgd"])
@pytest.mark.parametrize("p", [1.0, math.inf])
def test_in_the_value_range_a_linear_model_falls_where_the_best_step_says(p, attack):
    x, module, epsilon = make_points(200, 7), make_linear(2, 7), 0.3
    weight, bias = (part.detach().numpy() for part in module.parameters())
    scores = x @ weight.T + bias
    y = scores.argmax(axis=1)
    slope = (weight[1] - weight[0]) * (1 - 2 * y[:, None])
    room = np.where(slope > 0, 1 - x, x)
    if p == 1:  # the steepest values first, each to the end of the range
        order = np.argsort(-np.abs(slope), axis=1)
        steep, room = (np.take_along_axis(part, order, 1) for part in (np.abs(slope), room))
        spent = np.clip(epsilon - (np.cumsum(room, axis=1) - room), 0, room)
        gain = (steep * spent).sum(axis=1)
    else:
        gain = (np.abs(slope) * np.minimum(room, epsilon)).sum(axis=1)
    margin = np.abs(scores[:, 0] - scores[:, 1])
    region = make_region(x, epsilon, bounds=Bounds(0, 1), p=p)
    found, _ = run_attack(attack, make_classifier(module, 2), region)
    clear = np.abs(margin - gain) > 1e-3 * gain
    assert 20 < found.hit.sum() < 180
    assert np.array_equal(found.hit[clear], (margin < gain)[clear])


def apgd_by_the_book(f, slope, x, epsilon, steps):
    """Points that Algorithm 1 of Croce & Hein (ICML 2020) passes in L2, one row, in its letters.

    With our first step and checkpoints.
    """

    def held(z):
        away = np.linalg.norm(z - x)
        return x + (z - x) * min(1, epsilon / away) if away else z

    def up(z):
        return slope(z) / np.linalg.norm(slope(z))

    eta, passed = epsilon, [x, held(x + epsilon * up(x))]
    looks = ascent.plan_checkpoints(steps)
    best = max(passed, key=f)
    rises, last_eta, last_best, j = int(f(passed[1]) > f(x)), math.inf, -math.inf, 1
    before, now = passed
    for k in range(1, steps):
        if k == looks[j]:
            stuck = eta == last_eta and f(best) == last_best
            last_eta, last_best = eta, f(best)
            if rises < 0.75 * (looks[j] - looks[j - 1]) or stuck:
                eta /= 2
                before = now = best
            rises, j = 0, j + 1
        z = held(now + eta * up(now))
        before, now = now, held(now + 0.75 * (z - now) + 0.25 * (now - before))
        rises += f(now) > f(before)
        best = max(best, now, key=f)
        passed.append(now)
    return passed


@pytest.mark.parametrize("steep", [1, 6])  # steep: steps go beyond the best point, and come back
def test_apgd_goes_where_the_algorithm_says(steep):
    x, module, epsilon, steps = make_points(6, 5), make_network(5).double(), 3.0, 40
    with torch.no_grad():
        module[0].weight.mul_(steep)
    y, targets = torch.zeros(6, dtype=int), torch.ones(6, dtype=int)
    around = region_tensors.TensorRegion.of(make_region(x, epsilon, p=2.0), np.arange(6), "cpu")
    active = ascent.ActiveRows(np.arange(6), around, y, targets, make_keys(6))
    state = ascent.APGDState.start(around.x, epsilon, ascent.plan_checkpoints(steps))
    passed, returned = [state.moved], 0
    with losses.open_gradients(make_classifier(module, 3), (5,)) as gradients_of:
        for _ in range(steps):
            _, loss, gradient = gradients_of.differentiate("targeted", state.moved, y, targets)
            last = state
            state = state.advance(active, loss, gradient)
            passed.append(state.moved)
            back = (state.size < last.size).flatten() & (last.best != last.moved).any(dim=1)
            returned += int((back & (loss <= last.best_loss)).sum())

        def one(i):
            def ask(z):
                return gradients_of.differentiate(
                    "targeted", torch.from_numpy(z)[None], y[:1], targets[:1]
                )

            f, slope = (lambda z: ask(z)[1].item()), (lambda z: ask(z)[2][0].numpy())
            return apgd_by_the_book(f, slope, x[i], epsilon, steps)

        expected = np.array([one(i) for i in range(6)])
    assert state.size.unique().numel() > 1  # rows differ in when their steps are halved
    assert returned or steep == 1
    assert np.allclose(np.array([step.numpy() for step in passed]).swapaxes(0, 1), expected)


@pytest.mark.parametrize("p", NORMS)
def test_steepest_ascent_has_norm_1_and_gains_the_dual_norm(p):
    x, gradient = make_points(20, 9), np.random.default_rng(1).normal(size=(20, 9))
    gradient *= 10.0 ** np.arange(-100, 100, 10)[:, None]
    around = region_tensors.TensorRegion.of(make_region(x, 0.1, p=p), np.arange(20), "cpu")
    sent, share = torch.from_numpy(gradient), torch.zeros(20)
    step, known = around.find_ascent(around.x, sent, share)
    q = {1.0: math.inf, math.inf: 1.0}.get(p) or p / (p - 1)
    assert known.all()
    assert np.allclose(pnorm(step.numpy(), p), 1)
    assert np.allclose((gradient * step.numpy()).sum(axis=1) / pnorm(gradient, q), 1)
    sent[0], sent[1, 2], sent[2, 3] = 0, torch.nan, torch.inf
    assert around.find_ascent(around.x, sent, share)[1].tolist() == [False] * 3 + [True] * 17


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_what_is_held_is_the_nearest_point_of_the_ball(p):
    x, rng = np.zeros((200, 5)), np.random.default_rng(0)
    around = region_tensors.TensorRegion.of(make_region(x, 1.0, p=p), np.arange(200), "cpu")
    moved = rng.normal(size=(200, 5)) * rng.uniform(size=(200, 1))
    held = around.project(torch.from_numpy(moved)).numpy()
    inside = pnorm(moved, p) <= 1
    assert 0 < inside.sum() < 200
    assert np.allclose(held[inside], moved[inside])
    others = rng.normal(size=(200, 1, 5)) * rng.uniform(size=(1, 50, 5))
    others /= np.maximum(1, np.stack([pnorm(row, p) for row in others])[..., None])
    # a point of a convex set is nearest if no other is in its direction
    ahead = np.einsum("nd,nkd->nk", moved - held, others - held[:, None])
    assert ahead.max() < 1e-6


@settings(max_examples=50, deadline=None)
@given(
    p=some.sampled_from(NORMS),
    epsilon=some.floats(1e-4, 2),
    constraint=some.sampled_from(["none", "genuine-max"]),
    dtype=some.sampled_from(["float16", "float32", "float64"]),
    bounded=some.booleans(),
    seed=some.integers(0, 2**20),
)
def test_no_step_leaves_the_region(*, p, epsilon, constraint, dtype, bounded, seed):
    bounds = Bounds(0, 1) if bounded else None
    x = make_points(15, 4, seed, dtype)
    region = make_region(x, epsilon, dtype=dtype, constraint=constraint, bounds=bounds, p=p)
    rows = np.arange(15)
    around = region_tensors.TensorRegion.of(region, rows, "cpu")
    step = np.random.default_rng(seed).normal(size=(15, 4)) * epsilon
    held = around.project(around.x + torch.from_numpy(step).to(around.x)).numpy()
    assert region.contains(rows, region.cast_for_model(rows, held)).all()


@settings(max_examples=30, deadline=None)
@given(
    p=some.sampled_from(NORMS),
    epsilon=some.floats(0.05, 1),
    constraint=some.sampled_from(["none", "genuine-max", "genuine-exact"]),
    dtype=some.sampled_from(["float32", "float64"]),
    bounded=some.booleans(),
    attack=some.sampled_from([PGD(steps=4, restarts=2), APGD(steps=6, restarts=2)]),
    seed=some.integers(0, 2**20),
)
def test_what_is_found_lies_in_the_region_and_is_mislabelled(
    *, p, epsilon, constraint, dtype, bounded, attack, seed
):
    bounds = Bounds(0, 1) if bounded else None
    x = make_points(12, 3, seed, dtype)
    region = make_region(x, epsilon, dtype=dtype, constraint=constraint, bounds=bounds, p=p)
    model = make_classifier(make_network(3, seed=seed), 3)
    found, y = run_attack(attack, model, region, seed=seed)
    hits = np.flatnonzero(found.hit)
    assert found.moved.dtype == dtype
    assert region.contains(hits, found.moved[hits]).all()
    assert (model(found.moved) != y)[hits].all()


class NearestNeighbour(nn.Module):
    """Scores of a class: how near its nearest point is."""

    def __init__(self, x, y, p):
        super().__init__()
        self.register_buffer("x", torch.from_numpy(x))
        self.y, self.p = y, p
        self.weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))  # tells the type

    def forward(self, x):
        apart = torch.linalg.vector_norm(x[:, None] - self.x, self.p, dim=2)
        return torch.stack([-apart[:, self.y == c].amin(dim=1) for c in (0, 1)], dim=1)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("attack", [PGD(8, restarts=2), APGD(8, restarts=2)], ids=["pgd", "apgd"])
def test_a_nearest_neighbour_classifier_never_falls_inside_the_cells_of_its_data(p, attack):
    x, y = make_points(40, 2), np.arange(40) % 2
    model = make_classifier(NearestNeighbour(x, y, p), 2)
    assert run_attack(attack, model, make_region(x, 0.5, p=p))[0].hit.sum() > 35
    for epsilon in (0.05, 0.5, 5.0):
        for constraint in ("genuine-max", "genuine-exact"):
            region = make_region(x, epsilon, constraint=constraint, p=p)
            assert not run_attack(attack, model, region)[0].hit.any()


def test_genuine_attacks_find_what_the_cell_leaves_open():
    # two points; the model is wrong left of -2 and right of 0.4, the cell of the first ends at 0.5
    x = np.array([[0.0], [1.0]])
    scores = lambda x: torch.cat([x * 0, torch.maximum(x - 0.4, -x - 2)], dim=1)  # noqa: E731
    model = make_classifier(Told(scores), 2)
    row, y, keys = np.array([0]), np.array([0]), make_keys(1)
    for attack in (PGD(), APGD(20)):
        for constraint, epsilon, hit in [
            ("genuine-max", 0.3, False),
            ("genuine-max", 0.45, True),
            ("genuine-max", 0.8, True),  # pulled back to 0.5
            ("genuine-exact", 0.45, True),
            ("genuine-exact", 0.8, False),
        ]:
            region = make_region(x, epsilon, constraint=constraint, p=2.0)
            found = attack(model, region, row, y, keys)
            assert found.hit.tolist() == [hit]


class Told(nn.Module):
    """A module that applies a function."""

    def __init__(self, forward):
        super().__init__()
        self.function = forward
        self.weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))  # tells the type

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("attack", [PGD(), APGD(20)], ids=["pgd", "apgd"])
def test_more_is_found_in_a_larger_ball(p, attack):
    x, model = make_points(80, 6), make_classifier(make_network(6).double(), 3)
    hits = [
        run_attack(attack, model, make_region(x, epsilon, p=p))[0].hit
        for epsilon in (0.05, 0.2, 0.8)
    ]
    assert hits[0].sum() < hits[1].sum() < hits[2].sum()
    assert not (hits[0] & ~hits[1]).any()
    assert not (hits[1] & ~hits[2]).any()


@pytest.mark.parametrize("attack", [PGD(6, restarts=2), APGD(9, restarts=2)], ids=["pgd", "apgd"])
@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_a_row_depends_on_its_key_alone(attack, constraint, monkeypatch):
    x, model, y = make_points(40, 5), make_classifier(make_network(5).double(), 3), None
    region = make_region(x, 0.25, constraint=constraint, p=2.0)
    whole, y = run_attack(attack, model, region)
    assert 0 < whole.hit.sum() < 40
    for values in (35, 60):
        monkeypatch.setattr(gradient_search, "BATCH_VALUES", values)
        parts, _ = run_attack(attack, model, region)
        assert np.array_equal(parts.hit, whole.hit)
        assert np.allclose(parts.moved, whole.moved, atol=1e-9)
        assert parts.queries == whole.queries
    some_rows = np.array([31, 4, 17, 8])
    few = attack(model, region, some_rows, y[some_rows], make_keys(40)[some_rows])
    assert np.array_equal(few.hit, whole.hit[some_rows])
    assert np.allclose(few.moved, whole.moved[some_rows], atol=1e-9)


def test_a_module_is_left_as_it_was():
    module = nn.Sequential(nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 3))
    module[2].eval()
    module[0].weight.requires_grad_(False)
    module[2].bias.grad = torch.ones(3)
    before = [part.training for part in module.modules()]
    state = {name: value.clone() for name, value in module.state_dict().items()}
    x = make_points(30, 5, dtype="float32")
    for attack in (PGD(4), APGD(4)):
        with torch.inference_mode():
            first, _ = run_attack(attack, make_classifier(module, 3), make_region(x, 0.2, p=2.0))
        again, _ = run_attack(attack, make_classifier(module, 3), make_region(x, 0.2, p=2.0))
        assert np.array_equal(first.moved, again.moved)  # no dropout, no generator
    with pytest.raises(InputError, match="gives no gradients"):
        run_attack(
            PGD(), make_classifier(nn.Sequential(module, Hostile()), 3), make_region(x, 0.2, p=2.0)
        )
    assert [part.training for part in module.modules()] == before
    flags = {name: p.requires_grad for name, p in module.named_parameters()}
    assert flags == {"0.weight": False, "0.bias": True, "2.weight": True, "2.bias": True}
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())
    assert module[2].bias.grad.tolist() == [1, 1, 1]
    assert module[2].weight.grad is None


class Hostile(nn.Module):
    """A layer without a backward pass."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            raise RuntimeError("no way back\nat all")

    def forward(self, x):
        return self.Function.apply(x)


def test_images_reach_the_module_as_for_labels_and_layers_may_work_in_place():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.ReLU(inplace=True), nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(96, 3)
    )
    x = make_points(20, 8 * 6 * 3, dtype="float32")
    shape, dtype = (8, 6, 3), np.dtype(np.float32)
    region = Region(x, shape, dtype, math.inf, 0.05, bounds=Bounds(0, 1))
    model = make_classifier(module, 3)
    found, y = run_attack(PGD(), model, region)
    assert found.hit.any()
    assert (model(region.cast_for_model(np.arange(20), found.moved)) != y)[found.hit].all()


def test_two_classes_have_no_dlr_and_climb_the_margin():
    x, model = make_points(30, 5), make_classifier(make_network(5, 2).double(), 2)
    results = [
        run_attack(APGD(10, loss=loss), model, make_region(x, 0.2, p=2.0))[0]
        for loss in ("dlr", "margin")
    ]
    assert 0 < results[0].hit.sum() < 30
    assert np.array_equal(results[0].moved, results[1].moved)
    assert APGD(10, loss="dlr").spec == "apgd(steps=10, restarts=1, loss=dlr/margin)"
    assert PGD(step=0.1).spec == "pgd(steps=20, restarts=1, loss=margin, step=0.1)"


@pytest.mark.parametrize("attack", [*ATTACKS, PGD(step=0.1), PGD(loss="dlr")])
def test_specs_parse_back(attack):
    assert parse_attack(attack.spec) == attack


def test_losses_are_their_formulas():
    scores = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 4)) * 5)
    y, t = torch.arange(50) % 4, (torch.arange(50) + 1) % 4
    entropy = nn.functional.cross_entropy(scores, y, reduction="none")
    assert torch.allclose(
        nn.functional.softplus(losses.compute_losses("ce", scores, y, t)), entropy
    )
    z = scores.numpy()
    for i in range(50):
        wrong = np.delete(z[i], y[i]).max() - z[i, y[i]]
        ordered = np.sort(z[i])[::-1]
        got = {
            kind: losses.compute_losses(kind, scores, y, t)[i]
            for kind in ("margin", "dlr", "targeted", "targeted-dlr")
        }
        assert np.isclose(got["margin"], wrong)
        assert np.isclose(got["dlr"], wrong / (ordered[0] - ordered[2]))
        ahead = z[i, t[i]] - z[i, y[i]]
        assert np.isclose(got["targeted"], ahead)
        spread = ordered[0] - (ordered[2] + ordered[3]) / 2
        assert np.isclose(got["targeted-dlr"], ahead / spread)
    few = losses.compute_losses("targeted-dlr", scores[:, :3], y % 3, t % 3)
    assert torch.equal(few, losses.compute_losses("targeted", scores[:, :3], y % 3, t % 3))


def test_targeted_apgd_aims_at_nine_classes_one_after_the_other():
    assert APGD(loss="targeted").spec == "apgd(steps=100, restarts=9, loss=targeted)"
    assert APGD().restarts == 1
    x, model = make_points(60, 6), make_classifier(make_network(6, 5).double(), 5)
    region = make_region(x, 0.5, p=2.0)
    hits, classes = [], []
    for restarts in (1, 4):
        found, _ = run_attack(APGD(8, restarts, "targeted"), model, region)
        hits.append(found.hit)
        classes.append(len(np.unique(model(found.moved[found.hit]))))
    assert 5 < hits[0].sum() < hits[1].sum() < 55
    assert not (hits[0] & ~hits[1]).any()
    assert classes[1] > 2


@pytest.mark.parametrize("attack", [PGD(6, restarts=2), APGD(7, loss="targeted", restarts=2)])
def test_queries_are_points_asked_about_and_gradients(attack):
    asked = {"forward": 0, "backward": 0}

    def count(module, points, scores):
        asked["forward"] += len(scores)
        if scores.requires_grad:
            scores.register_hook(
                lambda gradient: asked.update(backward=asked["backward"] + len(gradient))
            )

    module, x = make_network(5).double(), make_points(40, 5)
    model, region = make_classifier(module, 3), make_region(x, 0.2, p=2.0)
    y = model(x)
    module.register_forward_hook(count)
    found = attack(model, region, np.arange(40), y, make_keys(40))
    assert 0 < found.hit.sum() < 40
    assert asked["backward"] > 40
    assert found.queries == asked["forward"] + asked["backward"]


def test_a_row_without_a_gradient_moves_along_its_noise():
    blind = Told(lambda x: torch.cat([x * 0, (x.sum(dim=1, keepdim=True).round() - 0.5)], dim=1))
    x, model = np.zeros((60, 1)), make_classifier(blind, 2)
    for attack in (PGD(), APGD(20)):
        found, _ = run_attack(attack, model, make_region(x, 0.8, p=2.0))
        assert 15 < found.hit.sum() < 45  # half of all directions lead up


class Hungry(nn.Module):
    """Runs out of memory for more points than fit, in the backward pass of more than half."""

    def __init__(self, module, most):
        super().__init__()
        self.module, self.most = module, most

    def forward(self, x):
        scores = self.module(x)
        if len(x) > self.most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        if len(x) > self.most // 2 and scores.requires_grad:
            scores.register_hook(self.fail)
        return scores

    def fail(self, gradient):
        raise RuntimeError("CUDA out of memory. Tried to allocate 3.00 GiB")


@pytest.mark.parametrize("attack", ATTACKS[2::3], ids=lambda attack: attack.spec)
def test_an_attack_goes_on_with_fewer_points_if_memory_runs_out(attack):
    x, module = make_points(50, 7), make_network(7)
    region = make_region(x, 0.3, dtype="float32", p=2.0)
    whole, _ = run_attack(attack, make_classifier(module, 3), region)
    parts, _ = run_attack(attack, make_classifier(Hungry(module, 30), 3), region)
    assert 0 < whole.hit.sum() < 50
    np.testing.assert_array_equal(parts.hit, whole.hit)
    np.testing.assert_allclose(parts.moved, whole.moved, atol=1e-5)
    assert parts.queries == whole.queries


def test_what_cannot_be_attacked_or_asked_for_is_reported_in_a_line():
    x = make_points(5, 3)
    data = make_dataset(x, np.arange(5) % 2)
    model = as_classifier(lambda x: (x[:, 0] > 0.5).astype(int), data, name="mine")
    with pytest.raises(
        InputError, match=r"^model must be a torch module .* got mine; use an attack"
    ):
        run_attack(PGD(), model, make_region(x, 0.1, p=2.0))
    with pytest.raises(InputError, match="steps must be a whole number of at least 1, got 0"):
        PGD(steps=0)
    with pytest.raises(InputError, match="restarts"):
        APGD(restarts=1.5)
    with pytest.raises(InputError, match="unknown loss 'margins'; did you mean 'margin'"):
        APGD(loss="margins")
    with pytest.raises(InputError, match="step must be a positive share of epsilon"):
        PGD(step=-1)

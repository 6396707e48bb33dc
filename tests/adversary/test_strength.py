"""Attacks spend the budget they state, and miss nothing that this budget reaches."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from helpers.regions import make_region
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.models.classifier import Classifier


def make_keys(n):
    return row_keys(0, np.arange(n), np.arange(1))[:, 0]


def count_asked(answer):
    """Classifier of two classes, and the list of the batches it is asked about."""
    asked = []

    def count(points):
        asked.append(np.array(points))
        return answer(points)

    return Classifier("made", count, {0: 0, 1: 1}, None), asked


def search(attack, answer, x, y, *, epsilon, p=2.0):
    """What an attack finds around all points, and all points it asks about."""
    model, asked = count_asked(answer)
    region = make_region(x, epsilon, p=p)
    found = attack(model, region, np.arange(len(x)), y, make_keys(len(x)))
    asked = np.concatenate(asked)
    assert found.queries == len(asked)
    return found, asked


@settings(max_examples=10, deadline=None)
@given(queries=some.integers(1, 100), n=some.integers(2, 4), d=some.integers(1, 4))
def test_random_search_spends_exactly_its_budget_where_nothing_is_wrong(queries, n, d):
    x = np.random.default_rng(n).normal(size=(n, d))
    found, asked = search(
        RandomSearch(queries), lambda v: np.zeros(len(v), int), x, np.zeros(n, int), epsilon=0.1
    )
    assert not found.hit.any()
    assert len(asked) == n * queries + n  # all points are labelled once in addition


@pytest.mark.parametrize(("queries", "aim"), [(60, "closest"), (199, "first"), (400, "closest")])
def test_rays_spend_their_budget_but_for_less_than_a_round(queries, aim):
    x = np.random.default_rng(0).normal(size=(3, 2))
    attack = RayBisection(queries, aim)
    found, asked = search(attack, lambda v: np.zeros(len(v), int), x, np.zeros(3, int), epsilon=0.1)
    assert not found.hit.any()
    # a row without a hit is not bisected: 32 of the 40 queries of a round are asked
    assert 0.8 * 3 * (queries - 42) <= len(asked) <= 3 * queries + 3
    y = (x[:, 0] > 0).astype(int)
    found, asked = search(RayBisection(queries), lambda v: (v[:, 0] > 0) * 1, x, y, epsilon=9.0)
    assert found.hit.all()
    assert 3 * (queries - 42) <= len(asked) <= 3 * queries + 3


def wrong_along(x, directions, cosine=0.9995):
    """Answer that is wrong in narrow cones: one direction per point; points are far apart."""

    def answer(points):
        owner = pnorm((points[:, None] - x).reshape(-1, x.shape[1]), 2)
        owner = owner.reshape(len(points), len(x)).argmin(axis=1)
        step = points - x[owner]
        length = pnorm(step, 2)
        along = (step * directions[owner]).sum(axis=1)
        return ((along > cosine * length) & (length > 1e-9)).astype(int)

    return answer


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_random_search_tries_every_axis_up_and_down(p):
    d = 6
    directions = np.concatenate([np.eye(d), -np.eye(d)])
    x = 100.0 * np.arange(2 * d)[:, None] * np.ones(d)
    answer, y = wrong_along(x, directions), np.zeros(2 * d, int)
    found, _ = search(RandomSearch(1500), answer, x, y, epsilon=0.5, p=p)
    assert found.hit.all()  # one of 12 axes in every tenth draw: missed with probability 1e-5


def test_rays_try_other_directions_in_every_round():
    directions = np.concatenate([np.eye(6), -np.eye(6)])
    x = 100.0 * np.arange(12)[:, None] * np.ones(6)
    answer = wrong_along(x, directions)
    found, _ = search(RayBisection(2000), answer, x, np.zeros(12, int), epsilon=0.5)
    # two of 16 draws of a round go along an axis: one round reaches 16 % of these cones, and all 12
    # rounds of this budget 88 %
    assert found.hit.mean() > 0.6


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_random_search_tries_the_eight_nearest_opponents_first(p):
    rng = np.random.default_rng(0)
    towards = rng.normal(size=(12, 9))
    towards /= pnorm(towards, 2)[:, None]
    away = np.array([1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 5, 6, 7, 8])
    x = np.concatenate([np.zeros((1, 9)), away[:, None] * towards])
    y = np.concatenate([[0], np.ones(12, int)])

    def make(opponent):
        def answer(points):
            near = pnorm((points[:, None] - x[1:]).reshape(-1, 9), 2).reshape(len(points), 12)
            along = (points @ towards[opponent]) > 0.99999 * pnorm(points, 2)
            return ((near.min(axis=1) < 1e-9) | (along & points.any(axis=1))).astype(int)

        return answer

    def find(opponent, queries):
        model, _ = count_asked(make(opponent))
        region = make_region(x, 0.5, p=p)
        return RandomSearch(queries)(model, region, np.array([0]), y[:1], make_keys(1)).hit[0]

    order = np.argsort(pnorm(x[1:], 2))
    assert [bool(find(o, 17)) for o in order] == [True] * 8 + [False] * 4
    assert [bool(find(o, 2)) for o in order[:2]] == [True, False]


def test_of_the_rays_of_a_round_the_nearest_hit_is_followed():
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])

    def answer(points):  # far along the first axis, near along the second
        first = (points[:, 0] > 0.9) & (np.abs(points[:, 1:]).max(axis=1) < 1e-6)
        second = (points[:, 1] > 0.1) & (np.abs(points[:, ::2]).max(axis=1) < 1e-6)
        return (first | second).astype(int)

    model, _ = count_asked(answer)
    one_round = RayBisection(42)
    away = []
    for seed in range(6):
        keys = row_keys(seed, np.arange(1), np.arange(1))[:, 0]
        region = make_region(x, 5.0, p=2.0)
        found = one_round(model, region, np.array([0]), np.array([0]), keys)
        assert found.hit.all()
        away.append(pnorm(found.moved, 2)[0])
    assert sum(distance < 0.5 for distance in away) >= 4


torch = pytest.importorskip("torch", reason="torch is not installed")
from helpers.networks import make_classifier, make_points  # noqa: E402
from shaketable.adversary.attacks.gradients import APGD, PGD  # noqa: E402

nn = torch.nn


class Recorded(nn.Module):
    """Two linear classes whose boundary is where the first value is `limit`; keeps its inputs."""

    def __init__(self, limit):
        super().__init__()
        self.limit = nn.Parameter(torch.tensor(limit, dtype=torch.float64))
        self.asked = []

    def forward(self, x):
        self.asked.append(x.detach().numpy().copy())
        return torch.stack([self.limit - x[:, 0], x[:, 0] - self.limit], dim=1)


def attack_plane(attack, x, limit, epsilon=1.0, p=2.0):
    module = Recorded(limit)
    region = make_region(x, epsilon, p=p)
    model, n = make_classifier(module, 2), len(x)
    return attack(model, region, np.arange(n), np.zeros(n, int), make_keys(n)), module.asked


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize(("steps", "step"), [(10, 0.1), (5, 0.1), (1, 0.7), (4, 0.2)])
def test_pgd_reaches_as_far_as_its_steps_add_up_to(p, steps, step):
    distance = np.array([0.05, 0.15, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05])
    x = np.stack([-distance, np.zeros(10), np.zeros(10)], axis=1)
    found, _ = attack_plane(PGD(steps, step=step), x, 0.0, p=p)
    assert found.hit.tolist() == (distance < min(1, steps * step)).tolist()


@pytest.mark.parametrize("steps", [5, 20])
def test_steps_of_pgd_are_two_and_a_half_times_epsilon_in_all(steps):
    x = np.array([[-0.99, 0.0]])
    found, asked = attack_plane(PGD(steps), x, 0.0)
    assert found.hit.all()
    passed = np.array([points[0, 0] for points in asked])  # the last is asked again for its label
    expected = np.minimum(1, np.arange(steps + 1) * 2.5 / steps) - 0.99
    np.testing.assert_allclose(passed[:-1], expected[: len(passed) - 1], atol=1e-12)
    assert passed[-2] == passed[-1] > 0


@pytest.mark.parametrize("make", [PGD, APGD])
def test_every_restart_starts_elsewhere(make):
    x, restarts, steps = make_points(6, 4), 5, 3
    found, asked = attack_plane(make(steps, restarts), x, 1e6)
    assert not found.hit.any()
    assert len(asked) == restarts * (steps + 1)
    starts = np.array(asked[:: steps + 1])
    np.testing.assert_array_equal(starts[0], x)
    for i in range(restarts):
        for j in range(i):
            assert (np.abs(starts[i] - starts[j]).max(axis=1) > 1e-3).all()
    away = np.linalg.norm(starts[1:] - x, axis=2)
    assert (away <= 1 + 1e-9).all()
    assert away.max() > 0.5


def test_targeted_restarts_aim_at_the_likeliest_classes_first():
    module = nn.Linear(4, 4, bias=False, dtype=torch.float64)  # one direction per class
    with torch.no_grad():
        module.weight.copy_(torch.eye(4))
    x = np.array([[1.0, 0.7, 0.9, 0.8]])
    model, region = make_classifier(module, 4), make_region(x, 0.01, p=2.0)
    asked = []
    module.register_forward_pre_hook(lambda _, inputs: asked.append(inputs[0].detach().numpy()))
    PGD(1, restarts=3, loss="targeted")(
        model, region, np.array([0]), np.zeros(1, int), make_keys(1)
    )
    # the scores once, then start and end of every restart
    ends = [end - start for start, end in zip(asked[1::2], asked[2::2], strict=True)]
    assert [int(step[0].argmax()) for step in ends] == [2, 3, 1]

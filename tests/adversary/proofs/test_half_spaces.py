"""Least steps to half-spaces within boxes: against the dual norm and against scipy's solvers."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from shaketable.adversary.proofs.half_spaces import find_least_steps


@pytest.mark.parametrize("p", [1.0, 1.1, 1.5, 2.0, 7.0, 200.0, math.inf])
@pytest.mark.parametrize("d", [2, 30, 1000])
def test_without_a_box_the_distance_is_that_of_the_dual_norm(p, d):
    rng = np.random.default_rng(d)
    gain, need = rng.exponential(size=(4, d)), rng.exponential(size=4)
    steps, norms = find_least_steps(gain, np.full((4, d), np.inf), need, p)
    q = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
    np.testing.assert_allclose(norms, need / np.linalg.norm(gain, q, axis=1), rtol=1e-10)
    np.testing.assert_allclose((gain * steps).sum(axis=1), need, rtol=1e-10)


def draw_problem(rng):
    d = int(rng.integers(1, 7))
    gain, room = rng.exponential(size=d), rng.uniform(0, 1, d)
    gain[rng.random(d) < 0.2] = 0
    room[rng.random(d) < 0.1] = 0
    room[rng.random(d) < 0.2] = np.inf
    return gain, room, rng.uniform(0, 1.5)


def solve(gain, room, need, p):
    steps, norms = find_least_steps(gain[None], room[None], np.array([need]), p)
    return steps[0], norms[0]


@pytest.mark.parametrize("seed", range(30))
def test_in_boxes_the_distance_is_that_of_linear_programs(seed):
    gain, room, need = draw_problem(np.random.default_rng(seed))
    d, box = len(gain), [(0, c) for c in room]
    one = linprog(np.ones(d), -gain[None], [-need], bounds=box)
    rows = np.vstack([np.append(-gain, 0), np.hstack([np.eye(d), -np.ones((d, 1))])])
    most = linprog([0] * d + [1], rows, [-need] + [0] * d, bounds=[*box, (0, None)])
    for p, found in ((1, one), (math.inf, most)):
        steps, norm = solve(gain, room, need, p)
        if found.status:
            assert norm == math.inf
        else:
            assert norm == pytest.approx(found.fun, rel=1e-9, abs=1e-12)
            assert gain @ steps >= need * (1 - 1e-12)
            assert (steps <= room).all()


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("seed", range(10))
def test_in_boxes_the_distance_is_that_of_a_convex_solver(p, seed):
    gain, room, need = draw_problem(np.random.default_rng(100 + seed))
    steps, norm = solve(gain, room, need, p)
    box = [(0, c) for c in room]
    start = linprog(np.ones(len(gain)), -gain[None], [-need], bounds=box)
    if start.status:
        assert norm == math.inf
        return
    other = minimize(
        lambda t: (np.abs(t) ** p).sum(),
        start.x,
        constraints=[{"type": "ineq", "fun": lambda t: gain @ t - need}],
        bounds=box,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert norm == pytest.approx(np.linalg.norm(other.x, p), rel=1e-4, abs=1e-4)
    assert norm == pytest.approx(np.linalg.norm(steps, p))
    assert gain @ steps >= need * (1 - 1e-12)


def test_below_one_the_norm_is_a_lower_bound():
    rng = np.random.default_rng(3)
    for _ in range(20):
        gain, room, need = draw_problem(rng)
        steps, norm = solve(gain, room, need, 0.5)
        assert norm == solve(gain, room, need, 1)[1]
        assert math.isinf(norm) or np.sqrt(steps).sum() ** 2 >= norm * (1 - 1e-12)


def test_nothing_is_needed_or_nothing_gained():
    zero = np.zeros((2, 3))
    for p in (1, 2, math.inf):
        steps, norms = find_least_steps(zero, zero + 1, np.array([0.0, 0.5]), p)
        assert norms.tolist() == [0, math.inf]
        assert not steps.any()

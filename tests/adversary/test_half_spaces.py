"""Shortest vectors in half-spaces against an independent method, and in thin wedges."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from shaketable.adversary.attacks.one_nn_exact import find_least_step


def by_nnls(normals, offsets):
    """Least distance programming by Lawson & Hanson (1974), chapter 23."""
    system = np.vstack([-normals.T, -offsets])
    target = np.r_[np.zeros(normals.shape[1]), 1.0]
    residual = system @ nnls(system, target)[0] - target
    return None if np.linalg.norm(residual) < 1e-7 else -residual[:-1] / residual[-1]


def outside_of(normals, offsets):
    """The half-space that a step violates most."""

    def outside(step):
        excess = normals @ step - offsets
        i = excess.argmax()
        return float(excess[i]), normals[i], float(offsets[i])

    return outside


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_least_steps_equal_those_of_an_independent_method(seed):
    rng = np.random.default_rng(seed)
    d, m = rng.integers(1, 7), rng.integers(1, 25)
    normals = rng.normal(size=(m, d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = rng.normal(size=m) if seed % 2 else normals @ rng.normal(size=d) + rng.uniform(size=m)
    outside = outside_of(normals, offsets)
    expected, step = by_nnls(normals, offsets), find_least_step(outside, d, 1e5)
    assert (step is None) == (expected is None)
    if step is not None:
        np.testing.assert_allclose(step, expected, atol=1e-6)
        size = np.linalg.norm(step)
        assert find_least_step(outside, d, 1.01 * size + 1e-9) is not None
        assert size < 1e-9 or find_least_step(outside, d, 0.99 * size) is None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 6),
    angle=st.floats(-9, -1).map(lambda power: 10**power),
    wall=st.sampled_from(["none", "before", "behind"]),
)
def test_a_thin_wedge_is_nearest_at_its_apex(seed, d, angle, wall):
    rng = np.random.default_rng(seed)
    axis, side = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    away = rng.uniform(0.5, 2)
    normals = [sign * math.cos(angle) * side - math.sin(angle) * axis for sign in (-1, 1)]
    offsets = [-away * math.sin(angle)] * 2
    if wall != "none":
        normals.append(axis)
        gap = 10 ** rng.uniform(-5, -1)
        offsets.append(away + gap * (1 if wall == "behind" else -1))
    outside = outside_of(np.array(normals), np.array(offsets))
    for radius in (0.5 * away, 1.5 * away, 100.0):
        step = find_least_step(outside, d, radius)
        if wall == "before" or radius < away:
            assert step is None or angle < 1e-6
        else:
            np.testing.assert_allclose(step, away * axis, atol=1e-14 / angle + 1e-11)

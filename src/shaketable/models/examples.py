"""Classifiers of the teaching examples, `toy1d` and `sunset`: what they get right is known."""

from __future__ import annotations

import numpy as np

from shaketable.core.types import Array


def f1(x: Array) -> Array:
    """1 from 1 on: right on all of `toy1d`, and next to no use a step to the left of 1."""
    return _step(x, 1.0)


def f2(x: Array) -> Array:
    """1 from 0 on, and below -4: right, but it calls what is far to the left 1 as well.

    The paper's 1 - step(x + 4) + step(x), read as meant.
    """
    flat = x.reshape(len(x))
    return np.where((flat >= 0) | (flat < -4), 1, -1)


def f3(x: Array) -> Array:
    """1 from 0 on: half way between the classes of `toy1d`, as an oracle would have it."""
    return _step(x, 0.0)


def circle(x: Array) -> Array:
    """A inside the hypersphere of `sunset` and on it, else B: right, with no room outwards."""
    centred = x.reshape(len(x), -1).astype(np.float64)
    centred[:, -1] -= 1
    # points of the data lie on the sphere up to their rounding
    return np.where((centred**2).sum(axis=1) <= 1 + 1e-9, "A", "B")


def oracle(x: Array) -> Array:
    """A above the paraboloid x_d = |x|^2 / 4 of the other coordinates: as far from both classes."""
    flat = x.reshape(len(x), -1).astype(np.float64)
    return np.where(4 * flat[:, -1] > (flat[:, :-1] ** 2).sum(axis=1), "A", "B")


def flat(x: Array) -> Array:
    """A above x_d = 1/2: it gives up points of A near the plane, and keeps what is said of B."""
    return np.where(x.reshape(len(x), -1)[:, -1] > 0.5, "A", "B")


def _step(x: Array, at: float) -> Array:
    return np.where(x.reshape(len(x)) >= at, 1, -1)

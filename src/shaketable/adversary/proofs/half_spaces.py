"""The least step within a box that reaches a half-space, in any p-norm."""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.norms import pnorm
from shaketable.core.types import FloatArray


def find_least_steps(
    gain: FloatArray, room: FloatArray, need: FloatArray, p: float
) -> tuple[FloatArray, FloatArray]:
    r"""Least steps whose gains add up to what is needed, and their norms; one per row.

    .. math:: \min \lVert t \rVert_p \quad \text{s.t.} \quad \sum_i a_i t_i \ge m, \quad
        0 \le t_i \le c_i

    For p > 1 the solution is :math:`t_i = \min(c_i, \mu a_i^{1/(p-1)})`, and the sum is a piecewise
    linear function of :math:`\mu`, whose pieces end where a value reaches its room. For p = 1 the
    largest gains go first. Without a box this is :math:`m / \lVert a \rVert_q`, with
    :math:`1/p + 1/q = 1`. For p < 1 the steps are those of p = 1, and so are the norms, which are
    lower bounds there.

    Parameters
    ----------
    gain
        What a step of 1 gains, by column, (rows, d), 0 or more.
    room
        Largest steps, (rows, d); may be infinite.
    need
        What must be gained, (rows,), 0 or more.
    p
        Order of the norm.

    Returns
    -------
    tuple
        Steps, (rows, d), and norms; 0 and infinite where all the room does not gain enough.

    Examples
    --------
    >>> gain, room = np.array([[3.0, 4.0]]), np.array([[np.inf, 0.5]])
    >>> find_least_steps(gain, room, np.array([5.0]), 2)
    (array([[1. , 0.5]]), array([1.11803399]))
    """
    room = np.where(gain > 0, room, 0.0)
    steps = _fill_in_order(gain, room, need) if p <= 1 else _fill_together(gain, room, need, p)
    norms = pnorm(np.where(np.isnan(steps), 0.0, steps), max(p, 1.0))
    norms[np.isnan(steps).any(axis=1)] = math.inf
    return np.nan_to_num(steps), norms


def _fill_in_order(gain: FloatArray, room: FloatArray, need: FloatArray) -> FloatArray:
    """Fill the columns with the largest gains one after the other; NaN where that is too little."""
    order = np.argsort(-gain, axis=1, kind="stable")
    gain, room = np.take_along_axis(gain, order, 1), np.take_along_axis(room, order, 1)
    total = np.cumsum(np.where(room > 0, gain * room, 0.0), axis=1)
    before = np.hstack([np.zeros((len(gain), 1)), total[:, :-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(gain > 0, (need[:, None] - before) / gain, 0.0)
    steps = np.empty_like(gain)
    np.put_along_axis(steps, order, np.minimum(np.maximum(left, 0.0), room), 1)
    steps[total[:, -1] < need] = np.nan
    return steps


_SLOWEST = 1e-200  # smaller shares of the largest step would overflow


def _fill_together(gain: FloatArray, room: FloatArray, need: FloatArray, p: float) -> FloatArray:
    """Fill all columns at once, each up to its room; NaN where that is too little."""
    largest = np.maximum(gain.max(axis=1, keepdims=True), _SLOWEST)
    speed = np.where(gain > 0, np.maximum((gain / largest) ** (1 / (p - 1)), _SLOWEST), 0.0)
    full = np.divide(room, speed, out=np.full(gain.shape, math.inf), where=speed > 0)
    order = np.argsort(full, axis=1, kind="stable")
    gains, rooms = (np.take_along_axis(each, order, 1) for each in (gain, room))
    ends, rates = (np.take_along_axis(each, order, 1) for each in (full, gain * speed))
    filled = np.cumsum(np.where(rooms > 0, gains * rooms, 0.0), axis=1)
    before = np.hstack([np.zeros((len(gain), 1)), filled[:, :-1]])
    rate = np.cumsum(rates[:, ::-1], axis=1)[:, ::-1]  # of the columns that are not full yet
    gained = before + np.multiply(ends, rate, out=np.zeros(rate.shape), where=rate > 0)
    enough = gained >= need[:, None]
    place = np.arange(len(gain)), enough.argmax(axis=1)
    time = np.divide(need - before[place], rate[place], out=0.0 * need, where=rate[place] > 0)
    steps: FloatArray = np.minimum(np.maximum(time, 0.0)[:, None] * speed, room)
    steps[~enough.any(axis=1)] = np.nan
    return steps


_HALVINGS = 60
_OFF = 1e-6  # share of a grid's step by which values may lie off the grid


def find_least_cube(
    gain: FloatArray, room: FloatArray, need: FloatArray, grid: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Do the same in the maximum norm where some columns change in whole steps of a grid.

    The norm is found by bisection: nothing at a smaller distance gains enough.

    Parameters
    ----------
    gain, room, need
        As in `find_least_steps`.
    grid
        Step of every column, (d,); 0 where it may change by anything.

    Examples
    --------
    >>> gain, room = np.array([[3.0, 1.0]]), np.full((1, 2), np.inf)
    >>> steps, norms = find_least_cube(gain, room, np.array([5.0]), np.array([1.0, 0.0]))
    >>> steps.round(5), norms.round(5)
    (array([[2., 2.]]), array([2.]))
    """
    room, stepped = np.where(gain > 0, room, 0.0), grid > 0
    step = np.where(stepped, grid, 1.0)

    def reach(size: FloatArray) -> FloatArray:
        part = np.minimum(size[:, None], room)
        return np.asarray(np.where(stepped, np.floor(part / step + _OFF) * step, part))

    _, low = find_least_steps(gain, room, need, math.inf)
    high = low + grid.max(initial=0.0)  # there, every column has gone as far as without a grid
    known = np.isfinite(low)
    low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
    gains = (gain * reach(high)).sum(axis=1)
    known &= gains >= need
    least = low.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = (gain * reach(middle)).sum(axis=1) >= need
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    at_once = (gain * reach(least)).sum(axis=1) >= need
    high = np.where(at_once, least, high)
    low = np.where(at_once, least, low)
    return np.where(known[:, None], reach(high), 0.0), np.where(known, low, math.inf)

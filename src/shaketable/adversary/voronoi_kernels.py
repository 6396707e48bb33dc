"""Compiled loops over the neighbours of points: on which side of all cell boundaries a point is."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917, PLR1714

import math

import numba
import numpy as np

from shaketable.core.compiling import compiled
from shaketable.separations.search.distances import REORDER, at

_CHUNK = 256  # values compared before a distance may be given up
_HALVINGS = 50  # bisection steps in search of a boundary


@compiled
def contains(x, lists, rows, moved, p, tie):
    """Whether every moved point is closer to its row's point than to any other."""
    answer = np.empty(len(rows), np.bool_)
    for k in range(len(rows)):
        answer[k] = _contains(x, lists, lists.first[rows[k]], moved[k], p, tie)
    return answer


@compiled
def _contains(x, lists, i, point, p, tie):
    limit = _distance(x, i, i, point, 0.0, p, np.inf) * (1 + tie)
    for k in range(lists.starts[i], lists.starts[i + 1]):
        if lists.distances[k] > 2 * limit:
            return True
        if _distance(x, lists.others[k], i, point, 0.0, p, limit) <= limit:
            return False
    if 2 * limit < lists.complete_to[i]:
        return True
    for j in range(len(x)):
        other = lists.first[j] == j and j != i
        if other and _distance(x, j, i, point, 0.0, p, limit) <= limit:
            return False
    return True


@compiled
def find_kept_shares(x, lists, rows, moved, p, lead, share_of_lead):
    """Share of every step, from a row's point to the moved one, that stays inside with a lead.

    The lead is one number per row, plus a share of the step's length.
    """
    shares = np.empty(len(rows))
    for k in range(len(rows)):
        i = lists.first[rows[k]]
        length = _distance(x, i, i, moved[k], 0.0, p, np.inf)
        needed = lead[k] + share_of_lead * length
        shares[k] = _find_kept_share(x, lists, i, moved[k], p, length, needed)
    return shares


@compiled
def _find_kept_share(x, lists, i, point, p, length, lead):
    share = 1.0
    for k in range(lists.starts[i], lists.starts[i + 1]):
        if lists.distances[k] > 2 * share * length + lead:
            return share
        share = _shorten(x, lists.others[k], i, point, p, share, length, lead)
    if 2 * share * length + lead < lists.complete_to[i]:
        return share
    for j in range(len(x)):
        if lists.first[j] == j and j != i:
            share = _shorten(x, j, i, point, p, share, length, lead)
    return share


@compiled
def _shorten(x, j, i, point, p, share, length, lead):
    """Share of a step, `share` at most, whose end is closer to row i than to row j by `lead`."""
    limit = share * length + lead
    if _distance(x, j, i, point, 1 - share, p, limit) >= limit:
        return share
    if p == 2:
        # |n|^2 - 2 t s.n + t^2 a^2 = (t a + lead)^2, n from i to j, s the whole step, a its length
        across, along = 0.0, 0.0
        for c in range(x.shape[1]):
            gap = x[j, c] - x[i, c]
            across += gap * gap
            along += gap * (point[c] - x[i, c])
        if across <= lead * lead:
            return 0.0
        return min(share, (across - lead * lead) / (2 * (along + length * lead)))
    low, high = 0.0, share
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        limit = middle * length + lead
        if _distance(x, j, i, point, 1 - middle, p, limit) >= limit:
            low = middle
        else:
            high = middle
    return low


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={*REORDER, "nnan"})
def _distance(x, j, i, point, back, p, most):
    """Distance of row j to a point that is pulled back by a share `back` of its way from row i.

    Given up once it exceeds `most`: the result is then any number above.
    """
    total = 0.0
    limit = most * most if p == 2 else most
    for start in range(0, x.shape[1], _CHUNK):
        size = min(_CHUNK, x.shape[1] - start)
        if p == 1:
            for c in range(size):
                total += _gap(x, j, i, point, back, at(start, c))
        elif p == 2:
            for c in range(size):
                gap = _gap(x, j, i, point, back, at(start, c))
                total += gap * gap
        else:
            for c in range(size):
                total = max(total, _gap(x, j, i, point, back, at(start, c)))
        if total > limit:
            break
    if p == 2:
        return math.sqrt(total)
    if p == 1 or p == np.inf or total > most or total == 0:
        return total
    largest, total = total, 0.0
    for c in range(x.shape[1]):
        total += (_gap(x, j, i, point, back, at(0, c)) / largest) ** p
    return largest * max(1.0, total ** (1 / p))


@compiled
def _gap(x, j, i, point, back, c):
    return abs(point[c] - x[j, c] - back * (point[c] - x[i, c]))


_ACTIVE = 32  # half-spaces that a point may be pushed out of at once
_ROUNDS = 48  # searches for the half-space or neighbour that is violated most
_PUSHES = 12  # neighbours that a point moves away from, in other norms than L2
_STEPS = 16  # bisection steps for the length of such a move
_CYCLES = 24  # rounds over the active half-spaces in between
_ENOUGH = 1e-9  # share of a step: what is violated by less is left to the pull along the ray


@compiled
def push_back(x, lists, rows, moved, width, p, lead, share_of_lead):
    """Push moved points out of what is closer to other rows, in the first `width` columns alone.

    In L2 to the nearest point of the cell, by Hildreth's method (Naval Research Logistics
    Quarterly 1957): the multipliers of the active half-spaces rise in turn. In other norms away
    from the neighbour that is closest, until it is not closer any more; then from the next.
    """
    for k in range(len(rows)):
        i = lists.first[rows[k]]
        length = _distance(x, i, i, moved[k], 0.0, p, np.inf)
        needed = lead[k] + share_of_lead * length
        if p == 2:
            _push_into_half_spaces(x, lists, i, moved[k], width, length, needed)
        else:
            _push_from_neighbours(x, lists, i, moved[k], width, p, length, needed)


@compiled
def _find_closest(x, lists, i, point, p, length, lead):
    """Row whose point is closer than row i by most, if `lead` is asked for; -1 if there is none."""
    worst, found = length + lead, -1
    for k in range(lists.starts[i], lists.starts[i + 1]):
        if lists.distances[k] > length + worst:
            return found
        other = _distance(x, lists.others[k], i, point, 0.0, p, worst)
        if other < worst:
            worst, found = other, lists.others[k]
    if length + worst < lists.complete_to[i]:
        return found
    for j in range(len(x)):
        if lists.first[j] == j and j != i:
            other = _distance(x, j, i, point, 0.0, p, worst)
            if other < worst:
                worst, found = other, j
    return found


@compiled
def _push_into_half_spaces(x, lists, i, point, width, first_length, lead):
    active = np.empty(_ACTIVE, np.int64)
    weight, square, edge = np.zeros(_ACTIVE), np.empty(_ACTIVE), np.empty(_ACTIVE)
    count = 0
    for _ in range(_ROUNDS):
        length = _distance(x, i, i, point, 0.0, 2.0, np.inf)
        j = _find_closest(x, lists, i, point, 2.0, length, lead * (1 - _ENOUGH))
        if j < 0:
            return
        if not (active[:count] == j).any():
            if count == _ACTIVE:
                return
            whole, moving = 0.0, 0.0
            for c in range(x.shape[1]):
                gap = x[j, c] - x[i, c]
                whole += gap * gap
                if c < width:
                    moving += gap * gap
            if moving == 0:
                return
            active[count], square[count] = j, moving
            # as for `_shorten`: |n - s|^2 >= (|s| + lead)^2, for no step s longer than the first
            edge[count] = (whole - lead * lead) / 2 - lead * first_length
            count += 1
        for _ in range(_CYCLES):
            moves = _raise_weights(x, i, point, width, active[:count], weight, square, edge)
            if moves <= _ENOUGH * first_length:
                break


@compiled
def _raise_weights(x, i, point, width, active, weight, square, edge):
    """Project onto one half-space after the other; return the longest of these moves."""
    longest = 0.0
    for a in range(len(active)):
        along = 0.0
        for c in range(width):
            along += (x[active[a], c] - x[i, c]) * (point[c] - x[i, c])
        change = max((along - edge[a]) / square[a], -weight[a])
        weight[a] += change
        for c in range(width):
            point[c] -= change * (x[active[a], c] - x[i, c])
        longest = max(longest, abs(change) * math.sqrt(square[a]))
    return longest


@compiled
def _push_from_neighbours(x, lists, i, point, width, p, first_length, lead):
    tried = np.empty_like(point)
    for _ in range(_PUSHES):
        length = _distance(x, i, i, point, 0.0, p, np.inf)
        j = _find_closest(x, lists, i, point, p, length, lead * (1 - _ENOUGH))
        if j < 0:
            return
        apart = _distance(x, j, i, x[i], 0.0, p, np.inf)
        tried[:] = point
        low, high = 0.0, 2 * length / apart + 1
        if not _is_pushed(x, i, j, point, tried, width, p, high, lead):
            return
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if _is_pushed(x, i, j, point, tried, width, p, middle, lead):
                high = middle
            else:
                low = middle
        _is_pushed(x, i, j, point, tried, width, p, high, lead)
        if _distance(x, i, i, tried, 0.0, p, np.inf) > first_length:
            return
        point[:] = tried


@compiled
def _is_pushed(x, i, j, point, tried, width, p, amount, lead):
    """Whether a point is closer to row i by the lead once it moved away from row j; fills it in."""
    for c in range(width):
        tried[c] = point[c] - amount * (x[j, c] - x[i, c])
    own = _distance(x, i, i, tried, 0.0, p, np.inf)
    return _distance(x, j, i, tried, 0.0, p, np.inf) >= own + lead

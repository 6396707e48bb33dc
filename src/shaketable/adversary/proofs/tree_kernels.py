"""The nearest failures of sums of trees, by branch and bound, compiled.

The cuts of all trees divide every *axis* (a column that moves, or a feature that is the same for
all points of a region) into cells, which are numbered: a tree goes left at a cut if the cell's
number is not larger than the cut's. A *box* has a first and a last cell per axis, `lo` and `hi`;
-1 is the cell of missing values.

Whether any point within a distance is misclassified is decided by halving boxes. The largest sum of
leaves that a box can reach is at most the sum of every tree's largest leaf there: where that is
below the threshold, the box holds no failure. What trees have left in a box is written behind what
they had in the box before, nodes in preorder, so that a left child follows its parent.
"""

# numba compiles these functions from the types of a call, so they carry no annotations
# ruff: noqa: PLR0912, PLR0915, PLR0917
# mypy: ignore-errors

import numpy as np

from shaketable.core.compiling import compiled, inner

_FOUND, _NONE, _OPEN = 1, 0, -1
_JUST_BELOW = 1 - 1e-9  # share of a distance
_NEAR = 1e-3  # share of a distance within which bounds are closed by a last proof
_HALVINGS = 40
_SOFT = 1.0  # weight of what leaves are on average against the largest, in choosing cuts


@inner
def _reach(x_cell, dist, first, axes, eps, lo, hi):
    """Fill in the box of all cells within a distance along their axis."""
    for a in range(axes):
        c = x_cell[a]
        if c < 0:
            lo[a] = hi[a] = -1
            continue
        start, n = first[a], first[a + 1] - first[a]
        low, high = c, n  # cuts c, c + 1, ... are passed on the way up
        while low < high:
            mid = (low + high) // 2
            if dist[start + mid] <= eps:
                low = mid + 1
            else:
                high = mid
        hi[a] = low
        low, high = 0, c  # cuts c - 1, c - 2, ... on the way down
        while low < high:
            mid = (low + high) // 2
            if dist[start + mid] <= eps:
                high = mid
            else:
                low = mid + 1
        lo[a] = low


@inner
def _side_cost(a, cut, up, x_cell, first, cost):
    """Cost of passing a cut, 0 if the point is on that side."""
    if up:
        return cost[first[a] + cut] if x_cell[a] <= cut else 0.0
    return cost[first[a] + cut] if x_cell[a] > cut else 0.0


@inner
def _axis_cost(a, lo, hi, x_cell, first, cost):
    """Cost of the cell of the box that is nearest to the point along an axis."""
    c = x_cell[a]
    if lo[a] > c:
        return cost[first[a] + lo[a] - 1]
    if hi[a] < c:
        return cost[first[a] + hi[a]]
    return 0.0


@inner
def _shrink(
    axis, cut, right, best, worst, mean, root, at, lo, hi, stack, patch,
    spent, limit, x_cell, first, cost,
):  # fmt: skip
    """Write what is left of one tree in a box from place `at` on; returns the end and the work."""
    work, top = 0, 0
    stack[0], patch[0] = root, -1
    start = at
    while top >= 0:
        i, p = stack[top], patch[top]
        top -= 1
        while True:
            work += 1
            a = axis[i]
            if a < 0:
                break
            k = cut[i]
            if hi[a] <= k:
                i += 1
            elif lo[a] > k:
                i = right[i]
            elif limit < np.inf:
                free = limit - spent + _axis_cost(a, lo, hi, x_cell, first, cost)
                if _side_cost(a, k, False, x_cell, first, cost) > free:
                    i = right[i]
                elif _side_cost(a, k, True, x_cell, first, cost) > free:
                    i += 1
                else:
                    break
            else:
                break
        if p >= 0:
            right[p] = at
        axis[at], best[at], worst[at], mean[at] = axis[i], best[i], worst[i], mean[i]
        if axis[i] >= 0:
            cut[at] = cut[i]
            top += 1
            stack[top], patch[top] = right[i], at
            top += 1
            stack[top], patch[top] = i + 1, -1
        at += 1
    for i in range(at - 1, start - 1, -1):
        if axis[i] >= 0:
            best[i] = max(best[i + 1], best[right[i]])
            worst[i] = min(worst[i + 1], worst[right[i]])
            mean[i] = (mean[i + 1] + mean[right[i]]) / 2
    return at, work


@inner
def _plant(trees, weight, lo, hi, axis, cut, right, best, worst, mean, at, root, stack, patch):
    """Write what is left of one tree of the model in a box, with the margins of its leaves."""
    t_axis, t_cut, t_right, t_left_if_missing, t_leaf = trees
    work, top = 0, 0
    stack[0], patch[0] = root, -1
    start = at
    while top >= 0:
        i, p = stack[top], patch[top]
        top -= 1
        while True:
            work += 1
            a = t_axis[i]
            if a < 0:
                break
            if lo[a] < 0:
                i = i + 1 if t_left_if_missing[i] else t_right[i]
            elif hi[a] <= t_cut[i]:
                i += 1
            elif lo[a] > t_cut[i]:
                i = t_right[i]
            else:
                break
        if p >= 0:
            right[p] = at
        axis[at] = t_axis[i]
        if t_axis[i] >= 0:
            cut[at] = t_cut[i]
            top += 1
            stack[top], patch[top] = t_right[i], at
            top += 1
            stack[top], patch[top] = i + 1, -1
        else:
            best[at] = worst[at] = mean[at] = weight[t_leaf[i]]
        at += 1
    for i in range(at - 1, start - 1, -1):
        if axis[i] >= 0:
            best[i] = max(best[i + 1], best[right[i]])
            worst[i] = min(worst[i + 1], worst[right[i]])
            mean[i] = (mean[i + 1] + mean[right[i]]) / 2
    return at, work


@inner
def _grow(array, size):
    """Return a longer array with the same beginning."""
    longer = np.empty(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


@inner
def _bound_box(trees, roots, base, weight, lo, hi, arena):
    """Sum of the largest leaves of all trees in a box, and the work."""
    axis, cut, right, best, worst, mean, stack, patch = arena
    total, work = base, 0
    for root in roots:
        _, more = _plant(
            trees, weight, lo, hi, axis, cut, right, best, worst, mean, 0, root, stack, patch
        )
        total += best[0]
        work += more
    return total, work


@inner
def _wins(trees, votes, x_cell, lo, hi):
    """Whether a class wins over another in a box, with the rounding of the model's own sums.

    `votes` are all trees, their leaves, the two classes, and whether rounding is the same wherever
    the difference of the two is. Where it is not, all trees are decided in the box.
    """
    t_axis, t_cut, t_right, t_left_if_missing, t_leaf = trees
    roots, values, own, other, _ = votes
    mine, its = 0.0, 0.0
    for root in roots:
        i = root
        while t_axis[i] >= 0:
            a = t_axis[i]
            c = max(lo[a], min(hi[a], x_cell[a]))
            left = t_left_if_missing[i] if c < 0 else c <= t_cut[i]
            i = i + 1 if left else t_right[i]
        mine += values[t_leaf[i], own]
        its += values[t_leaf[i], other]
    mine, its = mine / len(roots), its / len(roots)
    return its > mine or (its == mine and other < own)


@inner
def _decide(
    trees, votes, roots, base, weight, threshold, x_cell, dist, cost, first, eps, limit, budget,
    lo, hi, arena, gains,
):  # fmt: skip
    """Whether the margin reaches a threshold within a distance: 1 yes, 0 no, -1 not within budget.

    Returns that, the work, the cost of the box that was found, and the arrays of `arena`, which may
    have grown. `lo` and `hi` become the box that was found. For `votes` see
    `_wins`; without trees there, sums are not compared as the model does.
    """
    axis, cut, right, best, worst, mean, stack, patch = arena
    gain_left, gain_right = gains
    compares = len(votes[0]) > 0
    to_end = compares and not votes[4]  # trees count until their leaf is known
    axes = len(x_cell)
    _reach(x_cell, dist, first, axes, eps, lo, hi)
    work, at, total, live = 0, 0, base, 0
    tree_at = np.empty(len(roots) + 1, np.int64)
    for root in roots:
        end, more = _plant(
            trees, weight, lo, hi, axis, cut, right, best, worst, mean, at, root, stack, patch
        )
        work += more
        total += best[at]
        if best[at] > worst[at] or (to_end and axis[at] >= 0):
            tree_at[live] = at
            live += 1
            at = end
    # What every level has: its trees, the sum of leaves of trees that are decided, its box.
    depth = 1024
    of_level = np.empty(depth, np.int64)  # where its trees begin in tree_at
    lives = np.empty(depth, np.int64)
    ends = np.empty(depth, np.int64)
    sums = np.empty(depth, np.float64)  # the bound
    costs = np.empty(depth, np.float64)
    cut_axis = np.empty(depth, np.int64)
    cut_at = np.empty(depth, np.int64)
    side = np.empty(depth, np.int64)  # 0, 1: sides tried; the second is the other one
    first_up = np.empty(depth, np.bool_)
    was_lo = np.empty(depth, np.int64)
    was_hi = np.empty(depth, np.int64)
    if total < threshold:
        return _NONE, work, 0.0, (axis, cut, right, best, worst, mean, stack, patch)
    level = 0
    of_level[0], lives[0], ends[0], sums[0], costs[0], side[0] = 0, live, at, total, 0.0, -1
    touched = np.empty(len(roots), np.int64)
    while level >= 0:
        if side[level] < 0:  # a new box
            settled = lives[level] == 0
            if to_end and not settled and sums[level] > -threshold:  # no rounding decides
                settled = True
                for t in range(of_level[level], of_level[level] + lives[level]):
                    settled &= best[tree_at[t]] == worst[tree_at[t]]
            if settled:
                if lives[level] == 0 and compares and not _wins(trees, votes, x_cell, lo, hi):
                    level -= 1
                    continue
                arena = (axis, cut, right, best, worst, mean, stack, patch)
                return _FOUND, work, costs[level], arena
            if work > budget:
                return _OPEN, work, 0.0, (axis, cut, right, best, worst, mean, stack, patch)
            gap = sums[level] - threshold
            count = 0
            for t in range(of_level[level], of_level[level] + lives[level]):
                r = tree_at[t]
                g = first[axis[r]] + cut[r]
                if gain_left[g] < 0:
                    gain_left[g] = gain_right[g] = 0.0
                    touched[count] = r
                    count += 1
                one, two = r + 1, right[r]
                gain_left[g] += best[r] - best[one] + _SOFT * (best[r] - mean[one])
                gain_right[g] += best[r] - best[two] + _SOFT * (best[r] - mean[two])
            most, chosen, up = -1.0, -1, False
            floor = 1e-6 * gap + 1e-300
            for j in range(count):
                r = touched[j]
                g = first[axis[r]] + cut[r]
                score = (min(gain_left[g], gap) + floor) * (min(gain_right[g], gap) + floor)
                if score > most:
                    most, chosen, up = score, r, gain_right[g] < gain_left[g]
            for j in range(count):
                r = touched[j]
                g = first[axis[r]] + cut[r]
                gain_left[g] = gain_right[g] = -1.0
            a = axis[chosen]
            cut_axis[level], cut_at[level], first_up[level] = a, cut[chosen], up
            was_lo[level], was_hi[level] = lo[a], hi[a]
            side[level] = 0
        a, k = cut_axis[level], cut_at[level]
        lo[a], hi[a] = was_lo[level], was_hi[level]
        if side[level] == 2:
            level -= 1
            continue
        up = first_up[level] == (side[level] == 0)
        side[level] += 1
        spent = costs[level]
        if limit < np.inf:
            spent -= _axis_cost(a, lo, hi, x_cell, first, cost)
        if up:
            lo[a] = k + 1
        else:
            hi[a] = k
        if limit < np.inf:
            spent += _axis_cost(a, lo, hi, x_cell, first, cost)
            if spent > limit:
                continue
        start = 0 if level == 0 else ends[level - 1]
        need = ends[level] + (ends[level] - start)
        if need > len(axis):
            axis, cut, right = _grow(axis, need), _grow(cut, need), _grow(right, need)
            best, worst = _grow(best, need), _grow(worst, need)
            mean = _grow(mean, need)
        at, total, live = ends[level], sums[level], 0
        mine = of_level[level] + lives[level]
        if mine + lives[level] > len(tree_at):
            tree_at = _grow(tree_at, mine + lives[level])
        pruned = False
        for t in range(of_level[level], mine):
            r = tree_at[t]
            end, more = _shrink(
                axis, cut, right, best, worst, mean, r, at, lo, hi, stack, patch,
                spent, limit, x_cell, first, cost,
            )  # fmt: skip
            work += more
            total += best[at] - best[r]
            if total < threshold:
                pruned = True
                break
            if best[at] > worst[at] or (to_end and axis[at] >= 0):
                tree_at[mine + live] = at
                live += 1
                at = end
        if pruned:
            continue
        level += 1
        if level == depth:
            depth *= 2
            of_level, lives, ends = _grow(of_level, 0), _grow(lives, 0), _grow(ends, 0)
            sums, costs = _grow(sums, 0), _grow(costs, 0)
            cut_axis, cut_at, side = _grow(cut_axis, 0), _grow(cut_at, 0), _grow(side, 0)
            first_up, was_lo, was_hi = _grow(first_up, 0), _grow(was_lo, 0), _grow(was_hi, 0)
        of_level[level], lives[level], ends[level] = mine, live, at
        sums[level], costs[level], side[level] = total, spent, -1
    return _NONE, work, 0.0, (axis, cut, right, best, worst, mean, stack, patch)


@compiled
def sum_leaves(trees, roots, values, base, x):
    """Sums of the leaves that rows fall into, (rows, classes); cells are given as floats."""
    t_axis, t_cut, t_right, t_left_if_missing, t_leaf = trees
    sums = np.empty((len(x), values.shape[1]))
    for row in range(len(x)):
        sums[row] = base
        for root in roots:
            i = root
            while t_axis[i] >= 0:
                v = x[row, t_axis[i]]
                left = t_left_if_missing[i] if np.isnan(v) else v <= t_cut[i]
                i = i + 1 if left else t_right[i]
            sums[row] += values[t_leaf[i]]
    return sums


@compiled
def bound_at_once(
    trees, roots, base, weight, threshold, x_cell, dist, first, reach, lo, hi, arena
):  # fmt: skip
    """Distance that the sum of the trees' largest leaves proves, without search, and the work."""
    axes = len(x_cell)
    work, low, high, eps = 0, 0.0, reach, reach
    for _ in range(_HALVINGS):
        _reach(x_cell, dist, first, axes, eps, lo, hi)
        total, more = _bound_box(trees, roots, base, weight, lo, hi, arena)
        work += more
        if total < threshold:
            low = eps
        else:
            high = eps
        if low == reach or (low > 0 and high < 1.1 * low):
            break
        eps = high / 2 if low == 0 else (low + high) / 2
    return low, work


@compiled
def bracket(
    trees, votes, roots, base, weight, threshold, x_cell, dist, cost, first, low, reach, p, unit,
    budget, lo, hi, arena, gains, cells,
):  # fmt: skip
    """Bounds of the distance at which the margin reaches a threshold, as far as a budget allows.

    Returns the distance below which it does not, that at which it does (infinite if that was not
    found), the work, and the arena. `cells` becomes the box that was found, by its cells that are
    nearest to the point. Costs are p-th powers of distances in units of `unit`; of L-inf none.
    """
    axes = len(x_cell)
    high, work = np.inf, 0
    open_from, open_to = np.inf, 0.0  # between them no answer came within the budget
    while work < budget and low < reach and low < high * _JUST_BELOW:
        if open_from == np.inf:
            if high == np.inf:
                eps = min(max(1.5 * low, reach * 2.0**-_HALVINGS), reach)
            elif high <= low * (1 + _NEAR):
                eps = high * _JUST_BELOW
            else:
                eps = (low + high) / 2
            allowed = (budget - work) // 2
        else:
            allowed = (budget - work) // 4
            if high == np.inf and open_to < reach:
                eps = min(1.5 * open_to, reach)
            elif high < np.inf and high > 1.1 * open_to:
                eps = (open_to + high) / 2
            elif open_from > 1.05 * low:
                eps = (low + open_from) / 2
            else:
                break
        limit = np.inf if p == np.inf else (eps / unit) ** p * (1 + 1e-12)
        answer, more, spent, arena = _decide(
            trees, votes, roots, base, weight, threshold, x_cell, dist, cost, first, eps, limit,
            allowed + 1000, lo, hi, arena, gains,
        )  # fmt: skip
        work += more
        if answer == _NONE:
            low = eps
        elif answer == _OPEN:
            open_from, open_to = min(open_from, eps), max(open_to, eps)
        else:
            away = unit * spent ** (1 / p) if p < np.inf else 0.0
            for a in range(axes):
                c = x_cell[a]
                cells[a] = max(lo[a], min(hi[a], c))
                if p == np.inf and cells[a] != c:
                    passed = cells[a] - 1 if cells[a] > c else cells[a]
                    away = max(away, dist[first[a] + passed])
            high = min(high, away)
            low = min(low, high)
    return min(low, reach), high, work, arena

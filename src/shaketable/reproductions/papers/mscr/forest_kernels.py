"""Growing and asking the trees of `plane_forest`, compiled.

A point is one whole number: its places among all points, sorted by either column, its class, and
how often the bootstrap drew it. Points of a node are kept twice, in the order of either column, so
that the best cut is found in one pass, and the other order is divided in one more.
"""

# numba compiles these functions from the types of a call, so they carry no annotations
# ruff: noqa: PLR0912, PLR0915, PLR0917
# mypy: ignore-errors

import numpy as np

from shaketable.core.compiling import compiled, inner

LARGEST = 2**31 - 1
RANK_BITS = np.uint64(24)
CELLS = 384
"""Cells of the plane per axis."""

OPEN = 2
"""Stands for a class where all trees have to be asked."""

_BLOCK = 32  # points that are passed over together
_NEARLY = 1 - 1e-9
_SAME = np.float32(1e-7)  # values that are no further apart are not told apart


@inner
def _seed(state, seed):
    """Set the state of the Mersenne twister as `numpy.random.RandomState(seed)` does."""
    state[0] = seed
    for i in range(1, 624):
        before = state[i - 1]
        state[i] = np.uint32(1812433253) * (before ^ (before >> np.uint32(30))) + np.uint32(i)


@inner
def _twist(state):
    """Move the Mersenne twister on by 624 numbers."""
    high, low, odd = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
    for i in range(227):
        y = (state[i] & high) | (state[i + 1] & low)
        state[i] = state[i + 397] ^ (y >> np.uint32(1)) ^ (odd * (y & np.uint32(1)))
    for i in range(227, 623):
        y = (state[i] & high) | (state[i + 1] & low)
        state[i] = state[i - 227] ^ (y >> np.uint32(1)) ^ (odd * (y & np.uint32(1)))
    y = (state[623] & high) | (state[0] & low)
    state[623] = state[396] ^ (y >> np.uint32(1)) ^ (odd * (y & np.uint32(1)))


@inner
def _temper(state, words):
    """Fill in the random numbers that the words of the Mersenne twister stand for."""
    for i in range(624):
        y = state[i]
        y ^= y >> np.uint32(11)
        y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
        y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
        words[i] = y ^ (y >> np.uint32(18))


@inner
def _resample(seed, n):
    """Count how often each point is drawn by ``RandomState(seed).randint(0, n, n)``.

    Also returns the number that ``RandomState(seed).randint(0, 2**31 - 1)`` is.
    """
    mask = np.uint32(1)
    while mask < np.uint32(n - 1):
        mask = np.uint32(2) * mask + np.uint32(1)
    times = np.zeros(mask + np.uint32(1), np.uint8)  # numbers from n on are drawn again
    state, words = np.empty(624, np.uint32), np.empty(624, np.uint32)
    _seed(state, seed)
    done, start = 0, -1
    while done < n:
        _twist(state)
        _temper(state, words)
        i = 0
        while start < 0 and i < 624:
            if (words[i] & np.uint32(LARGEST)) < np.uint32(LARGEST):
                start = np.int64(words[i] & np.uint32(LARGEST))
            i += 1
        i = 0
        while i < 624 and done < n:
            stop = min(624, i + n - done)  # so many at least are drawn
            while i < stop:
                drawn = words[i] & mask
                times[drawn] += np.uint8(1)
                done += drawn < np.uint32(n)
                i += 1
    return times, np.uint32(start)


@inner
def _draw(state, low, high):
    """Next state of the generator of scikit-learn's trees, and a whole number from it."""
    if state == 0:
        state = np.uint32(1)
    state ^= np.uint32(state << np.uint32(13))
    state ^= np.uint32(state >> np.uint32(17))
    state ^= np.uint32(state << np.uint32(5))
    return state, low + np.int64(state & np.uint32(LARGEST)) % (high - low)


@inner
def _get_rank(point, f):
    """Place of a point among all, sorted by column f: 24 bits, behind which are class and weight.

    Columns are 0 and 1; 2 stands for class and weight.
    """
    return np.int64((point >> (RANK_BITS * np.uint64(f))) & np.uint64(0xFFFFFF))


@inner
def _sum_squares(a, b, first, second):
    """Squares of the weights of a part over their sum, for both parts: large where they are pure.

    It is convex in `a` and `b`, so the largest of a rectangle is at a corner.
    """
    c, d = first - a, second - b
    left, right = max(a + b, 1.0), max(c + d, 1.0)
    return (a * a + b * b) / left + (c * c + d * d) / right


@inner
def _bound_blocks(f, value, points, start, end, first, second, bounds):
    """Fill in what no cut within a block exceeds; returns the best of the cuts between blocks."""
    a = b = 0.0
    best = -np.inf
    for k in range((end - start + _BLOCK - 1) // _BLOCK):
        low, high = start + k * _BLOCK, min(end, start + (k + 1) * _BLOCK)
        weight = seconds = 0
        for p in range(low, high):
            kind = _get_rank(points[p], 2)
            weight += kind >> 1
            seconds += (kind >> 1) * (kind & 1)
        c, d = a + (weight - seconds), b + seconds
        here = _sum_squares(a, b, first, second)
        if k > 0:
            before, after = _get_rank(points[low - 1], f), _get_rank(points[low], f)
            if value[after] > value[before] + _SAME:
                best = max(best, here)
        highest = here
        for corner in ((c, b), (a, d), (c, d)):
            highest = max(highest, _sum_squares(corner[0], corner[1], first, second))
        bounds[k] = highest
        a, b = c, d
    return best


@inner
def _find_cut(f, value, points, start, end, first, second, bounds):
    """Best cut of points sorted by column f by the Gini index: its place, and the weights left.

    `first` and `second` are the weights of the classes. What scikit-learn computes is computed,
    with its rounding, only where it may be the best.
    """
    best, place, best_left, best_b = -np.inf, end, 0, 0
    total = first + second
    left = b = 0
    bound = -np.inf  # cuts below it are not the best
    blocks = end - start > 4 * _BLOCK
    if blocks:
        bound = _bound_blocks(f, value, points, start, end, first, second, bounds) * _NEARLY
    p = start
    while p < end:
        stop = min(end, p + _BLOCK)
        if blocks and bounds[(p - start) // _BLOCK] < bound:
            for q in range(p, stop):
                kind = _get_rank(points[q], 2)
                left += kind >> 1
                b += (kind >> 1) * (kind & 1)
            p = stop
            continue
        while p < stop:
            if p > start:
                before, after = _get_rank(points[p - 1], f), _get_rank(points[p], f)
                if value[after] > value[before] + _SAME:
                    n, d = np.float64(left), np.float64(b)
                    a, right = n - d, total - n
                    c, e = first - a, second - d
                    squares_left, squares_right = a * a + d * d, c * c + e * e
                    if squares_left * right + squares_right * n >= bound * (n * right):
                        impurity_left = 1.0 - squares_left / (n * n)
                        impurity_right = 1.0 - squares_right / (right * right)
                        gain = -right * impurity_right - n * impurity_left
                        if gain > best:
                            best, place, best_left, best_b = gain, p, left, b
                            new = (squares_left / n + squares_right / right) * _NEARLY
                            bound = max(bound, new)
            kind = _get_rank(points[p], 2)
            left += kind >> 1
            b += (kind >> 1) * (kind & 1)
            p += 1
    return place, best_left - best_b, best_b


@inner
def _divide(f, cut, points, aside, start, end, keep_left, keep_right):
    """Put points below a rank in column f first, both parts in their order; one may be dropped."""
    if keep_left and keep_right:
        left, other = start, 0
        for i in range(start, end):
            point = points[i]
            goes = _get_rank(point, f) < cut
            points[left] = aside[other] = point
            left += goes
            other += not goes
        points[left:end] = aside[:other]
    elif keep_left:
        left = start
        for i in range(start, end):
            point = points[i]
            points[left] = point
            left += _get_rank(point, f) < cut
    elif keep_right:
        last = end - 1
        for i in range(end - 1, start - 1, -1):
            point = points[i]
            points[last] = point
            last -= _get_rank(point, f) >= cut


@compiled
def grow(values, coded, order, seed):
    """Grow one tree: column of every node in preorder, cut, right child, share of class 2."""
    n = values.shape[1]
    times, state = _resample(seed, n)
    m = 0
    for i in range(n):
        m += times[i] > 0
    points, aside = np.empty((2, m + 1), np.uint64), np.empty(m, np.uint64)
    for f in range(2):
        j = 0
        for i in range(n):
            t = times[order[f, i]]
            points[f, j] = coded[f, i] | (np.uint64(t) << np.uint64(49))
            j += t > 0
    first = second = 0
    for j in range(m):
        kind = _get_rank(points[0, j], 2)
        first += (kind >> 1) * (1 - (kind & 1))
        second += (kind >> 1) * (kind & 1)
    bounds = np.empty(m // _BLOCK + 1, np.float64)
    feature, right = np.empty(2 * m, np.int8), np.zeros(2 * m, np.int32)
    cut, share = np.zeros(2 * m, np.float64), np.zeros(2 * m, np.float64)
    stack = np.empty((m + 2, 4), np.int64)  # start, end, constants, parent if right child
    sums = np.empty((m + 2, 2), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, m, 0, -1
    sums[0, 0], sums[0, 1] = first, second
    features, constants = np.array([0, 1]), np.zeros(2, np.int64)
    top = nodes = 0
    while top >= 0:
        start, end, known, parent = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        first, second = sums[top, 0], sums[top, 1]
        top -= 1
        node = nodes
        nodes += 1
        if parent >= 0:
            right[parent] = node
        feature[node] = -1
        share[node] = second / (first + second)
        if first == 0 or second == 0:
            continue
        # draw a column that is not constant here, as scikit-learn does
        f_i, visited, found, drawn, total, chosen = 2, 0, 0, 0, known, -1
        while f_i > total and (visited < 1 or visited <= found + drawn):
            visited += 1
            state, f_j = _draw(state, drawn, f_i - found)
            if f_j < known:
                features[drawn], features[f_j] = features[f_j], features[drawn]
                drawn += 1
                continue
            f_j += found
            f = features[f_j]
            ends = _get_rank(points[f, start], f), _get_rank(points[f, end - 1], f)
            if values[f, ends[1]] <= values[f, ends[0]] + _SAME:
                features[f_j], features[total] = features[total], features[f_j]
                found += 1
                total += 1
                continue
            f_i -= 1
            features[f_i], features[f_j] = features[f_j], features[f_i]
            chosen = f
        for i in range(known):
            features[i] = constants[i]
        for i in range(known, known + found):
            constants[i] = features[i]
        if chosen < 0:
            continue
        f, own, other = chosen, points[chosen], points[1 - chosen]
        p, a, b = _find_cut(f, values[f], own, start, end, first, second, bounds)
        if p >= end:
            continue
        before, after = _get_rank(own[p - 1], f), _get_rank(own[p], f)
        at = np.float64(values[f, before]) / 2.0 + np.float64(values[f, after]) / 2.0
        feature[node], cut[node] = f, at
        mixed = a > 0 and b > 0, first > a and second > b
        _divide(f, after, other, aside, start, end, mixed[0], mixed[1])
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = p, end, total, node
        sums[top, 0], sums[top, 1] = first - a, second - b
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = start, p, total, -1
        sums[top, 0], sums[top, 1] = a, b
    return feature[:nodes].copy(), cut[:nodes].copy(), right[:nodes].copy(), share[:nodes].copy()


@inner
def _find_cell(value, low, scale):
    """Cell of a value along an axis; never falls as the value rises."""
    return np.int64(min(max((value - low) * scale, 0.0), CELLS - 1.0))


@compiled
def decide_cells(feature, cut, right, share, roots, low, scale):
    """Class that has the majority everywhere in a cell, or `OPEN`."""
    counts = np.zeros((2, CELLS + 1, CELLS + 1), np.int32)
    trees = len(roots) - 1
    most = np.diff(roots).max() // 2 + 2  # open branches of a tree
    box, ends = np.empty((most, 4), np.int64), np.empty(most, np.int64)
    for t in range(trees):
        box[0, 0] = box[0, 2] = 0
        box[0, 1] = box[0, 3] = CELLS - 1
        ends[0] = roots[t]
        top = 0
        while top >= 0:
            i = ends[top]
            a, b, c, d = box[top, 0], box[top, 1], box[top, 2], box[top, 3]
            top -= 1
            f = feature[i]
            if f < 0:
                for k in range(2):
                    if (share[i] if k else 1.0 - share[i]) > 0:
                        counts[k, a, c] += 1
                        counts[k, b + 1, c] -= 1
                        counts[k, a, d + 1] -= 1
                        counts[k, b + 1, d + 1] += 1
                continue
            at = _find_cell(cut[i], low[f], scale[f])
            top += 1
            box[top, 2 * f] = at  # the rest is that of the parent, which stood here
            ends[top] = roots[t] + right[i]
            top += 1
            box[top, 0], box[top, 1], box[top, 2], box[top, 3] = a, b, c, d
            box[top, 2 * f + 1] = at
            ends[top] = i + 1
    cells = np.empty((CELLS, CELLS), np.uint8)
    for k in range(2):
        for i in range(CELLS):
            for j in range(CELLS):
                here = counts[k, i, j]
                if i > 0:
                    here += counts[k, i - 1, j]
                if j > 0:
                    here += counts[k, i, j - 1]
                if i > 0 and j > 0:
                    here -= counts[k, i - 1, j - 1]
                counts[k, i, j] = here
    for i in range(CELLS):
        for j in range(CELLS):
            few = [2 * counts[k, i, j] < trees for k in range(2)]
            cells[i, j] = 1 if few[0] else 0 if few[1] else OPEN
    return cells


@compiled
def answer(x, cells, low, scale, feature, cut, right, share, roots):
    """Class of every point."""
    codes = np.empty(len(x), np.uint8)
    enough = (len(roots) - 1) / 2 + 1e-6
    for i in range(len(x)):
        a, b = _find_cell(x[i, 0], low[0], scale[0]), _find_cell(x[i, 1], low[1], scale[1])
        codes[i] = cells[a, b]
        if codes[i] != OPEN:
            continue
        first = second = 0.0
        for root in roots[:-1]:
            j = root
            while feature[j] >= 0:
                j = j + 1 if x[i, feature[j]] <= cut[j] else root + right[j]
            first += 1.0 - share[j]
            second += share[j]
            if max(first, second) > enough:
                break
        codes[i] = second > first
    return codes

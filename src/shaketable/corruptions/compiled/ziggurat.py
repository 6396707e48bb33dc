r"""Points uniform in p-norm balls: compiled, exact, one key per point.

Components with density proportional to :math:`\exp(-|x|^p)`, divided by their p-norm, are a uniform
direction (Calafiore et al., CDC 1998). The density falls on both sides of 0 for every p, so it is
cut into layers of equal area, a *ziggurat* (Marsaglia & Tsang, J. Stat. Softw. 2000). A random
layer and a random place in it are drawn; in all but one of 100 to 1000 cases the place is known to
lie under the curve without computing the curve. Otherwise the curve decides, and the tail is drawn
from that of a Gamma law, so the result is exact. 1024 layers take 16 KB and 10 ms to make.

Component c of a key comes from word c of its splitmix64 stream, as in `core.keys`; if it has to be
drawn again, from the stream that this word starts. So components can be made in any order, also all
at once on a device, and a point depends on its key alone. The radius uses a second stream.

The functions release the GIL and start no threads: callers give every thread its own rows.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from shaketable.core.compiling import compiled, inlined, inner, summed
from shaketable.core.types import FloatArray, KeyArray
from shaketable.corruptions.compiled.streams import SIDE, STEPS, mix, place_of, uniform_of, word_at

LEAST_P, MOST_P = 0.1, 1e4
"""Range of p for which layers are made; outside of it float64 is not precise enough."""

LAYERS = 1024
_LANES = 16  # components made at a time: numba vectorizes fixed loops of this length
_U = np.uint64
_TINY = 1e-200
_LOG_2, _2_OVER_LOG_2 = math.log(2), 2 / math.log(2)


class Layers(NamedTuple):
    """The area under exp(-x^p), cut into layers of equal area; the first reaches to infinity."""

    p: float
    step: FloatArray
    """Width of every layer over 2**52."""
    inside: KeyArray
    """Number of steps that certainly lie under the curve."""
    height: FloatArray
    """The curve at the outer edge of every layer, and at 0."""
    tail: float
    """x^p where the first layer gives way to the tail."""


@lru_cache(maxsize=64)
def layers(p: float) -> Layers:
    """Return the layers for one p: Marsaglia & Tsang's recursion, its start by root search."""
    from scipy import optimize, special  # takes 0.3 s, which L-inf noise does not need

    a, area = 1 / p, special.gamma(1 + 1 / p)

    def edges(tail: float) -> tuple[FloatArray, float]:
        """Return the outer edges of all layers, and how far below the top the last one ends."""
        height = math.exp(-tail)
        each = tail**a * height + special.gammaincc(a, tail) * area
        edge = np.zeros(LAYERS + 1)
        edge[:2] = each / height, tail**a
        for i in range(2, LAYERS):
            height += each / edge[i - 1]
            if height >= 1:
                return edge, float(i - LAYERS)
            edge[i] = (-math.log(height)) ** a
        return edge, 1 - height - each / edge[-2]

    low, high = max(1.0, special.gammainccinv(a, 0.9)), special.gammainccinv(a, 1e-9)
    tail = optimize.brentq(lambda t: edges(t)[1], low, high, xtol=1e-14, rtol=1e-14)
    edge = edges(tail)[0]
    height = np.exp(-(edge**p))
    inside = np.floor(edge[1:] / edge[:-1] * STEPS).astype(np.uint64)
    return Layers(p, edge[:-1] / STEPS, inside, height, tail)


@inlined
def _signed(word, x):
    return -x if word & _U(LAYERS) else x


@inner
def components(key, g, step, inside, height, tail, p):
    """Fill `g`, whose length is a multiple of the lanes."""
    for block in range(len(g) // _LANES):
        start, undecided = _U(block) * _U(_LANES), 0
        for lane in range(_LANES):
            c = start + _U(lane)
            word = word_at(key, c)
            layer = word & _U(LAYERS - 1)
            undecided += (word >> _U(12)) >= inside[layer]
            g[c] = _signed(word, place_of(word) * step[layer])
        if undecided:
            for lane in range(_LANES):
                c = start + _U(lane)
                word = word_at(key, c)
                if (word >> _U(12)) >= inside[word & _U(LAYERS - 1)]:
                    g[c] = _decide(word, step, inside, height, tail, p)


@inner
def _decide(word, step, inside, height, tail, p):
    """Return the component of a word near the curve: accepted, drawn again, or in the tail.

    More words are taken from the word's own stream, so that a component depends on no other.
    """
    while True:
        layer = word & _U(LAYERS - 1)
        x = place_of(word) * step[layer]
        if (word >> _U(12)) < inside[layer]:
            return _signed(word, x)
        if layer == 0:
            return _signed(word, _beyond(word, tail, p))
        u = uniform_of(word_at(word, 0))
        if height[layer] + u * (height[layer + _U(1)] - height[layer]) < math.exp(-(x**p)):
            return _signed(word, x)
        word = word_at(word, 1)


@inner
def _beyond(stream, tail, p):
    r"""Draw from the tail: t = x^p has density t^(1/p - 1) exp(-t) above `tail`, by rejection.

    For p >= 1 from exp(-t), which is above it; for p < 1 from its tangent at `tail` in logarithms.
    """
    a = 1 / p
    slope = 1.0 if p >= 1 else 1 - (a - 1) / tail
    while True:
        over = -math.log(uniform_of(word_at(stream, 0))) / slope / tail
        stream = word_at(stream, 1)
        drop = math.log1p(over) if p >= 1 else math.log1p(over) - over
        if math.log(uniform_of(stream)) < (a - 1) * drop:
            return (tail * (1 + over)) ** a


@intrinsic
def _bits(_context, _x):
    """The bits of a float64 as an integer."""
    return types.int64(types.float64), lambda context, builder, _, args: builder.bitcast(
        args[0], context.get_value_type(types.int64)
    )


@intrinsic
def _float(_context, _bits):
    """The float64 with these bits."""
    return types.float64(types.int64), lambda context, builder, _, args: builder.bitcast(
        args[0], context.get_value_type(types.float64)
    )


@inlined
def _power(x, p):
    """x^p to about 1e-15, at least 2**-1000, in a form that is vectorized.

    The logarithm is the series of 2 artanh((m - 1)/(m + 1)) on [sqrt(1/2), sqrt(2)], the
    exponential its own series on [-1/2, 1/2] log 2: ten times faster than calls of the C library.
    """
    bits = _bits(x)
    exponent = (bits - np.int64(0x3FE6A09E667F3BCD)) >> np.int64(52)
    m = _float(bits - (exponent << np.int64(52)))
    s = (m - 1) / (m + 1)
    t = s * s
    q = ((((t / 23 + 1 / 21) * t + 1 / 19) * t + 1 / 17) * t + 1 / 15) * t + 1 / 13
    q = ((((q * t + 1 / 11) * t + 1 / 9) * t + 1 / 7) * t + 1 / 5) * t + 1 / 3
    y = max(p * (exponent + _2_OVER_LOG_2 * (s + s * t * q)), -1000.0)
    whole = np.int64(math.floor(y + 0.5))
    f = (y - whole) * _LOG_2
    q = (((f / 6227020800 + 1 / 479001600) * f + 1 / 39916800) * f + 1 / 3628800) * f + 1 / 362880
    q = ((((q * f + 1 / 40320) * f + 1 / 5040) * f + 1 / 720) * f + 1 / 120) * f + 1 / 24
    q = (((q * f + 1 / 6) * f + 1 / 2) * f + 1) * f + 1
    return q * _float((whole + np.int64(1023)) << np.int64(52))


@summed
def _norm(g, p):
    """p-norm; where the powers underflow, of components scaled by the largest.

    The loops are over indices because numba does not vectorize loops over elements, and at the end
    because functions of numpy take 0.7 s to compile.
    """
    total = 0.0
    if p == 1:
        for c in range(len(g)):
            total += abs(g[c])
        return total
    if p == 2:
        for c in range(len(g)):
            total += g[c] * g[c]
        return math.sqrt(total)
    if p == 0.5:
        for c in range(len(g)):
            total += math.sqrt(abs(g[c]))
        return total * total
    for c in range(len(g)):
        total += _power(abs(g[c]), p)
    if total > _TINY:
        return total ** (1 / p)
    largest, scaled = 0.0, np.empty(len(g))
    for c in range(len(g)):
        largest = max(largest, abs(g[c]))
    for c in range(len(g)):
        scaled[c] = g[c] / largest
    return largest * _norm(scaled, p)


@compiled
def fill_ball(keys, out, surface, p, step, inside, height, tail):
    """Fill rows with points uniform in the unit ball, or on its surface, one per key."""
    d = out.shape[1]
    g = np.empty(-(-d // _LANES) * _LANES)
    for row in range(len(keys)):
        components(keys[row], g, step, inside, height, tail, p)
        u = uniform_of(word_at(mix(keys[row] ^ SIDE), 0))
        factor = (1.0 if surface else u ** (1 / d)) / _norm(g[:d], p)
        for c in range(d):
            out[row, c] = g[c] * factor


@compiled
def fill_gaussian(keys, out, p, step, inside, height, tail):
    """Fill rows with independent standard normal numbers; the layers are those for p = 2."""
    d = out.shape[1]
    g = np.empty(-(-d // _LANES) * _LANES)
    for row in range(len(keys)):
        components(keys[row], g, step, inside, height, tail, p)
        for c in range(d):
            out[row, c] = g[c] * math.sqrt(2)


@compiled
def fill_cube(keys, out, surface):
    """Fill rows with points uniform in [-1, 1]^d or on its surface: one coordinate is -1 or 1."""
    d = out.shape[1]
    for row in range(len(keys)):
        for c in range(d):
            out[row, c] = 2 * uniform_of(word_at(keys[row], c)) - 1
        if surface:
            word = word_at(mix(keys[row] ^ SIDE), 0)
            out[row, np.int64(uniform_of(word) * d)] = _signed(word, 1.0)


@compiled
def fill_vertices(keys, out):
    """Fill rows with vertices of the cube [-1, 1]^d: all coordinates are -1 or 1."""
    for row in range(len(keys)):
        for c in range(out.shape[1]):
            out[row, c] = _signed(word_at(keys[row], c), 1.0)


@compiled
def fill_places(keys, places, uniform, d):
    """Draw distinct places of d, in random order, by swapping, and a number in (0, 1) for each."""
    order = np.empty(d, np.int64)
    for row in range(len(keys)):
        side = mix(keys[row] ^ SIDE)
        for c in range(d):
            order[c] = c
        for i in range(places.shape[1]):
            j = i + np.int64(uniform_of(word_at(keys[row], i)) * (d - i))
            order[i], order[j] = order[j], order[i]
            places[row, i] = order[i]
            uniform[row, i] = uniform_of(word_at(side, i))


@compiled
def fill_sum(scale, x, noise, out, low, high):
    """Write x + scale * noise, clipped to [low, high]; every row has its own scale."""
    for row in range(len(x)):
        for c in range(x.shape[1]):
            out[row, c] = min(max(x[row, c] + scale[row] * noise[row, c], low), high)

"""Triton kernels: noise is made where it is added, in one pass over the values.

Words, layers and decisions near the curve are those of `ziggurat`, so that noise differs from that
of the CPU only by rounding. A program makes one row in registers, one column of values per thread.
Most values take one word and two table lookups. The few near the curve are decided in float64, one
per thread and round, while the others wait: about three rounds per row.

A kernel is compiled for every length of row, which takes one or two seconds, once per machine.
"""
# Triton compiles the kernels from the types of a call, so they carry few annotations
# mypy: ignore-errors
# ruff: noqa: N803, PLR0912, PLR0917, SIM102

import triton
import triton.language as tl

_GOLDEN = tl.constexpr(0x9E3779B97F4A7C15)
_SIDE = tl.constexpr(0xD1B54A32D192ED03)
_SIGN = tl.constexpr(1 << 63)


@triton.jit
def _mix(z):
    z ^= z >> 30
    z *= 0xBF58476D1CE4E5B9
    z ^= z >> 27
    z *= 0x94D049BB133111EB
    z ^= z >> 31
    return z


@triton.jit
def _word(stream, i):
    return _mix(stream + (tl.cast(i, tl.uint64) + 1) * _GOLDEN)


@triton.jit
def _key(keys):
    return tl.load(keys + tl.program_id(0)).to(tl.uint64, bitcast=True)


@triton.jit
def _fold(key, i):
    """Key for purpose number i, as in `core.keys.fold`."""
    return _mix(key ^ _mix((0 - tl.cast(i, tl.uint64)) * _GOLDEN))


@triton.jit
def _uniform(word, DTYPE: tl.constexpr):
    """Number in (0, 1), 52 bits and a half; small ones keep their digits in float32 too.

    It is converted in two parts because conversions from 64 bits are slow.
    """
    high = (word >> 32).to(tl.uint32).to(DTYPE)
    low = ((word.to(tl.uint32) >> 11) | 1).to(DTYPE)
    return high * 2.0**-32 + low * 2.0**-53


@triton.jit
def _signed(word, x):
    return tl.where((word & 1024) != 0, -x, x)


@triton.jit
def round_even(x):
    """Nearest whole number, of two the even one, as a float."""
    low = tl.floor(x)
    rest, odd = x - low, low - 2 * tl.floor(low * 0.5)
    return tl.where((rest > 0.5) | ((rest == 0.5) & (odd == 1)), low + 1, low)


@triton.jit
def _power(x, p, SIMPLE: tl.constexpr):
    if SIMPLE == 1:
        return x
    if SIMPLE == 2:
        return x * x
    return tl.exp2(tl.cast(p, x.dtype) * tl.log2(x))


@triton.jit
def _root(x, p, SIMPLE: tl.constexpr):
    if SIMPLE == 1:
        root = x
    elif SIMPLE == 2:
        root = tl.sqrt(x)
    else:
        root = tl.exp2(tl.log2(x.to(tl.float64)) / p)  # large for small p
    return root


@triton.jit
def _write(x, out, row, noise, c, d, scale, shift, low, high):
    """Store scaled noise of one row, or its sum with x, clipped to [low, high]."""
    value = noise * tl.cast(scale, noise.dtype) + tl.cast(shift, noise.dtype)
    if x is not None:
        value += tl.load(x + row + c, mask=c < d).to(noise.dtype)
    value = tl.maximum(value, tl.cast(low, noise.dtype), propagate_nan=tl.PropagateNan.ALL)
    value = tl.minimum(value, tl.cast(high, noise.dtype), propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + row + c, value, mask=c < d)


@triton.jit
def _cube_values(key, c, d, KIND: tl.constexpr, DTYPE: tl.constexpr):
    """Noise of the cube at places c of a row."""
    word = _word(key, c)
    if KIND == "vertices":
        noise = _signed(word, tl.full(c.shape, 1, DTYPE))
    else:
        # 2u - 1, exact before it is converted
        noise = (((word >> 11) | 1).to(tl.int64) - 2**52).to(DTYPE) * 2.0**-52
    if KIND == "surface":
        word = _word(_mix(key ^ _SIDE), 0)
        side = (_uniform(word, tl.float64) * d).to(tl.int64)
        noise = tl.where(c == side, _signed(word, 1.0).to(DTYPE), noise)
    return noise


@triton.jit(do_not_specialize=["d"])
def cube(
    x,
    out,
    keys,
    d,
    scale: tl.float64,
    low: tl.float64,
    high: tl.float64,
    KIND: tl.constexpr,
    BLOCK: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Noise of the cube, a block of a row per program."""
    key = _key(keys)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    noise = _cube_values(key, c, d, KIND, DTYPE)
    _write(x, out, tl.program_id(0).to(tl.int64) * d, noise, c, d, scale, scale * 0, low, high)


@triton.jit
def _beyond(word, far, tail, p):
    """Draw from the tail, as `ziggurat` does, for the words that are far out."""
    a = 1 / p
    slope = tl.where(p >= 1, 1.0, 1 - (a - 1) / tail)
    x = tl.zeros(word.shape, tl.float64)
    while tl.max(far.to(tl.int32)) > 0:
        over = -tl.log(_uniform(_word(word, 0), tl.float64)) / slope / tail
        word = _word(word, 1)
        drop = tl.log(1 + over) - tl.where(p >= 1, 0.0, over)
        x = tl.where(far, tl.exp2(a * tl.log2(tail * (1 + over))), x)
        far &= tl.log(_uniform(word, tl.float64)) >= (a - 1) * drop
    return x


@triton.jit
def _try_word(word, step, inside, height, p, tail, SIMPLE: tl.constexpr):
    """Return the component of a word near the curve, and whether it is accepted."""
    layer = (word & 1023).to(tl.int32)
    place = (word >> 12).to(tl.int64)
    x = (place.to(tl.float64) + 0.5) * tl.load(step + layer)
    low, high = tl.load(height + layer), tl.load(height + layer + 1)
    height_here = low + _uniform(_word(word, 0), tl.float64) * (high - low)
    certain = place < tl.load(inside + layer)
    far = (layer == 0) & ~certain
    kept = certain | far | (height_here < tl.exp(-_power(x, p, SIMPLE)))
    if tl.max(far.to(tl.int32)) > 0:
        x = tl.where(far, _beyond(word, far, tail, p), x)
    return _signed(word, x), kept


@triton.jit
def _lowest(left, start, COLUMNS: tl.constexpr):
    """Lowest bit that is set, and the component it stands for: the exponent of its float."""
    bit = left & -left
    row = (bit.to(tl.uint32, bitcast=True).to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
    return bit, start + row * COLUMNS + tl.arange(0, COLUMNS)


@triton.jit
def _components(
    key,
    start,
    d,
    edge,
    share,
    step,
    inside,
    height,
    p,
    tail,
    SIMPLE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Components of a key from number `start` on, 0 from d on: shape (threads, values of each)."""
    rows = tl.arange(0, ROWS)
    c = start + tl.arange(0, COLUMNS)[:, None] + rows[None, :] * COLUMNS
    bits = (tl.full([ROWS], 1, tl.int32) << rows)[None, :]
    # equals _word(key, c); what is the same in all threads is added last
    first = key + tl.cast(start + tl.arange(0, COLUMNS), tl.uint64) * _GOLDEN
    word = _word(first[:, None], rows[None, :] * COLUMNS)
    layer = (word & 1023).to(tl.int32)
    u = _uniform(word, edge.dtype.element_ty)
    g = tl.where(c < d, _signed(word, u * tl.load(edge + layer)), 0)
    left = tl.sum(tl.where((c < d) & (u >= tl.load(share + layer)), bits, 0), axis=1)
    bit, at = _lowest(left, start, COLUMNS)
    now = _word(key, at)
    while tl.max((left != 0).to(tl.int32)) > 0:
        x, kept = _try_word(now, step, inside, height, p, tail, SIMPLE)
        settled = tl.where(kept, bit, 0)
        g = tl.where(bits == settled[:, None], x.to(g.dtype)[:, None], g)
        left ^= settled
        bit, at = _lowest(left, start, COLUMNS)
        now = tl.where(kept, _word(key, at), _word(now, 1))
    return g, c


@triton.jit
def _replace(out, row, key, d, hits, low, high, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Set the values of a row with the largest words, so many, to one of two ends."""
    c = tl.arange(0, COLUMNS)[:, None] + tl.arange(0, ROWS)[None, :] * COLUMNS
    order = _word(key, c) ^ _SIGN  # of signed words
    # bit by bit, the largest number that enough words reach
    least, bit, count = hits.to(tl.uint64) * 0, hits.to(tl.uint64) * 0 + _SIGN, hits * 0 + d
    while (count > hits) & (bit > 0):
        reached = tl.sum(((order >= (least | bit)) & (c < d)).to(tl.int32))
        enough = reached >= hits
        least = tl.where(enough, least | bit, least)
        count = tl.where(enough, reached, count)
        bit = bit >> 1
    upper = (_word(_mix(key ^ _SIDE), c) & _SIGN) != 0
    value = tl.where(upper, high, low).to(out.dtype.element_ty)
    tl.store(out + row + c, value, mask=(order >= least) & (c < d))


# d is a constant, so that values beyond it cost nothing; length, which equals d, is not: otherwise
# Triton would give neighbouring values to a thread, and columns to several threads
@triton.jit(do_not_specialize=["length"])
def ball(
    x,
    out,
    keys,
    edges,
    levels,
    norms,
    edge,
    share,
    step,
    inside,
    height,
    length,
    d: tl.constexpr,
    scale: tl.float64,
    shift: tl.float64,
    low: tl.float64,
    high: tl.float64,
    KIND: tl.constexpr,
    SIMPLE: tl.constexpr,
    LAYERS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CHOICES: tl.constexpr,
    BALLS: tl.constexpr,
    CUBES: tl.constexpr,
    IMPULSES: tl.constexpr,
):
    """Noise of one norm and size, or with `edges` of one of several norms and sizes for every row.

    Values are replaced for p = 0, in place; nothing is done to rows whose norm is negative. What
    the norms do not need is not compiled, as it would take registers.
    """
    row, key = tl.program_id(0).to(tl.int64) * length, _key(keys)
    if edges is not None:
        chosen = _uniform(_word(_fold(key, -1), 0), tl.float64)
        part = tl.sum((tl.load(edges + tl.arange(0, CHOICES)) <= chosen).to(tl.int32))
        key = _fold(key, part)
        number = tl.load(levels + 2 * part).to(tl.int32)
        scale = tl.load(levels + 2 * part + 1)
        norms += 2 * number
        edge, share, step = edge + number * LAYERS, share + number * LAYERS, step + number * LAYERS
        inside, height = inside + number * LAYERS, height + number * (LAYERS + 1)
    p, tail = tl.load(norms), tl.load(norms + 1)
    if IMPULSES:
        if p == 0:
            hits = round_even(scale * d).to(tl.int32)
            _replace(out, row, key, d, hits, low, high, ROWS, COLUMNS)
    if CUBES:
        if p == float("inf"):
            values = tl.arange(0, COLUMNS)[:, None] + tl.arange(0, ROWS)[None, :] * COLUMNS
            for start in range(0, d, ROWS * COLUMNS):
                noise = _cube_values(key, start + values, d, KIND, edge.dtype.element_ty)
                _write(x, out, row, noise, start + values, d, scale, shift, low, high)
    if BALLS:
        if (p > 0) & (p < float("inf")):
            # few dimensions need all digits of this logarithm, and many divide them away
            dtype: tl.constexpr = tl.float64 if d < 16 else edge.dtype.element_ty
            radius = tl.exp2(tl.log2(_uniform(_word(_mix(key ^ _SIDE), 0), dtype)) / d)
            g, c = _components(
                key, 0, d, edge, share, step, inside, height, p, tail, SIMPLE, ROWS, COLUMNS
            )
            if KIND == "gaussian":
                size = scale * 2**0.5  # the density is exp(-x^2)
            else:
                largest = tl.max(tl.abs(g))
                total = tl.sum(_power(tl.abs(g) * (1 / largest), p, SIMPLE))
                for at in range(ROWS * COLUMNS, d, ROWS * COLUMNS):
                    more, _ = _components(
                        key,
                        at,
                        d,
                        edge,
                        share,
                        step,
                        inside,
                        height,
                        p,
                        tail,
                        SIMPLE,
                        ROWS,
                        COLUMNS,
                    )
                    top = tl.maximum(largest, tl.max(tl.abs(more)))
                    total = total * _power(largest / top, p, SIMPLE)
                    total += tl.sum(_power(tl.abs(more) * (1 / top), p, SIMPLE))
                    largest = top
                factor = 1 / largest / _root(total, p, SIMPLE)
                if KIND == "ball":
                    factor *= radius
                size = tl.cast(scale, factor.dtype) * factor
            _write(x, out, row, g, c, d, size, shift, low, high)
            for at in range(ROWS * COLUMNS, d, ROWS * COLUMNS):
                g, c = _components(
                    key, at, d, edge, share, step, inside, height, p, tail, SIMPLE, ROWS, COLUMNS
                )
                _write(x, out, row, g, c, d, size, shift, low, high)


@triton.jit(do_not_specialize=["d", "part"])
def redraw(x, out, keys, table, d, part, BLOCK: tl.constexpr):
    """Draw a new level for every level: from its law in a table, or an end with probability `part`.

    The bits are those of `compiled.streams.fill_halves`, so the levels are those of the CPU.
    """
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * d
    word = _word(_key(keys), at // 2)
    bits = tl.where(at % 2 == 0, word, word >> 32).to(tl.uint32)
    old = tl.load(x + row + at, mask=at < d, other=0)
    if table is None:
        place = bits.to(tl.int64)
        new = tl.where(place < part, 0, tl.where(4294967295 - place < part, 255, old))
    else:
        law = (old.to(tl.uint32) << 8) | (bits & 255)
        entry = tl.load(table + law).to(tl.uint32, bitcast=True)
        new = tl.where((bits >> 8) < (entry >> 8), bits & 255, entry & 255)
    tl.store(out + row + at, new.to(tl.uint8), mask=at < d)


@triton.jit(do_not_specialize=["d"])
def words(keys, places, out, d, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Random words of every key: the first ones, or those with the numbers in `places`."""
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row, c = tl.program_id(0).to(tl.int64) * d, at
    if places is not None:
        c = tl.load(places + row + at, mask=at < d, other=0)
    stream = _mix(_key(keys) ^ _SIDE) if SIDE else _key(keys)
    word = _word(stream, c).to(tl.int64, bitcast=True)
    tl.store(out + row + at, word, mask=at < d)

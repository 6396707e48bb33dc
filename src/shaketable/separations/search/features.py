r"""Features of points whose distances are lower bounds of the distances of the points.

A few features decide nearly every comparison, so that few pairs of points are compared in full:

- L1: sums over blocks of features that vary together; :math:`|\sum u_i| \le \sum |u_i|`.
- L2: coordinates along principal directions, and the length of the rest.

Other norms use one of these bounds, or that of L-inf (see `marks`): a p-norm never grows with p,
and for p > q :math:`\lVert u \rVert_p \ge d^{1/p - 1/q} \lVert u \rVert_q`.

Features are rounded; `Units.slack` bounds the error, so that a lower bound is never too high. The
sample from which features are chosen affects only the speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.kernels import BOX, COARSE, FEW, LANES, Sketch, Units, sum_blocks
from shaketable.separations.search.question import Question

_SAMPLE = 512  # largest number of points in the sample that features are chosen by
_SAMPLE_VALUES = 1 << 24  # largest number of values in that sample
_CHUNK_VALUES = 1 << 21  # values converted to floats at a time
_DEPTH = 4096  # terms of a float32 sum of products of whole numbers that stays exact
_SQUARES = 256  # squares of 8-bit numbers that float32 can add up exactly
_CODES = 254.9  # steps of an 8-bit code, with room for rounding
_FINE = {1.0: (64, 1), 2.0: (32, 4)}  # by norm: number of features, bytes of each
_FINEST = {1.0: (256, 1), 2.0: (128, 4)}  # the numbers that were measured fastest
_FINE_BYTES = 1 << 28  # memory of all fine features, unless there are only 64 of each point


def sketch(question: Question, sample: FloatArray, bound: Bound, *, finest: bool) -> Sketch:
    """Sort points so that near ones are together, and compute features for lower bounds.

    Parameters
    ----------
    sample
        Points that features are chosen by.
    bound
        Which features: of L1 or L2.
    finest
        Whether to compute more fine features, which pays where bounds are loose.
    """
    x, p, group = question.x, question.p, question.group
    features, size = (_FINEST if finest else _FINE)[bound.norm]
    while features > LANES and len(x) * features * size > _FINE_BYTES:
        features //= 2
    counts = BOX, FEW, COARSE, features
    make = _block_sums if bound.norm == 1 else _directions
    with threadpool_limits(1, user_api="blas"):  # chunks of rows have threads already
        levels, units = make(x, sample, counts)
    squared = p == 2 and x.dtype == np.uint8
    units = units._replace(squared=squared, scale=units.scale / bound.share)
    n, tiles = len(x), -(-len(x) // LANES)
    rows = np.lexsort((rank_on_curve(levels[0]), group))
    coarse = np.hstack([_pad(level, k) for level, k in zip(levels[:-1], counts, strict=False)])
    coarse = coarse[rows]
    side_by_side = np.concatenate([coarse, np.repeat(coarse[-1:], tiles * LANES - n, axis=0)])
    side_by_side = side_by_side.reshape(tiles, LANES, -1).transpose(0, 2, 1).copy()
    boxes = side_by_side[:, :BOX]
    return Sketch(
        rows=rows,
        group=group[rows],
        classes=question.class_codes[rows],
        parts=question.part_codes[rows],
        coarse=coarse,
        tiles=side_by_side,
        fine=_pad(levels[-1][rows], max(features, LANES)).reshape(n, -1, LANES),
        low=boxes.min(axis=2).T.copy(),
        high=boxes.max(axis=2).T.copy(),
        units=units,
    )


class Bound(NamedTuple):
    """A lower bound of distances: the norm of differences of features, divided by a share."""

    norm: float
    share: float = 1.0


def choose_bound(sample: FloatArray, p: float) -> Bound:
    """Norm whose bound to use for the p-norm, and the factor that makes it one."""
    d = sample.shape[1]
    if p <= 2 or math.isinf(p):
        return Bound(1, d ** (1 / p - 1) if p > 1 else 1.0) if p < 2 else Bound(p)
    share = d ** (1 / p - 1 / 2)
    gaps = np.abs(sample[1:] - sample[:-1])
    gaps = gaps / max(float(gaps.max()), 1e-300)
    by_length = share * float(np.median(np.linalg.norm(gaps, axis=1)))
    return Bound(2, share) if by_length > float(np.median(gaps.max(axis=1))) else Bound(math.inf)


def choose_sample(x: Array) -> IntArray:
    """Rows of random points, ascending."""
    size = min(len(x), _SAMPLE, max(2, _SAMPLE_VALUES // x.shape[1]))
    return np.sort(np.random.default_rng(0).choice(len(x), size, replace=False))


_Levels = list[Array]  # features of every point: sets of growing size, each of which gives a bound


def _block_sums(x: Array, sample: Array, counts: tuple[int, ...]) -> tuple[_Levels, Units]:
    """Features for L1: sums over blocks of columns, and how to convert measures to their units."""
    depth = int(math.log2(min(counts[-1], x.shape[1])))
    sizes = [min(count, 1 << depth) for count in counts]
    centre, low, high, scale = _extent(x, sample)
    block = np.empty(x.shape[1], np.int64)
    for k, columns in enumerate(_bisect(_center(sample, centre, scale), depth)):
        block[columns] = k
    least = np.bincount(block, low, 1 << depth).astype(np.float64)
    step = float((np.bincount(block, high, 1 << depth) - least).max()) / _CODES or 1.0

    def features_of(rows: Array) -> _Levels:
        sums = np.zeros((len(rows), 1 << depth))
        sum_blocks(rows, centre, scale, block, sums)
        coarser = [sums.reshape(len(rows), k, -1).sum(axis=2) for k in sizes[:-1]]
        return [*(s.astype(np.float32) for s in coarser), _encode(sums, least, step)]

    slack = 2 * _rounding(x) * float(np.maximum(high, -low).sum())
    units = Units(1.0, False, scale * (1 + 1e-5), slack, 1 / step, sizes[-1] * (1 + 1e-3))
    return _compute_in_chunks(x, features_of), units


def _bisect(sample: Array, levels: int) -> list[IntArray]:
    """Split columns into 2**levels blocks that vary together; neighbouring blocks are similar."""
    blocks = [np.arange(sample.shape[1])]
    for _ in range(levels):
        halves = []
        for columns in blocks:
            values = sample[:, columns]
            values = values - values.mean(axis=1, keepdims=True)
            along = values[np.square(values).sum(axis=1).argmax()]
            for _ in range(8):
                along = values.T @ (values @ along)
                along = along / max(float(np.linalg.norm(along)), 1e-30)
            ranked = columns[np.argsort(along, kind="stable")]
            halves += [ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :]]
        blocks = halves
    return blocks


def _directions(x: Array, sample: Array, counts: tuple[int, ...]) -> tuple[_Levels, Units]:
    """Features for L2: principal coordinates, and the length of the rest."""
    centre, low, high, scale = _extent(x, sample)
    length = float(np.linalg.norm(np.maximum(high, -low)))
    basis = _principal_directions(_center(sample, centre, scale), min(counts[-1] - 1, x.shape[1]))
    if x.dtype == np.uint8:
        basis = _round_basis(basis)
    values, vectors = np.linalg.eigh(basis.T @ basis)
    orthonormal = vectors / np.sqrt(values) @ vectors.T

    def features_of(rows: Array) -> _Levels:
        product, square = _project(rows, centre, scale, basis)
        along = product @ orthonormal
        return [_append_rest(along[:, : count - 1], square, length) for count in counts]

    slack = 2 * math.sqrt(counts[-1]) * _rounding(x) * length
    return _compute_in_chunks(x, features_of), Units(2.0, False, scale * (1 + 1e-5), slack)


def _append_rest(along: FloatArray, square: FloatArray, length: float) -> Array:
    """Coordinates, and the length of the rest of points with this squared length.

    Small lengths are all raised to one value: the root of their difference is only rounding.
    """
    rest = np.sqrt(np.maximum(square - np.square(along).sum(axis=1), (0.01 * length) ** 2))
    return np.column_stack([along, rest]).astype(np.float32)


def _principal_directions(sample: Array, count: int) -> FloatArray:
    """Orthonormal columns close to the leading principal directions of a centred sample."""
    basis = np.random.default_rng(1).standard_normal((sample.shape[1], count), np.float32)
    size = float(np.abs(sample).max()) or 1.0
    for _ in range(3):
        basis = np.linalg.qr(sample.T @ (sample / size @ basis) + 1e-6 * size * basis)[0]
    rotation = np.linalg.svd(sample @ basis, full_matrices=False)[2]
    return np.asarray(basis @ rotation.T, np.float64)


def _round_basis(basis: FloatArray) -> FloatArray:
    """Round a basis to whole numbers, small enough for `_project` to be exact on uint8."""
    depth = min(_DEPTH, len(basis))
    sums = [np.abs(basis[k : k + depth]).sum(axis=0).max() for k in range(0, len(basis), depth)]
    room = 2**24 / 255 - depth / 2 - 1
    return np.asarray(np.round(basis * (room / max(*sums, 1e-30))))


def _project(
    x: Array, centre: FloatArray, scale: float, basis: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rows of scale * (x - centre) @ basis, and the squared lengths of scale * (x - centre).

    On uint8 with a basis of whole numbers all products and sums are whole numbers that float32
    holds, so that its fast product is exact; else float64 is used.
    """
    whole = x.dtype == np.uint8
    values = _center(x, centre, scale) if whole else (x - centre) * scale
    depth = _DEPTH if whole else x.shape[1]
    parts = [slice(k, k + depth) for k in range(0, x.shape[1], depth)]
    product = sum(values[:, k] @ basis[k].astype(values.dtype) for k in parts)
    pieces = [values[:, k : k + _SQUARES] for k in range(0, x.shape[1], _SQUARES)]
    squares = sum(np.einsum("ij,ij->i", piece, piece).astype(np.float64) for piece in pieces)
    return np.asarray(product, np.float64), np.asarray(squares)


def _center(x: Array, centre: FloatArray, scale: float) -> Array:
    """Values of scale * (x - centre) in float32."""
    if x.dtype == np.uint8:
        values: Array = x.astype(np.float32)
        values -= centre.astype(np.float32)
        return values
    return np.asarray((x - centre) * scale, np.float32)


def _compute_in_chunks(x: Array, features_of: Callable[[Array], _Levels]) -> _Levels:
    """Features of all rows, computed in threads for one chunk of rows at a time."""
    step = max(1, _CHUNK_VALUES // x.shape[1])
    chunks = [slice(start, start + step) for start in range(0, len(x), step)]
    first = features_of(x[chunks[0]])
    levels = [np.empty((len(x), level.shape[1]), level.dtype) for level in first]

    def fill(rows: slice, features: _Levels) -> None:
        for level, values in zip(levels, features, strict=True):
            level[rows] = values

    fill(chunks[0], first)
    if len(chunks) == 1:
        return levels
    parallel = Parallel(n_jobs=-1, require="sharedmem")
    parallel(delayed(lambda rows: fill(rows, features_of(x[rows])))(rows) for rows in chunks[1:])
    return levels


def _extent(x: Array, sample: Array) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """A centre, the least and the largest scaled difference from it per column, and the scale.

    The scale is a power of two that brings the largest difference near 1, so that float32 can
    neither underflow nor overflow.
    """
    centre = (sample / len(sample)).sum(axis=0)
    if x.dtype == np.uint8:
        centre = np.round(centre)
        return centre, -centre, 255 - centre, 1.0
    low, high = x.min(axis=0) - centre, x.max(axis=0) - centre
    largest = float(np.maximum(high, -low).max())
    scale = 2.0 ** -min(1000, max(-1000, math.frexp(largest)[1]))
    return centre, low * scale, high * scale, scale


def _rounding(x: Array) -> float:
    """Largest error of a feature in float32, relative to the length of the point."""
    return float(2.0**-22 + x.shape[1] * 2.0**-50)


def _encode(values: Array, low: FloatArray, step: float) -> Array:
    """8-bit codes of values; the difference of two codes is off by less than one."""
    return np.asarray(np.clip((values - low) / step, 0, 255), np.uint8)


def rank_on_curve(features: Array) -> IntArray:
    """Rank of every point along a curve that fills the space of a few features.

    Each feature gives four bits: the sixteenth of the points that its value lies in. The bits are
    interleaved.
    """
    rank = np.zeros(len(features), np.int64)
    sample = features[:: max(1, len(features) // 4096)]
    for k in range(features.shape[1]):
        edges = np.quantile(sample[:, k], np.arange(1, 16) / 16)
        sixteenth = np.searchsorted(edges, features[:, k])
        for bit in range(4):
            rank |= ((sixteenth >> bit) & 1) << (BOX * bit + BOX - 1 - k)
    return rank


def _pad(features: Array, width: int) -> Array:
    """Features with columns of zeros up to a width."""
    missing = width - features.shape[1]
    return np.pad(features, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(features)

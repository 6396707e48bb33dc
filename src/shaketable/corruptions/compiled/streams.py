"""The random words of a key for compiled code: the streams of `core.keys`, word by word."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors

import numpy as np

from shaketable.core.compiling import compiled, inlined
from shaketable.core.types import KeyArray

SIDE = np.uint64(0xD1B54A32D192ED03)
"""``mix(key ^ SIDE)`` is a second stream of a key, independent of its first."""

STEPS = 2.0**52
"""Number of values that `place_of` can have."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


@inlined
def mix(z):
    """Finaliser of splitmix64."""
    z ^= z >> _U(30)
    z *= _U(0xBF58476D1CE4E5B9)
    z ^= z >> _U(27)
    z *= _U(0x94D049BB133111EB)
    z ^= z >> _U(31)
    return z


@inlined
def word_at(stream, i):
    """Word i of a stream: 64 random bits."""
    return mix(stream + (_U(i) + _U(1)) * _GOLDEN)


@inlined
def place_of(bits):
    """A number from 0.5 to 2**52 - 0.5 in steps of 1, from the upper 52 bits of a word."""
    return np.float64(np.int64(bits >> _U(12))) + 0.5


@inlined
def uniform_of(bits):
    """Number in (0, 1) from a word."""
    return place_of(bits) / STEPS


@inlined
def fill_halves(stream, words, halves):
    """Fill `halves` with 32 random bits each, two per word; `words` is a buffer of half as many."""
    for i in range(len(words)):
        words[i] = word_at(stream, i)
    for i in range(len(words)):
        halves[2 * i] = np.uint32(words[i])
        halves[2 * i + 1] = np.uint32(words[i] >> _U(32))


def first_keys(noise_key: int, n: int) -> KeyArray:
    """Keys of draw 0 of rows 0 to n - 1: ``row_keys(noise_key, np.arange(n), [0])[:, 0]``."""
    keys = np.empty(n, np.uint64)
    _fill_keys(_U(noise_key), keys)
    return keys


@compiled
def _fill_keys(noise_key, keys):
    for i in range(len(keys)):
        keys[i] = word_at(word_at(noise_key, i), 0)


@compiled
def choose_parts(keys, edges):
    """Return the part that every key draws, and its key for that part.

    Parts have the intervals of (0, 1) between the edges; keys are those of `core.keys.fold`.
    """
    parts, own = np.empty(len(keys), np.int64), np.empty(len(keys), np.uint64)
    for i in range(len(keys)):
        chosen = uniform_of(word_at(_fold(keys[i], -1), 0))
        parts[i] = np.searchsorted(edges, chosen, side="right")
        own[i] = _fold(keys[i], parts[i])
    return parts, own


@inlined
def _fold(key, i):
    return mix(key ^ mix(_U(-i) * _GOLDEN))

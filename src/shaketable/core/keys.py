"""Randomness by key: a random number depends on what it is for, not on when it is drawn.

The key of row i and draw j is hash(noise key, i, j), and all numbers of that draw are computed from
this key alone. So they do not depend on batch size, order, number of workers or k, and there is no
generator state to keep. The noise key is a hash of the scheme, the data, the stream of the noise,
the run and the seed, but not of the model: all models are evaluated under the same noise.

The hash is the finaliser of splitmix64, the numbers of one key are its stream (Steele, Lea & Flood,
OOPSLA 2014); it passes BigCrush and takes a few array operations.
"""

import hashlib
import operator
import secrets
from typing import TypeAlias

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray, IntArray, KeyArray

SCHEME = 1
"""Version of this scheme; part of every noise key. A change of any number raises it."""

Rng: TypeAlias = "int | np.random.Generator | None"

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def digest(*parts: str | int | bytes) -> int:
    """64-bit hash of a sequence of names and numbers; the same on every machine.

    >>> digest("linf(0.1)", 0) == digest("linf(0.1)", 0) != digest("linf(0.1)", 1)
    True
    """
    h = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        h.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(h.digest(), "little")


def make_key(rng: Rng) -> int:
    """Noise key from an `rng` argument: a seed, a numpy Generator, or None for a random key."""
    if rng is None:
        return secrets.randbits(64)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**64, dtype=np.uint64))
    try:
        return digest("rng", operator.index(rng))
    except TypeError as error:
        raise InputError(f"rng must be a whole number or a Generator, got {rng!r}") from error


def row_keys(noise_key: int, rows: IntArray, draws: IntArray) -> KeyArray:
    """Keys hash(noise key, i, j) for all given rows i and draws j, shape (rows, draws)."""
    per_row = _mix(np.uint64(noise_key) + _step(rows))
    return _mix(per_row[:, None] + _step(draws))


def fold(keys: KeyArray, i: int | IntArray) -> KeyArray:
    """Derive one independent key per key for purpose number `i`, such as factor i of a sequence.

    `i` may be one number per key. Purpose -1 is the choice of a part, whose number is the next.
    """
    return _mix(keys ^ _mix(_step(np.atleast_1d(-1 - np.asarray(i)))))


def uniforms(keys: KeyArray, d: int) -> FloatArray:
    """`d` uniform numbers in the open interval (0, 1) for every key, shape (keys, d)."""
    bits = _mix(keys[:, None] + _step(np.arange(d)))
    bits >>= np.uint64(12)
    u = bits.astype(np.float64)
    # 52 bits and a half are exact in float64: never 0 or 1, so that logarithms stay finite
    u += 0.5
    u *= 2.0**-52
    return u


def _step(i: IntArray) -> KeyArray:
    """Counter of splitmix64 after i + 1 steps; wraps modulo 2**64 as intended."""
    return (np.asarray(i).astype(np.uint64) + np.uint64(1)) * _GOLDEN


def _mix(z: KeyArray) -> KeyArray:
    """Finaliser of splitmix64; overwrites and returns `z`."""
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z

"""Typos: a text with one slip of the keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from shaketable.core.keys import digest, uniforms

VARIANTS = 256
"""Number of different typos that a text may get; they are numbered from 1."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")
_BESIDE = {
    sign: "".join(row[j] for j in (i - 1, i + 1) if 0 <= j < len(row))
    for row in _ROWS
    for i, sign in enumerate(row)
}


def make_typo(text: Any, variant: int) -> Any:
    """Return a text with a typo, which differs from the text; a function of its arguments alone.

    Two neighbouring signs change places, or a sign is left out, doubled, or replaced by its
    neighbour on the keyboard, each with the same probability. What is no text stays as it is.

    >>> [make_typo("nurse", variant) for variant in (1, 2, 3, 4)]
    ['urse', 'nurae', 'nirse', 'nursee']
    """
    if not isinstance(text, str):
        return text
    key = np.array([digest("typo", text, variant)], np.uint64)
    which, where, side = uniforms(key, 3)[0]
    i = int(where * len(text))
    before, sign, after = text[:i], text[i : i + 1], text[i + 1 :]
    beside = _BESIDE.get(sign.lower(), "x")
    other = beside[int(side * len(beside))]
    changed = (
        before + after[:1] + sign + after[1:],
        before + after,
        before + sign + sign + after,
        before + (other.upper() if sign.isupper() else other) + after,
    )[int(which * 4)]
    return changed if changed not in {text, ""} else f"{text}{sign or 'x'}"

"""What long work has done so far: arrays, kept so that it goes on from there."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from shaketable.core.types import Array


class Parts(Protocol):
    """Where parts of long work are kept, such as an open results file (`Store`)."""

    def part(self, key: str) -> bytes | None:
        """Return what was kept last; None if there is nothing."""

    def add_part(self, key: str, content: bytes) -> None:
        """Keep a part, in place of what was kept before."""


def load_arrays(parts: Parts | None, key: str) -> dict[str, Array] | None:
    """Return the arrays of a part; None if it is not kept."""
    content = None if parts is None else parts.part(key)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def keep_arrays(parts: Parts | None, key: str, arrays: Mapping[str, Array]) -> None:
    """Keep arrays by name, if there is a place for them."""
    if parts is None:
        return
    stream, named = io.BytesIO(), dict[str, Any](arrays)
    np.savez_compressed(stream, **named)
    parts.add_part(key, stream.getvalue())

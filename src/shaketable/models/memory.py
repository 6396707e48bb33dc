"""How many points a model takes at a time before its memory runs out."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.core.types import IntArray
from shaketable.models.failures import ModelMemoryError

Start = Callable[[Any], Callable[[], IntArray]]


@dataclass(eq=False)
class Memory:
    """Calls a model on parts of its points, smaller ones each time that its memory runs out."""

    rows: int | None = None
    """Most points at a time; None as long as memory never ran out."""

    def start(self, start: Start, x: Any) -> Callable[[], IntArray]:
        """Start a computation, in parts if need be; the function returned waits for its result.

        It fails with the model's own error if a single point is too much.
        """
        if self.rows is not None and self.rows < len(x):
            return self._start_parts(start, x)
        try:
            wait = start(x)
        except ModelMemoryError:
            if len(x) < 2:
                raise
        else:
            return lambda: self._finish(start, x, wait)
        return self._start_halves(start, x)  # here, as the error keeps what the model made alive

    def _finish(self, start: Start, x: Any, wait: Callable[[], IntArray]) -> IntArray:
        try:
            return wait()
        except ModelMemoryError:
            if len(x) < 2:
                raise
        return self._start_halves(start, x)()

    def _start_halves(self, start: Start, x: Any) -> Callable[[], IntArray]:
        """Compute with half as many points at a time, from now on."""
        self.rows = min(len(x), self.rows or len(x)) // 2
        free_memory()
        return self._start_parts(start, x)

    def _start_parts(self, start: Start, x: Any) -> Callable[[], IntArray]:
        size = self.rows or len(x)
        parts = [self.start(start, x[i : i + size])() for i in range(0, len(x), size)]
        result = np.concatenate(parts)
        return lambda: result


def free_memory() -> None:
    """Free what was made lately and nothing refers to, on a GPU too."""
    gc.collect(1)  # a whole collection takes a second in a large program
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()

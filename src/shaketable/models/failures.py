"""Errors that name the model whose code fails; and fewer points at a time if memory runs out."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shaketable.core.errors import ModelError, ShaketableError, describe_error, guard_foreign
from shaketable.models.answers import Answer

_MEMORY_WORDS = ("out of memory", "allocate memory", "bad allocation", "bad_alloc")


class ModelMemoryError(ModelError):
    """A model that ran out of memory; it may be able to take fewer points at a time."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this is what libraries raise if memory runs out, on a GPU too.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("CUDA out of memory."))
    (True, True)
    """
    text = str(error).partition("\n")[0].lower()
    return isinstance(error, MemoryError) or any(word in text for word in _MEMORY_WORDS)


@contextmanager
def report_failures(name: str, what: str = "failed") -> Iterator[None]:
    """Turn whatever the code of a model raises into a `ModelError`; `what` says what failed.

    >>> with report_failures("net"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
        ...
    shaketable.core.errors.ModelError: model net failed: sys.exit(0); correct it
    """
    remedy = "use a smaller model, or a machine with more memory"
    with guard_foreign(f"model {name} {what}: {{error}}; correct it", ModelError):
        try:
            yield
        except Exception as error:
            if isinstance(error, ShaketableError) or not is_out_of_memory(error):
                raise
            shortage = f"ran out of memory ({describe_error(error)})"
            raise ModelMemoryError(f"model {name} {shortage}; {remedy}") from error


Start = Callable[[Any], Callable[[], Answer]]


@dataclass(eq=False)
class Memory:
    """Calls a model on parts of its points, smaller ones each time that its memory runs out."""

    rows: int | None = None
    """Most points at a time; None as long as memory never ran out."""

    def start(self, start: Start, x: Any) -> Callable[[], Answer]:
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

    def _finish(self, start: Start, x: Any, wait: Callable[[], Answer]) -> Answer:
        try:
            return wait()
        except ModelMemoryError:
            if len(x) < 2:
                raise
        return self._start_halves(start, x)()

    def _start_halves(self, start: Start, x: Any) -> Callable[[], Answer]:
        """Compute with half as many points at a time, from now on."""
        self.rows = min(len(x), self.rows or len(x)) // 2
        free_memory()
        return self._start_parts(start, x)

    def _start_parts(self, start: Start, x: Any) -> Callable[[], Answer]:
        size = self.rows or len(x)
        parts = [self.start(start, x[i : i + size])() for i in range(0, len(x), size)]
        result = Answer.join(parts)
        return lambda: result


def free_memory() -> None:
    """Free what was made lately and nothing refers to, on a GPU too."""
    gc.collect(1)  # a whole collection takes a second in a large program
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()

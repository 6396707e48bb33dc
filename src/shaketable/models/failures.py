"""What the code of a model raises, as errors that name the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shaketable.core.errors import ModelError, ShaketableError, describe_error, guard_foreign

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

"""What the code of a model raises, as errors that name the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shaketable.core.errors import FOREIGN_ERRORS, ModelError, ShaketableError, describe_error


@contextmanager
def report_failures(name: str, what: str = "failed") -> Iterator[None]:
    """Turn whatever the code of a model raises into a `ModelError`; `what` says what failed.

    >>> with report_failures("net"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
        ...
    shaketable.core.errors.ModelError: model net failed: sys.exit(0); correct it
    """
    try:
        yield
    except ShaketableError:
        raise
    except FOREIGN_ERRORS as error:
        raise ModelError(f"model {name} {what}: {describe_error(error)}; correct it") from error

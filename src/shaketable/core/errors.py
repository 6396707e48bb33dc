"""The errors that shaketable raises; `ShaketableError` is the base of all of them.

Every message names the argument, the rule, the value that broke it, and the remedy: a flag where a
command runs, an argument for callers in Python (`either`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_COMMAND = "SHAKETABLE_COMMAND"  # in the environment, so that worker processes know it too


class ShaketableError(Exception):
    """Base of all errors of shaketable; the command line exits with its `exit_code`."""

    exit_code = 4


class InputError(ShaketableError, ValueError):
    """Data, a model or an option that cannot be used as given."""

    exit_code = 2


class ModelError(InputError):
    """A model whose own code fails while it is loaded, trained or asked."""


class UndefinedError(InputError):
    """A quantity that has no value for these data, such as eps_min if classes coincide."""


class WorkerError(ShaketableError):
    """A worker process that ended before its work was done."""


class StoreError(ShaketableError, OSError):
    """A results file that cannot be read or written."""

    exit_code = 2


class ShaketableWarning(UserWarning):
    """What a caller should know though nothing failed; the commands print it as a note."""


DIVERGED = "training has diverged"
"""Start of the error of a training that fails in the same way each time."""

FOREIGN_ERRORS = (Exception, SystemExit)
"""What code of models and of other packages may raise; it must not end the program either."""


@contextmanager
def speak_of_flags() -> Iterator[None]:
    """Let messages name flags: a command runs, here and in the processes that it starts."""
    before = os.environ.get(_COMMAND)
    os.environ[_COMMAND] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_COMMAND]


def either(flag: str, argument: str) -> str:
    """Return the flag while a command runs, else what callers in Python write.

    >>> with speak_of_flags():
    ...     either("--trust", "trust=True")
    '--trust'
    >>> either("--trust", "trust=True")
    'trust=True'
    """
    return flag if _COMMAND in os.environ else argument


def describe_error(error: BaseException) -> str:
    r"""Type and text of an error that is not ours, in one line.

    >>> describe_error(ValueError("no\nluck")), describe_error(KeyError())
    ('ValueError: no luck', 'KeyError')
    >>> describe_error(SystemExit(0))
    'sys.exit(0)'
    """
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code!r})"
    return ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))

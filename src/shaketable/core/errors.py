"""The errors that shaketable raises; `ShaketableError` is the base of all of them.

Every message names the argument, the rule, the value that broke it, and the remedy: a flag where a
command runs, an argument for callers in Python (`either`).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_COMMAND = "SHAKETABLE_COMMAND"  # in the environment, so that worker processes know it too


class ShaketableError(Exception):
    """Base of all errors of shaketable; the command line exits with its `exit_code`.

    Examples
    --------
    >>> try:
    ...     raise InputError("k must be 1 or more, got 0")
    ... except ShaketableError as error:
    ...     print(error, error.exit_code)
    k must be 1 or more, got 0 2
    """

    exit_code = 4


class InputError(ShaketableError, ValueError):
    """Data, a model or an option that cannot be used as given.

    Examples
    --------
    >>> import shaketable as st
    >>> try:
    ...     st.parse("linf(0.1")
    ... except st.InputError as error:
    ...     print(type(error).__name__)
    InputError
    """

    exit_code = 2


class ModelError(InputError):
    """A model whose own code fails while it is loaded, trained or asked."""


class UndefinedError(InputError):
    """A quantity that has no value for these data, such as eps_min if classes coincide.

    Examples
    --------
    >>> import shaketable as st
    >>> try:
    ...     st.separation([[0.0], [0.0]], ["a", "b"])
    ... except st.UndefinedError as error:
    ...     print(type(error).__name__)
    UndefinedError
    """


class WorkerError(ShaketableError):
    """A worker process that ended before its work was done."""


class StoreError(ShaketableError, OSError):
    """A results file that cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shaketable as st
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.sqlite"
    ...     _ = path.write_text("no database")
    ...     try:
    ...         st.Store(path)
    ...     except st.StoreError as error:
    ...         print(type(error).__name__)
    StoreError
    """

    exit_code = 2


class ShaketableWarning(UserWarning):
    """What a caller should know though nothing failed; the commands print it as a note."""


DIVERGED = "training has diverged"
"""Start of the error of a training that fails in the same way each time."""

FOREIGN_ERRORS = (Exception, SystemExit)
"""What code of models and of other packages may raise; it must not end the program either."""

_Kinds = tuple[type[BaseException], ...]


@contextmanager
def guard_foreign(
    message: str,
    make: Callable[[str], BaseException] = InputError,
    *,
    only: _Kinds = FOREIGN_ERRORS,
    but: _Kinds = (ShaketableError,),
) -> Iterator[None]:
    """Turn whatever code of a model, a library or another package raises into an error of ours.

    The one guard for such code, as a context or a decorator. Code of ours does not belong inside:
    its mistakes must not look like those of others.

    Parameters
    ----------
    message
        What failed, and the remedy. In it, ``{error}`` stands for the type and text of what was
        raised, and ``{text}`` for the first line of its text alone.
    make
        Makes the error from the message.
    only, but
        Kinds of errors that are turned, and those among them that are not: ours say more already.

    >>> with guard_foreign("model net failed: {error}; correct it", ModelError):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
        ...
    shaketable.core.errors.ModelError: model net failed: sys.exit(0); correct it
    """
    try:
        yield
    except but:
        raise
    except only as error:
        told = message.replace("{text}", state_error(error))
        raise make(told.replace("{error}", describe_error(error))) from error


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
    r"""Type and text of an error, in one line; of ours the text alone.

    >>> describe_error(ValueError("no\nluck")), describe_error(KeyError())
    ('ValueError: no luck', 'KeyError')
    >>> describe_error(SystemExit(0)), describe_error(InputError("k must be positive"))
    ('sys.exit(0)', 'k must be positive')
    """
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code!r})"
    text = " ".join(str(error).split())
    if isinstance(error, ShaketableError) and text:
        return text
    return ": ".join(filter(None, (type(error).__name__, text)))


def state_error(error: BaseException) -> str:
    r"""First line of the text of an error that is not ours; its type if it has no text.

    >>> state_error(ValueError("no luck\nat all")), state_error(KeyError())
    ('no luck', 'KeyError')
    """
    text = "" if isinstance(error, SystemExit) else str(error)
    return text.strip().partition("\n")[0] or describe_error(error)

"""The one tree of errors: catch `ShaketableError` and you have caught all that is ours.

Every message names the argument, the rule, the value that broke it, and the remedy.
"""


class ShaketableError(Exception):
    """Anything shaketable refuses to do; `exit_code` is what the command line returns for it."""

    exit_code = 4


class InputError(ShaketableError, ValueError):
    """Data, a model or an option that cannot be used as given."""

    exit_code = 2


class UndefinedError(InputError):
    """A measure that has no value on these data, such as eps_min where classes coincide."""


class StoreError(ShaketableError, OSError):
    """A results file that cannot be read or written."""

    exit_code = 2

"""The one tree of errors: catch `ShaketableError` and you have caught all that is ours.

Every message names the argument, the rule, the value that broke it, and the remedy.
"""

import difflib
import operator
from collections.abc import Iterable


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


def whole(name: str, value: object, *, least: int) -> int:
    """Plain int of any whole number within the rule, an error for all else.

    >>> whole("k", 3, least=1)
    3
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # that is what is tried
    except TypeError:
        number = least - 1
    if not least <= number < 2**63:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Error for an unknown name that suggests the nearest known ones.

    >>> print(unknown("norm", "lnf", ["linf", "l2", "l1"]))
    unknown norm 'lnf'; did you mean 'linf'? Known: l1, l2, linf
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return InputError(f"unknown {kind} {name!r}; {hint}Known: {', '.join(names)}")

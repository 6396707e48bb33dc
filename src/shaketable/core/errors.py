"""The one tree of errors: catch `ShaketableError` and you have caught all that is ours.

Every message names the argument, the rule, the value that broke it, and the remedy.
"""

import difflib
import math
import operator
import sys
from collections.abc import Iterable, Sequence

TINY, HUGE = math.ulp(0.0), sys.float_info.max
"""The least positive and the largest finite float, for rules such as "finite"."""

_NAMED = 5  # things that an error names


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


def real(name: str, value: object, rule: str, *, low: float, high: float) -> float:
    """Plain float of any number in [low, high], an error that states the rule for all else.

    >>> real("share", 1, "lie in [0, 1]", low=0, high=1)
    1.0
    """
    try:
        number = math.nan if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        raise InputError(f"{name} must {rule}, got {value!r}")
    return number


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Error for an unknown name that suggests the nearest known ones.

    >>> print(unknown("norm", "lnf", ["linf", "l2", "l1"]))
    unknown norm 'lnf'; did you mean 'linf'? Known: l1, l2, linf
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    near = near or [known for known in names if known.lower() == name.lower()]
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return InputError(f"unknown {kind} {name!r}; {hint}Known: {', '.join(names)}")


def listing(names: Sequence[str], comma: str = ", ") -> str:
    """Return the first few of many names, and how many more there are.

    >>> listing(["a", "b", "c", "d", "e", "f", "g"])
    'a, b, c, d, e and 2 more'
    """
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return comma.join(names[:_NAMED]) + more

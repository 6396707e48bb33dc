"""Checks of arguments: numbers within their rules, and errors for unknown names."""

from __future__ import annotations

import difflib
import math
import operator
import os
import sys
from collections.abc import Iterable, Sequence

from shaketable.core.errors import InputError

TINY, HUGE = math.ulp(0.0), sys.float_info.max
"""The least positive and the largest finite float, for rules such as "positive and finite"."""

MOST_COPIES, MOST_ANSWERS = 10**7, 10**10
"""Largest number of noisy copies of a point, and of all points together."""

_NAMED = 5  # names that one error message lists


def check_whole(name: str, value: object, *, least: int) -> int:
    """Return `value` as an int; `InputError` unless it is a whole number of at least `least`.

    >>> check_whole("k", 3, least=1)
    3
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # that is what is tried
    except TypeError:
        number = least - 1
    if not least <= number < 2**63:
        most = " and below 2**63" if number >= 2**63 else ""
        raise InputError(f"{name} must be a whole number of at least {least}{most}, got {value!r}")
    return number


def check_copies(k: int, n: int, values: int | None = None) -> None:
    """Raise `InputError` if k noisy copies of n points are too many.

    `values` is the number of values of a point if all copies are in memory at once.

    >>> check_copies(10**12, 1000)
    Traceback (most recent call last):
        ...
    shaketable.core.errors.InputError: k must be at most 10,000,000 for 1,000 points, got \
1,000,000,000,000: that would be 1,000,000,000,000,000 noisy copies
    """
    most, held = min(MOST_COPIES, MOST_ANSWERS // max(1, n)), ""
    if values is not None and hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = min(most, memory // max(1, 8 * n * values))
        held = f" of {values} values, all of which must fit into memory"
    if k > max(1, most):
        raise InputError(
            f"k must be at most {max(1, most):,} for {n:,} points{held}, got {k:,}: that would be "
            f"{n * k:,} noisy copies"
        )


def check_real(name: str, value: object, rule: str, *, low: float, high: float) -> float:
    """Return `value` as a float; `InputError` that states the `rule` unless it is in [low, high].

    >>> check_real("share", 1, "lie in [0, 1]", low=0, high=1)
    1.0
    """
    try:
        number = math.nan if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        raise InputError(f"{name} must {rule}, got {value!r}")
    return number


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Error to raise for an unknown name; it suggests the most similar known ones.

    >>> print(unknown_name("norm", "lnf", ["linf", "l2", "l1"]))
    unknown norm 'lnf'; did you mean 'linf'? Known: l1, l2, linf
    """
    names = sorted(set(known))
    near = [known for known in names if known.lower() == name.lower()]
    near = near or difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return InputError(f"unknown {kind} {name!r}; {hint}Known: {', '.join(map(quote, names))}")


def quote(name: str) -> str:
    """Return a name as lists in sentences show it: in quotes if it has a blank or a comma.

    >>> quote("age"), quote("job title")
    ('age', "'job title'")
    """
    return (
        name if name and not any(sign.isspace() or sign in ",;'" for sign in name) else repr(name)
    )


def describe_lacks(first: str, names: Iterable[str], second: str, others: Iterable[str]) -> str:
    """Say which of two things lacks which names that the other one has; nothing if none does.

    >>> describe_lacks("train", ["a", "b"], "test", ["b", "c d"])
    "train lacks 'c d' and test lacks a"
    """
    known, wanted = set(names), set(others)
    lacks = [
        f"{side} lacks {list_names([quote(name) for name in sorted(missing)])}"
        for side, missing in ((first, wanted - known), (second, known - wanted))
        if missing
    ]
    return " and ".join(lacks)


def list_names(names: Sequence[str], separator: str = ", ") -> str:
    """Join the first five names, and say how many more there are.

    >>> list_names(["a", "b", "c", "d", "e", "f", "g"])
    'a, b, c, d, e and 2 more'
    """
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return separator.join(names[:_NAMED]) + more

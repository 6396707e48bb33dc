"""Sizes of noise in units of eps_min: ``eps_min``, ``0.5*eps_min``, ``eps_min/3``.

The data decide what eps_min is, so a size is a text until they are known, and a number from then
on: records and canonical specs hold the number. `name_multiple` finds the text again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from shaketable.core.errors import InputError
from shaketable.core.spec import Value, format_value

_MULTIPLE = re.compile(r"\s*(?:([^*/]+)\*)?\s*eps_min\s*(?:([*/])([^*/]+))?")
_ODD = re.compile(r"\*|/|eps_min")


def read_multiple(value: Value) -> float | None:
    """Return how many times eps_min a size is; None for numbers and for other words.

    >>> read_multiple("0.5*eps_min"), read_multiple("eps_min / 4"), read_multiple(0.5)
    (0.5, 0.25, None)
    """
    if not isinstance(value, str) or not _ODD.search(value):
        return None
    match = _MULTIPLE.fullmatch(value)
    try:
        if match is None or (match[1] and match[3]):
            raise ValueError
        factor = float(match[1] or match[3] or 1)
        factor = 1 / factor if match[2] == "/" else factor
    except (ValueError, ZeroDivisionError):
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise InputError(
            "size must be a number, or a multiple of eps_min that is 0 or more, such as "
            f"0.5*eps_min, got {value!r}"
        )
    return factor


def resolve_size(value: Value, p: float, eps_min: Callable[[float], float] | None) -> Value:
    """Return a size as a number if it is in units of eps_min, and anything else as it is.

    Parameters
    ----------
    value
        A size, or another argument of a spec.
    p
        Order of the norm that the size is in.
    eps_min
        Gives eps_min of the data in the p-norm, as a function of p; None if no data are known.

    >>> resolve_size("0.5*eps_min", 2, lambda p: 0.1), resolve_size("surface", 2, None)
    (0.05, 'surface')
    """
    factor = read_multiple(value)
    if factor is None:
        return value
    if eps_min is None:
        raise InputError(f"{value} needs data; give a number here")
    return factor * eps_min(p)


def name_multiple(size: float, eps_min: float | None) -> str:
    """Return a size in units of eps_min if that is exact and shorter than the number, else "".

    So a size that was written as a number keeps it, and eps_min itself is always named.

    >>> name_multiple(0.5 * 0.0123456789, 0.0123456789), name_multiple(0.1, 0.05)
    ('0.5*eps_min', '')
    """
    if not size or not eps_min:
        return ""
    if size == eps_min:
        return "eps_min"
    factor, inverse = find_factor(size, eps_min), eps_min / size
    divisor = round(inverse) if inverse < 1e4 else 0
    name = ""
    if factor is not None:
        name = f"{format_value(factor)}*eps_min"
    elif divisor and 1 / divisor * eps_min == size:
        name = f"eps_min/{divisor}"
    return name if len(name) < len(format_value(size)) else ""


def find_factor(size: float, eps_min: float) -> float | None:
    """Return the number of at most four digits that times eps_min is exactly this size, if any.

    >>> find_factor(0.1, 0.05), find_factor(0.1, 0.03)
    (2.0, None)
    """
    factor = float(f"{size / eps_min:.4g}")
    return factor if factor * eps_min == size else None

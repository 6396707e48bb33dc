"""Checks of arrays and tensors: finite values, and integers that float64 can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shaketable.core.errors import InputError


def find_not_finite(values: Any) -> str:
    """Where the first value of an array or a tensor is that is NaN or infinite; empty if none is.

    Tensors that are not on the CPU are not looked at: that would make their device wait.

    >>> find_not_finite(np.array([[1.0, 2.0], [np.nan, 4.0]]))
    'nan in row 1 (from 0), value 0'
    """
    if hasattr(values, "detach"):
        values = values.detach()
        if values.device.type != "cpu":
            return ""
    if math.isfinite(values.min()) and math.isfinite(values.max()):
        return ""
    flat = values.reshape(len(values), -1)
    finite = flat.isfinite().numpy() if hasattr(values, "detach") else np.isfinite(flat)
    row, place = divmod(int(finite.argmin()), flat.shape[1])
    return f"{float(flat[row, place])} in row {row} (from 0), value {place}"


EXACT = 2**53
"""Float64 holds every whole number up to this size; beyond it, different ones become equal."""


def check_exact(x: Any, name: str, given: Any = None) -> None:
    """Raise `InputError` if an array or a tensor holds integers that float64 cannot tell apart.

    `given` is what it was made from: a list of such integers may be floats already.
    """
    if not len(x):
        return
    if isinstance(given, list | tuple) and x.dtype.kind == "f" and np.abs(x).max() > EXACT:
        whole = [v for v in np.array(given, object).ravel() if isinstance(v, int)]
        least, most = min(whole, default=0), max(whole, default=0)
    elif x.dtype.itemsize == 8 and "int" in str(x.dtype):
        least, most = int(x.min()), int(x.max())
    else:
        return
    if least < -EXACT or most > EXACT:
        raise InputError(
            f"{name} must hold integers of at most 2**53 in size, got {least} to {most}: they "
            "become float64, which cannot tell larger ones apart; subtract an offset first"
        )

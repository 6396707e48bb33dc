"""How functions are compiled by numba: what users wait for at a first call is mostly LLVM's work.

LLVM optimises the code of a function again in every function that calls it, and so do wrappers that
nobody calls. So functions that only compiled code calls have no wrappers, and those that are called
from one place become part of their caller.
"""

from pathlib import Path
from typing import Any

import numba

_njit: Any = numba.njit  # its types lack some options

INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options for functions that only compiled code calls: without wrappers they compile faster."""

compiled = _njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True)
"""Compiles a function; it does not hold the interpreter's lock."""

summed = _njit(
    nogil=True,
    cache=True,
    error_model="numpy",
    no_cfunc_wrapper=True,
    fastmath={"reassoc", "contract", "nsz", "nnan"},
)
"""The same for sums, whose terms may be added in any order."""

inner = _njit(cache=True, error_model="numpy", **INNER)
"""Compiles a function that only compiled code calls."""

inlined = _njit(inline="always")
"""Makes a function a part of every function that calls it; nothing is compiled for itself."""


def is_kept(function: Any) -> bool:
    """Whether code that numba made of this function, for any types, is on disk.

    Code that is older than the function's source is not used, so it does not count.
    """
    source = Path(function.py_func.__code__.co_filename)
    indexes = Path(function.stats.cache_path).glob(f"*.{function.py_func.__qualname__}-*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in indexes)

"""How functions are compiled by numba: what users wait for at a first call is mostly LLVM's work.

LLVM optimises the code of a function again in every function that calls it, and so do wrappers that
nobody calls. So functions that only compiled code calls have no wrappers, and those that are called
from one place become part of their caller.
"""

import numba

INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options for functions that only compiled code calls: without wrappers they compile faster."""

compiled = numba.njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True)
"""Compiles a function; it does not hold the interpreter's lock."""

inner = numba.njit(cache=True, error_model="numpy", **INNER)
"""The same for functions that only compiled code calls."""

inlined = numba.njit(inline="always")
"""Makes a function a part of every function that calls it; nothing is compiled for itself."""

"""Versions of the software that results depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


@cache
def list_versions(*more: str) -> dict[str, str]:
    """Versions of Python, shaketable, numpy, scipy, scikit-learn and the packages in `more`."""
    packages = ("shaketable", "numpy", "scipy", "scikit-learn", *more)
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}

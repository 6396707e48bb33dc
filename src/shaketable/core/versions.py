"""TODO."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


@cache
def versions(*more: str) -> dict[str, str]:
    """Versions a result may depend on."""
    packages = ("shaketable", "numpy", "scipy", "scikit-learn", *more)
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}

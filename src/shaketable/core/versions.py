"""Versions of the software that results depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def list_versions(*more: str) -> dict[str, str]:
    """Versions of Python, shaketable, numpy, scipy, scikit-learn and the packages in `more`."""
    packages = ("shaketable", "numpy", "scipy", "scikit-learn", *more)
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}


_OTHERS = ("numba", "joblib", "pandas", "torch", "onnxruntime", "xgboost", "lightgbm", "keras")
"""Packages that models and corruptions may use."""


@cache
def list_installed_versions() -> dict[str, str]:
    """Versions of `list_versions`, and of all other packages that results may depend on."""
    installed = {}
    for package in _OTHERS:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**list_versions(), **installed}

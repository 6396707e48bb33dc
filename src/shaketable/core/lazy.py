"""Public names of a package that are loaded when they are first used.

They are listed once, in the package's stub ``__init__.pyi``: type checkers and editors read it, and
so does `attach` when the package is imported (Scientific Python's SPEC 1). It has one import per
name: ``from module import name as public_name``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from ([\w.]+) import \(?\s*(\w+) as (\w+)", re.MULTILINE)


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub.

    Parameters
    ----------
    package
        Name of the package, its ``__name__``.
    file
        Its ``__file__``; the stub lies beside it.

    Returns
    -------
    get_name, list_names, names
        A name of the stub may be an object of a module, or a module.

    Examples
    --------
    >>> import shaketable
    >>> get_name, list_names, names = attach("shaketable", shaketable.__file__)
    >>> get_name("parse")("linf(0.1)")
    PNormNoise(p=inf, epsilon=0.1, kind='ball', bounds=None)
    >>> "parse" in names, "parse" in list_names()
    (True, True)
    """
    text = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {public: (home, name) for home, name, public in _IMPORT.findall(text)}

    def get_name(public: str) -> Any:
        if public not in homes:
            raise AttributeError(f"module {package!r} has no attribute {public!r}")
        home, name = homes[public]
        value = None if home == package else getattr(import_module(home), name, None)
        if value is None:
            value = import_module(f"{home}.{name}")
        setattr(sys.modules[package], public, value)
        return value

    return get_name, lambda: sorted(homes), sorted(homes)

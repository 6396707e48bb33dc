"""Objects that are referred to as ``package.module:name``, and whether they may be imported.

A module that is imported runs. Users may name one; a file that someone else made must not. So the
command line imports what its own words name, and what files name only with ``--trust``.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError, either, guard_foreign

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")

_limits: list[list[str]] = []
"""Words, one list of which per context; each must name what is imported, in all threads."""

_trusted: ContextVar[bool] = ContextVar("trusted", default=False)
"""Whether trusted code is at work, which may name anything."""


def is_reference(text: str) -> bool:
    """Whether a text has the form ``package.module:name``.

    >>> is_reference("mypackage.noise:rain"), is_reference("linf")
    (True, False)
    """
    return _REFERENCE.fullmatch(text) is not None


@contextmanager
def trust_only(words: Iterable[str]) -> Iterator[None]:
    """Context in which nothing is imported or connected to that these words do not name.

    >>> with trust_only(["--model", "net=math:sqrt"]):
    ...     import_object("model", "math:sqrt")(4.0)
    2.0
    """
    limit = list(words)
    _limits.append(limit)
    try:
        yield
    finally:
        _limits[:] = [other for other in _limits if other is not limit]


def trust_also(words: Iterable[str]) -> None:
    """Trust what these words name, too: code says them that is trusted."""
    added = list(words)
    for limit in _limits:
        limit.extend(added)


@contextmanager
def run_trusted() -> Iterator[None]:
    """Context for code that is trusted: it may name anything."""
    before = _trusted.set(True)
    try:
        yield
    finally:
        _trusted.reset(before)


def check_trusted(kind: str, name: str) -> None:
    """Raise `InputError` if using what this name stands for runs code, and only a file named it."""
    if _trusted.get():
        return
    start = r"(?:(?<![\w.])|(?<=\)\.))"  # as in model(rf).mypackage.metrics:worst, too
    whole = re.compile(rf"{start}{re.escape(name)}(?![\w.])")
    if not all(any(map(whole.search, words)) for words in _limits):
        raise InputError(
            f"{kind} {name!r} must be trusted: a file names it, and using it runs code; if you "
            f"know who made the file, add {either('--trust', 'trust=True')}"
        )


def search_working_directory() -> None:
    """Let modules in the working directory be imported, if none of that name is installed."""
    if "" not in sys.path:
        sys.path.append("")


def import_object(kind: str, reference: str) -> Any:
    """Import the object that ``package.module:name`` refers to; this runs the module's code.

    Modules in the working directory can be imported, unless one of that name is installed. `kind`
    names the role of the object in error messages, such as ``model``.

    >>> import_object("model", "math:sqrt")(4.0)
    2.0
    """
    check_trusted(kind, reference)
    module_name, _, attribute = reference.partition(":")
    if module_name.endswith(".py"):
        raise InputError(
            f"{kind} {reference!r}: name the module, not its file, as in "
            f"{module_name.removesuffix('.py')}:{attribute}"
        )
    if not _is_installed(module_name.partition(".")[0]):
        search_working_directory()
    what = f"{kind} {reference!r}"
    failure = f"module {module_name!r} fails when it is imported ({{error}}); correct the module"
    try:
        with guard_foreign(f"{what}: {failure}", but=(ImportError,)), run_trusted():
            thing: Any = importlib.import_module(module_name)
    except ImportError as error:
        remedy = _explain_clash(module_name) or _WHERE
        raise InputError(f"{what}: cannot import {module_name!r} ({error}); {remedy}") from error
    failure = "cannot be read ({error}); correct the module"  # it may compute its attributes
    try:
        with guard_foreign(f"{what} {failure}", but=(AttributeError,)):
            for part in attribute.split("."):
                thing = getattr(thing, part)
    except AttributeError as error:
        remedy = _explain_clash(module_name) or "name an attribute of the module"
        raise InputError(f"{what}: {error}; {remedy}") from error
    return thing


def _is_installed(top: str) -> bool:
    """Whether there is a module of this name; then nothing else here shall be found, either."""
    spec = getattr(sys.modules[top], "__spec__", None) if top in sys.modules else find_spec(top)
    return spec is not None and spec.origin is not None  # else a folder, after which others come


_WHERE = "run from the directory that holds it, or install its package"


def _explain_clash(module_name: str) -> str:
    """Say that an installed module was taken in place of one in the working directory, if so."""
    top = module_name.partition(".")[0]
    own = [Path(f"{top}.py").resolve(), Path(top).resolve()]
    spec = getattr(sys.modules.get(top), "__spec__", None)
    if spec is None or not any(path.exists() for path in own):
        return ""
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    if any(Path(place).resolve() in own for place in places):
        return ""
    return f"the installed module {top!r} comes before that in the working directory; rename yours"

"""Objects that are referred to as ``package.module:name``."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from shaketable.core.errors import FOREIGN_ERRORS, InputError, describe_error

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def is_reference(text: str) -> bool:
    """Whether a text has the form ``package.module:name``.

    >>> is_reference("mypackage.noise:rain"), is_reference("linf")
    (True, False)
    """
    return _REFERENCE.fullmatch(text) is not None


def import_object(kind: str, reference: str) -> Any:
    """Import the object that ``package.module:name`` refers to; this runs the module's code.

    Modules in the working directory can be imported. `kind` names the role of the object in error
    messages, such as ``model``.

    >>> import_object("model", "math:sqrt")(4.0)
    2.0
    """
    module_name, _, attribute = reference.partition(":")
    if module_name.endswith(".py"):
        raise InputError(
            f"{kind} {reference!r}: name the module, not its file, as in "
            f"{module_name.removesuffix('.py')}:{attribute}"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        thing: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(
            f"{kind} {reference!r}: cannot import {module_name!r} ({error}); "
            "run from the directory that holds it, or install its package"
        ) from error
    except FOREIGN_ERRORS as error:  # whatever its code does
        raise InputError(
            f"{kind} {reference!r}: module {module_name!r} fails when it is imported "
            f"({describe_error(error)}); correct the module"
        ) from error
    try:
        for part in attribute.split("."):
            thing = getattr(thing, part)
    except AttributeError as error:
        raise InputError(
            f"{kind} {reference!r}: {error}; name an attribute of the module"
        ) from error
    except FOREIGN_ERRORS as error:  # a module may compute its attributes
        raise InputError(
            f"{kind} {reference!r} cannot be read ({describe_error(error)}); correct the module"
        ) from error
    return thing

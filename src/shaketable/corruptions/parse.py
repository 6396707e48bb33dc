"""From spec strings to corruptions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.spec import Call, parse_call, split_name, split_names, split_top_level
from shaketable.corruptions.compose import NAME_RULE, Named, Sequence
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.foreign import admit_corruption
from shaketable.corruptions.only import Only
from shaketable.corruptions.registry import CORRUPTIONS, EpsMin


def parse(spec: str, *, eps_min: EpsMin | None = None) -> Corruption:
    """Return the corruption that a spec string names.

    Parameters
    ----------
    spec
        Such as ``linf(0.1)``, ``l2(0.5) + linf(eps_min)`` or ``mypackage.noise:rain(0.5)``.
    eps_min
        Gives the value of ``eps_min`` in the p-norm, as a function of p; without it the word is an
        error.

    >>> parse("linf(1e-1)").spec
    'linf(0.1)'
    """
    if not isinstance(spec, str):
        raise InputError(f"corruption must be a spec such as 'linf(0.1)', got {spec!r}")
    text, name = split_name(spec)
    if not name and (odd := re.search(r"[)\w]\s+as\s+([^)]*)$", spec)):
        raise InputError(f"{NAME_RULE}, got {odd[1]!r}")
    factors = [_read(parse_call(part), eps_min) for part in split_top_level(text, "+")]
    if not factors:
        raise InputError("corruption must not be empty; write for example linf(0.1)")
    whole = factors[0] if len(factors) == 1 else Sequence(tuple(factors))
    return Named(whole, name) if name else whole


def _read(call: Call, eps_min: EpsMin | None) -> Corruption:
    """Return the corruption of one call, on the columns that it names with ``only=``."""
    options = dict(call.options)
    only = options.pop("only", None)
    made = CORRUPTIONS.get(call.name).read(replace(call, options=options), eps_min)
    return made if only is None else Only(made, split_names(only))


def as_corruption(given: Any, *, eps_min: EpsMin | None = None) -> Corruption:
    """Return a corruption from a spec or a corruption, or raise an `InputError` with a remedy.

    >>> as_corruption("l2(0.5)") == as_corruption(as_corruption("l2(0.5)"))
    True
    """
    if isinstance(given, str):
        return parse(given, eps_min=eps_min)
    if Corruption in type(given).__mro__:
        return admit_corruption(given)
    from shaketable.corruptions.custom import CorruptionFunction, explain_refusal

    if isinstance(given, CorruptionFunction):
        return given()
    raise explain_refusal(getattr(given, "__name__", repr(given)), given)

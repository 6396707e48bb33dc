"""From spec strings to corruptions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm_level
from shaketable.core.spec import (
    Call,
    parse_call,
    split_name,
    split_names,
    split_top_level,
    split_weight,
    strip_brackets,
)
from shaketable.corruptions.compose import NAME_RULE, Named, Sequence
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.foreign import admit_corruption
from shaketable.corruptions.one_of import OneOf
from shaketable.corruptions.only import Only
from shaketable.corruptions.registry import CORRUPTIONS, EpsMin


def parse(spec: str, *, eps_min: EpsMin | None = None) -> Corruption:
    """Return the corruption that a spec string names.

    Parameters
    ----------
    spec
        Such as ``linf(0.1)``, ``l2(0.5) + linf(0.5*eps_min)``, ``3*l2(0.5) | clean`` or
        ``mypackage.noise:rain(0.5)``.
    eps_min
        Gives the value of ``eps_min`` in the p-norm, as a function of p; without it the word is an
        error.

    Returns
    -------
    Corruption
        The corruption, with everything that the spec says.

    Examples
    --------
    >>> parse("linf(1e-1)").spec
    'linf(0.1)'
    """
    if not isinstance(spec, str):
        raise InputError(f"corruption must be a spec such as 'linf(0.1)', got {spec!r}")
    text, name = split_name(spec)
    if not name and (odd := re.search(r"[)\w]\s+as\s+([^)]*)$", spec)):
        raise InputError(f"{NAME_RULE}, got {odd[1]!r}")
    whole = _read_choice(text, eps_min)
    return Named(_drop_name(whole), name) if name else whole


def _read_choice(text: str, eps_min: EpsMin | None) -> Corruption:
    """Return the corruption of ``a``, or of ``a | b`` with weights before the parts, if any."""
    parts = split_top_level(text, "|")
    if len(parts) < 2:
        return _read_sequence(text, eps_min)
    # a weight is for a whole part, so that of a sequence stands before brackets
    split = [split_weight(p) if len(split_top_level(p, "+")) < 2 else ("", p) for p in parts]
    return OneOf(
        tuple(_read_sequence(part, eps_min) for _, part in split),
        tuple(_read_weight(weight) for weight, _ in split),
    )


def _read_sequence(text: str, eps_min: EpsMin | None) -> Corruption:
    """Return the corruption of ``a`` or of ``a + b``."""
    factors = [_read_factor(part, eps_min) for part in split_top_level(text, "+")]
    if not factors:
        raise InputError("corruption must not be empty; write for example linf(0.1)")
    return factors[0] if len(factors) == 1 else Sequence(tuple(factors))


def _read_factor(text: str, eps_min: EpsMin | None) -> Corruption:
    """Return the corruption of one call, or of what stands in brackets."""
    inner = strip_brackets(text)
    if inner is not None:
        return _drop_name(_read_choice(inner, eps_min))
    alone, name = split_name(text)
    if name:
        raise InputError(
            f"a name is for a whole spec, got {text!r} as a part of one; write {alone} here, and "
            f"as {name} at the end"
        )
    if split_weight(text)[0]:
        raise InputError(
            f"a weight is for one part of several, got {text!r}; write 3*a | b or 3*(a + b) | c"
        )
    return _read(parse_call(text), eps_min)


def _read_weight(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError as error:
        raise InputError(
            f"weight must be a positive number, as in 3*a | b, got {text!r}"
        ) from error


def _drop_name(corruption: Corruption) -> Corruption:
    """Return what a name such as SP0.1 stands for; as a part or a factor it has no name."""
    return corruption.corruption if isinstance(corruption, Named) else corruption


def _read(call: Call, eps_min: EpsMin | None) -> Corruption:
    """Return the corruption of one call, on the columns that it names with ``only=``."""
    options = dict(call.options)
    only = options.pop("only", None)
    made = CORRUPTIONS.get(call.name).read(replace(call, options=options), eps_min)
    return made if only is None else Only(made, split_names(only))


def has_size_eps_min(spec: str) -> bool:
    """Whether a spec is noise in a p-norm ball of radius eps_min, whatever the data.

    >>> has_size_eps_min("l2(eps_min)"), has_size_eps_min("l2(0.5*eps_min)")
    (True, False)
    """
    one, two = (parse(spec, eps_min=eps_min).spec for eps_min in (lambda _: 1.0, lambda _: 2.0))
    levels = pnorm_level(one), pnorm_level(two)
    return [level and level[1] for level in levels] == [1, 2]


def needs_range(spec: str) -> bool:
    """Whether a corruption, or a part of it, refers to a value range.

    >>> needs_range("l2(eps_min) | sp(0.1)"), needs_range("l2(1)")
    (True, False)
    """
    return parse(spec, eps_min=lambda _: 1.0).traits.needs_range


def as_corruption(given: Any, *, eps_min: EpsMin | None = None) -> Corruption:
    """Return a corruption from a spec or a corruption, or raise an `InputError` with a remedy.

    >>> as_corruption("l2(0.5)") == as_corruption(as_corruption("l2(0.5)"))
    True
    """
    if isinstance(given, str):
        return parse(given, eps_min=eps_min)
    if isinstance(given, Corruption):
        return admit_corruption(given)
    from shaketable.corruptions.custom import CorruptionFunction, explain_refusal

    if isinstance(given, CorruptionFunction):
        return given()
    raise explain_refusal(getattr(given, "__name__", repr(given)), given)

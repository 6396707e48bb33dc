"""Suites of combined corruptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations, product
from typing import Literal, TypeAlias, get_args

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import (
    add_brackets,
    display_name,
    parse_call,
    split_calls,
    split_name,
)
from shaketable.corruptions import Corruption, parse
from shaketable.corruptions.suites.suite import Suite, spec_of

Levels: TypeAlias = "Iterable[str | Corruption] | Mapping[str, str | Corruption]"
Orders: TypeAlias = Literal["both", "all", "given"]


def grid(
    first: Levels,
    second: Levels,
    *more: Levels,
    orders: Orders = "both",
    title: str = "",
    about: str = "",
) -> Suite:
    """Suite of all combinations of the levels of several factors, applied one after the other.

    The first set is the clean points; then come all combinations, in every order, including those
    without some of the factors. Levels without labels give sets that are identified by their specs,
    so that a single corruption occurs once. Levels with labels give named sets; a set's name joins
    the labels, and every named set has random draws of its own. Label ``clean`` as well if a single
    corruption is to occur once per order.

    Parameters
    ----------
    first, second, *more
        Levels of every factor: specs, or specs with labels, as a mapping or as ``a as LABEL``.
        ``clean`` means that the factor is left out, and is added where it is missing.
    orders
        ``"both"`` orders of two factors, ``"all"`` orders of more, or only the order ``"given"``.
    title, about
        Name and description of the suite; by default made from the names of its corruptions.

    Returns
    -------
    Suite
        The suite; `evaluate` takes it in place of corruptions.

    Examples
    --------
    >>> grid(["sp(0.1)"], ["rotation(30)"], orders="given").names
    ('clean', 'rotation(30)', 'sp(0.1)', 'sp(0.1) + rotation(30)')
    >>> grid({"S0": "clean", "S": "sp(0.1)"}, {"R0": "clean", "R": "rotation(30)"}).names[1:4]
    ('rotation(30) as S0R', 'sp(0.1) as SR0', 'sp(0.1) + rotation(30) as SR')
    """
    if orders not in get_args(Orders):
        raise unknown_name("orders", str(orders), get_args(Orders))
    given = [_label_levels(levels) for levels in (first, second, *more)]
    labelled = any(label not in ("", spec) for levels in given for label, spec in levels.items())
    if labelled and any(label == spec != "clean" for way in given for label, spec in way.items()):
        raise InputError("levels must have labels for every factor, or for none; got both")
    sets: dict[str, str] = {}
    for order in [given] if orders == "given" else permutations(given):
        for chosen in product(*(levels.items() for levels in order)):
            specs = [spec for _, spec in chosen if spec != "clean"]
            factors = specs if len(specs) == 1 else [add_brackets(spec, "|") for spec in specs]
            spec = " + ".join(factors)
            name = "".join(label for label, _ in chosen) if labelled else spec
            full = f"{spec} as {name}" if labelled else spec
            if spec:
                parse(full, eps_min=lambda _: 1.0)  # raises where a level cannot be combined
            if spec and sets.setdefault(name, full) != full:
                raise InputError(f"labels must give every set a unique name, got {name!r} twice")
    levels = [spec for levels in given for spec in levels.values()]
    kinds = list(dict.fromkeys(parse_call(c).name for spec in levels for c in split_calls(spec)))
    how = "as given" if orders == "given" else "all orders"
    about = about or f"{' and '.join(kinds)}, {how}"
    return Suite(title or " x ".join(kinds), about, ("clean", *sets.values()), "mcv", k=1)


def _label_levels(levels: Levels) -> dict[str, str]:
    """Specs of a factor's levels by label, ``clean`` included; a spec without label is its own."""
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise InputError(f"levels must be a list of specs, got {levels!r}; write ['sp(0.1)']")
    if isinstance(levels, Mapping):
        pairs = [(str(label), spec_of(level)) for label, level in levels.items()]
    else:  # the name of a named spec is its label
        specs = [spec_of(level) for level in levels]
        pairs = [("" if s == "clean" else display_name(s), split_name(s)[0]) for s in specs]
    labelled = dict(pairs)
    if odd := [spec for spec in labelled.values() if split_name(spec)[1]]:
        raise InputError(f"levels that have labels must have no other name, got {odd[0]!r}")
    if len(labelled) < len(pairs) or not set(labelled.values()) - {"clean"}:
        raise InputError(
            f"levels must be corruptions, each once, got {[s for _, s in pairs]}; clean is added "
            "by itself"
        )
    return labelled if "clean" in labelled.values() else {"": "clean", **labelled}

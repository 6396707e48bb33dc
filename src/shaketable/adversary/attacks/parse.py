"""From spec strings to attacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from shaketable.adversary.attacks.attack import Attack
from shaketable.adversary.attacks.registry import ATTACKS, admit
from shaketable.core.errors import InputError
from shaketable.core.spec import Value, parse_call

Attacks: TypeAlias = "str | Attack | Sequence[str | Attack] | None"
"""One or several attacks, as objects or spec strings; None for those that suit the model."""


def parse_attack(spec: str) -> Attack:
    """Attack that a spec string names.

    >>> parse_attack("random(queries=50)").spec
    'random(queries=50)'
    """
    call = parse_call(spec)
    entry = ATTACKS.get(call.name)
    options = {name: _as_whole(value) for name, value in call.options.items()}
    try:
        return entry.create(*map(_as_whole, call.args), **options)
    except TypeError as error:
        hint = f"; write {entry.usage}" if entry.arguments else f": {error}"
        raise InputError(f"attack {call} is not understood{hint}") from error


def parse_attacks(attacks: Attacks) -> list[Attack] | None:
    """Attacks of a list, of which some may be written as spec strings.

    >>> parse_attacks("random(50)")
    [RandomSearch(queries=50)]
    """
    if attacks is None:
        return None
    if isinstance(attacks, str) or not isinstance(attacks, Sequence):
        attacks = [attacks]
    return [parse_attack(a) if isinstance(a, str) else admit(a) for a in attacks]


def _as_whole(value: Value) -> Any:
    """Whole numbers as integers, everything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

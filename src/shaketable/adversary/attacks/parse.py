"""From spec strings to attacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from shaketable.adversary.attacks.attack import Attack
from shaketable.adversary.attacks.registry import ATTACKS, admit
from shaketable.core.spec import parse_call

Attacks: TypeAlias = "str | Attack | Sequence[str | Attack] | None"
"""One or several attacks, as objects or spec strings; None for those that suit the model."""


def parse_attack(spec: str) -> Attack:
    """Attack that a spec string names.

    >>> parse_attack("random(queries=50)").spec
    'random(queries=50)'
    """
    call = parse_call(spec)
    return ATTACKS.get(call.name).create(call)


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

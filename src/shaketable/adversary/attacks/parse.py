"""From spec strings to attacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shaketable.adversary.attacks.attack import Attack
from shaketable.adversary.attacks.covers import Cover
from shaketable.adversary.attacks.searches import RandomSearch, RayBisection
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import Call, Value, parse_call

ATTACK_NAMES = {
    "pgd(steps=20, restarts=1, loss=margin)": "projected gradient ascent, for torch modules",
    "apgd(steps=100, restarts=1, loss=ce|dlr|margin)": "the same with steps that adapt themselves",
    "random(queries=1000)": "random points of the region, for any model",
    "rays(queries=1000, aim=closest|first)": "rays to wrong labels, halved, for any model",
    "cover(resolution=0.05)": "the whole region, in one or two dimensions",
}
"""What can be written, with its meaning."""

_OF_GRADIENTS = ("pgd", "apgd")


def parse_attack(spec: str) -> Attack:
    """Attack that a spec string names.

    >>> parse_attack("random(queries=50)").spec
    'random(queries=50)'
    """
    call = parse_call(spec)
    plain: dict[str, Callable[..., Attack]] = {
        "random": RandomSearch, "rays": RayBisection, "cover": Cover
    }  # fmt: skip
    if call.name not in (*plain, *_OF_GRADIENTS):
        raise unknown_name("attack", call.name, (*plain, *_OF_GRADIENTS))
    make = plain[call.name] if call.name in plain else _of_gradients(call)
    options = {name: _plain(value) for name, value in call.options.items()}
    try:
        return make(*map(_plain, call.args), **options)
    except TypeError as error:
        raise InputError(
            f"attack {call} is not understood; write for example {', '.join(ATTACK_NAMES)}"
        ) from error


def _plain(value: Value) -> Any:
    """Whole numbers as such."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _of_gradients(call: Call) -> Callable[..., Attack]:
    try:
        from shaketable.adversary.attacks.gradients import APGD, PGD  # needs torch
    except ImportError as error:
        raise InputError(
            f"attack {call} needs torch, which is not installed; pip install 'shaketable[torch]'"
        ) from error
    return PGD if call.name == "pgd" else APGD

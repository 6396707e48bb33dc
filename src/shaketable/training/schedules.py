"""Learning rates over a training, as specs such as ``onecycle(0.2)`` or ``steps(20, 25)``."""

from __future__ import annotations

import math
from collections.abc import Callable

from shaketable.core.checks import HUGE, check_real, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import Value, parse_call

Rate = Callable[[float], float]
"""Share of the highest learning rate, by the epoch, which may be broken, as 2.5."""

SCHEDULES = {
    "constant": "the same rate all the time",
    "cosine": "falls to 0 along half a cosine",
    "onecycle(0.2)": "rises over this share of the training, then falls to 0, both linearly",
    "restarts(10, 2)": "cosine of 10 epochs, then starts again, each time 2 times as long (SGDR)",
    "steps(20, 25, factor=0.2)": "times the factor from each of these epochs on",
}
"""Forms of the specs with what they mean."""


def read_schedule(spec: str, epochs: float) -> Rate:
    """Return the learning rate that a spec names, in a training of so many epochs.

    >>> rate = read_schedule("steps(20, 25, factor=0.2)", 30)
    >>> [round(rate(epoch), 3) for epoch in (0, 19.9, 20, 29)]
    [1.0, 1.0, 0.2, 0.04]
    >>> rate = read_schedule("restarts(10, 2)", 150)
    >>> [round(rate(epoch), 3) for epoch in (0, 5, 10, 20, 30)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """
    call = parse_call(spec)
    numbers = [_check_number(value, spec) for value in call.args]
    named = [(key, _check_number(value, spec)) for key, value in call.options.items()]
    match call.name, numbers, named:
        case "constant", [], []:
            return lambda _: 1.0
        case "cosine", [], []:
            return lambda epoch: _fall(epoch / epochs)
        case "onecycle", [share], [] if 0 < share < 1:
            top = share * epochs
            return lambda epoch: min(epoch / top, (epochs - epoch) / (epochs - top))
        case "steps", [_, *_], [("factor", factor)]:
            return lambda epoch: factor ** sum(epoch >= first for first in numbers)
        case "restarts", [first, growth], [] if first > 0 and growth >= 1:
            return lambda epoch: _fall(_place_in_cycle(epoch, first, growth))
    form = next((form for form in SCHEDULES if parse_call(form).name == call.name), None)
    if form is None:
        raise unknown_name("schedule", call.name, [parse_call(form).name for form in SCHEDULES])
    raise InputError(f"schedule must read like {form}: {SCHEDULES[form]}; got {spec}")


def _check_number(value: Value, spec: str) -> float:
    return check_real(f"schedule {spec}", value, "have numbers from 0 up", low=0, high=HUGE)


def _fall(share: float) -> float:
    """Half a cosine from 1 to 0."""
    return (1 + math.cos(math.pi * share)) / 2


def _place_in_cycle(epoch: float, first: float, growth: float) -> float:
    """Share of the present cycle that has passed."""
    length = first
    while epoch >= length:
        epoch, length = epoch - length, length * growth
    return epoch / length

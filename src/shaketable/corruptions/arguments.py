"""Arguments of decorated functions: their types, and how they are written in specs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.spec import format_value, parse_call, split_top_level

ArgumentValue: TypeAlias = "float | bool | str | None"

_WORDS: dict[str, ArgumentValue] = {"True": True, "False": False, "None": None}
_TYPES: dict[str, type] = {"float": float, "int": int, "bool": bool, "str": str}
_RULES: dict[type | None, str] = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "a word",
    None: "a number, a word, True, False or None",
}
_UNFIT = object()
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Argument:
    """An argument of a decorated function, beside the point and the generator."""

    parameter: inspect.Parameter

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.parameter.default is inspect.Parameter.empty

    def __str__(self) -> str:
        name, default = self.parameter.name, self.parameter.default
        return name if self.is_required else f"{name}={write_value(default)}"

    def describe(self) -> str:
        """Its name, and its default if it has one."""
        name, default = self.parameter.name, self.parameter.default
        return name if self.is_required else f"{name} (default {write_value(default)})"

    def convert(self, value: Any) -> ArgumentValue:
        """Return a value in the type that the function gets, from Python or from a spec.

        Raises `InputError` for a value that a spec cannot contain.
        """
        converted = self._cast(value)
        if converted is _UNFIT or not self._parses_back(converted):
            raise InputError(f"{self.parameter.name} must be {_RULES[self._type]}, got {value!r}")
        checked: ArgumentValue = converted
        return checked

    def _parses_back(self, value: ArgumentValue) -> bool:
        """Whether a spec that contains the value, among others, gives the same value."""
        call = f"f({self.parameter.name}={write_value(value)}, _=0)"
        try:
            options = parse_call(call).options
        except InputError:
            return False
        alone = all(split_top_level(f"{call} {s} g", s) == [call, "g"] for s in "+|")
        again = self._cast(options.get(self.parameter.name))
        return alone and len(options) == 2 and bool(again == value)

    @property
    def _type(self) -> type | None:
        """Type that the annotation or the default asks for; None for any."""
        note, default = self.parameter.annotation, self.parameter.default
        asked = _TYPES.get(note if isinstance(note, str) else getattr(note, "__name__", ""))
        return asked or (type(default) if isinstance(default, bool | float | str) else None)

    def _cast(self, value: Any) -> Any:
        """Return the value as int, float, bool, text or None; `_UNFIT` if that is not possible."""
        asked = self._type
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, str) and asked is not str:
            value = _WORDS.get(value, value)
        if value is None or (isinstance(value, bool) and asked in (bool, None)):
            return value
        if isinstance(value, str):
            return value if asked in (str, None) else _UNFIT
        if isinstance(value, bool) or asked is bool or not isinstance(value, int | float):
            return _UNFIT
        if asked is str:
            return format_value(value)
        whole = float(value).is_integer()
        if asked is float or not whole:
            return _UNFIT if asked is int else float(value)
        return int(value)


def write_value(value: Any) -> str:
    """Text of an argument in a spec.

    >>> write_value(2.0), write_value(True), write_value("left")
    ('2', 'True', 'left')
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return format_value(value) if is_number else str(value)


def read_signature(function: Callable[..., Any]) -> dict[str, Argument]:
    """Return the arguments of ``f(x, rng, …)`` after the first two, by name.

    Raises `InputError` for a function of another form.
    """
    first: list[inspect.Parameter] = []
    others: dict[str, Argument] = {}
    for parameter in inspect.signature(function).parameters.values():
        if len(first) < 2:
            first.append(parameter)
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"all arguments must have names, got {parameter}")
        else:
            others[parameter.name] = Argument(parameter)
    if len(first) < 2 or first[1].name != "rng" or any(p.kind not in _BY_PLACE for p in first):
        name = getattr(function, "__name__", "f")
        raise InputError(f"it must take the point and a generator first: def {name}(x, rng, …)")
    if "only" in others:
        raise InputError("no argument may be called only, which names columns; rename it")
    for argument in others.values():
        if not argument.is_required:
            argument.convert(argument.parameter.default)
    return others

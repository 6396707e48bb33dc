"""Spec strings: ``linf(0.1)``, ``sp(0.1) + ga(mean=0.1, var=0.01)``, ``bands(separation=0.02)``.

One grammar names corruptions, built-in data sets and suites on the command line, in study files, in
records and in charts. A spec has one canonical form, which parses back to the same thing.
"""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from shaketable.core.errors import InputError

Value: TypeAlias = "float | str"

_CALL = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NAMED = re.compile(r"(.*\S)\s+as\s+([A-Za-z0-9][\w.-]*)\s*", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """A name with its arguments: numbers, or bare words such as ``eps_min``."""

    name: str
    args: tuple[Value, ...] = ()
    options: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [format_value(a) for a in self.args]
        words += [f"{key}={format_value(value)}" for key, value in self.options.items()]
        return f"{self.name}({', '.join(words)})" if words else self.name


def parse_call(text: str) -> Call:
    """Parse one ``name(argument, …, option=value, …)``.

    >>> parse_call("l2(0.5, surface)")
    Call(name='l2', args=(0.5, 'surface'), options={})
    >>> str(parse_call("l0.5( 2.5e+4 )"))
    'l0.5(25000)'
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise InputError(f"spec must read name(argument, …), got {text!r}")
    args: list[Value] = []
    options: dict[str, Value] = {}
    for word in split(match[2] or "", ","):
        key, equals, value = word.rpartition("=")
        if not equals and options:
            raise InputError(f"spec {text!r}: put {value!r} before the options that have a name")
        if equals and key.strip() in options:
            raise InputError(f"spec {text!r} gives {key.strip()} twice; leave one out")
        if equals:
            options[key.strip()] = _value(value, text)
        else:
            args.append(_value(value, text))
    return Call(match[1], tuple(args), options)


def split(text: str, separator: str) -> list[str]:
    """Split at every separator that stands outside brackets; blank text gives an empty list.

    >>> split("sp(1e+2) + ga(mean=0.1, var=0.01)", "+")
    ['sp(1e+2)', 'ga(mean=0.1, var=0.01)']
    """
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == separator and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [] if parts == [""] else parts


def named(spec: str) -> tuple[str, str]:
    """What a spec stands for, and the name that is given to it, empty for none.

    >>> named("sp(0.1) + rotation(30) as SP0.1RO30")
    ('sp(0.1) + rotation(30)', 'SP0.1RO30')
    """
    match = _NAMED.fullmatch(spec)
    return (spec, "") if match is None else (match[1].strip(), match[2])


def set_name(spec: str) -> str:
    """Return the name that a spec has been given, or the spec itself.

    >>> set_name("rotation(30) as SP0RO30"), set_name("rotation(30)")
    ('SP0RO30', 'rotation(30)')
    """
    return named(spec)[1] or spec


def factors(spec: str) -> tuple[str, ...]:
    """Corruptions that a spec applies one after the other; clean points have none.

    >>> factors("sp(0.1) + rotation(30) as SP0.1RO30"), factors("clean")
    (('sp(0.1)', 'rotation(30)'), ())
    """
    return tuple(part for part in split(named(spec)[0], "+") if part != "clean")


def format_value(value: Value) -> str:
    """Shortest text that parses back to `value`, free of the ``+`` that joins factors.

    >>> format_value(1e16), format_value(0.1), format_value(3.0)
    ('1e16', '0.1', '3')
    """
    if isinstance(value, str):
        return value
    return repr(float(value)).removesuffix(".0").replace("e+", "e")


def _value(word: str, text: str) -> Value:
    word = word.strip()
    if not word:
        raise InputError(f"spec {text!r} has an empty argument; remove a comma or fill it in")
    try:
        return float(word)
    except ValueError:
        return word

"""Spec strings: ``linf(0.1)``, ``sp(0.1) + ga(mean=0.1, var=0.01)``, ``bands(separation=0.02)``.

Corruptions, built-in data sets and suites are written in one grammar on the command line, in study
files, in records and in charts. A spec has one canonical form, which parses back to the same thing.
Corruptions are joined by ``+``, one after the other, and by ``|``, one of them for every point; the
first binds tighter, and a number may stand before a part: ``3*linf(0.1) | l2(1) + l0(0.1)``.
A name may refer to an object of another package, as in ``mypackage.noise:rain(0.5)``. A value in
double quotes may hold any sign, as in ``linf(0.1, only="age,net income")``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from shaketable.core.errors import InputError

Value: TypeAlias = "float | str"

_CALL = re.compile(
    r"\s*([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.]*)?)\s*(?:\((.*)\))?\s*",
    re.DOTALL,
)
_WEIGHTED = re.compile(r"\s*([^(\"*]*?)\s*\*\s*(.*)", re.DOTALL)
_NAMED = re.compile(r"(.*\S)\s+as\s+([A-Za-z0-9][\w.-]*)\s*", re.DOTALL)

_QUOTED = re.compile(r'(?<==)\s*"(?:\\.|[^"\\])*"', re.DOTALL)
_NAME = re.compile(r"(?:\\.|[^,\\])+", re.DOTALL)  # between commas; a backslash is before any sign
_SPECS = 1 << 14  # parsed ones that are kept: each of a large results file is parsed once

_HALVES = re.compile("[\ud800-\udfff]")  # of characters; in file names that are not UTF-8


@dataclass(frozen=True)
class Call:
    """A name with its arguments: numbers, or bare words such as ``eps_min``."""

    name: str
    args: tuple[Value, ...] = ()
    options: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [format_value(a) for a in self.args]
        words += [f"{key}={format_value(value)}" for key, value in self.options.items()]
        return f"{self.name}({', '.join(words)})" if words else self.name


@lru_cache(_SPECS)
def parse_call(text: str) -> Call:
    """Parse one ``name(argument, …, option=value, …)``.

    >>> parse_call("l2(0.5, surface)")
    Call(name='l2', args=(0.5, 'surface'), options={})
    >>> str(parse_call("l0.5( 2.5e+4 )"))
    'l0.5(25000)'
    >>> parse_call("mypackage.noise:rain(size=0.5)")
    Call(name='mypackage.noise:rain', args=(), options={'size': 0.5})
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise InputError(f"spec must read name(argument, …), got {text!r}")
    if _HALVES.search(text):
        raise InputError(f"spec must be text in UTF-8, got {text!r}; rename what it names")
    args: list[Value] = []
    options: dict[str, Value] = {}
    for word in split_top_level(match[2] or "", ","):
        at = _hide_quoted(word).rfind("=")
        key, equals, value = word[: max(at, 0)], at >= 0, word[at + 1 :]
        if not equals and options:
            raise InputError(f"spec {text!r}: put {value!r} before the options that have a name")
        if equals and key.strip() in options:
            raise InputError(f"spec {text!r} gives {key.strip()} twice; leave one out")
        if equals:
            options[key.strip()] = _parse_value(value, text)
        else:
            args.append(_parse_value(value, text))
    return Call(match[1], tuple(args), options)


def split_top_level(text: str, separator: str) -> list[str]:
    """Split at every separator that is outside brackets and quotes; blank text gives an empty list.

    >>> split_top_level("sp(1e+2) + ga(mean=0.1, var=0.01)", "+")
    ['sp(1e+2)', 'ga(mean=0.1, var=0.01)']
    """
    parts, depth, start = [], 0, 0
    for i, char in enumerate(_hide_quoted(text)):
        depth += (char == "(") - (char == ")")
        if char == separator and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [] if parts == [""] else parts


@lru_cache(_SPECS)
def split_name(spec: str) -> tuple[str, str]:
    """Split ``spec as name`` into the spec and the name; the name is empty if none is given.

    >>> split_name("sp(0.1) + rotation(30) as SP0.1RO30")
    ('sp(0.1) + rotation(30)', 'SP0.1RO30')
    """
    match = _NAMED.fullmatch(spec)
    return (spec, "") if match is None else (match[1].strip(), match[2])


def split_weight(part: str) -> tuple[str, str]:
    """Split ``weight*part`` into the weight and the part; the weight is empty if none is given.

    >>> split_weight("3*linf(0.1)"), split_weight("linf(0.1)")
    (('3', 'linf(0.1)'), ('', 'linf(0.1)'))
    """
    match = _WEIGHTED.fullmatch(part)
    return ("", part) if match is None else (match[1], match[2])


def strip_brackets(part: str) -> str | None:
    """Return what stands in the brackets around a part of a spec; None without brackets.

    >>> strip_brackets("(l2(1) | l0(0.1))"), strip_brackets("l2(1)")
    ('l2(1) | l0(0.1)', None)
    """
    part = part.strip()
    return part[1:-1] if part.startswith("(") and part.endswith(")") else None


def add_brackets(spec: str, *separators: str) -> str:
    """Return a spec, in brackets if it has one of these separators outside brackets.

    >>> add_brackets("l2(1) | l0(0.1)", "|"), add_brackets("l2(1) + l0(0.1)", "|")
    ('(l2(1) | l0(0.1))', 'l2(1) + l0(0.1)')
    """
    joined = any(len(split_top_level(spec, separator)) > 1 for separator in separators)
    return f"({spec})" if joined else spec


def join_names(names: Iterable[str]) -> str:
    r"""Write names as one quoted value; backslashes are before signs that would be misread.

    >>> print(join_names(["age", "net income", "rate, in %"]))
    "age,net income,rate\, in %"
    """
    words = (re.sub(r'[\\,"]|^\s|\s$', lambda sign: f"\\{sign[0]}", name) for name in names)
    return f'"{",".join(words)}"'


def split_names(value: Value) -> tuple[str, ...]:
    """Return the names in a value: one bare word, or several with commas in quotes.

    >>> split_names('"age, net income"'), split_names("age")
    (('age', 'net income'), ('age',))
    """
    text = format_value(value)
    text = text[1:-1] if _QUOTED.fullmatch(f"={text}", 1) else text
    words = (
        re.fullmatch(r"\s*((?:\\.|[^\\])*?)\s*", word, re.DOTALL) for word in _NAME.findall(text)
    )
    return tuple(re.sub(r"\\(.)", r"\1", word[1], flags=re.DOTALL) for word in words if word)


def _hide_quoted(text: str) -> str:
    """Return the text with every quoted value overwritten, so that its signs do not count."""
    return _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)


def display_name(spec: str) -> str:
    """Return the name given to a spec by ``as``, or the spec itself.

    >>> display_name("rotation(30) as SP0RO30"), display_name("rotation(30)")
    ('SP0RO30', 'rotation(30)')
    """
    return split_name(spec)[1] or spec


def split_factors(spec: str) -> tuple[str, ...]:
    """Return the corruptions that a spec applies one after the other; none for ``clean``.

    >>> split_factors("sp(0.1) + rotation(30) as SP0.1RO30"), split_factors("clean")
    (('sp(0.1)', 'rotation(30)'), ())
    >>> split_factors("l2(1) | l0(0.1) + l1(1)")
    ('(l2(1) | l0(0.1) + l1(1))',)
    """
    text = add_brackets(split_name(spec)[0], "|")
    return tuple(part for part in split_top_level(text, "+") if part != "clean")


@lru_cache(_SPECS)
def split_calls(spec: str) -> tuple[str, ...]:
    """Return all single corruptions in a spec, however they are joined; none for ``clean``.

    >>> split_calls("3*(sp(0.1) + clean) | (l2(1) | l0(0.1)) + l1(1) as MIX")
    ('sp(0.1)', 'l2(1)', 'l0(0.1)', 'l1(1)')
    """
    parts = [
        factor
        for part in split_top_level(split_name(spec)[0], "|")
        for factor in split_top_level(split_weight(part)[1], "+")
    ]
    inner = [(part, strip_brackets(part)) for part in parts if part != "clean"]
    return tuple(
        call
        for part, within in inner
        for call in ((part,) if within is None else split_calls(within))
    )


def format_value(value: Value) -> str:
    """Shortest text that parses back to `value`, without ``+``, which joins factors.

    >>> format_value(1e16), format_value(0.1), format_value(3.0)
    ('1e16', '0.1', '3')
    """
    if isinstance(value, str):
        return value
    return repr(float(value)).removesuffix(".0").replace("e+", "e")


def _parse_value(word: str, text: str) -> Value:
    word = word.strip()
    if not word:
        raise InputError(f"spec {text!r} has an empty argument; remove a comma or fill it in")
    try:
        return float(word)
    except ValueError:
        return word


# Sizes of noise in units of eps_min: ``eps_min``, ``0.5*eps_min``, ``eps_min/3``.
#
# The data decide what eps_min is, so a size is a text until they are known, and a number from then
# on: records and canonical specs hold the number. `name_multiple` finds the text again.

_MULTIPLE = re.compile(r"\s*(?:([^*/]+)\*)?\s*eps_min\s*(?:([*/])([^*/]+))?")
_ODD = re.compile(r"\*|/|eps_min")


def read_multiple(value: Value) -> float | None:
    """Return how many times eps_min a size is; None for numbers and for other words.

    >>> read_multiple("0.5*eps_min"), read_multiple("eps_min / 4"), read_multiple(0.5)
    (0.5, 0.25, None)
    """
    if not isinstance(value, str) or not _ODD.search(value):
        return None
    match = _MULTIPLE.fullmatch(value)
    try:
        if match is None or (match[1] and match[3]):
            raise ValueError
        factor = float(match[1] or match[3] or 1)
        factor = 1 / factor if match[2] == "/" else factor
    except (ValueError, ZeroDivisionError):
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise InputError(
            "size must be a number, or a multiple of eps_min that is 0 or more, such as "
            f"0.5*eps_min, got {value!r}"
        )
    return factor


def resolve_size(value: Value, p: float, eps_min: Callable[[float], float] | None) -> Value:
    """Return a size as a number if it is in units of eps_min, and anything else as it is.

    Parameters
    ----------
    value
        A size, or another argument of a spec.
    p
        Order of the norm that the size is in.
    eps_min
        Gives eps_min of the data in the p-norm, as a function of p; None if no data are known.

    >>> resolve_size("0.5*eps_min", 2, lambda p: 0.1), resolve_size("surface", 2, None)
    (0.05, 'surface')
    """
    factor = read_multiple(value)
    if factor is None:
        return value
    if eps_min is None:
        raise InputError(f"{value} needs data; give a number here")
    return factor * eps_min(p)


def name_multiple(size: float, eps_min: float | None) -> str:
    """Return a size in units of eps_min if that is exact and shorter than the number, else "".

    So a size that was written as a number keeps it, and eps_min itself is always named.

    >>> name_multiple(0.5 * 0.0123456789, 0.0123456789), name_multiple(0.1, 0.05)
    ('0.5*eps_min', '')
    """
    if not size or not eps_min:
        return ""
    if size == eps_min:
        return "eps_min"
    factor, inverse = find_factor(size, eps_min), eps_min / size
    divisor = round(inverse) if inverse < 1e4 else 0
    name = ""
    if factor is not None:
        name = f"{format_value(factor)}*eps_min"
    elif divisor and 1 / divisor * eps_min == size:
        name = f"eps_min/{divisor}"
    return name if len(name) < len(format_value(size)) else ""


def find_factor(size: float, eps_min: float) -> float | None:
    """Return the number of at most four digits that times eps_min is exactly this size, if any.

    >>> find_factor(0.1, 0.05), find_factor(0.1, 0.03)
    (2.0, None)
    """
    factor = float(f"{size / eps_min:.4g}")
    return factor if factor * eps_min == size else None

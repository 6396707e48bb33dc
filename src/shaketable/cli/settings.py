"""Settings: what flags say, by name, as study files and results files hold it.

The key of a flag is its name with underscores. What a flag takes follows from how it is declared,
so that flags, files and results files cannot differ. A setting becomes words of a command line,
which the command's own parser reads.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import join_names

ONLY_FLAGS = frozenset({"help", "debug", "version", "trust", "dry_run", "file", "new"})
"""What cannot be a setting: it belongs to one call of a command."""

OUTPUT = frozenset(
    {
        "store",
        "quiet",
        "json",
        "format",
        "report",
        "junit",
        "markdown",
        "jobs",
        "keep_models",
        "backend",
        "address",
        "device",
    }
)
"""Settings that results do not depend on: where work runs, and where files are written.

They are not taken from a results file.
"""


@dataclass(frozen=True)
class Kind:
    """What the setting of a flag is."""

    rule: str
    """What a value must be, for messages."""
    fits: Callable[[Any], bool]
    """Whether a value has the right type; texts are then checked like those of flags."""
    write: Callable[[str, Any], list[str]]
    """Writes a flag and its value as words of a command line."""


def _is_word(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _join_words(words: Iterable[str]) -> str:
    """Join words with commas; those of columns may hold commas themselves."""
    words = list(words)
    plain = not any(re.search(r'[\\,"]|^\s|\s$', word) for word in words)
    return ",".join(words) if plain else join_names(words)


def _format_word(value: Any) -> str:
    """Text of a value: a word, or limits as LOW:HIGH."""
    if isinstance(value, list):
        return ":".join("" if math.isinf(limit) else repr(limit) for limit in value)
    return value if isinstance(value, str) else repr(value)


def _write_list(flag: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        value = [f"{name}={_format_word(item)}" for name, item in value.items()]
    if isinstance(value, list):
        value = _join_words(map(_format_word, value))
    return [f"{flag}={_format_word(value)}"]


def _write_grids(flag: str, value: list[Any]) -> list[str]:
    grids = [value] if _is_list(value, _is_text) else value
    return [word for grid in grids for word in (flag, *grid)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


SWITCH = Kind(
    "must be true or false",
    lambda value: isinstance(value, bool),
    lambda flag, value: [flag] if value else [],
)
WHOLE = Kind("must be a whole number", _is_whole, _write_list)
TEXT = Kind("must be a text or a number", _is_word, _write_list)
LIST = Kind(
    "must be a list of texts or numbers",
    lambda value: _is_word(value) or _is_list(value, _is_word),
    _write_list,
)
TABLE = Kind(
    "must be a table, such as {age = 1}",
    lambda value: isinstance(value, str | Mapping),
    _write_list,
)
REPEATED = Kind(
    "must be a text or a list of texts",
    lambda value: _is_list(_as_list(value), _is_text),
    lambda flag, value: [f"{flag}={text}" for text in _as_list(value)],
)
SEVERAL = Kind(REPEATED.rule, REPEATED.fits, lambda flag, value: [flag, *_as_list(value)])
GRID = Kind(
    "must be a list of texts, the levels of every factor, or a list of such lists",
    lambda value: (
        _is_list(value, _is_text) or _is_list(value, lambda grid: _is_list(grid, _is_text))
    ),
    _write_grids,
)


def list_settings(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Flags of a command that can be settings, by key."""
    return {action.dest: action for action in parser._actions if action.dest not in ONLY_FLAGS}


def find_kind(action: argparse.Action) -> Kind:
    """What the setting of a flag is, from how the flag is declared."""
    if action.nargs == 0:
        return SWITCH
    if isinstance(action, argparse._AppendAction):
        return REPEATED if action.nargs is None else GRID
    if action.nargs in ("+", "*"):
        return SEVERAL
    if action.type is int:
        return WHOLE
    returned = ""
    if callable(action.type) and not isinstance(action.type, type):
        returned = str(inspect.signature(action.type).return_annotation)
    return {"dict": TABLE, "list": LIST, "tuple": LIST}.get(returned.partition("[")[0], TEXT)


def read_settings(
    args: argparse.Namespace,
    add_flags: Callable[[argparse.ArgumentParser], None],
    *,
    without: Collection[str] = OUTPUT,
) -> dict[str, Any]:
    """Return the settings that are not the defaults, by default those that results depend on.

    `add_flags` declares the flags that `args` come from.
    """
    parser = argparse.ArgumentParser()
    add_flags(parser)
    settings = {}
    for key, action in list_settings(parser).items():
        value = getattr(args, key)
        if key not in without and value != action.default:
            kind = find_kind(action)
            if kind is GRID:  # levels of a factor are one text
                value = [[", ".join(levels) for levels in grid] for grid in value]
            elif kind is TABLE:  # and so are limits, as JSON has no infinity
                value = {
                    name: _format_word(list(item)) if isinstance(item, tuple) else item
                    for name, item in value.items()
                }
            settings[key] = _make_plain(value)
    return settings


def _make_plain(value: Any) -> Any:
    """Return a value with lists in place of tuples, as JSON and TOML have them."""
    if isinstance(value, Mapping):
        return {key: _make_plain(item) for key, item in value.items()}
    return list(map(_make_plain, value)) if isinstance(value, list | tuple) else value


def parse_settings(
    settings: Mapping[str, Any],
    parser: argparse.ArgumentParser,
    *,
    where: str,
    words: Sequence[str] = (),
) -> argparse.Namespace:
    """Parse settings like flags, and `words` of a command line, which win over them.

    Parameters
    ----------
    settings
        Values by key.
    parser
        That of the command.
    where
        Where they come from, for messages, such as ``study file 'a.toml'``.
    words
        Flags and arguments of a command line.
    """
    actions = list_settings(parser)
    given = _find_given(words, parser)
    chosen: list[str] = []
    for key, value in settings.items():
        _check_key(key, value, actions, where)
        new = write_flag(actions[key], value, where)
        try:
            parser.parse_args(new)
        except InputError as error:
            reason = re.sub(r"^argument \S+: |; see .* --help$", "", str(error))
            raise InputError(f"{where}: {key} = {format_toml(value)}: {reason}") from error
        if key not in given:
            chosen += new
    return parser.parse_args([*chosen, *words])


def _find_given(words: Sequence[str], parser: argparse.ArgumentParser) -> set[str]:
    """Keys of the flags among words of a command line, and of those that exclude them."""
    defaults = {action: action.default for action in parser._actions}
    others = dict(parser._defaults)
    try:
        parser._defaults.clear()
        for action in defaults:
            action.default = argparse.SUPPRESS
        given = set(vars(parser.parse_args(words)))
    finally:
        parser._defaults.update(others)
        for action, default in defaults.items():
            action.default = default
    for group in parser._mutually_exclusive_groups:
        keys = {action.dest for action in group._group_actions}
        given |= keys if keys & given else set()
    return given


def _check_key(key: str, value: Any, actions: Mapping[str, argparse.Action], where: str) -> None:
    """Raise `InputError` for a key that is no setting."""
    if key == "trust":
        raise InputError(
            f"{where}: trust cannot be given by a file; add --trust to the command if you trust "
            "the model files that it names"
        )
    if key in actions:
        return
    if isinstance(value, Mapping) and (inner := [k for k in value if k in actions]):
        raise InputError(
            f"{where}: {inner[0]} must not be in a table, got [{key}]; remove the line [{key}]"
        )
    raise unknown_name(f"key in {where}:", key, actions)


def write_flag(action: argparse.Action, value: Any, where: str) -> list[str]:
    """Return a setting as words of a command line; `InputError` for a wrong type.

    >>> parser = argparse.ArgumentParser()
    >>> write_flag(parser.add_argument("--train", action="append"), ["clean", "C1"], "file")
    ['--train=clean', '--train=C1']
    """
    kind = find_kind(action)
    if not kind.fits(value):
        raise InputError(f"{where}: {action.dest} {kind.rule}, got {format_toml(value)}")
    return kind.write(action.option_strings[-1], value)


def format_toml(value: Any) -> str:
    """Value as TOML.

    >>> print(format_toml({"age": [0, float("inf")], "net income": "low", "text": True}))
    {age = [0, inf], "net income" = "low", text = true}
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in text)
    if isinstance(value, Mapping):
        bare = re.compile(r"[A-Za-z0-9_-]+")
        keys = (key if bare.fullmatch(key) else format_toml(key) for key in value)
        pairs = (f"{k} = {format_toml(v)}" for k, v in zip(keys, value.values(), strict=True))
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_toml, value))}]"
    return str(value)

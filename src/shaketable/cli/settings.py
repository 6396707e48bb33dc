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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import join_names

ONLY_FLAGS = frozenset({"help", "debug", "version", "trust", "dry_run", "file", "new"})
"""What cannot be a setting: it belongs to one call of a command."""

OUTPUT = frozenset(
    {"store", "quiet", "json", "format", "report", "junit", "markdown", "jobs", "keep_models"}
)
"""Settings that results do not depend on."""

Kind: TypeAlias = Literal["switch", "whole", "text", "list", "table", "texts", "grid"]

RULES: Mapping[Kind, str] = {
    "switch": "must be true or false",
    "whole": "must be a whole number",
    "text": "must be a text or a number",
    "list": "must be a list of texts or numbers",
    "table": "must be a table, such as {age = 1}",
    "texts": "must be a text or a list of texts",
    "grid": "must be a list of texts, the levels of every factor, or a list of such lists",
}


def list_settings(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Flags of a command that can be settings, by key."""
    return {action.dest: action for action in parser._actions if action.dest not in ONLY_FLAGS}


def find_kind(action: argparse.Action) -> Kind:
    """What the setting of a flag is, from how the flag is declared."""
    if action.nargs == 0:
        return "switch"
    if isinstance(action, argparse._AppendAction):
        return "texts" if action.nargs is None else "grid"
    if action.nargs in ("+", "*"):
        return "texts"
    if action.type is int:
        return "whole"
    returned = ""
    if callable(action.type) and not isinstance(action.type, type):
        returned = str(inspect.signature(action.type).return_annotation)
    if returned.startswith("dict"):
        return "table"
    return "list" if returned.startswith(("list", "tuple")) else "text"


def read_settings(
    args: argparse.Namespace, add_flags: Callable[[argparse.ArgumentParser], None]
) -> dict[str, Any]:
    """Return the settings that results depend on, as far as they are not the defaults.

    `add_flags` declares the flags that `args` come from.
    """
    parser = argparse.ArgumentParser()
    add_flags(parser)
    settings = {}
    for key, action in list_settings(parser).items():
        value = getattr(args, key)
        if key not in OUTPUT and value != action.default:
            if find_kind(action) == "grid":  # levels of a factor are one text
                value = [[", ".join(levels) for levels in grid] for grid in value]
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
    flag, kind = action.option_strings[-1], find_kind(action)
    if not _fits(kind, value):
        raise InputError(f"{where}: {action.dest} {RULES[kind]}, got {format_toml(value)}")
    match kind:
        case "switch":
            return [flag] if value else []
        case "texts":
            texts = [str(item) for item in (value if isinstance(value, list) else [value])]
            if action.nargs is None:
                return [f"{flag}={text}" for text in texts]
            return [flag, *texts]
        case "grid":
            grids = [value] if value and isinstance(value[0], str) else value
            return [word for grid in grids for word in (flag, *grid)]
        case "table" if isinstance(value, Mapping):
            pairs = (f"{name}={_join_limits(item)}" for name, item in value.items())
            return [f"{flag}={_join_words(pairs)}"]
        case "list" if isinstance(value, list):
            return [f"{flag}={_join_words(map(_format_word, value))}"]
    return [f"{flag}={_format_word(value)}"]


def _fits(kind: Kind, value: Any) -> bool:
    """Whether a value has the type of the kind; texts are checked like those of flags."""
    plain = _is_word(value)
    words = isinstance(value, list) and all(map(_is_word, value))
    match kind:
        case "switch":
            return isinstance(value, bool)
        case "whole":
            return isinstance(value, int) and not isinstance(value, bool)
        case "texts":
            return isinstance(value, str) or _is_list_of_texts(value)
        case "list":
            return plain or words
        case "table":
            return isinstance(value, str | Mapping)
        case "grid":
            several = isinstance(value, list) and all(map(_is_list_of_texts, value))
            return _is_list_of_texts(value) or several
    return plain


def _is_word(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _join_words(words: Iterable[str]) -> str:
    """Join words with commas; those of columns may hold commas themselves."""
    words = list(words)
    plain = not any(re.search(r'[\\,"]|^\s|\s$', word) for word in words)
    return ",".join(words) if plain else join_names(words)


def _join_limits(value: Any) -> str:
    """Value of a column: one word, or limits as LOW:HIGH."""
    if isinstance(value, list):
        return ":".join("" if math.isinf(item) else _format_word(item) for item in value)
    return _format_word(value)


def _format_word(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def format_toml(value: Any) -> str:
    """Value as TOML.

    >>> format_toml({"age": [0, float("inf")], "a b": 'say "hi"'})
    '{age = [0, inf], "a b" = "say \\\\"hi\\\\""}'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        bare = re.compile(r"[A-Za-z0-9_-]+")
        keys = (key if bare.fullmatch(key) else format_toml(key) for key in value)
        pairs = (f"{k} = {format_toml(v)}" for k, v in zip(keys, value.values(), strict=True))
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_toml, value))}]"
    return str(value)

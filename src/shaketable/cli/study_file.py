"""Study files: read with errors that name the key, and written with a comment for every key."""

from __future__ import annotations

import argparse
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shaketable.cli.settings import (
    REPEATED,
    SEVERAL,
    SWITCH,
    find_kind,
    format_toml,
    list_settings,
)
from shaketable.core.errors import InputError

INIT = "init"
"""Word in place of a study file that asks for a new one."""

NEW_FILE = "study.toml"
"""File that is written if no name is given."""

STARTING: Mapping[str, Any] = {
    "data": "bands",
    "model": ["rf", "1nn"],
    "train_eps": [0, "eps_min"],
    "test_eps": [0, "eps_min", 0.02],
    "runs": 3,
    "store": "study.sqlite",
}
"""Settings of a new file, which runs as it is."""

_EXAMPLES: Mapping[str, Any] = {
    "points": 1000,
    "types": {"since": "date", "zip": "text"},
    "only": ["age", "income"],
    "keep": ["id"],
    "column_bounds": {"age": [0, 120]},
    "step": {"age": 1},
    "one_hot": ["colour_"],
    "others": "gower",
    "classes": ["no", "yes"],
    "network": "resnet9",
    "recipe": "fast",
    "epochs": 10,
    "batch": 128,
    "device": "cpu",
    "train": ["clean", "linf(0.1)"],
    "corruptions": ["l2(1)"],
    "suite": ["pnorm"],
    "grid": ["sp(0.1), sp(0.2)", "rotation(30)"],
    "orders": "given",
    "runs": 10,
    "max_runs": 200,
    "k": 10,
    "precision": 0.5,
    "precision_of": "mscr",
    "jobs": 2,
    "backend": "dask",
    "address": "tcp://127.0.0.1:8786",
    "bounds": "clip",
    "range": [0, 1],
    "report": "study.html",
    "require": ["mscr >= -1"],
    "requirements": "requirements.toml",
    "junit": "study.xml",
    "markdown": "study.md",
    "min_mscr": -1,
    "keep_models": "models",
}
"""Examples for settings that have no default."""

_HEAD = """\
A study: every model is trained with every training noise and tested with every test noise, and
all of it is repeated with new splits and new noise.

shaketable study {path} --dry-run
    says what it would take: trainings, cells, time and size
shaketable study {path}
    carries it out; flags on the command line win over this file
shaketable rerun {store}
    makes it again, and says whether it agrees

A flag that may be repeated is a list here."""

_REST = """\
Everything else that a study file may say. These lines are comments and show the default, or an
example where there is none: remove the # before a key to use it."""


def read_study_file(path: str, where: str) -> dict[str, Any]:
    """Read the settings in a study file; `where` names it in messages."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        return tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:  # all that tomllib raises
        place = re.search(
            r"Cannot overwrite a value \(at (?:line (\d+)|end of document)", f"{error}"
        )
        if place is not None:
            before = text.splitlines()[: int(place[1]) if place[1] else None]
            key = re.findall(r"^\s*([\w-]+)\s*=", "\n".join(before), re.MULTILINE)[-1]
            raise InputError(f"{where}: {key} is given twice; leave one out") from error
        raise InputError(f"{where} cannot be read: {error}") from error


def write_study_file(
    path: str,
    given: Mapping[str, Any],
    add_flags: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Write a study file that runs as it is, with the settings `given` in place of its own.

    `add_flags` declares the flags, whose help becomes the comments.
    """
    parser = argparse.ArgumentParser()
    add_flags(parser)
    target = Path(path)
    if target.exists():
        raise InputError(f"study file {path!r} exists already; name a new one: study init FILE")
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(_make_text(path, {**_choose_start(given), **given}, parser))
    except OSError as error:
        raise InputError(f"study file {path!r} cannot be written: {error.strerror}") from error


def _choose_start(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a new file, without those that others replace."""
    replaced = {
        "train": "train_eps",
        "network": "model",
        "recipe": "model",
        "precision": "runs",
        "stop_early": "runs",
    }
    without = {replaced[key] for key in given if key in replaced}
    return {key: value for key, value in STARTING.items() if key not in without}


def _make_text(path: str, settings: Mapping[str, Any], parser: argparse.ArgumentParser) -> str:
    """Text of a study file."""
    actions = list_settings(parser)
    used = [key for key in actions if key in settings]
    head = _HEAD.format(path=path, store=settings["store"])
    parts = [_comment(head)]
    parts += [f"{_explain(actions[key])}{key} = {format_toml(settings[key])}\n" for key in used]
    parts.append(_comment(_REST))
    for key, action in actions.items():
        if key not in used:
            parts.append(f"{_explain(action)}#{key} = {format_toml(_find_example(action))}\n")
    return "\n".join(parts)


def _explain(action: argparse.Action) -> str:
    """Help of a flag as comments."""
    text = (action.help or "").replace("%%", "%")
    text = re.sub(r"--([a-z][a-z-]+)", lambda flag: flag[1].replace("-", "_"), text)
    text = text[:1].upper() + text[1:]
    return _comment("\n".join(textwrap.wrap(text, 98, break_long_words=False)))


def _comment(text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines())


def _find_example(action: argparse.Action) -> Any:
    """Default of a flag, or an example if it has none."""
    kind = find_kind(action)
    if kind is SWITCH:
        return True
    if action.default not in (None, []):
        return action.default
    example = _EXAMPLES.get(action.dest, action.metavar or action.dest.upper())
    return [example] if kind in (REPEATED, SEVERAL) and isinstance(example, str) else example

"""New study files, with a comment for every key."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from shaketable.core.options import SWITCH, WHOLE, Option, format_toml, list_options
from shaketable.core.toml_files import comment, write_new

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


def write_study_file(
    path: str,
    given: Mapping[str, Any],
) -> None:
    """Write a study file that runs as it is, with the settings `given` in place of its own."""
    text = _make_text(path, {**_choose_start(given), **given})
    write_new(path, text, f"study file {path!r}", "study init FILE")


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


def _make_text(path: str, settings: Mapping[str, Any]) -> str:
    """Text of a study file."""
    from shaketable.evaluation.evaluate_options import StudyOptions

    options = {key: each for key, each in list_options(StudyOptions).items() if each.in_files}
    used = [key for key in options if key in settings]
    head = _HEAD.format(path=path, store=settings["store"])
    parts = [comment(head)]
    parts += [f"{_explain(options[key])}{key} = {format_toml(settings[key])}\n" for key in used]
    parts.append(comment(_REST))
    for key, each in options.items():
        if key not in used:
            parts.append(f"{_explain(each)}#{key} = {format_toml(_find_example(each))}\n")
    return "\n".join(parts)


def _explain(option: Option) -> str:
    """Help of an option as comments."""
    text = option.help.replace("%%", "%")
    text = re.sub(r"--([a-z][a-z-]+)", lambda flag: flag[1].replace("-", "_"), text)
    text = text[:1].upper() + text[1:]
    return comment("\n".join(textwrap.wrap(text, 98, break_long_words=False)))


def _find_example(option: Option) -> Any:
    """Default of an option, or an example if it has none."""
    if option.form is SWITCH:
        return True
    if option.example is None and option.default not in (None, ()):
        return option.write_setting(option.default)
    if option.example is None and option.form is WHOLE:
        return 1
    example = option.example or option.metavar or option.key.upper()
    return [example] if option.form.several and isinstance(example, str) else example

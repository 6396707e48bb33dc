"""Commands that results were made by: settings, versions and fingerprints, to make them again.

Settings have the keys of a study file, whether a command was given or `study` was called. What
cannot be written down, such as arrays or estimators, is described instead, with its hash.
"""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shaketable.core.keys import digest
from shaketable.core.options import write_settings
from shaketable.core.versions import list_installed_versions
from shaketable.corruptions.suites.suite import SUITES, Suite
from shaketable.evaluation.evaluate_options import StudyOptions

_SHOWN = 300  # characters of the description of what cannot be written down


@dataclass(frozen=True, kw_only=True)
class CommandRecord:
    """A command, or a call of a function, by which a results file was made."""

    id: str
    """Hash of all else, but for the time."""
    command: str
    """``study`` or ``evaluate``; others make no cells."""
    settings: dict[str, Any]
    """What a study file would say: flags by name, without those of defaults and of output."""
    words: tuple[str, ...]
    """The settings as flags of the command."""
    lacks: dict[str, str]
    """What settings cannot say, by key, and a description of what was given."""
    fingerprint: str
    """Of the data."""
    models: dict[str, str]
    """Hash of every model by name, before it was trained if it was; `recipes` after that."""
    recipes: tuple[str, ...]
    """Those of the cells; see `Record.recipe`."""
    seed: int
    versions: dict[str, str]
    platform: str
    created: str

    def write(self, store: str) -> str:
        """Return the command as a shell takes it, with a results file."""
        if self.command == "check":
            return shlex.join(["shaketable", "check", store, *self.words])
        return shlex.join(["shaketable", self.command, *self.words, "--store", store])


def make_command_record(
    command: str,
    settings: Mapping[str, Any],
    lacks: Mapping[str, str],
    words: Iterable[str],
    *,
    fingerprint: str,
    models: Mapping[str, str],
    recipes: Iterable[str],
    seed: int,
) -> CommandRecord:
    """Record of a command that is carried out here and now."""
    known, versions = tuple(dict.fromkeys(recipes)), list_installed_versions()
    content = (command, settings, lacks, fingerprint, models, known, seed, versions)
    return CommandRecord(
        id=f"{digest(json.dumps(content, sort_keys=True)):016x}",
        command=command,
        settings=dict(settings),
        words=tuple(words),
        lacks=dict(lacks),
        fingerprint=fingerprint,
        models=dict(models),
        recipes=known,
        seed=seed,
        versions=versions,
        platform=platform.platform(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def describe_call(
    data: Any, models: Any, options: StudyOptions
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments of a call of `study` as settings, and what they lack.

    >>> from shaketable.evaluation.evaluate_options import StudyOptions
    >>> describe_call("iris", ["rf"], StudyOptions(k=5))
    ({'data': 'iris', 'model': ['rf'], 'k': 5}, {})
    """
    given = {"data": data, "model": models, "corruptions": options.corruptions}
    settings: dict[str, Any] = {
        "data": str(data) if isinstance(data, str | Path) else None,
        "model": _write_models(models),
        **write_settings(options),
    }
    if settings.pop("corruptions", ()) != ():
        settings |= _write_corruptions(options.corruptions)
    if options.until is not None:
        settings["until"], given["until"] = None, options.until
    lacking = [key for key, value in settings.items() if value is None]
    lacks = {}
    for key in lacking:
        value = given[key] if key in given else getattr(options, key)
        lacks[key] = "a data set in memory" if key == "data" else " ".join(repr(value).split())
    return (
        {key: value for key, value in settings.items() if value is not None},
        {key: text[:_SHOWN] for key, text in lacks.items()},
    )


def _write_models(models: Any) -> list[str] | None:
    """Return models that are given by name as ``--model`` takes them."""
    if isinstance(models, str) or _is_list_of(models, str):
        return [models] if isinstance(models, str) else list(models)
    if not isinstance(models, Mapping) or not _is_list_of([*models, *models.values()], str):
        return None
    if any(mark in name for name in models for mark in "/\\:@="):  # as in --model NAME=MODEL
        return None
    return [f"{name}={source}" for name, source in models.items()]


def _write_corruptions(value: Any) -> dict[str, Any]:
    """Return specs, and the names of suites as they are declared; None for all else."""
    items = value if isinstance(value, list | tuple) else [value]
    suites = [item for item in items if isinstance(item, Suite)]
    if any(each.name not in SUITES or SUITES.get(each.name) != each for each in suites):
        return {"corruptions": None}
    others = [item for item in items if not isinstance(item, Suite)]
    specs = [item if isinstance(item, str) else getattr(item, "spec", None) for item in others]
    if not all(isinstance(spec, str) for spec in specs):
        return {"corruptions": None}
    named = {"corruptions": specs, "suite": [each.name for each in suites]}
    return {key: texts for key, texts in named.items() if texts}


def _is_list_of(value: Any, kinds: Any) -> bool:
    """Whether this can be read more than once, and holds only objects of these types."""
    return isinstance(value, list | tuple) and all(isinstance(item, kinds) for item in value)


def find_changes(then: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Versions that are others now, by package: then and now.

    >>> sorted(find_changes(list_installed_versions() | {"python": "2.7"}))
    ['python']
    """
    now = list_installed_versions()
    pairs = {name: (version, now.get(name, "none")) for name, version in then.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

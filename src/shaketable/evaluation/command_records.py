"""Commands that results were made by: settings, versions and fingerprints, to make them again.

Settings have the keys of a study file, whether a command was given or `study` was called. What
cannot be written down, such as arrays or estimators, is described instead, with its hash.
"""

from __future__ import annotations

import inspect
import json
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.keys import digest
from shaketable.core.versions import list_installed_versions
from shaketable.corruptions.suites.suite import SUITES, Suite
from shaketable.data.bounds import Bounds, as_bounds

_RUNNING = frozenset({"store", "keep_models", "n_jobs", "trust", "progress", "settings"})
"""Arguments that results do not depend on."""

_SHOWN = 300  # characters of the description of what cannot be written down


@dataclass(frozen=True, kw_only=True)
class CommandRecord:
    """A command, or a call of a function, by which cells were made."""

    id: str
    """Hash of all else, but for the time."""
    command: str
    """``study`` or ``evaluate``."""
    settings: dict[str, Any]
    """What a study file would say: flags by name, without those of defaults and of output."""
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


def make_command_record(
    command: str,
    settings: Mapping[str, Any],
    lacks: Mapping[str, str],
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
    function: Callable[..., Any], arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments of a call of `study` as settings, and what they lack.

    >>> from shaketable.evaluation.study import study
    >>> describe_call(study, {"data": "iris", "models": ["rf"], "k": 5, "runs": 10})
    ({'data': 'iris', 'model': ['rf'], 'k': 5}, {})
    """
    settings: dict[str, Any] = {}
    lacks: dict[str, str] = {}
    parameters = inspect.signature(function).parameters
    for name, value in arguments.items():
        if name in _RUNNING or value is parameters[name].default:
            continue
        describe = _DESCRIBED.get(name, _describe_plain)
        key = "model" if name == "models" else name
        described = describe(key, value)
        if described is None:
            text = "a data set in memory" if key == "data" else " ".join(repr(value).split())
            lacks[key] = text[:_SHOWN]
        elif described != {key: parameters[name].default}:
            settings |= described
    return settings, lacks


def _describe_plain(key: str, value: Any) -> dict[str, Any] | None:
    """Numbers, texts, and lists of them."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | int | float):
        return {key: value}
    if not _is_list_of(value, (str, int, float)):
        return None
    return {key: list(value)}


def _describe_data(key: str, value: Any) -> dict[str, Any] | None:
    """A file, a folder, or the name of a built-in set."""
    return {key: str(value)} if isinstance(value, str | Path) else None


def _describe_models(key: str, value: Any) -> dict[str, Any] | None:
    """Models that are given by name."""
    if isinstance(value, str) or _is_list_of(value, str):
        return {key: [value] if isinstance(value, str) else list(value)}
    if not isinstance(value, Mapping) or not _is_list_of([*value, *value.values()], str):
        return None
    if any(mark in name for name in value for mark in "/\\:@="):  # as in --model NAME=MODEL
        return None
    return {key: [f"{name}={source}" for name, source in value.items()]}


def _describe_corruptions(key: str, value: Any) -> dict[str, Any] | None:
    """Specs, and the names of suites as they are declared."""
    items = value if isinstance(value, list | tuple) else [value]
    suites = [item for item in items if isinstance(item, Suite)]
    if any(each.name not in SUITES or SUITES.get(each.name) != each for each in suites):
        return None
    others = [item for item in items if not isinstance(item, Suite)]
    specs = [item if isinstance(item, str) else getattr(item, "spec", None) for item in others]
    if not all(isinstance(spec, str) for spec in specs):
        return None
    named = {key: specs, "suite": [each.name for each in suites]}
    return {name: texts for name, texts in named.items() if texts}


def _describe_bounds(key: str, value: Any) -> dict[str, Any] | None:
    """Rule and range of bounds; a pair has no rule."""
    bounds = as_bounds(value)
    if bounds is None:
        return {key: "none"}
    rule = {key: bounds.rule} if isinstance(value, Bounds) else {}
    return {**rule, "range": [bounds.low, bounds.high]}


def _is_list_of(value: Any, kinds: Any) -> bool:
    """Whether this can be read more than once, and holds only objects of these types."""
    return isinstance(value, list | tuple) and all(isinstance(item, kinds) for item in value)


_DESCRIBED: Mapping[str, Callable[[str, Any], dict[str, Any] | None]] = {
    "data": _describe_data,
    "models": _describe_models,
    "corruptions": _describe_corruptions,
    "bounds": _describe_bounds,
}


def find_changes(then: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Versions that are others now, by package: then and now.

    >>> sorted(find_changes(list_installed_versions() | {"python": "2.7"}))
    ['python']
    """
    now = list_installed_versions()
    pairs = {name: (version, now.get(name, "none")) for name, version in then.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

"""The role of a finding, and the registry of all kinds of findings.

A finding is one thing that records show, computed once and displayed in several ways: as JSON, as
terminal tables, as sections of a page. A kind of finding declares itself in its own package:
`FindingKind` says how it is taken from records, and which metrics it is about. Kinds of other
packages are found by entry point (group ``shaketable.findings``).

A metric of another package needs no finding: it is a function of the records of one model that
returns an `Estimate`, found by entry point (group ``shaketable.metrics``) or as
``package.module:name``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, is_typeddict

from shaketable.core.errors import InputError
from shaketable.core.importing import is_reference
from shaketable.core.registry import Registry
from shaketable.findings.groups import RecordGroups
from shaketable.views.blocks import Block

if TYPE_CHECKING:
    pass


class Finding(Protocol):
    """What some records show: computed once, displayed in several ways."""

    def json(self) -> Mapping[str, Any]:
        """Return its numbers for programs, rates in per cent; keys are its own."""

    def blocks(self) -> list[Block]:
        """Return its tables, charts, sentences and cards; a heading with a place begins a section.

        Places are those of `section_order.PLACES`, or names of your own.
        """


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding, as its package declares it."""

    find: Callable[[RecordGroups], Finding | None]
    """Takes the finding from records; None where they do not hold it."""
    json: Any = None
    """TypedDict of what its `Finding.json` returns; without it, any keys are allowed."""
    metrics: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The metrics it is about, by name; the first line of a docstring is its description."""
    suite_metrics: tuple[str, ...] = ()
    """Metrics of suites that it scores; the corruptions of such suites are left to it."""
    needs_cells: bool = True
    """Whether records without cells cannot hold it."""

    def __post_init__(self) -> None:
        rules = {
            "find must be a function of RecordGroups": callable(self.find),
            "json must be a TypedDict": self.json is None or is_typeddict(self.json),
            "metrics must map names to functions": isinstance(self.metrics, Mapping)
            and all(map(callable, self.metrics.values())),
            "suite_metrics must be a tuple of names": isinstance(self.suite_metrics, tuple),
        }
        for rule, holds in rules.items():
            if not holds:
                raise InputError(f"FindingKind: {rule}, got {getattr(self, rule.split()[0])!r}")


def _admit(name: str, thing: Any) -> FindingKind:
    if not isinstance(thing, FindingKind):
        raise InputError(
            f"finding {name!r} must be a shaketable.findings.finding.FindingKind, got "
            f"{type(thing).__name__}; declare one with find=a function of RecordGroups"
        )
    return thing


FINDINGS: Registry[FindingKind] = Registry(
    "finding",
    admit=_admit,
    homes=(
        "shaketable.findings.mscr.finding",
        "shaketable.findings.stopping.finding",
        "shaketable.findings.risk.finding",
        "shaketable.findings.rare.finding",
        "shaketable.findings.requirements.finding",
        "shaketable.findings.regimes.finding",
        "shaketable.findings.comparison.finding",
        "shaketable.findings.features.finding",
        "shaketable.findings.subgroups.finding",
        "shaketable.findings.confusion.finding",
        "shaketable.findings.measures.finding",
        "shaketable.findings.own_metrics.finding",
        "shaketable.findings.confidence.finding",
        "shaketable.findings.inputs.finding",
        "shaketable.findings.study.finding",
        "shaketable.findings.mce.finding",
        "shaketable.findings.mcv.finding",
        "shaketable.findings.correlation.finding",
        "shaketable.findings.summary.finding",
        "shaketable.adversary.finding",
        "shaketable.adversary.smoothing.finding",
    ),
)
"""All kinds of findings."""


def _admit_metric(name: str, thing: Any) -> Callable[..., Any]:
    if not callable(thing):
        raise InputError(
            f"metric {name!r} must be a function of the records of one model that returns an "
            f"Estimate, got {type(thing).__name__}"
        )
    function: Callable[..., Any] = thing
    return function


METRICS: Registry[Callable[..., Any]] = Registry("metric", admit=_admit_metric)
"""Metrics without a finding of their own, all of other packages."""


def load_kinds() -> tuple[dict[str, FindingKind], list[str]]:
    """Load all kinds of findings, ours in the order of their modules in `FINDINGS`.

    The second part are sentences about kinds of other packages that cannot be loaded: these must
    not keep anyone from using the others.
    """
    kinds, problems = dict[str, FindingKind](), list[str]()
    for name in FINDINGS:
        try:
            kinds[name] = FINDINGS.get(name)
        except InputError as error:
            problems.append(str(error))
    places = {home: place for place, home in enumerate(FINDINGS.homes)}
    ordered = sorted(kinds, key=lambda name: places.get(kinds[name].find.__module__, len(places)))
    return {name: kinds[name] for name in ordered}, problems


def list_metrics() -> dict[str, Callable[..., Any]]:
    """All metrics by name, also those of other installed packages that can be loaded."""
    kinds, _ = load_kinds()
    metrics = {name: metric for kind in kinds.values() for name, metric in kind.metrics.items()}
    for name in METRICS:
        with suppress(InputError):
            metrics.setdefault(name, METRICS.get(name))
    return metrics


def is_own_metric(name: str) -> bool:
    """Whether a name is that of a metric without a finding: ``package.module:name``, or installed.

    >>> is_own_metric("mypackage.metrics:worst"), is_own_metric("mscr"), is_own_metric("")
    (True, False, False)
    """
    return is_reference(name) or (name != "" and name in METRICS)

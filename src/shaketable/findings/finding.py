"""The role of a finding, and the registry of all kinds of findings.

A finding is one thing that records show, computed once and displayed in several ways: as JSON, as
terminal tables, as sections of a page. A kind of finding declares itself in its own package:
`FindingKind` says how it is taken from records, and which metrics it is about. Kinds of other
packages are found by entry point (group ``shaketable.findings``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, is_typeddict

from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.findings.groups import RecordGroups
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block

if TYPE_CHECKING:
    from markupsafe import Markup


class Finding(Protocol):
    """What some records show: computed once, displayed in several ways."""

    def json(self) -> Mapping[str, Any]:
        """Return its numbers for programs, rates in per cent; keys are its own."""

    def blocks(self) -> list[Block]:
        """Return its tables, charts, sentences and cards; a heading with a place begins a section.

        Places are those of `PLACES`, or names of your own.
        """


PLACES = (
    "summary", "answer", "verdict", "regimes", "comparison", "suite", "sets", "...", "risk",
    "features", "groups", "accuracy", "study", "differences", "correlation", "stopping", "data",
    "method",
)  # fmt: skip
"""Sections in their order, on pages and in the terminal; ``...`` stands for those of others."""


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    id: str
    """Anchor, unique on the page."""
    contents: str
    """Its entry in the page's table of contents."""
    html: Markup
    order: int = 35
    """Place on the page: below 10 the summary above all notes, 10 verdict, 12 training regimes, 15
    comparison, 20 and 30 suites, 40 risk, 43 features, 45 groups, 50 accuracy, 60 studies, 70
    differences, 72 correlations, 80 data."""
    definitions: Markup | str = ""
    """Formulas and sources of its numbers, for the end of the page."""


@dataclass(frozen=True)
class Methods:
    """How each kind of number on a page was computed: the methods of its estimates."""

    by_kind: dict[str, dict[str, None]] = field(default_factory=dict)

    def note(self, kind: str, estimate: Estimate) -> Estimate:
        """Note the method of an estimate, and return the estimate."""
        self.by_kind.setdefault(kind, {})[estimate.method] = None
        return estimate


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
    order: int = 50
    """Its place among all findings that are printed: 10 MSCR, 20 studies, 30 and 40 suites, 44 the
    probability of a wrong answer, 45 training regimes, 46 the comparison of models, 47 features, 48
    groups, 49 where a stopping rule stopped, and correlations of metrics."""

    def __post_init__(self) -> None:
        rules = {
            "find must be a function of RecordGroups": callable(self.find),
            "json must be a TypedDict": self.json is None or is_typeddict(self.json),
            "metrics must map names to functions": isinstance(self.metrics, Mapping)
            and all(map(callable, self.metrics.values())),
            "suite_metrics must be a tuple of names": isinstance(self.suite_metrics, tuple),
            "order must be a whole number": isinstance(self.order, int),
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
        "shaketable.findings.regimes.finding",
        "shaketable.findings.comparison.finding",
        "shaketable.findings.features.finding",
        "shaketable.findings.subgroups.finding",
        "shaketable.findings.study.finding",
        "shaketable.findings.mce.finding",
        "shaketable.findings.mcv.finding",
        "shaketable.findings.correlation.finding",
    ),
)
"""All kinds of findings."""


def load_kinds() -> tuple[dict[str, FindingKind], list[str]]:
    """Load all kinds of findings, in the order in which they are printed.

    The second part are sentences about kinds of other packages that cannot be loaded: these must
    not keep anyone from using the others.
    """
    kinds, problems = {}, []
    for name in FINDINGS:
        try:
            kinds[name] = FINDINGS.get(name)
        except InputError as error:
            problems.append(str(error))
    return dict(sorted(kinds.items(), key=lambda item: item[1].order)), problems


def list_metrics() -> dict[str, Callable[..., Any]]:
    """All metrics by name, also those of other installed packages."""
    kinds, _ = load_kinds()
    return {name: metric for kind in kinds.values() for name, metric in kind.metrics.items()}

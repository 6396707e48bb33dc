"""Members: every model with its network, its training regime and its data, sorted into groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.evaluation.records import AS_GIVEN
from shaketable.findings.conditions import get_model, name_training
from shaketable.findings.groups import GROUPINGS, Grouping, RecordGroups
from shaketable.findings.regimes.measurements import Measurement, list_measurements
from shaketable.findings.series import Series
from shaketable.findings.suite_results import SuiteResult


@dataclass(frozen=True, eq=False)
class Member:
    """One model: a network that was trained with a regime on some data."""

    model: str
    data: str
    fingerprint: str
    network: str
    regime: str
    """Training noise; empty if it is not known."""
    measurements: Mapping[str, Measurement]
    """By metric."""
    has_copies: bool
    """Whether it may have been trained on several copies of every point; networks are not."""


@dataclass(frozen=True, eq=False)
class MemberGroup:
    """Models with the same label, such as those of one regime."""

    label: str
    members: tuple[Member, ...]

    def on(self, fingerprint: str) -> list[Member]:
        """Return the members on some data."""
        return [m for m in self.members if m.fingerprint == fingerprint]


def list_members(groups: RecordGroups) -> list[Member]:
    """Return all models of the records, in their order."""
    series: dict[tuple[str, str, str], list[Series]] = {}
    results: dict[tuple[str, str, str], list[SuiteResult]] = {}
    for s in groups.series:
        series.setdefault(get_model(s), []).append(s)
    for r in groups.suite_results:
        results.setdefault(get_model(r.series[0]), []).append(r)
    members: list[Member] = []
    taken: set[tuple[str, str, str]] = set()
    for key, own in series.items():
        cell = own[0].first
        network, regime = split_name(own[0])
        number = 1
        while (cell.fingerprint, _number(network, number), regime) in taken:
            number += 1
        network = _number(network, number)
        taken.add((cell.fingerprint, network, regime))
        of_suites = results.get(key, [])
        members.append(
            Member(
                cell.model,
                cell.data,
                cell.fingerprint,
                network,
                regime,
                list_measurements(own, of_suites),
                _may_have_copies(own, in_suites=bool(of_suites)),
            )
        )
    return members


def _may_have_copies(series: Sequence[Series], *, in_suites: bool) -> bool:
    """Whether a study trained an estimator with noise, and not with k = 1.

    k is that of the test, except in suites, which have their own.
    """
    cell = series[0].first
    is_network = "torch" in cell.versions
    several = in_suites or any(s.first.k > 1 for s in series)
    return cell.train not in (AS_GIVEN, "clean") and not is_network and several


def _number(name: str, number: int) -> str:
    return name if number == 1 else f"{name} #{number}"


def split_name(series: Series) -> tuple[str, str]:
    """Return network and training regime of a series' model; the regime is empty if not known.

    Sizes are in units of eps_min where they are such, so that regimes on other data are the same.
    Models given fitted have a regime if they are named as studies name theirs: ``resnet9(C1)``.
    """
    cell = series.first
    if cell.names_training:
        return cell.network, _name_sizes(series, display_name(cell.train))
    if cell.train != AS_GIVEN:
        named = _name_sizes(series, cell.train)
        return cell.model, name_training(cell) if named == cell.train else named
    start = _find_last_bracket(cell.model)
    if start:
        return cell.model[:start], cell.model[start + 1 : -1]
    return cell.model, ""


def _find_last_bracket(name: str) -> int:
    """Return where the last bracket of a name opens, which its last sign closes; 0 if none is.

    >>> _find_last_bracket("resnet9(width=2)(linf(0.1))"), _find_last_bracket("resnet9")
    (16, 0)
    """
    depth = 0
    for i in reversed(range(len(name) if name.endswith(")") else 0)):
        depth += {")": 1, "(": -1}.get(name[i], 0)
        if depth == 0:
            return i
    return 0


def _name_sizes(series: Series, spec: str) -> str:
    try:
        return series.name_sizes(spec)
    except InputError:  # not a spec of a corruption, such as an adversary
        return spec


def form_groups(members: Sequence[Member], by: Grouping) -> list[MemberGroup]:
    """Group models by regime or network, or by patterns of their names; others are left out."""
    labels: list[str | None]
    if isinstance(by, Mapping):
        labels = [_match(member.model, by) for member in members]
        for name, pattern in by.items():
            if name not in labels:
                models = ", ".join(dict.fromkeys(m.model for m in members))
                raise InputError(
                    f"group {name!r} must have a model, but no name matches {pattern!r}; the "
                    f"models are {models}"
                )
    elif by == "regime":
        labels = [member.regime or None for member in members]
    elif by == "network":
        labels = [member.network for member in members]
    else:
        raise unknown_name("group", by, GROUPINGS)
    chosen = dict.fromkeys(by) if isinstance(by, Mapping) else dict.fromkeys(labels)
    return [
        MemberGroup(name, tuple(m for m, x in zip(members, labels, strict=True) if x == name))
        for name in chosen
        if name is not None
    ]


def _match(model: str, patterns: Mapping[str, str]) -> str | None:
    return next((name for name, p in patterns.items() if fnmatchcase(model, p)), None)


def pair_members(
    first: Iterable[Member], second: Iterable[Member], by: Grouping
) -> tuple[list[Member], list[Member]]:
    """Return the members of two groups on the same data that are compared with each other.

    Regimes are compared over the networks that both have, networks over the regimes that both have,
    other groups with all their members.
    """
    a, b = list(first), list(second)
    if isinstance(by, Mapping):
        return a, b
    rest = "network" if by == "regime" else "regime"
    common = {getattr(m, rest) for m in a} & {getattr(m, rest) for m in b}
    return (
        [m for m in a if getattr(m, rest) in common],
        [m for m in b if getattr(m, rest) in common],
    )

"""Groups of models, and what is measured of them: means over networks and data sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.spec import display_name
from shaketable.core.types import IntArray
from shaketable.evaluation.records import AS_GIVEN, Record
from shaketable.findings.groups import GROUPINGS, Grouping, RecordGroups, get_model, name_training
from shaketable.findings.mce.scores import TITLES
from shaketable.findings.series import Series, allow_for_looks, get_pairing
from shaketable.findings.subjects import name_noise
from shaketable.findings.suite_results import SuiteResult, take_part
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

CLEAN = "e_clean"
"""The error on clean points."""

SUITE_METRICS = ("mce", "mce_xn", "mce_lp", "ice")
"""Metrics of suites, in the order of the published table."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Counts of one model by run: on clean points, and in k draws per point."""

    clean: Mapping[int, IntArray]
    counts: Mapping[int, IntArray]
    k: int
    relative: bool
    """Whether the metric is the change of the count relative to clean points."""
    pairing: Mapping[int, object]
    """What measurements must share in a run to be paired: points and noise."""
    has_shared_draws: bool
    cells: Mapping[int, Record]
    """One of its cells in every run."""


def measure_clean(series: Series) -> Measurement:
    """Return wrong answers on clean points."""
    return _measure([series], {c.run: 1 - c.hits for c in series.noisy}, k=1)


def measure_mscr(series: Series) -> Measurement:
    """Return right answers under noise of size eps_min, relative to clean points."""
    hits = {cell.run: cell.hits for cell in series.noisy}
    clean = {cell.run: cell.hits for cell in series.clean}
    return _measure([series], hits, k=series.first.k, clean=clean)


def measure_suite(result: SuiteResult, metric: str) -> Measurement | None:
    """Return wrong answers under a suite, or under the part for a metric; None without one."""
    part = result if result.suite.metric == metric else take_part(result, metric)
    if part is None:
        return None
    runs = [cell.run for cell in part.series[0].noisy]
    clean, errors = (dict(zip(runs, counts, strict=True)) for counts in part.errors())
    return _measure(part.series, errors, k=part.draws, clean=clean if metric == "ice" else None)


def _measure(
    series: Sequence[Series],
    counts: Mapping[int, IntArray],
    *,
    k: int,
    clean: Mapping[int, IntArray] | None = None,
) -> Measurement:
    pairings = [get_pairing(s) for s in series]
    return Measurement(
        clean or {},
        counts,
        k,
        clean is not None,
        dict(zip(counts, zip(*pairings, strict=True), strict=True)),
        any(s.first.shares_draws for s in series),
        {cell.run: cell for cell in series[0].noisy},
    )


def name_metric(metric: str) -> str:
    """Return the name of a metric as the papers write it.

    >>> name_metric("e_clean"), name_metric("mce_lp"), name_metric("mscr linf(eps_min)")
    ('E_clean', 'mCE_Lp', 'MSCR linf(eps_min)')
    """
    if metric.startswith("mscr"):
        return metric.replace("mscr", "MSCR", 1)
    return "E_clean" if metric == CLEAN else TITLES[metric]


def list_measurements(
    series: Sequence[Series], results: Sequence[SuiteResult]
) -> dict[str, Measurement]:
    """Return the measurements of one model by metric; of several settings the first counts."""
    found = {CLEAN: measure_clean(max((s.on_clean for s in series), key=lambda s: s.runs))}
    for metric in SUITE_METRICS:
        own = [r for r in results if r.suite.metric == metric]
        for result in own or results:
            measurement = measure_suite(result, metric)
            if measurement is not None:
                found.setdefault(metric, measurement)
    at_eps_min = {name_noise(s): s for s in reversed(series) if s.at_eps_min}
    for noise, s in reversed(at_eps_min.items()):
        found["mscr" if len(at_eps_min) == 1 else f"mscr {noise}"] = measure_mscr(s)
    return found


def estimate_mean(models: Sequence[Measurement]) -> Estimate | None:
    """Mean of a metric over models on the same data; None if they share no run, or undefined."""
    runs = _find_common_runs(models)
    if not runs:
        return None
    k = models[0].k
    if models[0].relative:
        changes = _list_changes(models, runs, models)
        return _estimate(lambda: intervals.mean_change(changes, k), models, runs)
    counts, draws = _add_up(models, runs, models), k * len(models)
    if len(runs) == 1:
        return _estimate(lambda: intervals.mean_share(counts[0], draws), models, runs)
    return _estimate(lambda: intervals.mean_share_over_runs(counts, draws), models, runs)


def estimate_difference(
    first: Sequence[Measurement], second: Sequence[Measurement]
) -> Estimate | None:
    """Mean of the first models minus that of the second, paired; None as in `estimate_mean`."""
    both = [*first, *second]
    runs = _find_common_runs(both)
    if not runs:
        return None
    k = first[0].k
    if first[0].relative:
        ours, theirs = (_list_changes(models, runs, both) for models in (first, second))
        return _estimate(lambda: intervals.mean_change_difference(ours, theirs, k), both, runs)
    common = math.lcm(len(first), len(second))
    a, b = (
        [common // len(models) * run for run in _add_up(models, runs, both)]
        for models in (first, second)
    )
    draws = common * k
    if len(runs) == 1:
        return _estimate(lambda: intervals.mean_difference(a[0], b[0], draws), both, runs)
    return _estimate(lambda: intervals.mean_difference_over_runs(a, b, draws), both, runs)


def count_runs(models: Sequence[Measurement]) -> int:
    """Return the number of runs that models share."""
    return len(_find_common_runs(models))


def _find_common_runs(models: Sequence[Measurement]) -> list[int]:
    """Return the runs in which all models have the same points and noise; none if one is too few.

    One run does not suffice if all points share their draws: they are not independent.
    """
    pairing = models[0].pairing
    runs = [run for run in pairing if all(m.pairing.get(run) == pairing[run] for m in models)]
    return [] if len(runs) == 1 and models[0].has_shared_draws else runs


def _add_up(
    models: Sequence[Measurement], runs: Sequence[int], shared: Sequence[Measurement]
) -> list[IntArray]:
    """Sums of the counts of models in every run, on the points that all of `shared` have."""
    sizes = {run: _count_points(shared, run) for run in runs}
    return [np.sum([m.counts[run][: sizes[run]] for m in models], axis=0) for run in runs]


def _list_changes(
    models: Sequence[Measurement], runs: Sequence[int], shared: Sequence[Measurement]
) -> list[tuple[list[IntArray], list[IntArray]]]:
    """Counts on clean points and in draws, by model and run, on the points of all `shared`."""
    sizes = {run: _count_points(shared, run) for run in runs}
    return [
        (
            [m.clean[run][: sizes[run]] for run in runs],
            [m.counts[run][: sizes[run]] for run in runs],
        )
        for m in models
    ]


def _count_points(models: Sequence[Measurement], run: int) -> int:
    """Number of points that all models have; a stopping rule may have taken more for some."""
    return min(len(m.counts[run]) for m in models)


def _estimate(
    compute: Callable[[], Estimate], models: Sequence[Measurement], runs: Sequence[int]
) -> Estimate | None:
    """Return an estimate that allows for stopping rules, or None if it is undefined.

    iCE is so without an error on clean points.
    """
    try:
        estimate = compute()
    except UndefinedError:
        return None
    cells = ([model.cells[run] for run in runs] for model in models)
    return allow_for_looks(estimate, *cells, n=_count_points(models, runs[0]))


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

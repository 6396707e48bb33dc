"""Measurements: the counts behind one metric of one model, averaged over models and subtracted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shaketable.core.errors import UndefinedError
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Record
from shaketable.findings.mce.scores import TITLES
from shaketable.findings.sequential import allow_for_looks
from shaketable.findings.series import Series, get_pairing
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


def is_error(metric: str) -> bool:
    """Whether lower values are better: all metrics but MSCR."""
    return not metric.startswith("mscr")


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

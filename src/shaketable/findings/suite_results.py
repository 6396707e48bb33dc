"""Suite results: one model under all corruptions of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shaketable.core.spec import parse_call
from shaketable.core.types import FloatArray, IntArray
from shaketable.corruptions.common.corruption import BENCHMARK, NO_NOISE
from shaketable.evaluation.records import Record, Records, SuiteRecord
from shaketable.findings.series import (
    Series,
    group_series,
    meets_same_noise,
    refuse_shared,
    share_points,
)

PARTS = {"mce_15": ("common-15", BENCHMARK), "mce_xn": ("common-xn", NO_NOISE)}
"""Metrics of parts of the 19 common corruptions: the suite of the part, and its kinds."""

SEVERITIES = range(1, 6)


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """One model under all corruptions of a suite, in the suite's order.

    Clean points may be one of the sets. They are evaluated once, since they have no noise, and have
    the same weight as the other sets.
    """

    suite: SuiteRecord
    series: tuple[Series, ...]
    part_of: str = ""
    """Name of the evaluated suite that holds these corruptions; empty if it is this one."""

    @cached_property
    def first(self) -> Record:
        """One of its cells, corrupted if possible, for settings that all cells share."""
        cells = [s.first for s in self.series]
        return next((c for c in cells if not c.is_clean), cells[0])

    @cached_property
    def specs(self) -> tuple[str, ...]:
        """Specs of its corruptions, including clean points."""
        return tuple(s.first.corruption for s in self.series)

    @cached_property
    def draws(self) -> int:
        """Draws per point, over all corruptions."""
        return len(self.series) * self.first.k

    @property
    def method(self) -> str:
        """Description of a mean over the suite, for `Estimate.method`."""
        derived = f", {self.suite.derived}" if self.suite.derived else ""
        what = "sets" if "clean" in self.specs else "corruptions"
        part = f", part of {self.part_of}" if self.part_of else ""
        return f"mean over {len(self.series)} {what} of suite {self.suite.name}{part}{derived}"

    def errors(self) -> tuple[list[IntArray], list[IntArray]]:
        """Return the number of wrong answers of every point: on clean points, and in all draws.

        Both lists have one array per run.
        """
        clean = [1 - cell.hits for cell in self.series[0].clean]
        runs = zip(*(s.noisy for s in self.series), strict=True)
        k = self.first.k
        right = ([c.hits * (k // c.k) for c in cells] for cells in runs)
        return clean, [self.draws - np.sum(hits, axis=0) for hits in right]

    def shares(self) -> FloatArray:
        """Return the share of right answers, (corruptions, points), or (runs, corruptions, points).

        The draws of a point are averaged, so that the points of a run are independent. For one run
        there is no axis of runs.
        """
        if self.series[0].runs == 1:
            refuse_shared(self.first)
        runs = zip(*(s.noisy for s in self.series), strict=True)
        shares = np.array([[cell.hits / cell.k for cell in cells] for cells in runs])
        return shares[0] if len(shares) == 1 else shares


def group_suites(records: Records, series: Sequence[Series] | None = None) -> list[SuiteResult]:
    """Return one result per model and suite whose corruptions were all evaluated.

    `series` are those of the records, if they have been grouped already.

    Parameters
    ----------
    records
        Of models under suites.
    series
        Series of the records; None groups them.

    Returns
    -------
    list[SuiteResult]
        One result per model and suite.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2, 0.0], [0.8, 0.0]], [False, True]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, st.suite("mscr-2d"), k=1)
    >>> [len(result.series) for result in st.metrics.suite_results(records)]
    [8]
    """
    settings: dict[tuple[object, ...], dict[str, Series]] = {}
    for s in group_series(records) if series is None else series:
        c = s.first
        setting = (c.recipe, c.train, c.fingerprint, c.points.order, c.setting)
        settings.setdefault(setting, {})[c.corruption] = s
    return [
        SuiteResult(suite, tuple(_choose_members(suite, by_spec)))
        for by_spec in settings.values()
        for suite in records.suites
        if next(iter(by_spec.values())).first.fingerprint == suite.fingerprint
        and _list_corruptions(suite) <= set(by_spec)
    ]


def meets_same_suite(first: SuiteResult, second: SuiteResult) -> bool:
    """Whether two results can be paired: same points and noise, corruption by corruption.

    Parameters
    ----------
    first, second
        Two of those that `metrics.suite_results` returns.

    Returns
    -------
    bool
        Whether they can be paired.

    Examples
    --------
    >>> import shaketable as st
    >>> models = {"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6}
    >>> data = [[0.2, 0.0], [0.8, 0.0]], [False, True]
    >>> records = st.evaluate(models, data, st.suite("mscr-2d"), k=1)
    >>> st.metrics.meets_same_suite(*st.metrics.suite_results(records))
    True
    """
    return len(first.series) == len(second.series) and all(
        map(meets_same_noise, first.series, second.series)
    )


def share_suite_points(first: SuiteResult, second: SuiteResult) -> tuple[SuiteResult, SuiteResult]:
    """Return two paired results on the points that both have; see `share_points`."""
    pairs = [share_points(a, b) for a, b in zip(first.series, second.series, strict=True)]
    return (
        replace(first, series=tuple(a for a, _ in pairs)),
        replace(second, series=tuple(b for _, b in pairs)),
    )


def take_part(result: SuiteResult, metric: str) -> SuiteResult | None:
    """Return the part of a result that another metric is computed from; None if there is none.

    All 19 common corruptions contain the benchmark's 15 and the 15 without pixel noise.
    """
    name, kinds = PARTS.get(metric, ("", ()))
    if result.suite.metric != "mce" or not name:
        return None
    by_kind: dict[str, list[Series]] = {kind: [] for kind in kinds}
    for s in result.series:
        by_kind.get(parse_call(s.first.corruption).name, []).append(s)
    if any(len(levels) != len(SEVERITIES) for levels in by_kind.values()):
        return None
    series = tuple(s for levels in by_kind.values() for s in levels)
    specs = tuple(s.first.corruption for s in series)
    suite = replace(result.suite, name=name, metric=metric, specs=specs)
    return SuiteResult(suite, series, part_of=result.suite.name)


def _list_corruptions(suite: SuiteRecord) -> set[str]:
    """Return its corruptions without clean points, which every series has; else clean points."""
    return set(suite.specs) - {"clean"} or {"clean"}


def _choose_members(suite: SuiteRecord, by_spec: dict[str, Series]) -> list[Series]:
    members = {spec: by_spec[spec] for spec in suite.specs if spec in by_spec}
    if next(iter(members.values())).first.points.stopped == "points":
        n = min(s.first.n for s in members.values())  # commands may have stopped elsewhere
        members = {spec: s.take_points(n) for spec, s in members.items()}
    noisy = next(iter(members.values()))
    return [noisy.on_clean if spec == "clean" else members[spec] for spec in suite.specs]

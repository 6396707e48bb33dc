"""Suite results: one model under all corruptions of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import Record, Records, SuiteRecord
from shaketable.findings.series import (
    Series,
    group_series,
    meets_same_noise,
    noise_setting,
    refuse_shared,
)


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """One model under all corruptions of a suite, in the suite's order.

    Clean points may be one of the sets. They have no noise, so they are evaluated once, and count
    as if they had been evaluated as often as the others.
    """

    suite: SuiteRecord
    series: tuple[Series, ...]

    @cached_property
    def first(self) -> Record:
        """One of its cells, under noise if there is any, for what all have in common."""
        cells = [s.first for s in self.series]
        return next((c for c in cells if c.corruption != "clean"), cells[0])

    @cached_property
    def specs(self) -> tuple[str, ...]:
        """Its corruptions, clean points among them."""
        return tuple(s.first.corruption for s in self.series)

    @property
    def draws(self) -> int:
        """Draws per point, over all corruptions."""
        return len(self.series) * self.first.k

    @property
    def method(self) -> str:
        """What a mean over the suite is taken over."""
        derived = f", {self.suite.derived}" if self.suite.derived else ""
        what = "sets" if "clean" in self.specs else "corruptions"
        return f"mean over {len(self.series)} {what} of suite {self.suite.name}{derived}"

    def errors(self) -> tuple[list[IntArray], list[IntArray]]:
        """Wrong answers of every point, per run: on clean points, and in all draws."""
        clean = [1 - cell.hits for cell in self.series[0].clean]
        runs = zip(*(s.noisy for s in self.series), strict=True)
        k = self.first.k
        right = ([c.hits * (k // c.k) for c in cells] for cells in runs)
        return clean, [self.draws - np.sum(hits, axis=0) for hits in right]

    def shares(self) -> FloatArray:
        """Share of right answers of one fitted model, (corruptions, points).

        The draws of a point are averaged, so that columns are independent.
        """
        refuse_shared(self.first)
        if self.series[0].runs > 1:
            raise InputError(
                f"suite {self.suite.name!r} must have been evaluated for one fitted model here, "
                f"got {self.series[0].runs} runs of {self.first.model}; choose one with "
                "records.select(run=…)"
            )
        return np.array([s.first.hits / s.first.k for s in self.series])


def group_suites(records: Records, series: Sequence[Series] | None = None) -> list[SuiteResult]:
    """Every model under every suite whose corruptions were all evaluated.

    `series` are those of the records, where they have been grouped already.
    """
    settings: dict[tuple[object, ...], dict[str, Series]] = {}
    for s in group_series(records) if series is None else series:
        c = s.first
        settings.setdefault((c.recipe, c.train, *noise_setting(c)), {})[c.corruption] = s
    return [
        SuiteResult(suite, tuple(_choose_members(suite, by_spec)))
        for by_spec in settings.values()
        for suite in records.suites
        if next(iter(by_spec.values())).first.fingerprint == suite.fingerprint
        and _corrupted_sets(suite) <= set(by_spec)
    ]


def meets_same_suite(first: SuiteResult, second: SuiteResult) -> bool:
    """Whether two results can be paired: same points and noise, corruption by corruption."""
    return len(first.series) == len(second.series) and all(
        map(meets_same_noise, first.series, second.series)
    )


def choose_suite_result(records: Records | SuiteResult, metric: str) -> SuiteResult:
    """Return the only result of a suite for `metric`; raise if there is none or more than one."""
    if isinstance(records, SuiteResult):
        return records
    results = [r for r in group_suites(records) if r.suite.metric == metric]
    if len(results) != 1:
        names = list_some(f"{r.first.model} under {r.suite.name}" for r in results)
        raise InputError(
            f"{metric} needs exactly one model under one whole suite, got {names}; evaluate it "
            f"with a suite for {metric} (shaketable list suites), or choose with "
            "records.select(model=…) or metrics.suite_results(records)"
        )
    return results[0]


def list_some(things: Iterable[object]) -> str:
    """Name the first three and count the others.

    >>> list_some("abcde"), list_some([])
    ('a; b; c and 2 more', 'none')
    """
    names = [str(thing) for thing in things]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more or "none"


def _corrupted_sets(suite: SuiteRecord) -> set[str]:
    """Its corruptions; clean points are beside each, so they are required only if they are all."""
    return set(suite.specs) - {"clean"} or {"clean"}


def _choose_members(suite: SuiteRecord, by_spec: dict[str, Series]) -> list[Series]:
    noisy = next(by_spec[spec] for spec in suite.specs if spec in by_spec)
    return [noisy.on_clean if spec == "clean" else by_spec[spec] for spec in suite.specs]

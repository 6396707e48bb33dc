"""TODO."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import Record, Records, SuiteRecord
from shaketable.findings.series import (
    Series,
    _setting,
    clean_beside,
    meets_same_noise,
    refuse_shared,
    series,
)


def choose_suite_result(records: Records | SuiteResult, metric: str) -> SuiteResult:
    """Return the one result of a suite for `metric`, or say what else the records hold."""
    if isinstance(records, SuiteResult):
        return records
    found = [r for r in suite_results(records) if r.suite.metric == metric]
    if len(found) != 1:
        names = list_some(f"{r.first.model} under {r.suite.name}" for r in found)
        raise InputError(
            f"{metric} needs exactly one model under one whole suite, got {names}; evaluate it "
            f"with a suite for {metric} (shaketable list suites), or choose with "
            "records.select(model=…) or metrics.suite_results(records)"
        )
    return found[0]


def list_some(found: Iterable[object]) -> str:
    """Name the first three and count the rest."""
    names = [str(one) for one in found]
    return (
        "; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "none"
    )


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """One kind of model under all corruptions of a suite, in the suite's order.

    Clean points may be among them. They have no noise, so they are measured once, and count as if
    they had been measured as often as the others.
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
        """Its corruptions, and clean points among them."""
        return tuple(s.first.corruption for s in self.series)

    @property
    def draws(self) -> int:
        """Draws a point, over all corruptions."""
        return len(self.series) * self.first.k

    @property
    def method(self) -> str:
        """What a mean over the suite is a mean of."""
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

        The draws of a point stand together, so that columns are independent.
        """
        refuse_shared(self.first)
        if self.series[0].runs > 1:
            raise InputError(
                f"suite {self.suite.name!r} must have been met by one fitted model here, got "
                f"{self.series[0].runs} runs of {self.first.model}; choose one with "
                "records.select(run=…)"
            )
        return np.array([s.first.hits / s.first.k for s in self.series])


def suite_results(records: Records) -> list[SuiteResult]:
    """Every model under every suite that it met completely."""
    settings: dict[tuple[object, ...], dict[str, Series]] = {}
    for s in series(records):
        c = s.first
        settings.setdefault((c.recipe, c.train, *_setting(c)), {})[c.corruption] = s
    return [
        SuiteResult(suite, tuple(_members(suite, found)))
        for found in settings.values()
        for suite in records.suites
        if next(iter(found.values())).first.fingerprint == suite.fingerprint
        and _noises(suite) <= set(found)
    ]


def _noises(suite: SuiteRecord) -> set[str]:
    """Its corruptions; clean points are beside each of them, and count only where they are all."""
    return set(suite.specs) - {"clean"} or {"clean"}


def _members(suite: SuiteRecord, found: dict[str, Series]) -> list[Series]:
    noisy = next(found[spec] for spec in suite.specs if spec in found)
    return [clean_beside(noisy) if spec == "clean" else found[spec] for spec in suite.specs]


def meets_same_suite(first: SuiteResult, second: SuiteResult) -> bool:
    """Whether two results can be paired: same points, same noise, corruption by corruption."""
    return len(first.series) == len(second.series) and all(
        map(meets_same_noise, first.series, second.series)
    )

"""Groups of records that metrics are taken of: a model under a corruption, or under a suite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from shaketable.errors import InputError, UndefinedError
from shaketable.records import Record, Records, SuiteRecord
from shaketable.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Series:
    """One kind of model under one corruption: a cell a run, each beside its clean cell."""

    noisy: tuple[Record, ...]
    clean: tuple[Record, ...]
    at_eps_min: bool

    @property
    def first(self) -> Record:
        """The cell of the first run, for all that the runs have in common."""
        return self.noisy[0]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.noisy)

    @cached_property
    def accuracies(self) -> FloatArray:
        """Accuracy of every run."""
        return np.array([cell.accuracy for cell in self.noisy])

    @cached_property
    def relative_losses(self) -> FloatArray:
        """Relative loss of every run."""
        return relative_change([cell.accuracy for cell in self.clean], self.accuracies)

    def __str__(self) -> str:
        cell = self.first
        return f"{cell.model}, trained {cell.train}, under {cell.corruption}"


def series(records: Records) -> list[Series]:
    """Cells that belong together, in the order they came."""
    clean = {(c.points.id, c.model_id): c for c in records if c.corruption == "clean"}
    groups: dict[tuple[object, ...], dict[int, Record]] = {}
    for c in records:
        same = (c.recipe, c.train, *_setting(c), c.corruption)
        groups.setdefault(same, {})[c.run] = c
    result = []
    for cells in groups.values():
        noisy = tuple(cells[run] for run in sorted(cells))
        try:
            beside = tuple(clean[cell.points.id, cell.model_id] for cell in noisy)
        except KeyError as error:
            raise InputError(
                f"records of {noisy[0].model} under {noisy[0].corruption} lack the clean cell; "
                "name the corruption in the metric instead of selecting it"
            ) from error
        result.append(Series(noisy, beside, records.at_eps_min(noisy[0])))
    return result


def _setting(cell: Record) -> tuple[object, ...]:
    """All that decides which noise a point meets, but for the corruption and the run."""
    return cell.fingerprint, cell.bounds, cell.draws, cell.noise, cell.k, cell.seed


def relative_change(clean: ArrayLike, robust: ArrayLike) -> FloatArray:
    r"""Accuracy won or lost under noise, relative to the clean accuracy, one value per run.

    .. math:: (a_{\epsilon} - a_0) / a_0

    At eps_min this is MSCR (Siedel et al. 2022, Eq. 2). 0: no loss; -0.25: a quarter of the clean
    accuracy was lost; above 0: the noise helps.

    >>> relative_change(clean=[0.8, 0.8], robust=[0.6, 0.8])
    array([-0.25,  0.  ])
    """
    before, after = np.asarray(clean, dtype=float), np.asarray(robust, dtype=float)
    if not (before > 0).all():
        raise UndefinedError(
            "MSCR is undefined at a clean accuracy of 0: there is nothing to lose; "
            "check that the model's labels are the data's"
        )
    return np.asarray((after - before) / before)


def meets_same_noise(first: Series, second: Series) -> bool:
    """Whether two series can be paired: same points, same noise, run by run."""
    what, other = (
        [(c.points.id, c.corruption, *_setting(c), c.run) for c in s.noisy] for s in (first, second)
    )
    return what == other


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """One kind of model under all corruptions of a suite, in the suite's order."""

    suite: SuiteRecord
    series: tuple[Series, ...]

    @property
    def first(self) -> Record:
        """One of its cells, for what all have in common."""
        return self.series[0].first

    @property
    def draws(self) -> int:
        """Draws a point, over all corruptions."""
        return len(self.series) * self.first.k

    @property
    def method(self) -> str:
        """What a mean over the suite is a mean of."""
        derived = f", {self.suite.derived}" if self.suite.derived else ""
        return f"mean over {len(self.series)} corruptions of suite {self.suite.name}{derived}"

    def errors(self) -> tuple[list[IntArray], list[IntArray]]:
        """Wrong answers of every point, per run: on clean points, and in all draws."""
        clean = [1 - cell.hits for cell in self.series[0].clean]
        runs = zip(*(s.noisy for s in self.series), strict=True)
        return clean, [self.draws - np.sum([c.hits for c in cells], axis=0) for cells in runs]


def suite_results(records: Records) -> list[SuiteResult]:
    """Every model under every suite that it met completely."""
    settings: dict[tuple[object, ...], dict[str, Series]] = {}
    for s in series(records):
        c = s.first
        settings.setdefault((c.recipe, c.train, *_setting(c)), {})[c.corruption] = s
    return [
        SuiteResult(suite, tuple(found[spec] for spec in suite.specs))
        for found in settings.values()
        for suite in records.suites
        if next(iter(found.values())).first.fingerprint == suite.fingerprint
        and set(suite.specs) <= set(found)
    ]


def meets_same_suite(first: SuiteResult, second: SuiteResult) -> bool:
    """Whether two results can be paired: same points, same noise, corruption by corruption."""
    return len(first.series) == len(second.series) and all(
        map(meets_same_noise, first.series, second.series)
    )

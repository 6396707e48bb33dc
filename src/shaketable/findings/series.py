"""Groups of records that metrics are taken of: a model under a corruption, or under a suite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Record, Records


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
        [
            # clean points are the same whatever the seed
            (c.points.id, c.corruption, c.run, () if c.corruption == "clean" else _setting(c))
            for c in s.noisy
        ]
        for s in (first, second)
    )
    return what == other


def clean_beside(series: Series) -> Series:
    """Return the same models of the same runs, on clean points."""
    return Series(noisy=series.clean, clean=series.clean, at_eps_min=False)


def refuse_shared(cell: Record) -> None:
    """Refuse draws that all points have in common: one run of them has no interval."""
    if cell.draws == "shared":
        raise InputError(
            "draws must be independent for an interval from one run, got shared ones: all points "
            "met the same noise; measure several runs in a study"
        )

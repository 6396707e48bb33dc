"""Which points are wrong most often under a corruption, and the smallest size that flips each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.importing import trust_only
from shaketable.core.spec import parse_call, split_calls
from shaketable.core.types import BoolArray, FloatArray, IntArray
from shaketable.corruptions.parse import parse
from shaketable.evaluation.records import Record, Records
from shaketable.findings.series import Series, allow_for_looks, group_series, refuse_shared
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Flips:
    """The points of one fitted model under one corruption, by how often they are wrong.

    A point flips if it is right when clean and wrong in more than half of its draws.
    """

    series: Series
    noise: str
    """Name of the corruption."""

    @property
    def cell(self) -> Record:
        """The cell under the corruption."""
        return self.series.first

    @cached_property
    def wrong(self) -> FloatArray:
        """Share of wrong draws of every point."""
        return np.asarray(1 - self.cell.hits / self.cell.k)

    @cached_property
    def right_clean(self) -> BoolArray:
        """Whether every point is right when clean."""
        return np.asarray(self.series.clean[0].hits > 0)

    @cached_property
    def flipped(self) -> BoolArray:
        """Whether every point flips."""
        return np.asarray(self.right_clean & (2 * self.cell.hits < self.cell.k))

    @cached_property
    def rows(self) -> list[int]:
        """Rows that flip, those wrong most often first."""
        ranked = self.rank(self.cell.n)
        return [int(self.cell.points.rows[i]) for i in ranked if self.flipped[i]]

    @cached_property
    def true_score(self) -> FloatArray:
        """Mean score of the true class; 0 for models without scores."""
        answers = self.cell.answers
        if answers is None or not answers.has_scores:
            return np.zeros(self.cell.n)
        return np.asarray(answers.true_score.mean(axis=1, dtype=np.float64))

    def rank(self, number: int, *, all_points: bool = False) -> list[int]:
        """Return positions of the points that are wrong most often, among those right when clean.

        Ties are broken by the lower mean score of the true class, then by row.
        """
        order = np.lexsort((self.cell.points.rows, self.true_score, -self.wrong))
        kept = (self.wrong > 0) & (self.right_clean | all_points)
        return [int(i) for i in order[kept[order]][:number]]

    def rank_least(self, number: int) -> list[int]:
        """Return positions of the points that are wrong least often, of those right when clean."""
        order = np.lexsort((self.cell.points.rows, -self.true_score, self.wrong))
        return [int(i) for i in order[self.right_clean[order]][:number]]

    @cached_property
    def least_affected_class(self) -> Any:
        """Class that loses the least accuracy, as measured."""
        y, lost = self.cell.points.y, self.right_clean - (1 - self.wrong)
        losses = {int(code): float(lost[y == code].mean()) for code in np.unique(y)}
        return self.cell.points.classes[min(losses, key=losses.__getitem__)]

    @cached_property
    def wrong_answers(self) -> IntArray:
        """Most frequent wrong answer of every point, an exact class code of the answers.

        Points without a wrong draw have their true class.
        """
        answers = self.cell.answers
        y = self.cell.points.y
        if answers is None:
            raise InputError(
                "the class of wrong answers needs the answers on record, got hits alone; evaluate "
                "with " + either("--record answers", "record='answers'")
            )
        predicted = answers.exact
        result, most = y.copy(), np.zeros(len(y), np.int64)
        for code in np.unique(predicted):
            count = ((predicted == code) & (y != code)[:, None]).sum(axis=1)
            result, most = np.where(count > most, code, result), np.maximum(count, most)
        return np.asarray(result)

    @cached_property
    def wrong_confidence(self) -> FloatArray | None:
        """Mean confidence of wrong answers, NaN where there are none; None without scores."""
        answers = self.cell.answers
        if answers is None or not answers.has_scores:
            return None
        wrong = answers.predicted != self.cell.points.y[:, None]
        total = np.where(wrong, answers.confidence, 0).sum(axis=1, dtype=np.float64)
        number = wrong.sum(axis=1)
        return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


@dataclass(frozen=True, eq=False)
class FlipLadder:
    """One fitted model under several sizes of one noise, or severities of one corruption."""

    name: str
    """What the levels have in common, such as ``linf``."""
    sizes: tuple[float, ...]
    levels: tuple[Flips, ...]
    """In the order of their sizes."""

    @cached_property
    def smallest(self) -> FloatArray:
        """Smallest size at which every point flips; inf: never within the ladder.

        NaN for points that are wrong when clean.
        """
        result = np.full(self.levels[0].cell.n, np.inf)
        for size, level in zip(reversed(self.sizes), reversed(self.levels), strict=True):
            result[level.flipped] = size
        result[~self.levels[0].right_clean] = np.nan
        return result

    def list_rows(self, size: float) -> list[int]:
        """Return the rows of which this is the smallest size that flips them."""
        level = self.levels[self.sizes.index(size)]
        first = {int(row) for row in level.cell.points.rows[self.smallest == size]}
        return [row for row in level.rows if row in first]

    @cached_property
    def shares(self) -> dict[float, Estimate]:
        """Share of the points right when clean that flip at a size or a smaller one."""
        right = self.smallest[~np.isnan(self.smallest)]
        cell = self.levels[0].cell
        return {
            size: allow_for_looks(
                intervals.mean_share((right <= size).astype(np.int64), 1), [cell], n=len(right)
            )
            for size in self.sizes
        }

    def find_quantile(self, share: float) -> float | None:
        """Return the smallest size at which this share has flipped; None: not within the ladder."""
        right = np.sort(self.smallest[~np.isnan(self.smallest)])
        value = right[max(0, int(np.ceil(share * len(right))) - 1)]
        return None if np.isinf(value) else float(value)


def group_ladders(series: Iterable[Series]) -> list[FlipLadder]:
    """Return the ladders of fitted models: two levels or more of one noise, on the same points."""
    groups: dict[tuple[object, ...], dict[float, Series]] = {}
    for s in series:
        cell = s.first
        if cell.is_clean or s.runs > 1 or not s.clean or cell.shares_draws:
            continue
        ladder, size = read_level(cell.corruption)
        key = (cell.recipe, cell.train, cell.fingerprint, cell.points.id, cell.setting)
        groups.setdefault((*key, ladder), {})[size] = s
    return [
        FlipLadder(
            str(key[-1]),
            tuple(sorted(found)),
            tuple(Flips(found[size], found[size].first.corruption) for size in sorted(found)),
        )
        for key, found in groups.items()
        if len(found) > 1 and next(iter(found.values())).clean[0].correct
    ]


def read_level(spec: str) -> tuple[str, float]:
    """Return the ladder of a corruption and its size; foreign code is read as text, not imported.

    >>> read_level("linf(0.1)"), read_level("my.noise:rain(2, 3)"), read_level("my.noise:fog")
    (('linf', 0.1), ('my.noise:rain(3)', 2.0), ('my.noise:fog', 0.0))
    """
    try:
        with trust_only(()):
            corruption = parse(spec)
    except InputError:
        call = parse_call(spec) if split_calls(spec) == (spec,) else None
        if call is None or not call.args or isinstance(call.args[0], str):
            return spec, 0.0
        return str(replace(call, args=call.args[1:])), float(call.args[0])
    return corruption.ladder, corruption.size


def flip_size(records: Records, *, ladder: str | None = None) -> dict[float, Estimate]:
    """Share of points that flip at each size of one noise, or at a smaller one.

    A point flips at a size if it is right when clean and wrong in more than half of its draws.
    Points that are wrong when clean do not count.

    Parameters
    ----------
    records
        Of one fitted model under two or more sizes of noise, or severities.
    ladder
        What the sizes have in common, such as ``linf``, where the records have several ladders.

    Returns
    -------
    dict[float, Estimate]
        By size, the share with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 101)[:, None]
    >>> model = lambda x: x[:, 0] > 0.5
    >>> records = st.evaluate(model, (x, model(x)), ["linf(0.1)", "linf(0.4)"])
    >>> {size: share.value > 0.5 for size, share in st.metrics.flip_size(records).items()}
    {0.1: False, 0.4: False}
    """
    found = group_ladders(group_series(records))
    chosen = [each for each in found if ladder in (None, each.name)]
    if len(chosen) != 1:
        names = ", ".join(f"{each.levels[0].cell.model} under {each.name}" for each in found)
        raise InputError(
            f"flip_size needs one fitted model under two sizes or more of one noise, got "
            f"{names or 'none'}; pass records.select(model=…) and ladder="
        )
    refuse_shared(chosen[0].levels[0].cell, over_runs=False)
    return chosen[0].shares

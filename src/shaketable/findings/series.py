"""Series: the records of one model under one corruption, with accuracy and relative loss."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.core.norms import norm_name, norm_title, pnorm_level
from shaketable.core.spec import Call, name_multiple, split_calls
from shaketable.core.types import BoolArray, FloatArray, IntArray
from shaketable.evaluation.records import Points, Record, Records
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.sequences import (
    Unit,
    describe_method,
    find_fixed_confidence,
    hold_at_any_size,
)


def find_unit(cells: Sequence[Record]) -> Unit | None:
    """Return what a stopping rule chose the number of; `cells` has one cell per run."""
    stopped = {cell.points.stopped for cell in cells}
    unit: Unit = "points" if len(cells) == 1 else "runs"
    return unit if unit in stopped else None


def allow_for_looks(
    estimate: Estimate, *models: Sequence[Record], n: int | None = None
) -> Estimate:
    """Return an estimate from cells of some models with an interval that holds where it stops.

    That is a confidence sequence if a stopping rule chose the number of points, or of runs, for one
    of the models, else the estimate as it is. Each has one cell per run, in the same runs. `n` is
    the number of points if it is not that of the first cell.
    """
    units = [unit for cells in models if (unit := find_unit(cells)) is not None]
    if not units:
        return estimate
    size = len(models[0]) if units[0] == "runs" else models[0][0].n if n is None else n
    return hold_at_any_size(estimate, size, units[0])


def bound_error(hits: IntArray, cell: Record) -> Estimate:
    """Probability of a wrong answer at some points of a cell, with a one-sided 95 % bound."""
    e = intervals.error_upper_bound(hits, cell.k)
    if find_unit([cell]) is None:
        return e
    # one side of a sequence with 90 %
    confidence = (1 + find_fixed_confidence(0.9, len(hits), "points")) / 2
    e = intervals.error_upper_bound(hits, cell.k, confidence=confidence)
    return replace(e, confidence=0.95, method=f"{e.method}; {describe_method('points')}")


class ModelJson(TypedDict):
    """A model, and the data that it was evaluated on."""

    model: str
    label: Annotated[str, "Unique name: the model's, with the settings that differ."]
    data: str


class ConditionJson(TypedDict):
    """What points were under."""

    corruption: Annotated[str, "Spec, or clean."]
    at_eps_min: Annotated[bool, "Whether it is noise of size eps_min of the data."]
    k: Annotated[int, "Draws per point; 1 on clean points."]


@dataclass(frozen=True, eq=False)
class Series:
    """One model under one corruption: one cell per run, each with its clean cell.

    Estimates are computed when they are first asked for, and kept.
    """

    noisy: tuple[Record, ...]
    clean: tuple[Record, ...]
    at_eps_min: bool
    """Whether the corruption is noise of size eps_min of the data."""
    eps_min_by_norm: Mapping[float, float] = field(default_factory=dict)
    """Of the data, by the order of the norm, where it was measured."""
    _parts: dict[int, Series] = field(default_factory=dict, repr=False)

    @cached_property
    def first(self) -> Record:
        """The cell of the first run, for settings that all runs share."""
        return self.noisy[0]

    @cached_property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.noisy)

    def get_eps_min(self, p: float) -> float:
        """Return eps_min of the data in the p-norm; raise an `InputError` if it is not known."""
        if p not in self.eps_min_by_norm:
            raise InputError(
                f"{norm_title(p)} eps_min of {self.first.data} is not on record; evaluate a model "
                f"under {norm_name(p)}(eps_min)"
            )
        return self.eps_min_by_norm[p]

    def name_sizes(self, spec: str) -> str:
        """Return a spec with sizes of noise in units of eps_min where they are such."""
        for call in split_calls(spec):
            level = pnorm_level(call)
            if level is None:
                continue
            multiple = name_multiple(level.size, self.eps_min_by_norm.get(level.p))
            if multiple:
                spec = spec.replace(call, str(Call(norm_name(level.p), (multiple,))))
        return spec

    @cached_property
    def accuracies(self) -> FloatArray:
        """Accuracy of every run."""
        return np.array([cell.accuracy for cell in self.noisy])

    @cached_property
    def relative_losses(self) -> FloatArray:
        """Relative change of the accuracy of every run."""
        return relative_change([cell.accuracy for cell in self.clean], self.accuracies)

    @cached_property
    def accuracy(self) -> Estimate:
        """Share of points, or of noisy draws, that are classified correctly."""
        hits = [cell.hits for cell in self.noisy]
        if self.runs == 1:
            refuse_shared(self.first)
            estimate = intervals.mean_share(hits[0], self.first.k)
        else:
            estimate = intervals.mean_share_over_runs(hits, self.first.k)
        return allow_for_looks(estimate, self.noisy)

    @cached_property
    def relative_loss(self) -> Estimate:
        """Change of the accuracy relative to the clean accuracy; undefined if that is 0.

        At eps_min this is MSCR.
        """
        clean, hits = [cell.hits for cell in self.clean], [cell.hits for cell in self.noisy]
        if self.runs == 1:
            refuse_shared(self.first)
            estimate = intervals.relative_change(clean[0], hits[0], self.first.k)
        else:
            estimate = intervals.relative_change_over_runs(clean, hits, self.first.k)
        return allow_for_looks(estimate, self.noisy)

    @cached_property
    def change(self) -> Estimate | None:
        """`relative_loss`, or None if it is undefined."""
        try:
            return self.relative_loss
        except UndefinedError:
            return None

    @cached_property
    def accuracy_change(self) -> Estimate:
        """Accuracy minus that on clean points, paired by point; below 0 accuracy is lost."""
        hits, k = [cell.hits for cell in self.noisy], self.first.k
        clean = [k * cell.hits for cell in self.clean]
        if self.runs == 1:
            refuse_shared(self.first)
            estimate = intervals.mean_difference(hits[0], clean[0], k)
        else:
            estimate = intervals.mean_difference_over_runs(hits, clean, k)
        return allow_for_looks(estimate, self.noisy)

    @cached_property
    def error_bound(self) -> Estimate:
        """Probability of a wrong answer of one fitted model, with a one-sided 95 % upper bound."""
        refuse_shared(self.first, over_runs=False)
        if self.runs > 1:
            raise InputError(
                f"error_probability is about one fitted model, got {self.runs} runs of a study; "
                "pass records.select(run=0), or take_runs(1) of the series"
            )
        return bound_error(self.first.hits, self.first)

    @cached_property
    def error_probability(self) -> ErrorProbability:
        """`error_bound`, and the same for every class and point."""
        return estimate_error_probability(self.first, self.error_bound)

    @cached_property
    def on_clean(self) -> Series:
        """The same models in the same runs on clean points."""
        if self.noisy is self.clean:
            return self
        return replace(self, noisy=self.clean, at_eps_min=False, _parts={})

    def take_runs(self, runs: int) -> Series:
        """Return the first runs, for estimates from fewer of them."""
        if runs == self.runs:
            return self
        if runs not in self._parts:
            part = replace(self, noisy=self.noisy[:runs], clean=self.clean[:runs], _parts={})
            self._parts[runs] = part
        return self._parts[runs]

    def keep_runs(self, kept: Collection[int]) -> Series:
        """Return some of the runs, by their numbers."""
        noisy, clean = (
            tuple(c for c in cells if c.run in kept) for cells in (self.noisy, self.clean)
        )
        return replace(self, noisy=noisy, clean=clean, _parts={})

    def take_points(self, n: int) -> Series:
        """Return the first points of one fitted model whose number a stopping rule chose."""
        if n == self.first.n:
            return self
        noisy, clean = (tuple(c.first(n) for c in cells) for cells in (self.noisy, self.clean))
        return Series(noisy, clean, self.at_eps_min)

    def choose_points(self, choose: Callable[[Points], BoolArray], name: str) -> Series:
        """Return the points that have something in common; `name` says what."""
        noisy, clean = (
            tuple(cell.choose(choose(cell.points), name) for cell in cells)
            for cells in (self.noisy, self.clean)
        )
        return replace(self, noisy=noisy, clean=clean, _parts={})

    def condition_json(self) -> ConditionJson:
        """Return what points were under."""
        cell = self.first
        return {"corruption": cell.corruption, "at_eps_min": self.at_eps_min, "k": cell.k}

    def __str__(self) -> str:
        cell = self.first
        return f"{cell.model}, trained {cell.train}, under {cell.corruption}"


def group_series(records: Records, *, needs_clean: bool = True) -> list[Series]:
    """Group the cells by model and corruption, in the order of the records.

    Series with the same clean cells share `on_clean`, and with it its estimates. If the records
    lack the clean cells of a series, that is an error, or `clean` is empty if `needs_clean` is
    false.

    Parameters
    ----------
    records
        Of any models and corruptions.
    needs_clean
        Whether records without clean cells are an error.

    Returns
    -------
    list[Series]
        One series per model and corruption.

    Examples
    --------
    >>> import shaketable as st
    >>> records = st.evaluate(lambda x: x[:, 0] > 0, ([[-1.0], [1.0]], [False, True]), "linf(0.1)")
    >>> [series.first.corruption for series in st.metrics.series(records)]
    ['clean', 'linf(0.1)']
    """
    clean = {(c.points.id, c.model_id): c for c in records if c.is_clean}
    groups: dict[tuple[object, ...], dict[int, Record]] = {}
    for cell in records:
        key = (cell.recipe, cell.train, cell.fingerprint, cell.setting, cell.corruption)
        groups.setdefault(key, {})[cell.run] = cell
    result = []
    shared: dict[tuple[int, ...], Series] = {}
    for cells in groups.values():
        noisy = tuple(cells[run] for run in sorted(cells))
        found = [clean.get((cell.points.id, cell.model_id)) for cell in noisy]
        clean_cells = () if None in found else tuple(cell for cell in found if cell is not None)
        at_eps_min, eps_min = records.at_eps_min(noisy[0]), records.list_eps_min(noisy[0])
        series = Series(noisy, clean_cells, at_eps_min, eps_min)
        result.append(series)
        if not clean_cells:
            if needs_clean:
                raise InputError(
                    f"records of {noisy[0].model} under {noisy[0].corruption} lack the clean cell; "
                    "select by data, model, train or run, which keeps clean cells"
                )
            continue
        on_clean = shared.setdefault(tuple(map(id, clean_cells)), series.on_clean)
        vars(series)["on_clean"] = on_clean  # the cached property
    return result


def bound_errors(series: Iterable[Series]) -> None:
    """Compute `error_bound` of many fitted models at once, in a fraction of the time."""
    alike: dict[tuple[int, int], list[Series]] = {}
    for s in series:
        if "error_bound" not in vars(s) and find_unit(s.noisy) is None:
            alike.setdefault((s.first.n, s.first.k), []).append(s)
    for (_, k), group in alike.items():
        bounds = intervals.error_upper_bounds([s.first.hits for s in group], k)
        for s, bound in zip(group, bounds, strict=True):
            vars(s)["error_bound"] = bound  # the cached property


def relative_change(clean: ArrayLike, robust: ArrayLike) -> FloatArray:
    r"""Accuracy gained or lost under noise, relative to the clean accuracy, one value per run.

    .. math:: (a_{\epsilon} - a_0) / a_0

    At eps_min this is MSCR (Siedel et al. 2022, Eq. 2). 0: no loss; -0.25: a quarter of the clean
    accuracy was lost; above 0: the noise helps.

    Parameters
    ----------
    clean, robust
        Accuracies of every run, without and with noise.

    Returns
    -------
    FloatArray
        One value per run.

    Examples
    --------
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


def get_pairing(series: Series) -> tuple[object, ...]:
    """Return what two series must share to be paired: points, corruption and noise of every run."""
    return tuple(
        (
            c.points.order,
            c.corruption,
            c.run,
            None if c.is_clean else c.setting,  # clean: the same for any seed
        )
        for c in series.noisy
    )


def meets_same_noise(first: Series, second: Series) -> bool:
    """Whether two series can be paired: same points, same noise, run by run.

    Parameters
    ----------
    first, second
        Two of those that `metrics.series` returns.

    Returns
    -------
    bool
        Whether they can be paired.

    Examples
    --------
    >>> import shaketable as st
    >>> models = {"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6}
    >>> records = st.evaluate(models, ([[0.2], [0.8]], [False, True]), "linf(0.1)", k=1)
    >>> a, b = (st.metrics.series(records.select(model=name))[-1] for name in "ab")
    >>> st.metrics.meets_same_noise(a, b)
    True
    """
    return get_pairing(first) == get_pairing(second)


def share_points(first: Series, second: Series) -> tuple[Series, Series]:
    """Return two paired series on the points of the one that stopped first."""
    if first.first.points.id == second.first.points.id or first.runs > 1:
        return first, second
    n = min(first.first.n, second.first.n)
    return first.take_points(n), second.take_points(n)


def refuse_shared(cell: Record, *, over_runs: bool = True) -> None:
    """Raise if all points share their draws: then one run has no interval.

    `over_runs` is true if several runs would give one.
    """
    if cell.shares_draws:
        raise InputError(
            "draws must be independent for an interval from one run, got shared draws: all points "
            "have the same noise; evaluate with "
            + either("--draws independent", "draws='independent'")
            + (", or measure several runs in a study" if over_runs else "")
        )


@dataclass(frozen=True, eq=False)
class ErrorProbability:
    """Probability of a wrong answer under one corruption, with one-sided 95 % upper bounds."""

    overall: Estimate
    by_class: dict[Any, Estimate]
    by_point: FloatArray
    """Upper bound for every single point; it cannot be below `least_provable`."""
    least_provable: float
    """Bound for a point that was never misclassified: the lowest that k draws can prove."""
    k: int
    unseen: tuple[Any, ...]
    """Classes without a test point: nothing is known about them."""


def estimate_error_probability(cell: Record, overall: Estimate) -> ErrorProbability:
    """Probability of a wrong answer by class and by point; `overall` is that of all points."""
    y, classes = cell.points.y, cell.points.classes
    return ErrorProbability(
        overall=overall,
        by_class={
            label: bound_error(cell.hits[y == code], cell)
            for code, label in enumerate(classes)
            if (y == code).any()
        },
        by_point=intervals.point_error_upper_bound(cell.hits, cell.k),
        least_provable=float(intervals.point_error_upper_bound(np.array([cell.k]), cell.k)[0]),
        k=cell.k,
        unseen=tuple(label for code, label in enumerate(classes) if not (y == code).any()),
    )

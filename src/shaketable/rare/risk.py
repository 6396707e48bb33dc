"""The probability of a wrong answer under noise: the public function."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from shaketable.adversary.target import Target
from shaketable.core.checks import check_real, check_whole
from shaketable.core.errors import InputError
from shaketable.corruptions import Corruption
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import check_range, resolve_and_record
from shaketable.evaluation.store import Store
from shaketable.findings.rare.finding import RareFailures
from shaketable.rare.measuring import Measurement, check_corruption
from shaketable.rare.options import BUDGET

LEAST_BUDGET = 5000
"""Fewer answers per point are not enough for levels and ten replicas."""


def risk(
    model: Any,
    data: Any,
    corruption: str | Corruption = "linf(eps_min)",
    *,
    below: float | None = None,
    budget: int = BUDGET,
    precision: float | None = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    seed: int = 0,
    name: str | None = None,
    refit: bool = False,
    split: bool = False,
    unscale: bool = False,
    points: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> RareFailures:
    """Estimate the probability of a wrong answer under noise, down to 1e-9, at every point.

    For noise of p-norms and Gaussian noise, and models that give scores, failures are approached in
    steps (multilevel splitting), and importance sampling follows where it pays. For other
    corruptions, and for models that give labels only, as many plain draws are made as the budget
    has; the result says so.

    Parameters
    ----------
    model, data
        As in `evaluate`: the model is measured at the test part; a fitted model at all points if
        the data have no test part.
    corruption
        Spec such as ``linf(eps_min)``, or a corruption.
    below
        What the mean over the points must be at most; it decides `RareFailures.outcome`.
    budget
        Answers of the model per point, about; at least 5000. Where a point never fails, or fails
        often, fewer are asked.
    precision
        Stop at a point when half the width of its interval is at most so much of the value, such
        as 0.2; by default the budget is used.
    bounds, name, refit, unscale
        As in `evaluate`.
    seed
        Seed of all random numbers. All models start from the same noise.
    split
        Take the test part that a model trained here would have, also for a fitted model.
    points
        Take only so many of these points, drawn with `seed`.
    store
        Results file. What it holds of the same measurement is not measured again.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    RareFailures
        Probabilities with their intervals; join those of several models with ``+``.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> from sklearn.linear_model import LogisticRegression
    >>> x = np.array([[-1.0, 0.0], [1.0, 0.0]])
    >>> model = LogisticRegression().fit(x, [0, 1])
    >>> found = st.risk(model, (x, [0, 1]), "gaussian(0.25)", below=1e-4)  # in truth 3.2e-5
    >>> found.outcome, bool(found.risks[0].mean.low < 3.2e-5 < found.risks[0].mean.high)
    ('met', True)
    """
    if below is not None:
        check_real("below", below, "be a probability between 0 and 1", low=0, high=1)
    with Store(store) as results:
        measurement, data = prepare(
            model,
            data,
            corruption,
            budget=budget,
            precision=precision,
            bounds=bounds,
            seed=seed,
            name=name,
            refit=refit,
            split=split,
            unscale=unscale,
            points=points,
            store=results,
        )
        record = measurement.measure(None if results.in_memory else results, progress=progress)
        if not results.in_memory:
            results.add_results([record])
        known = results.everything().separations
    separations = tuple(s for s in known if s.fingerprint == record.fingerprint)
    records = Records((), separations, data=(DataRecord.of(data),), rare=(record,))
    return RareFailures(records, below)


def prepare(
    model: Any,
    data: Any,
    corruption: Any,
    *,
    budget: int,
    precision: float | None,
    bounds: BoundsLike | Literal["declared"],
    store: Store | None,
    **of_target: Any,
) -> tuple[Measurement, Dataset]:
    """Check the arguments of `risk`, and return what is to be measured, and the data."""
    budget = check_whole("budget", budget, least=LEAST_BUDGET)
    if precision is not None:
        check_real("precision", precision, "lie between 0 and 1", low=1e-6, high=1)
    if isinstance(corruption, Suite) or not isinstance(corruption, str | Corruption):
        raise InputError(
            f"corruption must be one spec such as 'linf(eps_min)', got {corruption!r:.60}; "
            "call risk once for each, and add the results"
        )
    data = as_dataset(data)
    target = Target.of(model, data, bounds=bounds, **of_target)
    (resolved,) = resolve_and_record([corruption], data, target.bounds, store or Store())
    check_range(resolved, target.bounds)
    check_corruption(resolved)
    return Measurement(target, resolved, budget, precision), data

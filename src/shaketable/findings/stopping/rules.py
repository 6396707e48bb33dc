"""Stopping rules: when an evaluation, or a study, knows enough."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from shaketable.core.checks import HUGE, TINY, check_real, check_whole
from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.records import Records
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.check import Decision, check, list_entries
from shaketable.findings.requirements.requirement import (
    Requirement,
    parse_requirement,
    parse_requirements,
)
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.sequences import forecast_width

_FEW = 10


@dataclass(frozen=True)
class Precision:
    """Enough is known when intervals have this half-width, in percentage points.

    Parameters
    ----------
    half_width
        Half the width of the widest interval, in percentage points.
    of
        What has to be so precise, as in requirements: ``mscr``, ``accuracy[linf(0.1)]``, ``mce``,
        and in studies ``difference(new, old).mscr``. By default the accuracies on clean points and
        under every corruption.

    Examples
    --------
    >>> import shaketable as st
    >>> x = [[i / 5000] for i in range(5000)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, [i > 2500 for i in range(5000)]),
    ...                       "linf(0.1)", name="step", bounds=None, until=st.Precision(2))
    >>> print(records.cells[1].n, st.metrics.accuracy(records, corruption="linf(0.1)"))
    560 0.9436 (95 % interval 0.9227 to 0.9606)
    """

    half_width: float
    of: str = ""

    def __post_init__(self) -> None:
        rule = "be above 0 percentage points, such as 0.5"
        check_real("half_width", self.half_width, rule, low=TINY, high=HUGE)
        if self.of:
            parse_quantity(self.of)

    def forecast(self, records: Records) -> float:
        """Return how many times the points, or runs, would be enough if they showed the same.

        Parameters
        ----------
        records
            What was measured so far.

        Returns
        -------
        float
            A factor; 1 if it is enough, infinity if no number would be.

        Examples
        --------
        >>> import shaketable as st
        >>> data = [[i / 100] for i in range(100)], [i > 50 for i in range(100)]
        >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)")
        >>> Precision(1).forecast(records) > 1
        True
        """
        groups = RecordGroups(records)
        try:
            estimates = list_estimates(groups, self.of)
        except UndefinedError:  # as yet
            return math.inf
        if self.of and is_hardly_right(groups):
            return math.inf
        return max(forecast_width(e, self.half_width / 100) for e in estimates)


@dataclass(frozen=True)
class Decided:
    """Enough is known when all requirements are met or not met, none inconclusive.

    Parameters
    ----------
    requirements
        As in `check`; one or many.
    confidence
        That all decisions are right, however often one looks.
    models
        Number of models that are evaluated one after another and share the confidence.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[i / 5000] for i in range(5000)], [i > 2500 for i in range(5000)]
    >>> rule = Decided("accuracy >= 80%")
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)", k=1, until=rule)
    >>> records.cells[0].n < 5000, rule.forecast(records)
    (True, 1.0)
    """

    requirements: Iterable[str | Requirement] | str
    confidence: float = 0.95
    models: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", parse_requirements(self.requirements))
        object.__setattr__(self, "models", check_whole("models", self.models, least=1))

    def forecast(self, records: Records) -> float:
        """Return how many times the points, or runs, would be enough if they showed the same.

        Parameters
        ----------
        records
            What was measured so far.

        Returns
        -------
        float
            A factor; 1 if it is enough, infinity if no number would be.
        """
        known, named = parse_requirements(self.requirements), set(records.models)
        wanted = [r for r in known if self.models == 1 or named >= set(r.models)]
        if not wanted:  # they are about other models
            return 1.0
        part = len(wanted) / (len(known) * self.models)
        confidence = 1 - (1 - self.confidence) * part
        try:
            decisions = check(records, wanted, confidence=confidence).decisions
        except UndefinedError:  # as yet
            return math.inf
        if is_hardly_right(RecordGroups(records)):
            return math.inf
        return max(map(_forecast_decision, decisions))


def is_hardly_right(groups: RecordGroups) -> bool:
    """Whether a model is right on so few clean points that intervals of ratios are not reliable.

    See `shaketable.statistics.intervals.relative_change`.
    """
    return any(cell.hits.sum() < _FEW for series in groups.series for cell in series.clean)


def _forecast_decision(decision: Decision) -> float:
    """Return how many times the sample decides it; infinity for one at the limit."""
    if decision.outcome != "inconclusive":
        return 1.0
    size = decision.n if decision.unit == "points" else decision.runs
    return math.inf if decision.more is None else 1 + decision.more / size


def parse_quantity(of: str) -> Requirement:
    """Read what has to be precise, such as ``mscr``: a requirement without its limit."""
    try:
        return parse_requirement(f"{of} >= 0")
    except InputError as error:
        raise InputError(
            f"precision of {of!r} cannot be read; write a metric as in requirements, such as mscr, "
            "accuracy[linf(0.1)] or difference(new, old).mscr"
        ) from error


def list_estimates(groups: RecordGroups, of: str) -> list[Estimate]:
    """Return what has to be precise; by default all accuracies."""
    if not of:
        return [series.accuracy for series in groups.series]
    return [estimate for _, _, estimate in list_entries(groups, parse_quantity(of), "")]

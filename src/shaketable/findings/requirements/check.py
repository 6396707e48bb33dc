r"""Decide requirements from records.

A requirement is *met* if the whole interval of its metric is on the right side of the limit, *not
met* if the whole interval is on the wrong side, and else *inconclusive*.

**Several requirements share the error probability.** With m decisions (requirements times models),
every interval has a confidence of 1 - 0.05 / m (Bonferroni). So the probability that any decision
is wrong, met or not met, is at most 5 %, however the decisions depend on each other: about 2.5 %
that anything passes that should not, and 2.5 % that anything fails that should not. Not all of it
is needed for each use. If anything is violated, the exit code is 0 only if that very requirement is
passed, which needs no correction for m; that the exit code is 1 although all hold does need it, and
so does a reader who relies on every row of the table. One interval per row serves all of them.

**Points that were not seen.** The intervals are those of all tables. They follow the points that
were seen, so a rare kind of points on which the model fails, of which none is among the points,
can make a requirement pass more often than that (``benchmarks/results/requirements.md``). With
`careful`, limits hold for any kinds of points.

**More points.** For an inconclusive requirement, the number of points is given with which the
interval would exclude the limit if they showed the same rates; of studies, the number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from shaketable.core.checks import check_real, unknown_name
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.core.schemas import NotesJson
from shaketable.evaluation.records import Record, Records
from shaketable.evaluation.store import Store
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements import view
from shaketable.findings.requirements.parts import FEW, Part, find_worst, list_parts
from shaketable.findings.requirements.quantities import (
    Case,
    Entry,
    Quantity,
    RareQuantity,
    SeriesQuantity,
    find_quantity,
    list_labels,
)
from shaketable.findings.requirements.rare_failures import list_rare_entries
from shaketable.findings.requirements.registered import (
    NewRegistrationJson,
    Registered,
    RegistrationJson,
)
from shaketable.findings.requirements.requirement import (
    Requirement,
    parse_requirements,
    suggest_command,
)
from shaketable.findings.results import Results
from shaketable.findings.series import Series
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

Outcome = Literal["met", "not met", "inconclusive"]
ExitCode = Literal[0, 1, 3]


class DecisionJson(EstimateWithMethodJson):
    """One requirement on one model, with what was measured, in per cent but for numbers.

    Matthews correlation, log loss and Brier score are numbers.
    """

    requirement: str
    metric: str
    model: Annotated[str, "Or 'first minus second'."]
    under: Annotated[str, "The corruption or the suite."]
    sign: Literal[">=", "<="]
    limit: float
    outcome: Outcome
    part: Annotated[str, "Class or group; of several groups the worst. Empty for all points."]
    groups: Annotated[int, "Number of groups that must meet it."]
    confidence: Annotated[float, "Of the interval, in per cent."]
    points: int
    runs: int
    more_points: Annotated[
        int | None, "So many more points would decide it if they showed the same."
    ]
    more_runs: Annotated[int | None, "The same for the runs of a study."]
    measured: Annotated[str, "When the first of its cells was; empty if that is not known."]
    registered: Annotated[str | None, "Since when the requirement is; null if it is not."]
    measured_before: Annotated[bool, "Whether it was measured before it was registered."]


class CheckJson(TypedDict):
    """Result of check."""

    outcome: Outcome
    exit_code: ExitCode
    confidence: Annotated[float, "That all decisions are right, in per cent."]
    requirements: list[DecisionJson]
    registrations: Annotated[list[RegistrationJson], "Requirements that the results file keeps."]
    notes: NotesJson


CheckResultJson: TypeAlias = Annotated[
    CheckJson | Annotated[NewRegistrationJson, "With --register."], "Result of check"
]

EXIT_CODES: dict[Outcome, ExitCode] = {"met": 0, "not met": 1, "inconclusive": 3}

_MOST = 2.0**20  # times the points; more are not imagined


@dataclass(frozen=True, eq=False)
class Decision:
    """One requirement on one model, or on the difference of two."""

    requirement: Requirement
    model: str
    """Label of the model; of a difference ``first minus second``."""
    under: str
    """The corruption or the suite."""
    estimate: Estimate
    """The metric; its interval has the confidence that the decision needs."""
    n: int
    """Number of points."""
    runs: int
    """Number of runs of a study; 1 for a fitted model."""
    part: str = ""
    """Class or group; of several groups the worst, as measured. Empty for all points."""
    groups: int = 1
    """Number of groups that must meet it."""
    fewest: int | None = None
    """Points of the class or group that has the fewest; None for all points."""
    smallest: str = ""
    """Name of this class or group."""
    measured: str = ""
    """When the first of its cells was measured; empty if that is not known."""
    registered: str = ""
    """Since when the requirement is registered; empty if it is not."""

    @property
    def is_older(self) -> bool:
        """Whether it was measured before its requirement was registered."""
        return bool(self.measured) and self.measured < self.registered

    @property
    def outcome(self) -> Outcome:
        """``met``, ``not met`` or ``inconclusive``."""
        return self._decide(self.estimate)

    def _decide(self, e: Estimate, times: float = 1.0) -> Outcome:
        """Decide by an interval; a class or group of few points is not decided."""
        outcome = self.requirement.decide(e.low, e.high)
        is_known = self.has_enough or times * (self.fewest or 0) >= FEW
        is_known = is_known or (self.groups > 1 and outcome == "not met")
        return outcome if is_known else "inconclusive"

    @property
    def has_enough(self) -> bool:
        """Whether every class and group that it is about has ten points."""
        return self.fewest is None or self.fewest >= FEW

    @property
    def unit(self) -> Literal["points", "runs"]:
        """What a larger sample would have more of."""
        return "points" if self.runs == 1 else "runs"

    @cached_property
    def more(self) -> int | None:
        """How many more points, or runs, would decide it if they showed the same.

        None if it is decided, or if no number would do: the value is at the limit.
        """
        if self.outcome != "inconclusive" or self.estimate.value == self.requirement.limit:
            return None
        if self.requirement.metric == "risk":  # it is about these points: answers decide it
            return None
        size = self.n if self.runs == 1 else self.runs
        if self.fewest == 0:
            return None
        high = 2.0
        while not self._is_decided(high):
            high *= 2
            if high > _MOST:
                return None
        low = high / 2
        while (high - low) * size > 0.5:
            middle = (low + high) / 2
            low, high = (low, middle) if self._is_decided(middle) else (middle, high)
        return max(1, math.ceil(high * size) - size)

    def _is_decided(self, times: float) -> bool:
        e = self.estimate
        if self.fewest is None or times * self.fewest >= FEW or self.groups > 1:
            e = e.again(times=times)
        return self._decide(e, times) != "inconclusive"

    def __str__(self) -> str:
        return view.describe_decision(self)

    def json(self) -> DecisionJson:
        """Return its numbers, rates in per cent."""
        of_points, e = self.unit == "points", self.estimate
        is_rate = self.requirement.is_rate
        limit = self.requirement.limit
        value = e.json() if is_rate else {"mean": e.value, "low": e.low, "high": e.high}
        return {
            "requirement": self.requirement.text,
            "metric": self.requirement.metric,
            "model": self.model,
            "under": self.under,
            "sign": self.requirement.sign,
            "limit": round(100 * limit, 10) if is_rate else limit,
            "outcome": self.outcome,
            "part": self.part,
            "groups": self.groups,
            **value,
            "confidence": round(100 * e.confidence, 10),
            "method": e.method,
            "points": self.n,
            "runs": self.runs,
            "more_points": self.more if of_points else None,
            "more_runs": None if of_points else self.more,
            "measured": self.measured,
            "registered": self.registered or None,
            "measured_before": self.is_older,
        }


@dataclass(frozen=True, eq=False)
class Check(Displayed):
    """Decisions on all requirements; true if all are met.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> x = [[i / 100] for i in range(100)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, [i > 50 for i in range(100)]), "clean")
    >>> found = st.check(records, "accuracy >= 90%")
    >>> bool(found), found.json()["confidence"]
    (True, 95.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(found.write_junit(Path(folder) / "junit.xml").name)
    ...     print(found.write_markdown(Path(folder) / "check.md").name)
    junit.xml
    check.md
    """

    decisions: tuple[Decision, ...]
    confidence: float
    """Confidence that all decisions are right, as a fraction."""
    known: Registered | None = None
    """Requirements that the results file keeps; None if none are registered."""

    @cached_property
    def notes(self) -> list[str]:
        """What speaks against requirements that were set beforehand, one sentence per note."""
        return view.list_notes(self)

    @property
    def outcome(self) -> Outcome:
        """``not met`` if any decision is, else ``inconclusive`` if any is, else ``met``."""
        outcomes = {decision.outcome for decision in self.decisions}
        order: tuple[Outcome, ...] = ("not met", "inconclusive")
        return next((outcome for outcome in order if outcome in outcomes), "met")

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of the command: 0 met, 1 not met, 3 inconclusive."""
        return EXIT_CODES[self.outcome]

    def __bool__(self) -> bool:
        return self.outcome == "met"

    def __str__(self) -> str:
        return "\n".join([view.describe_check(self), *map(str, self.decisions)])

    def json(self) -> CheckJson:
        """Return all decisions, rates in per cent.

        Returns
        -------
        dict
            Keys as in ``shaketable check --json``.
        """
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "confidence": round(100 * self.confidence, 10),
            "requirements": [decision.json() for decision in self.decisions],
            "registrations": [] if self.known is None else self.known.json(),
            "notes": self.notes,
        }

    def blocks(self) -> list[Block]:
        """Return one row per decision, and the outcome."""
        return view.make_blocks(self)

    def write_junit(self, path: str | Path) -> Path:
        """Write the decisions as JUnit XML, one test case each.

        Parameters
        ----------
        path
            XML file.

        Returns
        -------
        Path
            Path of the file.
        """
        from shaketable.findings.requirements.view import write_junit

        return write_junit(self, path)

    def write_markdown(self, path: str | Path) -> Path:
        """Write the table as Markdown, for summaries of pipelines.

        Parameters
        ----------
        path
            Markdown file.

        Returns
        -------
        Path
            Path of the file.
        """
        from shaketable.findings.requirements.view import write_markdown

        return write_markdown(self, path)


def check(
    results: Records | RecordGroups | Results | str | Path,
    requirements: Iterable[str | Requirement] | str = (),
    *,
    confidence: float = 0.95,
    careful: bool = False,
) -> Check:
    """Decide whether models meet requirements, from what is on record.

    Parameters
    ----------
    results
        Records, or a results file.
    requirements
        Such as ``mscr >= -1`` or ``error[jitter(0.2)] <= 5%``, rates in per cent: one or many.
        Limits below 1 on a rate need their % sign. Every model on record must meet them, unless
        one is named: ``model(rf).accuracy >= 90%``. Two models are compared by
        ``difference(new, old).accuracy >= -0.5``, paired and in percentage points. By default
        those that are registered in the results file (`Store.register`).
    confidence
        That all decisions are right; they share what is missing to 1.
    careful
        Allow for kinds of points that were not seen: with few points, a rare kind on which a model
        fails may be missing. Intervals are up to three times as wide.

    Returns
    -------
    Check
        Decisions on all requirements; print it, or use it as a truth value.

    Examples
    --------
    >>> import shaketable as st
    >>> x = [[i / 400] for i in range(400)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, [i > 200 for i in range(400)]),
    ...                       "linf(0.01)", name="step", bounds=None)
    >>> print(st.check(records, ["accuracy >= 98%", "error[linf(0.01)] <= 0.1%"]))
    not met: 1 of 2 requirements met, 1 not met
    accuracy >= 98% met: step has 100.00 %, 97.5 % interval 98.91 to 100.00
    error[linf(0.01)] <= 0.1% not met: step has 0.55 %, 97.5 % interval 0.17 to 1.30
    """
    check_real("confidence", confidence, "lie between 0 and 1", low=0.5, high=1 - 1e-9)
    store = str(results) if isinstance(results, str | Path) else ""
    groups = _read_groups(results)
    known = find_registered(groups.records)
    if not requirements and known is None:
        raise InputError(
            f"check needs {either('--require', 'requirements')}, such as 'mscr >= -1', or a "
            "results file in which requirements are registered (check --register FILE)"
        )
    wanted = known.requirements if known and not requirements else parse_requirements(requirements)
    found = [
        (requirement, entry)
        for requirement in wanted
        for entry in list_entries(groups, requirement, store)
    ]
    alone = 1 - (1 - confidence) / len(found)
    return Check(
        tuple(
            Decision(
                requirement,
                entry.model,
                entry.case.under,
                entry.estimate.again(confidence=alone, careful=careful),
                entry.n,
                entry.case.runs,
                entry.part,
                entry.groups,
                entry.fewest,
                entry.smallest,
                entry.measured,
                "" if known is None else known.find_time(requirement.text),
            )
            for requirement, entry in found
        ),
        confidence,
        known,
    )


def find_registered(records: Records) -> Registered | None:
    """Return the requirements that the results file of these records keeps; None without any."""
    return Registered(records.registrations) if records.registrations else None


def _read_groups(results: Records | RecordGroups | Results | str | Path) -> RecordGroups:
    if isinstance(results, RecordGroups):
        return results
    if isinstance(results, Results):
        return results.groups
    if isinstance(results, Records):
        records = results
    else:
        with Store(results, must_exist=True) as store:
            records = store.records()
    if not len(records) and not records.rare:
        raise InputError("requirements need at least one cell on record, got none; evaluate first")
    return RecordGroups(records)


def list_entries(groups: RecordGroups, requirement: Requirement, store: str) -> list[Entry]:
    """Return the models that a requirement is about, each with its case and its metric."""
    quantity = find_quantity(requirement.metric, requirement.text)
    cases = quantity.list_cases(groups, requirement.under)
    if isinstance(quantity, RareQuantity):
        return list_rare_entries(groups, requirement, quantity, cases)
    chosen = [_choose_labels(groups, name, requirement) for name in requirement.models]
    wanted = set().union(*chosen) if chosen else {label for label, _ in list_labels(groups)}
    if lacking := wanted - {case.label for case in cases}:
        raise InputError(suggest_command(groups, requirement, lacking, store))
    if requirement.is_difference:
        return _list_differences(groups, requirement, cases, *chosen)
    return [
        _make_entry(groups, requirement, case.label, case) for case in cases if case.label in wanted
    ]


def _make_entry(
    groups: RecordGroups, requirement: Requirement, name: str, *cases: Case[Any]
) -> Entry:
    """Return the metric of one case, or the difference of two: of one part, or of every group."""
    quantity = find_quantity(requirement.metric, requirement.text)
    first = cases[0]
    parts = list_parts(
        groups,
        requirement.text,
        requirement.bracket,
        requirement.worst,
        first.source,
        by_label=isinstance(quantity, SeriesQuantity) and quantity.has_classes,
    )
    counts = [part.count(first.source) for part in parts]
    enough = [part for part, n in zip(parts, counts, strict=True) if n is None or n >= FEW]
    seen = [part for part, n in zip(parts, counts, strict=True) if n != 0]
    compared = enough or seen or parts
    found = [_estimate_part(quantity, requirement, name, part, *cases) for part in compared]
    highest = requirement.sign == "<="
    worst = find_worst(found, highest=highest)
    part = next(p for p, e in zip(compared, found, strict=True) if e.value == worst.value)
    known = [(n, each.name) for n, each in zip(counts, parts, strict=True) if n is not None]
    fewest, smallest = min(known, default=(None, ""))
    n = part.take(first.source).first.n if len(parts) == 1 and part.name else first.first.n
    times = [cell.created for case in cases for cell in _list_cells(case.source) if cell.created]
    measured = min(times, default="")
    return Entry(name, first, worst, n, part.name, len(parts), fewest, smallest, measured)


def _list_cells(source: Series | SuiteResult | Records) -> Iterator[Record]:
    """Return all cells that a metric is computed from."""
    if isinstance(source, Records):
        yield from source
        return
    for series in source.series if isinstance(source, SuiteResult) else [source]:
        yield from (*series.clean, *series.noisy)


def _estimate_part(
    quantity: Quantity[Any], requirement: Requirement, name: str, part: Part, *cases: Case[Any]
) -> Estimate:
    """Return a metric of one part of the points, or the difference of two models there."""
    if part.label is not None:
        if not (isinstance(quantity, SeriesQuantity) and quantity.has_classes):
            raise InputError(
                f"requirement {requirement.text!r}: {requirement.metric} has no classes; its value "
                f"for the points of a class is {requirement.metric}[by class={requirement.label}]"
            )
        quantity = quantity.take_label(part.label)
    sources = [part.take(case.source) for case in cases]
    function = quantity.estimate if len(sources) == 1 else quantity.subtract
    value = _compute(requirement, name, function, *sources)
    if value is None:
        raise InputError(
            f"requirement {requirement.text!r}: differences of {requirement.metric} are not known; "
            "require it of each model"
        )
    estimate: Estimate = value
    return estimate


def _choose_labels(groups: RecordGroups, name: str, requirement: Requirement) -> set[str]:
    """Return the labels that a name stands for: a label itself, or the name of models."""
    known = dict(list_labels(groups))
    if name in known:
        return {name}
    labels = {label for label, cell in known.items() if cell.model == name}
    if not labels:
        raise unknown_name(f"model in requirement {requirement.text!r}:", name, known)
    return labels


def _list_differences(
    groups: RecordGroups,
    requirement: Requirement,
    cases: Sequence[Case[Any]],
    first: set[str],
    second: set[str],
) -> list[Entry]:
    """Return the paired differences of two models."""
    entries = []
    for a in (case for case in cases if case.label in first):
        partners = [c for c in cases if c.label in second and c.pairing == a.pairing]
        for b in partners:
            name = f"{a.label} minus {b.label}"
            entries.append(_make_entry(groups, requirement, name, a, b))
    if not entries:
        raise InputError(
            f"requirement {requirement.text!r} needs two models evaluated under the same noise on "
            "the same points; evaluate both with the same data, corruption, k, runs and seed"
        )
    return entries


def _compute(requirement: Requirement, model: str, function: Any, *sources: Any) -> Any:
    """Call a function of a metric; an error names the requirement and the model."""
    try:
        return function(*sources)
    except UndefinedError as error:
        raise UndefinedError(f"requirement {requirement.text!r} on {model}: {error}") from error

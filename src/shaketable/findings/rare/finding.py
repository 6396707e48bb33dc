"""The finding: how rare wrong answers are under noise, of every model on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from shaketable.core.schemas import NotesJson
from shaketable.data.dataset import LabelJson
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.rare.numbers import RareRisk, compare, list_risks
from shaketable.findings.rare.view import describe_outcome, make_blocks
from shaketable.findings.results import Results
from shaketable.findings.results import find as find_all
from shaketable.statistics.difference import Difference
from shaketable.statistics.rare import METHODS
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed, print_notes
from shaketable.views.text import name_notes

ROWS = 100
"""Points that JSON lists per model and corruption."""

Outcome = Literal["met", "not met", "inconclusive"]
ExitCode = Literal[0, 1, 3]
_EXIT_CODES: dict[Outcome, ExitCode] = {"met": 0, "not met": 1, "inconclusive": 3}

RarePointJson = TypedDict(
    "RarePointJson",
    {
        "row": Annotated[int, "Row of the data."],
        "class": LabelJson,
        "value": float,
        "low": float,
        "high": float,
        "method": Annotated[str, "Plain draws, splitting or importance sampling."],
        "answers": Annotated[int, "Answers of the model that it took."],
    },
)


class ProbabilityJson(TypedDict):
    """A probability, not in per cent, with its 95 % interval."""

    value: float
    low: float
    high: float
    method: str


class HighestJson(TypedDict):
    """The highest probability of all points, and a bound that all are below, with 95 %."""

    value: float
    upper: float


class RareRiskJson(TypedDict):
    """Probability of a wrong answer of one model under one corruption; none is in per cent."""

    model: str
    label: str
    data: str
    corruption: str
    bounds: str
    seed: int
    points: int
    mean: Annotated[ProbabilityJson, "Over these points."]
    highest: HighestJson
    methods: Annotated[dict[str, int], "Number of points by how they were estimated."]
    why_plain: Annotated[str, "Why there are plain draws alone; empty if there are not."]
    answers: Annotated[int, "Answers of the model that it took."]
    worst: Annotated[list[RarePointJson], "Points where it is highest, up to 100."]


class RareDifferenceJson(ProbabilityJson):
    """Mean of the first model minus that of the second."""

    corruption: str
    first: str
    second: str
    words: str


class RareFailuresJson(TypedDict):
    """How rare wrong answers are under noise."""

    rare_failures: list[RareRiskJson]
    rare_failure_differences: list[RareDifferenceJson]


class RiskJson(RareFailuresJson):
    """Result of risk."""

    below: Annotated[float | None, "What the mean was required to be at most."]
    outcome: Annotated[Outcome | None, "Of the requirement; null without one."]
    notes: NotesJson


@dataclass(frozen=True, eq=False)
class RareFailures(Displayed):
    """How rare wrong answers are under noise, at every point and over them.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> from sklearn.linear_model import LogisticRegression
    >>> data = st.load("iris")
    >>> model = LogisticRegression(max_iter=1000).fit(data.x, data.labels)
    >>> found = st.risk(model, data, "gaussian(0.1)", points=5, budget=5000, below=0.5)
    >>> found.outcome, found.exit_code, len(found.differences)
    ('met', 0, 0)
    >>> sorted(found.json())[:3]
    ['below', 'notes', 'outcome']
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(found.report(Path(folder) / "page.html").name)
    page.html
    """

    records: Records
    """The records, with at least one probability."""
    below: float | None = None
    """What every mean must be at most; None for no requirement."""

    def __add__(self, other: RareFailures) -> RareFailures:
        """Join those of other models or corruptions; the requirement is that of the first."""
        return RareFailures(self.records + other.records, self.below)

    @cached_property
    def risks(self) -> list[RareRisk]:
        """One per model and corruption."""
        return list_risks(self.records.rare)

    @cached_property
    def differences(self) -> list[tuple[str, Difference]]:
        """Every noise with the differences of the means of models under it."""
        return compare(self.risks)

    @property
    def outcome(self) -> Outcome | None:
        """``not met`` if any model does not meet the requirement; None without one."""
        if self.below is None:
            return None
        outcomes = {risk.decide(self.below) for risk in self.risks}
        order: tuple[Outcome, ...] = ("not met", "inconclusive")
        return next((outcome for outcome in order if outcome in outcomes), "met")

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of the command: 0 met or nothing required, 1 not met, 3 inconclusive."""
        return 0 if self.outcome is None else _EXIT_CODES[self.outcome]

    @property
    def notes(self) -> list[str]:
        """What a reader should know about data and models."""
        kept = [risk.record for risk in self.risks]
        about = dict.fromkeys(note for r in kept for note in r.about_data)
        plain = [(r.model, f"plain draws alone, as {r.why_plain}") for r in kept if r.why_plain]
        return [*about, *name_notes([*((r.model, n) for r in kept for n in r.about_model), *plain])]

    def json(self) -> RiskJson:
        """Return all probabilities, none in per cent.

        Returns
        -------
        dict
            Keys as in ``shaketable risk --json``.
        """
        return {
            **describe_failures(self.risks, self.differences),
            "below": self.below,
            "outcome": self.outcome,
            "notes": self.notes,
        }

    def blocks(self) -> list[Block]:
        """Return means, bounds, differences, and the outcome of the requirement."""
        blocks = make_blocks(self.risks, self.differences)
        return blocks + ([] if self.below is None else describe_outcome(self.risks, self.below))

    def print(self) -> None:
        """Print tables, the outcome and notes."""
        super().print()
        print_notes(self.notes)

    def report(
        self, path: str | Path, *, title: str | None = None, commands: Sequence[CommandRecord] = ()
    ) -> Path:
        """Write all as one HTML page.

        Parameters
        ----------
        path
            File to write; an older one is replaced.
        title
            Heading of the page; by default it names the models and the data.
        commands
            Commands by which it was made, to be shown.

        Returns
        -------
        pathlib.Path
            Path of the page.
        """
        from shaketable.findings.page import write_report  # loads the charts

        results = make_results(self, commands)
        return write_report(path, results, title=title)


def describe_failures(
    risks: Sequence[RareRisk], differences: Sequence[tuple[str, Difference]]
) -> RareFailuresJson:
    """Return probabilities and differences as JSON."""
    return {
        "rare_failures": [_describe(risk) for risk in risks],
        "rare_failure_differences": [
            {
                "corruption": corruption,
                "first": d.first,
                "second": d.second,
                "words": d.words,
                "value": d.value.value,
                "low": d.value.low,
                "high": d.value.high,
                "method": d.value.method,
            }
            for corruption, d in differences
        ],
    }


def _describe(risk: RareRisk) -> RareRiskJson:
    record, mean, highest = risk.record, risk.mean, risk.highest
    low, high = risk.risks.limits(0.025)
    names = [METHODS[m] for m in record.method.tolist()]
    points = record.points
    return {
        "model": record.model,
        "label": risk.label,
        "data": record.data,
        "corruption": record.corruption,
        "bounds": record.bounds,
        "seed": record.seed,
        "points": len(points.rows),
        "mean": {"value": mean.value, "low": mean.low, "high": mean.high, "method": mean.method},
        "highest": {"value": highest.value, "upper": highest.high},
        "methods": {name: names.count(name) for name in dict.fromkeys(names)},
        "why_plain": record.why_plain,
        "answers": risk.queries,
        "worst": [
            {
                "row": int(points.rows[i]),
                "class": points.classes[points.y[i]],
                "value": float(risk.risks.value[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "method": names[i],
                "answers": int(record.queries[i]),
            }
            for i in risk.worst[:ROWS]
        ],
    }


@dataclass(frozen=True, eq=False)
class RareFinding(Displayed):
    """The same as a part of results."""

    risks: list[RareRisk]

    def json(self) -> RareFailuresJson:
        """Return all probabilities, none in per cent."""
        return describe_failures(self.risks, compare(self.risks))

    def blocks(self) -> list[Block]:
        """Return means, bounds and differences."""
        return make_blocks(self.risks, compare(self.risks))


def find(groups: RecordGroups) -> RareFinding | None:
    """Take the probabilities from records; None where they hold none."""
    risks = list_risks(groups.records.rare)
    return RareFinding(risks) if risks else None


def make_results(found: RareFailures, commands: Sequence[CommandRecord] = ()) -> Results:
    """Return all findings of probabilities that were just computed, for their page."""
    given: Any = Records((), commands=tuple(commands))
    return find_all(found.records + given, notes=found.notes)


FINDINGS.add("rare", FindingKind(find, json=RareFailuresJson, needs_cells=False))

"""What a dossier takes from records besides their findings: claims, perturbations, independence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, TypedDict

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import NormJson, norm_to_json
from shaketable.core.spec import display_name, parse_call, split_calls, split_factors
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.corruptions.suites.suite import SUITES
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import AS_GIVEN, Record, Records
from shaketable.findings.groups import RecordGroups, get_model, label_models
from shaketable.findings.subjects import name_noise
from shaketable.models.builtin import BUILTIN
from shaketable.views.numbers import format_distance
from shaketable.views.text import join_distinct


class ModelOfDossierJson(TypedDict):
    """A model, and what of it must stay stable under what."""

    model: Annotated[str, "Unique name."]
    identity: Annotated[str, "Hash of the model, or of how it is trained in a study."]
    training: Annotated[str, "Training noise; as given for a model that came fitted."]
    data: str
    fingerprint: Annotated[str, "Of the data."]
    answers: Annotated[list[str], "Classes that it answers: the output that must stay stable."]
    under: Annotated[list[str], "Perturbations that it was measured under."]
    statement: Annotated[str, "The same as a sentence."]


class PerturbationJson(TypedDict):
    """A perturbation, or a suite of them."""

    name: str
    definition: str
    levels: list[str]
    draws: Annotated[list[int], "Draws per point."]
    bounds: list[str]
    reason: Annotated[str | None, "As the user writes it; null if it is missing."]


class DistanceJson(TypedDict):
    """Least distances between points of different classes, by parts of the data."""

    data: Annotated[str, "Fingerprint."]
    norm: NormJson
    two_r: float
    eps_min: float
    by_part: dict[str, float | None]


class OverlapJson(TypedDict):
    """Test points that equal a point that is no test point."""

    fingerprint: str
    test_points: int
    other_points: int
    equal_within: Annotated[int, "Test points that equal another test point."]
    equal_across: Annotated[int, "Test points that equal a point that is no test point."]
    rows: Annotated[list[list[int]], "The first of these: rows of the test point and of the other."]


class IndependenceJson(TypedDict):
    """What is known about training and test points."""

    test_points: Annotated[list[str], "One sentence per data set and way of training."]
    distances: list[DistanceJson]
    overlap: Annotated[OverlapJson | None, "null if the data were not at hand."]


_SHOWN = 5  # pairs of equal rows, and classes in a sentence


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, and what of it must stay stable under what."""

    label: str
    identity: str
    training: str
    cell: Record
    under: tuple[str, ...]

    @property
    def statement(self) -> str:
        """Return the claim that the measurements are about."""
        classes = list(map(str, self.cell.points.classes))
        named = ", ".join(classes[:_SHOWN]) + (", …" if len(classes) > _SHOWN else "")
        under = ", ".join(self.under) or "nothing: no perturbation was measured"
        return f"robustness of the class that {self.label} answers ({named}) to {under}"

    def json(self) -> ModelOfDossierJson:
        """Return the model and the claim."""
        return {
            "model": self.label,
            "identity": self.identity,
            "training": self.training,
            "data": self.cell.data,
            "fingerprint": self.cell.fingerprint,
            "answers": list(map(str, self.cell.points.classes)),
            "under": [*self.under],
            "statement": self.statement,
        }


def list_subjects(groups: RecordGroups) -> list[Subject]:
    """Return all models, each with the perturbations that it was measured under."""
    labels = label_models(groups.series)
    in_suites = {spec for suite in groups.records.suites for spec in suite.specs}
    known: dict[str, tuple[Record, dict[str, None]]] = {}
    for s in groups.series:
        _, under = known.setdefault(labels[get_model(s)], (s.first, {}))
        spec = s.first.corruption
        if spec in in_suites:
            suites = (each for each in groups.records.suites if spec in each.specs)
            under |= dict.fromkeys(f"{each.name} (suite)" for each in suites)
        elif not s.first.is_clean:
            under |= dict.fromkeys(parse_call(call).name for call in split_calls(spec))
    return [
        Subject(label, cell.recipe, cell.train, cell, tuple(under))
        for label, (cell, under) in known.items()
    ]


@dataclass
class Perturbation:
    """A perturbation with its sizes, or a suite."""

    name: str
    definition: str
    levels: dict[str, None] = field(default_factory=dict)
    draws: set[int] = field(default_factory=set)
    bounds: dict[str, None] = field(default_factory=dict)
    suites: tuple[str, ...] = ()
    """Suites that it was measured as a part of, and else nowhere; their reasons are its own."""

    def add(self, level: str, cell: Record) -> None:
        """Add a size, and how it was measured."""
        self.levels[level] = None
        self.draws.add(cell.k)
        self.bounds[cell.setting.bounds] = None

    def json(self, reason: str) -> PerturbationJson:
        """Return all of it."""
        return {
            "name": self.name,
            "definition": self.definition,
            "levels": [*self.levels],
            "draws": sorted(self.draws),
            "bounds": [*self.bounds],
            "reason": reason or None,
        }


def list_perturbations(groups: RecordGroups) -> list[Perturbation]:
    """Return the catalogue: suites, then single perturbations and those that follow one another."""
    found: dict[str, Perturbation] = {}
    cells = {s.first.corruption: s for s in groups.series if not s.first.is_clean}
    for suite in groups.records.suites:
        declared = SUITES.get(suite.name).about if suite.name in SUITES.declared else ""
        declared = "noise in one column at a time" if suite.metric == METRIC else declared
        about = "; ".join(filter(None, [declared, suite.derived])) or "a list of corruptions"
        entry = found.setdefault(suite.name, Perturbation(suite.name, about))
        for spec in suite.specs:
            if spec in cells:
                entry.add(display_name(spec), cells[spec].first)
    homes = {s.name: set(s.specs) for s in groups.records.suites}
    alone = {
        parse_call(call).name
        for spec in cells
        if not any(spec in h for h in homes.values())
        for call in split_calls(spec)
    }
    for spec, series in cells.items():
        named = name_noise(series)
        calls = list(zip(split_calls(named), split_calls(spec), strict=True))
        for shown, call in calls:
            name = parse_call(call).name
            level = str(shown).removeprefix(name).strip("()")
            size = str(call).removeprefix(name).strip("()")
            level = level if level == size else f"{level} = {_shorten(size)}"
            entry = found.setdefault(name, Perturbation(name, define(name)))
            entry.add(level, series.first)
            if name not in alone and entry.name not in homes:
                parts = [home for home, specs in homes.items() if spec in specs]
                entry.suites = tuple(dict.fromkeys((*entry.suites, *parts)))
    return [*found.values()]


def _shorten(size: str) -> str:
    try:
        return format_distance(float(size))
    except ValueError:  # more than a number
        return size


def define(name: str) -> str:
    """Return what a perturbation does, as the list of corruptions says.

    >>> define("l2"), define("l0.5")
    ('noise uniform in the L2 ball', 'noise uniform in the ball of any other norm, P > 0, such as \
l0.5, l10')
    >>> define("fog")
    'common corruption of images, severity 1 to 5'
    """
    try:
        forms = CORRUPTIONS.get(name).forms
    except InputError:
        return "a corruption of another package, which is not installed here"
    own = [text for form, text in forms.items() if form.partition("(")[0] == name]
    general = [text for form, text in forms.items() if form.partition("(")[0] in ("lP", "KIND")]
    text = (own or general or [*forms.values()])[0]
    return text if own or "severity" not in text else text.partition(": ")[0]


@dataclass(frozen=True, eq=False)
class Overlap:
    """Test points that equal a point of the data that is no test point."""

    fingerprint: str
    test_points: int
    other_points: int
    within: int
    across: tuple[tuple[int, int], ...]
    """Rows of each such test point, and of the first point that it equals."""

    @classmethod
    def of(cls, data: Dataset, records: Records) -> Overlap:
        """Compare the points of all cells on these data with all others."""
        tested = np.zeros(data.n, bool)
        for cell in records:
            if cell.fingerprint == data.fingerprint:
                tested[cell.points.rows] = True
        if not tested.any():
            raise InputError(
                f"data {data.name} are not those of the results: their fingerprint is "
                f"{data.fingerprint}; name the data that were evaluated"
            )
        across: list[tuple[int, int]] = []
        within = 0
        for rows in data.duplicates():
            ours, others = rows[tested[rows]], rows[~tested[rows]]
            within += len(ours) if len(ours) > 1 else 0
            if len(others):
                first = data.source_row(int(others[0]))
                across += [(data.source_row(int(row)), first) for row in ours]
        n = int(tested.sum())
        return cls(data.fingerprint, n, data.n - n, within, tuple(across))

    def __str__(self) -> str:
        if not self.other_points:
            return (
                f"all {self.test_points} points of the data were tested, so they hold no training "
                "points to compare with"
            )
        if not self.across:
            return (
                f"none of {self.test_points} test points equals one of the {self.other_points} "
                f"other points; {self.within} equal another test point"
            )
        rows = ", ".join(f"{i} and {j}" for i, j in self.across[:_SHOWN])
        more = f" and {len(self.across) - _SHOWN} more" if len(self.across) > _SHOWN else ""
        return (
            f"{len(self.across)} of {self.test_points} test points equal one of the "
            f"{self.other_points} other points (rows {rows}{more}), so their answers may have been "
            f"learnt by heart; {self.within} equal another test point"
        )

    def json(self) -> OverlapJson:
        """Return the counts and the first pairs."""
        return {
            "fingerprint": self.fingerprint,
            "test_points": self.test_points,
            "other_points": self.other_points,
            "equal_within": self.within,
            "equal_across": len(self.across),
            "rows": [list(pair) for pair in self.across[:100]],
        }


@dataclass(frozen=True, eq=False)
class Independence:
    """What records tell about training and test points."""

    records: Records
    overlap: Overlap | None
    """None if the data were not at hand."""

    @cached_property
    def sentences(self) -> list[str]:
        """Say how test points were chosen, and what is known about training points."""
        kinds: dict[tuple[str, bool], list[Record]] = {}
        for cell in self.records:
            kinds.setdefault((cell.fingerprint, cell.train == AS_GIVEN), []).append(cell)
        return [
            f"{join_distinct(c.n for c in cells)} test points of {cells[0].data}: "
            + (self._describe_fitted(fingerprint) if fitted else _STUDIED)
            for (fingerprint, fitted), cells in kinds.items()
        ]

    def _describe_fitted(self, fingerprint: str) -> str:
        settings = [c.settings for c in self.records.commands if c.fingerprint == fingerprint]
        known = [text for key, text in _CHOICES.items() if any(s.get(key) for s in settings)]
        models = {str(name).rpartition("=")[2] for s in settings for name in s.get("model", [""])}
        trained = _TRAINED if settings and models <= BUILTIN.keys() else _UNKNOWN
        return known[0] if known else trained

    def json(self) -> IndependenceJson:
        """Return all that is known."""
        return {
            "test_points": self.sentences,
            "distances": [
                {
                    "data": s.fingerprint,
                    "norm": norm_to_json(s.norm),
                    "two_r": s.two_r,
                    "eps_min": s.epsilon_min,
                    "by_part": s.by_part,
                }
                for s in self.records.separations
            ],
            "overlap": None if self.overlap is None else self.overlap.json(),
        }


_STUDIED = "every run trained its models on the other points of the data"
_CHOICES = {
    "held_out": "only points that the network files say they were not trained on were evaluated",
    "test": "they come from a file of their own",
}
_TRAINED = "the command that measured the models trained them on the other points of the data"
_UNKNOWN = "a model that came fitted does not tell on which points it was trained"


def list_limits(groups: RecordGroups, places: Sequence[str]) -> list[str]:
    """Say what the numbers do not show; `places` are the sections that there are."""
    records = groups.records
    runs = max((s.runs for s in groups.series), default=1)
    fitted = any(cell.train == AS_GIVEN for cell in records)
    specs = {cell.corruption for cell in records if not cell.is_clean}
    compound = any(len(split_factors(spec)) > 1 for spec in specs)
    limits = [
        "intervals and bounds hold for new points that are drawn as the test points were; they say "
        "nothing about other populations, sensors or times",
        "only the perturbations of the catalogue were measured, in the sizes listed there"
        + ("" if compound else ", and one at a time"),
        "random noise shows how often answers are wrong, not whether an adversary can find a wrong "
        "one" + ("" if "worst-case" in places else "; no worst case was measured"),
        "eps_min comes from the two closest points of different classes in these data; other data "
        "may hold closer ones",
    ]
    if "rare" in places:
        limits.append(
            "probabilities of rare failures are about the points that were measured, not about new "
            "ones, and leave out failures that the search did not find"
        )
    if fitted:
        limits.append(
            "numbers of a model that came fitted are those of this one training; another training "
            "of the same kind may do better or worse"
        )
    if runs > 1:
        limits.append(
            f"numbers of a study are means over {runs} runs; a single training may do worse"
        )
    limits.append(
        "what is declared by people, and the time at which requirements were registered, is on "
        "record but not proven"
    )
    return limits

"""Subjects: what can be compared in a set of records, under names that tell one from another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from shaketable.core.norms import norm_name, norm_title, pnorm_level
from shaketable.core.spec import Call, format_value, parse_call
from shaketable.evaluation.records import Record, Records
from shaketable.findings.mce.numbers import SUITE_METRICS
from shaketable.findings.series import Series, clean_beside, series
from shaketable.findings.suite_results import suite_results
from shaketable.separations.record import SeparationRecord
from shaketable.views.text import to_one_line


@dataclass(frozen=True, eq=False)
class Subject:
    """One model in one setting: the same data, norm of noise, bounds, draws, k and seed."""

    label: str
    noisy: tuple[Series, ...]
    clean: tuple[Series, ...]
    """On clean points, one a training noise, the weakest first."""
    separation: SeparationRecord | None
    """Separation of its data in the norm of its noise."""
    left_to_suites: bool
    """Whether all noise it met is that of suites with a metric, which are not told here."""

    @property
    def first(self) -> Record:
        """One of its cells, for what all have in common."""
        return (self.noisy or self.clean)[0].first

    @property
    def norm(self) -> str:
        """Norm of its noise; empty for corruptions without one."""
        return norm_of(self.first)

    @property
    def is_study(self) -> bool:
        """Whether the model was trained by a study, so that its training noise is known."""
        return self.first.train_epsilon is not None

    @property
    def at_eps_min(self) -> tuple[Series, ...]:
        """Series that MSCR is about, one a training noise, the weakest first."""
        return tuple(sorted((s for s in self.noisy if s.at_eps_min), key=training_size))

    @property
    def all_series(self) -> tuple[Series, ...]:
        """Everything measured, sorted by training noise and by the size of the test noise."""
        return tuple(
            sorted((*self.clean, *self.noisy), key=lambda s: (training_size(s), noise_size(s)))
        )

    def level(self, epsilon: float | None) -> str:
        """Size of noise for people: ``0.01``, or ``eps_min`` with its value."""
        if epsilon is None:
            return "as given"
        if self.separation is not None and epsilon == self.separation.epsilon_min:
            return f"eps_min {epsilon:.4g}"
        return format_value(epsilon)

    def train_level(self, series: Series) -> str:
        """Size of the training noise for people."""
        return self.level(series.first.train_epsilon)

    def test_level(self, series: Series) -> str:
        """Size of the test noise for people; other corruptions by their names."""
        cell = series.first
        return cell.corruption if cell.epsilon is None else self.level(cell.epsilon)


def noise_name(series: Series) -> str:
    """Spec of a series' noise, with ``eps_min`` for that size."""
    spec = series.first.corruption
    return str(Call(parse_call(spec).name, ("eps_min",))) if series.at_eps_min else spec


def subjects(records: Records) -> list[Subject]:
    """Group the records by model and setting, in the order they came.

    Noise of suites with a metric is left to `shaketable.scores`, unless it is of size eps_min.
    """
    told = {*SUITE_METRICS, "mcv"}  # by scores and by mCV boards
    scored = [r for r in suite_results(records) if r.suite.metric in told]
    of_suites = {cell.key for r in scored for s in r.series for cell in s.noisy}
    in_suites = {(r.first.fingerprint, r.first.recipe) for r in scored}
    groups: dict[tuple[object, ...], list[Series]] = {}
    unshaken: dict[tuple[object, ...], list[Series]] = {}
    for s in series(records):
        c = s.first
        who = (c.fingerprint, c.recipe)
        if c.corruption == "clean":
            unshaken.setdefault(who, []).append(s)
        elif s.at_eps_min or c.key not in of_suites:
            how = (norm_of(c), c.bounds, c.draws, c.noise, c.k, c.seed)
            groups.setdefault((*who, *how), []).append(s)
    shaken = {key[:2] for key in groups}
    groups |= {who: found for who, found in unshaken.items() if who not in shaken}
    labels = _labels([found[0].first for found in groups.values()])
    return [
        Subject(
            label,
            tuple(s for s in found if s.first.corruption != "clean"),
            _clean(found),
            _separation(records.separations, found[0].first),
            left_to_suites=key in in_suites,  # a key with settings is of other noise
        )
        for label, (key, found) in zip(labels, groups.items(), strict=True)
    ]


def norm_of(cell: Record) -> str:
    """Norm of a cell's noise for people; empty for clean points and other corruptions."""
    level = None if cell.corruption == "clean" else pnorm_level(cell.corruption)
    return "" if level is None else norm_title(level[0])


def training_size(series: Series) -> float:
    """Size of the training noise, -1 when it is not known; for sorting."""
    size = series.first.train_epsilon
    return -1.0 if size is None else size


def noise_size(series: Series) -> float:
    """Size of the test noise, infinite for corruptions that have none; for sorting."""
    size = series.first.epsilon
    return float("inf") if size is None else size


def _clean(found: Iterable[Series]) -> tuple[Series, ...]:
    """Clean series of every training noise, over as many runs as there are."""
    most: dict[str, Series] = {}
    for s in found:
        train = s.first.train
        if train not in most or s.runs > most[train].runs:
            most[train] = clean_beside(s)
    return tuple(sorted(most.values(), key=training_size))


def _separation(known: Iterable[SeparationRecord], cell: Record) -> SeparationRecord | None:
    mine = [s for s in known if s.fingerprint == cell.fingerprint]
    if not norm_of(cell):
        return mine[0] if mine else None
    name = parse_call(cell.corruption).name
    return next((s for s in mine if norm_name(s.norm) == name), None)


def _labels(cells: Sequence[Record]) -> list[str]:
    """Name of the model, and whatever else differs between the subjects."""
    facts = []
    for c in cells:
        noise = {
            "norm": norm_of(c) or "other corruptions",
            "k": f"k = {c.k}",
            "seed": f"seed {c.seed}",
            "bounds": f"bounds {c.bounds}",
            "draws": f"{c.draws} draws",
            "noise": f"noise made on the {c.noise}",
        }
        facts.append({"data": c.data} | ({} if c.corruption == "clean" else noise))
    return told_apart([c.model for c in cells], facts)


def told_apart(names: Sequence[str], facts: Sequence[Mapping[str, str]]) -> list[str]:
    """Names followed by those of their facts that differ, and by a number where none does.

    >>> told_apart(["net", "net", "rf"], [{"k": "k = 1"}, {"k": "k = 1"}, {"k": "k = 3"}])
    ['net, k = 1 #1', 'net, k = 1 #2', 'rf, k = 3']
    """
    known: dict[str, set[str]] = {}
    for fact, text in (item for f in facts for item in f.items()):
        known.setdefault(fact, set()).add(text)
    differing = [fact for fact, texts in known.items() if len(texts) > 1]
    labels = [
        to_one_line(", ".join([name, *(f[fact] for fact in differing if fact in f)]))
        for name, f in zip(names, facts, strict=True)
    ]
    number = {label: count(1) for label in labels}
    return [f"{m} #{next(number[m])}" if labels.count(m) > 1 else m for m in labels]

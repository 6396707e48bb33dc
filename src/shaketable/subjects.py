"""Subjects: what can be compared in a set of records, under names that tell one from another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from shaketable import metrics
from shaketable.metrics import Series
from shaketable.norms import as_p, norm_name, norm_title
from shaketable.records import Record, Records, SeparationRecord
from shaketable.spec import Call, format_value, parse_call


@dataclass(frozen=True, eq=False)
class Subject:
    """One model in one setting: the same data, norm of noise, bounds, draws, k and seed."""

    label: str
    noisy: tuple[Series, ...]
    clean: tuple[Series, ...]
    """On clean points, one a training noise, the weakest first."""
    separation: SeparationRecord | None
    """Separation of its data in the norm of its noise."""

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
    """Group the records by model and setting, in the order they came."""
    groups: dict[tuple[object, ...], list[Series]] = {}
    unshaken: dict[tuple[object, ...], list[Series]] = {}
    for s in metrics.series(records):
        c = s.first
        who = (c.fingerprint, c.recipe)
        if c.corruption == "clean":
            unshaken.setdefault(who, []).append(s)
        else:
            how = (norm_of(c), c.bounds, c.draws, c.k, c.seed)
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
        )
        for label, found in zip(labels, groups.values(), strict=True)
    ]


def clean_beside(series: Series) -> Series:
    """Return the same models of the same runs, on clean points."""
    return Series(noisy=series.clean, clean=series.clean, at_eps_min=False)


def norm_of(cell: Record) -> str:
    """Norm of a cell's noise for people; empty for clean points and other corruptions."""
    if cell.epsilon is None or cell.corruption == "clean":
        return ""
    return norm_title(as_p(parse_call(cell.corruption).name))


def one_line(text: str) -> str:
    """Text with one blank for any white space; charts cannot take all kinds that Unicode has."""
    return " ".join(text.split())


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
    facts = [
        {
            "data": c.data,
            "norm": norm_of(c) or "other corruptions",
            "k": f"k = {c.k}",
            "seed": f"seed {c.seed}",
            "bounds": f"bounds {c.bounds}",
            "draws": f"{c.draws} draws",
        }
        for c in cells
    ]
    shaken = [f for f, c in zip(facts, cells, strict=True) if c.corruption != "clean"]
    differing = [name for name in facts[0] if len({f[name] for f in shaken}) > 1] if facts else []
    labels = [
        one_line(", ".join([c.model, *(f[name] for name in differing if c.corruption != "clean")]))
        for c, f in zip(cells, facts, strict=True)
    ]
    number = {label: count(1) for label in labels}
    return [f"{m} #{next(number[m])}" if labels.count(m) > 1 else m for m in labels]

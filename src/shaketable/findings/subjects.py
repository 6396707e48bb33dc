"""Subjects: one model in one setting, with a unique label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from shaketable.core.norms import NormJson, norm_title, norm_to_json
from shaketable.core.spec import find_factor, format_value, name_multiple
from shaketable.evaluation.records import Record, Records
from shaketable.findings.series import Series
from shaketable.findings.suite_results import SuiteResult
from shaketable.separations.separation import SeparationRecord
from shaketable.views.numbers import format_spec
from shaketable.views.text import to_one_line


def distinguish(names: Sequence[str], facts: Sequence[Mapping[str, str]]) -> list[str]:
    """Append to every name those of its facts that differ; number names that are still equal.

    >>> distinguish(["net", "net", "rf"], [{"k": "k = 1"}, {"k": "k = 1"}, {"k": "k = 3"}])
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
    return [
        f"{label} #{next(number[label])}" if labels.count(label) > 1 else label for label in labels
    ]


def list_noise_facts(cell: Record) -> dict[str, str]:
    """Return the noise settings of a cell as texts, for `distinguish`."""
    setting = cell.setting
    return {
        "k": f"k = {setting.k}",
        "seed": f"seed {setting.seed}",
        "bounds": f"bounds {setting.bounds}",
        "draws": f"{setting.draws} draws",
        "noise": f"noise made on the {setting.noise}",
    }


def list_training_facts(cell: Record, training: str) -> dict[str, str]:
    """Return the training noise of a cell as a text, unless the model is named after it."""
    return {} if cell.names_training else {"train": f"training noise {training}"}


def make_suite_labels(results: Sequence[SuiteResult]) -> list[str]:
    """Return a unique label per result: the model's name and the settings that differ."""
    cells = [result.first for result in results]
    facts = [{**list_training_facts(c, c.train), **list_noise_facts(c)} for c in cells]
    return distinguish([c.model for c in cells], facts)


def choose_reference(labels: Sequence[str], reference: str = "") -> tuple[str, str]:
    """Return the label of the model that others are compared with, and why it is that one.

    >>> choose_reference(["net", "net(clean)"])
    ('net(clean)', 'the only model whose name says it was trained on clean data')
    """
    named = [label for label in labels if label == "clean" or label.endswith("(clean)")]
    if reference:
        return reference, "as chosen"
    if len(named) == 1:
        return named[0], "the only model whose name says it was trained on clean data"
    return labels[0], "the first of the table"


def choose_references(labels: Sequence[str], reference: str = "") -> tuple[dict[str, str], str]:
    """Return which model each one is compared with, and why.

    Without a choice, several networks have one reference each, if every network has a model that
    was trained on clean data; else all models are compared with one.

    >>> choose_references(["a(clean)", "a(C1)", "b(C1)", "b(clean)"])[0]
    {'a(clean)': 'a(clean)', 'a(C1)': 'a(clean)', 'b(C1)': 'b(clean)', 'b(clean)': 'b(clean)'}
    """
    networks = [label.removesuffix("clean)") for label in labels if label.endswith("(clean)")]
    if not reference and len(networks) > 1:
        own = {
            label: f"{max((n for n in networks if label.startswith(n)), key=len, default='')}clean)"
            for label in labels
        }
        if all(chosen in own for chosen in own.values()):
            return own, "of each network the model trained on clean data"
    chosen, why = choose_reference(labels, reference)
    return dict.fromkeys(labels, chosen), why


@dataclass(frozen=True, eq=False)
class Subject:
    """One model in one setting: the same data, norm of noise, bounds, draws, k and seed."""

    label: str
    noisy: tuple[Series, ...]
    clean: tuple[Series, ...]
    """On clean points, one per training noise, the weakest first."""
    separation: SeparationRecord | None
    """Separation of its data in the norm of its noise."""
    left_to_suites: bool
    """True if every corruption belongs to a scored suite, which has its own section."""

    @property
    def first(self) -> Record:
        """One of its cells, for settings that all cells share."""
        return (self.noisy or self.clean)[0].first

    @property
    def norm(self) -> str:
        """Norm of its noise; empty for corruptions without one."""
        return get_norm_title(self.first)

    @property
    def norm_json(self) -> NormJson | None:
        """Order of the norm of `separation` for JSON; None if it was not measured."""
        return None if self.separation is None else norm_to_json(self.separation.norm)

    @property
    def eps_min(self) -> float | None:
        """Half the separation of its data in the norm of its noise; None if not measured."""
        return None if self.separation is None else self.separation.epsilon_min

    @property
    def is_study(self) -> bool:
        """Whether a study trained the model, so that its training noise is known."""
        return self.first.train_epsilon is not None

    @cached_property
    def at_eps_min(self) -> tuple[Series, ...]:
        """Series at eps_min, which have an MSCR: one per training noise, the weakest first."""
        return tuple(sorted((s for s in self.noisy if s.at_eps_min), key=get_training_size))

    @cached_property
    def has_multiples(self) -> bool:
        """Whether its sizes are multiples of eps_min, and not all are eps_min itself."""
        sizes = {s.first.epsilon for s in self.noisy} - {self.eps_min}
        return bool(sizes) and all(
            size is not None and self.eps_min and find_factor(size, self.eps_min) is not None
            for size in sizes
        )

    @cached_property
    def all_series(self) -> tuple[Series, ...]:
        """All series, sorted by training noise and then by the size of the test noise."""
        return tuple(
            sorted(
                (*self.clean, *self.noisy), key=lambda s: (get_training_size(s), get_noise_size(s))
            )
        )

    @cached_property
    def study_noise(self) -> str:
        """Norms of the noise in training and in test, in words."""
        levels = (s.first.train_level for s in self.clean if s.first.train_epsilon)
        norms = dict.fromkeys(norm_title(level.p) for level in levels if level is not None)
        test = f"{self.norm} noise".strip()
        if not norms.keys() - {self.norm}:
            return f"{test} in training (columns) and test (rows)"
        return f"{' and '.join(norms)} noise in training (columns) and {test} in test (rows)"

    def level(self, epsilon: float | None) -> str:
        """Return the size of test noise as text: ``0.01``, or ``0.5*eps_min`` with its value."""
        return _name_size(epsilon, self.eps_min)

    def train_level(self, series: Series) -> str:
        """Return the size of the training noise as text."""
        size, level = series.first.train_epsilon, series.first.train_level
        known = self.eps_min if level is None else series.eps_min_by_norm.get(level.p)
        return _name_size(size, known)

    def test_level(self, series: Series) -> str:
        """Return the size of the test noise as text, or the spec of another corruption."""
        cell = series.first
        return cell.corruption if cell.epsilon is None else self.level(cell.epsilon)

    def entry(self, series: Series) -> str:
        """Return the label of the model, in a study with the training noise of the series."""
        training = f", training noise {self.train_level(series)}" if self.is_study else ""
        return self.label + training


def group_subjects(
    records: Records, series: Sequence[Series], scored: Sequence[SuiteResult]
) -> list[Subject]:
    """Group the series by model and setting, in the order of the records.

    Corruptions of the `scored` suite results, which have findings of their own, are left out
    unless they are noise of size eps_min.
    """
    of_suites = {cell.key for r in scored for s in r.series for cell in s.noisy}
    in_suites = {(r.first.fingerprint, r.first.recipe) for r in scored}
    groups: dict[tuple[object, ...], list[Series]] = {}
    clean_only: dict[tuple[object, ...], list[Series]] = {}
    for s in series:
        c = s.first
        model = (c.fingerprint, c.recipe)
        if c.is_clean:
            clean_only.setdefault(model, []).append(s)
        elif s.at_eps_min or c.key not in of_suites:
            groups.setdefault((*model, get_norm_title(c), c.setting), []).append(s)
    corrupted = {key[:2] for key in groups}
    groups |= {model: group for model, group in clean_only.items() if model not in corrupted}
    labels = _make_labels([group[0].first for group in groups.values()])
    return [
        Subject(
            label,
            tuple(s for s in group if not s.first.is_clean),
            _list_clean_series(group),
            _choose_separation(records.separations, group[0].first),
            left_to_suites=key in in_suites,  # a key with a setting has other corruptions
        )
        for label, (key, group) in zip(labels, groups.items(), strict=True)
    ]


def _name_size(epsilon: float | None, eps_min: float | None) -> str:
    """Return a size of noise as text, in units of eps_min where it is a multiple."""
    if epsilon is None:
        return "as given"
    multiple = name_multiple(epsilon, eps_min)
    return f"{multiple} {epsilon:.4g}" if multiple else format_spec(format_value(epsilon))


def name_noise(series: Series) -> str:
    """Return the spec of a series' corruption, sizes in units of eps_min where they are such."""
    return series.name_sizes(series.first.corruption)


def get_norm_title(cell: Record) -> str:
    """Return the name of the norm of a cell's noise; empty for other corruptions."""
    return "" if cell.level is None else norm_title(cell.level.p)


def get_training_size(series: Series) -> float:
    """Return the size of the training noise, -1 if it is not known; for sorting."""
    size = series.first.train_epsilon
    return -1.0 if size is None else size


def get_noise_size(series: Series) -> float:
    """Return the size of the test noise, infinite for corruptions without one; for sorting."""
    size = series.first.epsilon
    return float("inf") if size is None else size


def _list_clean_series(group: Iterable[Series]) -> tuple[Series, ...]:
    """Return the clean series of every training noise, each with all available runs."""
    longest: dict[str, Series] = {}
    for s in group:
        train = s.first.train
        if train not in longest or s.runs > longest[train].runs:
            longest[train] = s.on_clean
    return tuple(sorted(longest.values(), key=get_training_size))


def _choose_separation(known: Iterable[SeparationRecord], cell: Record) -> SeparationRecord | None:
    candidates = [s for s in known if s.fingerprint == cell.fingerprint]
    norm = None if cell.level is None else cell.level.p
    return next((s for s in candidates if norm is None or s.norm == norm), None)


def _make_labels(cells: Sequence[Record]) -> list[str]:
    """Return labels of the models' names and of the settings that differ between subjects."""
    facts = []
    for c in cells:
        noise = {"norm": get_norm_title(c) or "other corruptions", **list_noise_facts(c)}
        facts.append({"data": c.data} | ({} if c.is_clean else noise))
    return distinguish([c.model for c in cells], facts)

"""What a report says of every model: verdicts, risks, accuracies and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from shaketable.core.errors import InputError, UndefinedError
from shaketable.findings.mscr import numbers
from shaketable.findings.mscr.numbers import ErrorProbability
from shaketable.findings.series import Series, clean_beside, meets_same_noise
from shaketable.findings.subjects import Subject, noise_name, noise_size
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views.text import join_distinct

Methods: TypeAlias = "dict[str, dict[str, None]]"
"""How each kind of number was computed: the methods of its estimates."""

MAX_PAIRS = 45
"""Comparisons that are listed at most."""

MAX_CLASSES = 30
"""Classes that a risk is listed for at most."""


@dataclass(frozen=True)
class Headline:
    """What the page says first about one subject."""

    label: str
    training: str
    noise: str
    clean: Estimate
    robust: Estimate | None
    mscr: Estimate | None
    verdict: str
    tone: str
    """``kept``, ``lost`` or ``open``."""
    best: Headline | None = None
    """Of a study: the training noise with the highest accuracy under this noise."""


def headline(subject: Subject, methods: Methods) -> Headline:
    """Verdict on a subject; of a study, on its weakest training noise and on its best."""
    if not subject.at_eps_min:
        clean = noted(methods, "Accuracy", numbers.accuracy(subject.clean[0]))
        training = subject.train_level(subject.clean[0]) if subject.is_study else ""
        return Headline(subject.label, training, "", clean, None, None, _why_not(subject), "open")
    first = _headline(subject, subject.at_eps_min[0], methods)
    if len(subject.at_eps_min) == 1:
        return first
    best = max(subject.at_eps_min, key=lambda s: numbers.accuracy(s).value)
    return Headline(**{**vars(first), "best": _headline(subject, best, methods)})


def _headline(subject: Subject, s: Series, methods: Methods) -> Headline:
    clean = noted(methods, "Accuracy", numbers.accuracy(clean_beside(s)))
    robust = noted(methods, "Accuracy", numbers.accuracy(s))
    training = subject.train_level(s) if subject.is_study else ""
    mscr = None
    try:
        mscr = noted(methods, "MSCR", numbers.mscr(s))
        words = numbers.verdict(mscr)
    except UndefinedError as error:
        words = f"No MSCR: {error}."
    return Headline(subject.label, training, noise_name(s), clean, robust, mscr, words, _tone(mscr))


def _tone(mscr: Estimate | None) -> str:
    if mscr is None:
        return "open"
    if mscr.high < 0:
        return "lost"
    return "kept" if mscr.low > 0 or mscr.low == mscr.high == 0 else "open"


def _why_not(subject: Subject) -> str:
    if not subject.noisy:
        return "MSCR is not known: the model met no noise. Measure it under noise of size eps_min."
    met = ", ".join(dict.fromkeys(noise_name(s) for s in subject.noisy))
    return (
        f"MSCR is not known: what the model met ({met}) is not noise of size eps_min. "
        "Measure it under noise of that size, such as linf(eps_min)."
    )


@dataclass(frozen=True, eq=False)
class Risk:
    """How likely one fitted model is wrong under one noise."""

    label: str
    noise: str
    n: int
    error: ErrorProbability
    classes: list[tuple[str, int, Estimate]]
    """Label, points and bound of every class, the worst first."""
    more_classes: int
    never_wrong: int
    """Points that were right in all k draws."""
    others: list[tuple[str, Estimate]]
    """Bounds under the other corruptions."""


def risks(subject: Subject, methods: Methods) -> list[Risk]:
    """Risk of every fitted model of a subject; none where there were several runs."""
    result = []
    for clean in subject.clean:
        mine = [s for s in subject.noisy if s.first.train == clean.first.train and s.runs == 1]
        if not mine:
            continue
        chosen = next((s for s in mine if s.at_eps_min), mine[-1])
        cell, error = chosen.first, numbers.error_probability(chosen)
        noted(methods, "Probability of a wrong answer", error.overall)
        classes = [
            (str(label), int((cell.points.y == code).sum()), error.by_class[label])
            for code, label in enumerate(cell.points.classes)
            if label in error.by_class
        ]
        classes.sort(key=lambda row: -row[2].high)
        training = f", training noise {subject.train_level(clean)}" if subject.is_study else ""
        others = [s for s in mine if s is not chosen]
        result.append(
            Risk(
                label=subject.label + training,
                noise=noise_name(chosen),
                n=cell.n,
                error=error,
                classes=classes[:MAX_CLASSES],
                more_classes=len(classes[MAX_CLASSES:]),
                never_wrong=int(np.count_nonzero(error.by_point <= error.least_provable)),
                others=[(noise_name(s), numbers.error_probability(s).overall) for s in others],
            )
        )
    return result


@dataclass(frozen=True)
class AccuracyRow:
    """One corruption in a table of accuracies."""

    noise: str
    at_eps_min: bool
    accuracy: Estimate
    change: Estimate | None
    """Relative to the clean accuracy; None on clean points, and where that is 0."""


def accuracies(subject: Subject, methods: Methods) -> tuple[str, list[AccuracyRow]]:
    """Label and rows of a fixed model's table."""
    rows = []
    for s in subject.all_series:
        right = noted(methods, "Accuracy", numbers.accuracy(s))
        change = None
        if s.first.corruption != "clean" and s.clean[0].hits.any():
            change = noted(methods, "Change against clean points", numbers.relative_loss(s))
        rows.append(AccuracyRow(noise_name(s), s.at_eps_min, right, change))
    return subject.label, rows


@dataclass(frozen=True)
class Matrix:
    """Accuracies of a study, test noise in rows, training noise in columns, and MSCR below."""

    label: str
    norm: str
    runs: str
    columns: list[str]
    rows: list[tuple[str, list[Estimate | None], float]]
    """Test noise, one estimate a column, and the best value."""
    mscr: list[Estimate | None]
    best_mscr: float


def matrix(subject: Subject, methods: Methods) -> Matrix:
    """Table of a study, as in the paper's Table 2."""
    columns = [subject.train_level(s) for s in subject.clean]
    by_noise: dict[str, dict[str, Estimate]] = {}
    for s in sorted(subject.all_series, key=noise_size):
        right = noted(methods, "Accuracy", numbers.accuracy(s))
        by_noise.setdefault(subject.test_level(s), {})[subject.train_level(s)] = right
    mscr: dict[str, Estimate] = {}
    for s in subject.at_eps_min:
        if all(cell.hits.any() for cell in s.clean):
            mscr[subject.train_level(s)] = noted(methods, "MSCR", numbers.mscr(s))
    return Matrix(
        label=subject.label,
        norm=subject.norm,
        runs=join_distinct(s.runs for s in subject.all_series),
        columns=columns,
        rows=[
            (noise, [row.get(c) for c in columns], max(e.value for e in row.values()))
            for noise, row in by_noise.items()
        ],
        mscr=[mscr.get(c) for c in columns],
        best_mscr=max((e.value for e in mscr.values()), default=0.0),
    )


def differences(found: Sequence[Subject], methods: Methods) -> tuple[list[Difference], int]:
    """Paired differences in MSCR, and how many more could be told.

    Fixed models are compared with each other; in a study models with the same training noise, and
    every training noise with the weakest one of the same model.
    """
    entries = [(subject, s) for subject in found for s in subject.at_eps_min]
    pairs = [(a, b) for a, b in combinations(entries, 2) if _comparable(a, b)]
    result = []
    for (one, a), (two, b) in pairs[:MAX_PAIRS]:
        try:
            value = numbers.mscr_difference(a, b)
        except InputError:  # MSCR is undefined for one of them, which the headline tells
            continue
        noted(methods, "Difference in MSCR", value)
        who = _entry(one, a), _entry(two, b)
        result.append(Difference(*who, value, "keeps more of its accuracy"))
    return result, len(pairs[MAX_PAIRS:])


def _comparable(a: tuple[Subject, Series], b: tuple[Subject, Series]) -> bool:
    (one, first), (two, second) = a, b
    if not meets_same_noise(first, second):
        return False
    if one is two:
        return first is one.at_eps_min[0]
    return first.first.train == second.first.train or not (one.is_study and two.is_study)


def _entry(subject: Subject, s: Series) -> str:
    return (
        f"{subject.label}, training noise {subject.train_level(s)}"
        if subject.is_study
        else subject.label
    )


def noted(methods: Methods, what: str, value: Estimate) -> Estimate:
    """Estimate as given, its method noted."""
    methods.setdefault(what, {})[value.method] = None
    return value

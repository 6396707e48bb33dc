"""Sections of a page about every model: verdict, risk, accuracy, differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from markupsafe import Markup

from shaketable.findings.finding import Methods, Section
from shaketable.findings.mscr import charts, words
from shaketable.findings.mscr.finding import Robustness
from shaketable.findings.mscr.numbers import ErrorProbability
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.subjects import Subject, name_noise
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views import page

MAX_CLASSES = 30
"""Classes whose error probabilities are listed at most."""


def make_sections(finding: Robustness, methods: Methods) -> list[Section]:
    """Return the sections about all subjects that have something outside scored suites."""
    subjects = [s for s in finding.subjects if not s.left_to_suites]
    sections = []
    if subjects:
        headlines = [_make_headline(s, methods) for s in subjects]
        html = _render("verdict", headlines=headlines, figures=_make_mscr_figures(finding))
        sections.append(Section("verdict", "Verdict", html, 10, _render("definitions")))
    if risks := [risk for s in subjects for risk in _make_risks(finding, s, methods)]:
        sections.append(Section("risk", "Risk", _render("risk", risks=risks), 40))
    if fitted := [s for s in subjects if not s.is_study]:
        tables = [(s.label, _make_rows(s, methods)) for s in fitted]
        figures = page.make_figures(
            charts.accuracy_chart(fitted), place="accuracy", caption=_choose_caption(subjects)
        )
        html = _render("accuracy", tables=tables, figures=figures)
        sections.append(Section("accuracy", "Accuracy", html, 50))
    differences, more = _make_differences(finding, subjects, methods)
    if differences:
        html = _render("differences", differences=differences, more=more)
        sections.append(Section("differences", "Differences", html, 70))
    return sections


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.mscr", "section.html.j2", macro, **content)


def _make_mscr_figures(finding: Robustness) -> list[page.Figure]:
    if not charts.make_mscr_rows(finding.subjects):
        return []
    return page.make_figures(charts.mscr_chart(finding.subjects), place="mscr", caption=words.MSCR)


def _choose_caption(subjects: list[Subject]) -> str:
    known = any(s.separation is not None for s in subjects)
    return words.ACCURACY if known else words.PLAIN_ACCURACY


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
    """``kept``, ``lost`` or ``open``: the colour of its card."""
    best: Headline | None = None
    """In a study: the headline of the training noise with the highest accuracy under this noise."""


def _make_headline(subject: Subject, methods: Methods) -> Headline:
    """Return the verdict on a subject; in a study, on its weakest and its best training noise."""
    if not subject.at_eps_min:
        clean = methods.note("Accuracy", subject.clean[0].accuracy)
        training = subject.train_level(subject.clean[0]) if subject.is_study else ""
        verdict = words.explain_missing(subject)
        return Headline(subject.label, training, "", clean, None, None, verdict, "open")
    first = _make_series_headline(subject, subject.at_eps_min[0], methods)
    if len(subject.at_eps_min) == 1:
        return first
    best = max(subject.at_eps_min, key=lambda s: s.accuracy.value)
    return replace(first, best=_make_series_headline(subject, best, methods))


def _make_series_headline(subject: Subject, series: Series, methods: Methods) -> Headline:
    mscr = series.change
    return Headline(
        label=subject.label,
        training=subject.train_level(series) if subject.is_study else "",
        noise=name_noise(series),
        clean=methods.note("Accuracy", series.on_clean.accuracy),
        robust=methods.note("Accuracy", series.accuracy),
        mscr=None if mscr is None else methods.note("MSCR", mscr),
        verdict=f"{words.UNDEFINED}." if mscr is None else words.verdict(mscr),
        tone=_choose_tone(mscr),
    )


def _choose_tone(mscr: Estimate | None) -> str:
    if mscr is None:
        return "open"
    if mscr.high < 0:
        return "lost"
    return "kept" if mscr.low > 0 or mscr.low == mscr.high == 0 else "open"


@dataclass(frozen=True, eq=False)
class Risk:
    """Error probabilities of one fitted model under one corruption."""

    label: str
    noise: str
    n: int
    error: ErrorProbability
    classes: list[tuple[str, int, Estimate]]
    """Label, number of points and bound of every class, the worst first."""
    more_classes: int
    never_wrong: int
    """Points that were classified correctly in all k draws."""
    others: list[tuple[str, Estimate]]
    """Bounds under the other corruptions."""


def _make_risks(finding: Robustness, subject: Subject, methods: Methods) -> list[Risk]:
    """Return the risk of every fitted model of a subject; none for models of several runs."""
    risks = []
    for clean in subject.clean:
        train = clean.first.train
        series = [s for s in subject.noisy if s.first.train == train and s.runs == 1]
        if not series:
            continue
        chosen = next((s for s in series if s.at_eps_min), series[-1])
        cell, error = chosen.first, finding.error_probability(chosen)
        methods.note("Probability of a wrong answer", error.overall)
        classes = [
            (str(label), int((cell.points.y == code).sum()), error.by_class[label])
            for code, label in enumerate(cell.points.classes)
            if label in error.by_class
        ]
        classes.sort(key=lambda row: -row[2].high)
        others = [s for s in series if s is not chosen]
        risks.append(
            Risk(
                label=subject.entry(clean),
                noise=name_noise(chosen),
                n=cell.n,
                error=error,
                classes=classes[:MAX_CLASSES],
                more_classes=len(classes[MAX_CLASSES:]),
                never_wrong=int(np.count_nonzero(error.by_point <= error.least_provable)),
                others=[(name_noise(s), finding.error_probability(s).overall) for s in others],
            )
        )
    return risks


@dataclass(frozen=True)
class AccuracyRow:
    """One corruption in a table of accuracies."""

    noise: str
    at_eps_min: bool
    accuracy: Estimate
    change: Estimate | None
    """Relative to the clean accuracy; None on clean points, and if that accuracy is 0."""


def _make_rows(subject: Subject, methods: Methods) -> list[AccuracyRow]:
    rows = []
    for s in subject.all_series:
        methods.note("Accuracy", s.accuracy)
        change = None
        if s.first.corruption != "clean" and s.change is not None:
            change = methods.note("Change against clean points", s.change)
        rows.append(AccuracyRow(name_noise(s), s.at_eps_min, s.accuracy, change))
    return rows


def _make_differences(
    finding: Robustness, subjects: list[Subject], methods: Methods
) -> tuple[list[Difference], int]:
    """Return paired differences in MSCR, and the number of differences left out.

    Models as given are compared with each other; in a study models with the same training noise,
    and every training noise with the weakest one of the same model.
    """
    entries = [(subject, s) for subject in subjects for s in subject.at_eps_min]
    pairs = [(a, b) for a, b in combinations(entries, 2) if _are_comparable(a, b)]
    differences = []
    for (first, a), (second, b) in pairs[: page.MAX_COMPARISONS]:
        value = finding.difference(a, b)
        if value is not None:  # else MSCR is undefined for one of them, which the headline says
            methods.note("Difference in MSCR", value)
            names = first.entry(a), second.entry(b)
            differences.append(Difference(*names, value, "keeps more of its accuracy"))
    return differences, len(pairs[page.MAX_COMPARISONS :])


def _are_comparable(a: tuple[Subject, Series], b: tuple[Subject, Series]) -> bool:
    (first, first_series), (second, second_series) = a, b
    if not meets_same_noise(first_series, second_series):
        return False
    if first is second:
        return first_series is first.at_eps_min[0]
    same_training = first_series.first.train == second_series.first.train
    return same_training or not (first.is_study and second.is_study)

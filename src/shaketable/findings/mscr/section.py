"""Sections of a page about every model: verdict, accuracy, differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from markupsafe import Markup

from shaketable.findings.finding import Methods, Section
from shaketable.findings.mscr import charts, words
from shaketable.findings.mscr.finding import Robustness
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.subjects import Subject, name_noise
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views import page


def make_sections(finding: Robustness, methods: Methods) -> list[Section]:
    """Return the sections about all subjects that have something outside scored suites."""
    subjects = [s for s in finding.subjects if not s.left_to_suites]
    sections = []
    if subjects:
        headlines = [_make_headline(s, methods) for s in subjects]
        html = _render("verdict", headlines=headlines, figures=_make_mscr_figures(finding))
        sections.append(Section("verdict", "Verdict", html, 10, _render("definitions")))
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
        if not s.first.is_clean and s.change is not None:
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

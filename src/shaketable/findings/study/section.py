"""The section of a page about noise in training."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from shaketable.findings.finding import Methods, Section
from shaketable.findings.mscr.charts import accuracy_chart, make_mscr_rows
from shaketable.findings.study import charts, words
from shaketable.findings.study.finding import Study
from shaketable.findings.study.optima import RowOptimum
from shaketable.findings.subjects import Subject, get_noise_size
from shaketable.statistics.estimate import Estimate
from shaketable.views import page
from shaketable.views.text import join_distinct


@dataclass(frozen=True)
class Matrix:
    """Accuracies of a study, test noise in rows, training noise in columns, and MSCR below."""

    label: str
    noise: str
    runs: str
    columns: list[str]
    rows: list[tuple[str, list[Estimate | None], float]]
    """Test noise, one estimate per column, and the best value."""
    mscr: list[Estimate | None]
    best_mscr: float
    optima: list[tuple[str, str, str, RowOptimum]]
    """Test noise, best training noise as measured, those that may be the best, and the optimum."""
    optima_words: str


def make_sections(finding: Study, methods: Methods) -> list[Section]:
    """Return the section, or none if no model was tested under p-norm noise."""
    subjects = [s for s in finding.subjects if s.norm and not s.left_to_suites]
    if not subjects:
        return []
    several_runs = all(s.runs > 1 for subject in subjects for s in subject.noisy)
    html = page.render(
        "shaketable.findings.study",
        "section.html.j2",
        "study",
        matrices=[_make_matrix(s, finding.optima[s], methods) for s in subjects],
        several_runs=several_runs,
        matrix_figures=_make_matrix_figures(subjects),
        figures=_make_other_figures([s for s in finding.subjects if not s.left_to_suites]),
    )
    return [Section("study", "Training noise", Markup(html), 60)]


def _make_matrix_figures(subjects: list[Subject]) -> list[page.Figure]:
    columns = max(len(s.clean) for s in subjects)
    return page.make_figures(
        charts.matrix_chart(subjects),
        place="matrix",
        caption=words.MATRIX,
        min_width=120 + 74 * columns,
    )


def _make_other_figures(subjects: list[Subject]) -> list[page.Figure]:
    figures = page.make_figures(accuracy_chart(subjects), place="ladder", caption=words.LADDER)
    if make_mscr_rows(subjects):
        chart = charts.tradeoff_chart(subjects)
        figures += page.make_figures(chart, place="tradeoff", caption=words.TRADEOFF)
    if charts.has_convergence(subjects):
        chart = charts.convergence_chart(subjects)
        figures += page.make_figures(chart, place="runs", caption=words.RUNS)
    return figures


def _make_matrix(subject: Subject, optima: list[RowOptimum], methods: Methods) -> Matrix:
    """Table of a study, as in the paper's Table 2."""
    columns = [subject.train_level(s) for s in subject.clean]
    by_noise: dict[str, dict[str, Estimate]] = {}
    for s in sorted(subject.all_series, key=get_noise_size):
        accuracy = methods.note("Accuracy", s.accuracy)
        by_noise.setdefault(subject.test_level(s), {})[subject.train_level(s)] = accuracy
    mscr = {
        subject.train_level(s): methods.note("MSCR", s.change)
        for s in subject.at_eps_min
        if s.change is not None
    }
    return Matrix(
        label=subject.label,
        noise=subject.study_noise,
        runs=join_distinct(s.runs for s in subject.all_series),
        columns=columns,
        rows=[
            (noise, [row.get(c) for c in columns], max(e.value for e in row.values()))
            for noise, row in by_noise.items()
        ],
        mscr=[mscr.get(c) for c in columns],
        best_mscr=max((e.value for e in mscr.values()), default=0.0),
        optima=[
            (
                subject.level(o.test_eps),
                subject.train_level(o.best),
                ", ".join(map(subject.train_level, o.candidates)),
                o,
            )
            for o in optima
        ],
        optima_words=words.describe_optima(optima),
    )

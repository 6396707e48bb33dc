"""What is shown of noise in training: the published matrix, its best entries, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaketable.core.checks import list_names
from shaketable.views.blocks import Block, Cell, Chart, Column, Entry, Heading, Sentence, Table
from shaketable.views.text import join_distinct

if TYPE_CHECKING:
    from shaketable.findings.study.finding import Study
    from shaketable.findings.study.numbers import Position, RowOptimum, StudyEntry
    from shaketable.findings.subjects import Subject

LADDER = (
    "One line per training noise, bars are 95 % intervals over runs; the dashed line is eps_min."
)
MATRIX = (
    "Mean over runs. Dots and bold numbers mark the best training noise for each test noise; "
    "outlined entries have the same noise in training and test."
)
TRADEOFF = (
    "One point per training noise, joined in order of its size, with 95 % intervals. In the shaded "
    "part, both are higher than with the weakest training noise (square); a curve that only falls "
    "is a trade-off."
)
RUNS = (
    "The mean over an increasing number of runs, with its 95 % interval; that of few runs may go "
    "on beyond the frame. If a line still moves at its end, more runs are needed."
)

_POSITIONS = {
    "below": ("below the diagonal", " (less noise in training than in test)"),
    "above": ("above the diagonal", " (more noise in training than in test)"),
    "off": ("not on the diagonal", ""),
    "on": ("maybe on the diagonal", " (as much noise in training as in test)"),
    None: ("no training noise of this size", ""),
}

_RUNS_ALONE = (
    "These are means over runs, each with newly trained models. The risk of one model in use can "
    "be bounded only for that model: evaluate it as it is."
)


def make_blocks(finding: Study) -> list[Block]:
    """Return the matrix of every model, where its best training noise lies, and charts."""
    subjects = [s for s in finding.subjects if s.norm and not s.left_to_suites]
    if not subjects:
        return []
    drawn = [s for s in finding.subjects if not s.left_to_suites]
    several_runs = all(s.runs > 1 for subject in subjects for s in subject.noisy)
    width = 130 + 54 * max(len(s.clean) for s in subjects)
    has_mscr = any(e.estimate is not None for s in drawn for e in finding.mscr[s])
    repeated = [x for x in drawn if any(s.runs > 1 and s.change is not None for s in x.at_eps_min)]
    return [
        Heading("What noise in training does", "study", "Training noise"),
        *([Sentence(_RUNS_ALONE, level="detail")] if several_runs else []),
        Chart(lambda: _charts().matrix_chart(subjects), MATRIX, min_width=width),
        *(block for s in subjects for block in _show_subject(finding, s)),
        Chart(lambda: _charts("mscr").accuracy_chart(drawn), LADDER),
        *([Chart(lambda: _charts().tradeoff_chart(drawn), TRADEOFF)] if has_mscr else []),
        *(
            Chart(
                partial(_draw_runs, x),
                RUNS,
                f"Mean MSCR over an increasing number of runs, {x.label}",
            )
            for x in repeated
        ),
    ]


def _charts(finding: str = "study") -> Any:
    """Charts of a finding, imported when they are drawn, as that is slow."""
    return import_module(f"shaketable.findings.{finding}.charts")


def _draw_runs(subject: Subject) -> Any:
    return _charts().draw_convergence(subject)


def _show_subject(finding: Study, subject: Subject) -> list[Block]:
    blocks: list[Block] = [
        _make_matrix(subject, finding.accuracies[subject], finding.mscr[subject])
    ]
    optima = finding.optima[subject]
    if text := describe_optima(optima):
        blocks += [Sentence(text), _tabulate_optima(subject, optima)]
    return blocks


def _make_matrix(
    subject: Subject, accuracies: Sequence[StudyEntry], mscr: Sequence[StudyEntry]
) -> Table:
    """One column per training noise, one row per test noise, and MSCR as the last row."""
    trains = sorted({entry.train_eps for entry in accuracies})
    names = {s.first.train_epsilon: subject.train_level(s) for s in subject.clean}
    by_noise = {(e.test_eps, e.train_eps): e for e in [*accuracies, *mscr]}
    tests = sorted({e.test_eps for e in accuracies if e.test_eps is not None})
    runs = join_distinct(sorted({entry.runs for entry in accuracies}))
    runs += " run" if runs == "1" else " runs"
    return Table(
        f"accuracy in % of {subject.label} on {subject.first.data}, with {subject.study_noise}: "
        f"mean over {runs} with 95 % intervals; in the last row MSCR in %",
        (
            Column("test \\ training"),
            # a unit would pass for that of the noise
            *(Column(str(names[t]), "rate", "", "accuracy of a study") for t in trains),
        ),
        [
            (
                "MSCR" if test is None else subject.level(test),
                *_mark_best([by_noise.get((test, t)) for t in trains], is_mscr=test is None),
            )
            for test in [*tests, *([None] if mscr else [])]
        ],
        limit=60,
        shown="best of its row, as measured",
    )


def _mark_best(entries: Sequence[StudyEntry | None], *, is_mscr: bool) -> list[Cell]:
    values = [e.estimate.value for e in entries if e is not None and e.estimate is not None]
    return [
        None
        if entry is None
        else "undefined"
        if (e := entry.estimate) is None
        else Entry(e, shown=e.value == max(values), kind="change" if is_mscr else None)
        for entry in entries
    ]


def _tabulate_optima(subject: Subject, optima: Sequence[RowOptimum]) -> Table:
    return Table(
        f"the best training noise of {subject.label} for every test noise, and its accuracy minus "
        "that on the diagonal, with 95 % intervals",
        (
            Column("test"),
            Column("best, as measured"),
            Column("may be the best"),
            Column("minus the diagonal", "points"),
            Column("lies"),
        ),
        [
            (
                subject.level(o.test_eps),
                subject.train_level(o.best),
                ", ".join(map(subject.train_level, o.candidates)),
                o.over_diagonal,
                o.words,
            )
            for o in optima
        ],
        level="detail",
        limit=60,
    )


def describe_position(position: Position | None) -> str:
    """Say where the best training noise lies against the diagonal."""
    return "".join(_POSITIONS[position])


def describe_optima(optima: Sequence[RowOptimum]) -> str:
    """Say where the best training noise lies, for all test noises of a model together."""
    known = [o for o in optima if o.position is not None]
    if not known:
        return ""
    parts = []
    for position in ("below", "above", "off", "on"):
        sizes = [o.subject.level(o.test_eps) for o in known if o.position == position]
        if sizes:
            place, meaning = _POSITIONS[position]
            parts.append(f"{place} for test noise {list_names(sizes)}{meaning}")
    return (
        f"where does the best training noise lie? {'; '.join(parts)}; 95 % confidence for all "
        f"{len(optima)} test noises and their training noises together (Bonferroni)"
    )

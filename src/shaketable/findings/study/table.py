"""Studies in the terminal: the paper's matrix of training noise and test noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shaketable.findings.study import words
from shaketable.findings.study.numbers import StudyEntry
from shaketable.findings.study.optima import RowOptimum
from shaketable.findings.subjects import Subject
from shaketable.views.terminal import print_lines, print_table


def print_matrix(
    subject: Subject, accuracies: Sequence[StudyEntry], mscr: Sequence[StudyEntry]
) -> None:
    """Print one column per training noise, one row per test noise, and MSCR as the last row."""
    columns = sorted({entry.train_eps for entry in accuracies})
    names = {s.first.train_epsilon: subject.train_level(s) for s in subject.clean}
    by_noise = {(e.test_eps, e.train_eps): e for e in [*accuracies, *mscr]}
    rows = []
    for test in [*sorted({e.test_eps for e in accuracies if e.test_eps is not None}), None]:
        entries = {t: by_noise[test, t] for t in columns if (test, t) in by_noise}
        values = [e.estimate.value for e in entries.values() if e.estimate is not None]
        best = max(values, default=math.nan)
        name = "MSCR" if test is None else subject.level(test)
        cells = [_format_entry(entries.get(t), best) for t in columns]
        rows += [[name, *(value for value, _ in cells)], ["", *(interval for _, interval in cells)]]
    counts = sorted({entry.runs for entry in accuracies})
    runs = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else f"{counts[0]} runs"
    print_table(
        f"{subject.label} on {subject.first.data}: accuracy in % with {subject.study_noise}, "
        f"mean over {runs.replace('1 runs', '1 run')} and 95 % interval; * best of its row; MSCR "
        "in %",
        ["test \\ train", *(names[t] for t in columns)],
        rows,
    )


def print_optima(optima: Sequence[RowOptimum]) -> None:
    """Print where the best training noise of every test noise lies against the diagonal."""
    print_lines(*filter(None, [words.describe_optima(optima)]))


def _format_entry(entry: StudyEntry | None, best: float) -> tuple[str, str]:
    """Return a value, marked if it is the best, and its interval."""
    if entry is None:
        return "", ""
    e = entry.estimate
    if e is None:
        return "undefined", ""
    mark = "*" if e.value == best else " "
    return f"{100 * e.value:.3f}{mark}", f"[{100 * e.low:.2f}, {100 * e.high:.2f}]"

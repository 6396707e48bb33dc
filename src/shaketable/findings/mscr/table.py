"""Accuracies, verdicts and differences of models, in the terminal."""

from __future__ import annotations

from shaketable.core.norms import norm_title
from shaketable.findings.mscr.finding import Robustness
from shaketable.findings.mscr.words import describe_risk
from shaketable.findings.subjects import name_noise
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_bound, format_distance, format_entry, format_percent
from shaketable.views.terminal import print_lines, print_table
from shaketable.views.text import join_distinct


def print_models(finding: Robustness) -> None:
    """Print one table of all models, then verdicts, risks and differences in words."""
    rows, sentences = [], []
    facts: dict[str, None] = {}
    for subject in finding.fitted:
        cell, size = subject.first, ""
        if (known := subject.separation) is not None:
            size = f"; {norm_title(known.norm)} eps_min = {format_distance(known.epsilon_min)}"
        facts[f"{cell.data}: {cell.n} test points{size}"] = None
        for s in subject.all_series:
            change = "" if s.first.is_clean else _format_change(s.change)
            bound = _format_error(s.error_bound) if s.runs == 1 else ""
            rows.append([subject.label, name_noise(s), format_entry(s.accuracy), bound, change])
        if not subject.left_to_suites:
            sentences.append(f"{subject.label}: {finding.verdict(subject)}")
        sentences += [
            f"  {describe_risk(s.error_probability)}" for s in subject.at_eps_min if s.runs == 1
        ]
    for d in finding.differences:
        chance = "" if d.shown else "; the difference may be chance"
        sentences.append(
            f"MSCR of {d.first} minus {d.second}, on the same points and noise: "
            f"{format_entry(d.value)} percentage points{chance}"
        )
    print_lines(*facts)
    header = [
        "model",
        "noise",
        "accuracy, %",
        "wrong answer, %",
        "change, % of clean accuracy (MSCR at eps_min)",
    ]
    used = [i for i in range(len(header)) if i < 3 or any(row[i] for row in rows)]
    title = "95 % intervals in brackets"
    if any(row[3] for row in rows):
        title += "; the probability of a wrong answer with its upper bound"
    if several := {s.runs for subject in finding.fitted for s in subject.all_series} - {1}:
        title += f"; means over {join_distinct(sorted(several))} runs"
    print_table(title, [header[i] for i in used], [[row[i] for i in used] for row in rows])
    if sentences:
        print_lines(*sentences)


def _format_change(e: Estimate | None) -> str:
    return "undefined" if e is None else format_entry(e)


def _format_error(e: Estimate) -> str:
    value, bound = format_percent(e), format_bound(e.high)
    return f"{value}, below {bound}".replace("%", "")

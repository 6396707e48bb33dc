"""How the mean of any metric settles as runs are added (Siedel et al. 2022, Section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.evaluation.records import Records
from shaketable.findings.conditions import name_training
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.finding import list_metrics
from shaketable.findings.mce.scores import TITLES
from shaketable.findings.requirements.quantities import QUANTITIES, Case, Quantity, find_quantity
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import Series
from shaketable.findings.study.charts import choose_run_counts, draw_runs
from shaketable.findings.suite_results import SuiteResult
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row
from shaketable.views.text import to_one_line


def draw_convergence(found: Found, *, metric: str = "mscr") -> Chart:
    """Mean of a metric over an increasing number of runs, with its interval.

    Parameters
    ----------
    found
        Findings, records or a results file of a study of two runs or more.
    metric
        As in requirements: ``mscr``, ``accuracy[linf(0.1)]``, ``mce_lp``, or a metric of an
        installed package.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> options = {"train_eps": [0], "test_eps": ["eps_min"], "k": 1, "n_jobs": 1}
    >>> type(st.figures.draw_convergence(st.study("iris", "1nn", **options, runs=2))).__name__
    '_ConcatChart'
    """
    groups = as_results(found).groups
    match = re.fullmatch(r"\s*([\w.]+)\s*(?:\[(.*)\])?\s*", metric)
    name, under = (match[1], (match[2] or "").strip()) if match else (metric, "")
    if name not in (known := {*QUANTITIES, *list_metrics()}):
        raise unknown_name("metric", name, known)
    quantity = find_quantity(name, metric)
    panels: dict[tuple[str, str], list[tuple[Case[Any], list[Row]]]] = {}
    for case in quantity.list_cases(groups, under):
        if rows := _list_rows(quantity, case):
            by_size = case.first.train_epsilon is not None
            place = case.first.model if by_size else "", case.under
            panels.setdefault(place, []).append((case, rows))
    if not panels:
        raise InputError(
            f"the figure needs {metric} of two runs or more, and none is on record; run a study, "
            f"or name another metric with {either('--metric', 'metric=')}"
        )
    title = {"mscr": "MSCR", **TITLES}.get(name, name.replace("_", " "))
    about = f"{title} under {under}" if under else title
    charts = [
        _draw_panel(
            title, *place, [case for case, _ in entries], [r for _, rows in entries for r in rows]
        )
        for place, entries in panels.items()
    ]
    lines = [rows for entries in panels.values() for _, rows in entries]
    return drawing.compose_figure(
        charts,
        finding=_describe(about, lines),
        about="Lines: means over the first runs; bands: their 95 % intervals. If a line still "
        "moves at its end, more runs are needed.",
    )


def _list_rows(quantity: Quantity[Any], case: Case[Any]) -> list[Row]:
    """Return the metric after an increasing number of runs, of one case."""
    rows: list[Row] = []
    if case.runs < 2:
        return rows
    for runs in choose_run_counts(case.runs):
        try:
            e = quantity.estimate(take_runs(case.source, runs))
        except UndefinedError:
            continue
        values = {"value": 100 * e.value, "low": 100 * e.low, "high": 100 * e.high}
        rows.append(
            {"model": case.label, "train": name_training(case.first), "runs": runs, **values}
        )
    return rows


def take_runs(source: Any, runs: int) -> Any:
    """Return what a metric is computed from, of the first runs alone."""
    if isinstance(source, Series):
        return source.take_runs(runs)
    if isinstance(source, SuiteResult):
        return replace(source, series=tuple(s.take_runs(runs) for s in source.series))
    assert isinstance(source, Records)
    first = sorted({cell.run for cell in source})[:runs]
    return replace(source, cells=tuple(cell for cell in source if cell.run in first))


def _draw_panel(
    metric: str, model: str, under: str, cases: Sequence[Case[Any]], rows: Sequence[Row]
) -> Chart:
    if model:  # by the size of the training noise, from weak to strong
        ordered = sorted(cases, key=lambda case: case.first.train_epsilon or 0.0)
        colour = drawing.train_colour(name_training(case.first) for case in ordered)
    else:
        colour = drawing.model_colour(case.label for case in cases)
    title = ", ".join(part for part in (model, under) if part)
    return draw_runs(rows, colour, title=to_one_line(title), y_title=f"mean {metric}, per cent")


def _describe(metric: str, lines: Sequence[Sequence[Row]]) -> str:
    """Say how far the means moved in the last third of the runs, and how wide intervals are."""
    moved = max(
        abs(row["value"] - rows[-1]["value"])
        for rows in lines
        for row in rows
        if 3 * row["runs"] >= 2 * rows[-1]["runs"]
    )
    widest = max((rows[-1]["high"] - rows[-1]["low"]) / 2 for rows in lines)
    runs = max(rows[-1]["runs"] for rows in lines)
    return (
        f"In the last third of {runs} runs, the mean {metric} moves by up to {moved:.2f} "
        f"percentage points; the widest interval at the end is ±{widest:.2f}."
    )


FIGURES.add("convergence", FigureKind(draw_convergence))

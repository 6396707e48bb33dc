"""What the numbers of a study depend on: training noise, copies of every point, and runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from textwrap import wrap
from typing import Any

import altair as alt
import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.evaluation.records import Records
from shaketable.findings.choosing import list_first, matches
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.finding import is_own_metric, list_metrics
from shaketable.findings.groups import name_training
from shaketable.findings.mce.scores import TITLES
from shaketable.findings.mscr.charts import VALUE_TIPS
from shaketable.findings.requirements.quantities import QUANTITIES, Case, Quantity, find_quantity
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import Series
from shaketable.findings.study.charts import choose_run_counts, draw_matrix, draw_runs
from shaketable.findings.study.numbers import list_optima
from shaketable.findings.subjects import Subject, distinguish, list_training_facts, name_noise
from shaketable.findings.suite_results import SuiteResult
from shaketable.views import drawing
from shaketable.views.drawing import WIDTH, Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

_HEIGHT = 220
_APART = 1.025  # lines are drawn beside each other, by so much


def draw_optima(found: Found) -> Chart:
    """Accuracy by training and test noise, best of each row marked (figure 7 of the MSCR paper).

    Parameters
    ----------
    found
        Findings, records or a results file of a study with several sizes of training noise.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> options = {"train_eps": [0, 0.1], "test_eps": [0.1], "k": 1, "n_jobs": 1}
    >>> type(st.figures.draw_optima(st.study("iris", "1nn", **options, runs=2))).__name__
    '_ConcatChart'
    """
    subjects = [
        s for s in as_results(found).groups.subjects if s.is_study and s.norm and len(s.clean) > 1
    ]
    if not subjects:
        raise InputError(
            "the figure needs a study with several sizes of training noise and of test noise; run "
            "one with "
            + either("--train-eps 0,eps_min,0.1 --test-eps 0,0.1", "train_eps= and test_eps=")
        )
    panels = [draw_matrix(s).properties(width=WIDTH) for s in subjects]
    return drawing.compose_figure(
        panels,
        finding=" ".join(map(_describe_optima, subjects)),
        about="Accuracy in per cent, mean over runs. Dots and bold numbers: the best training "
        "noise for each test noise, as measured; outlined: the same noise in training and test. "
        "Shown: with 95 % confidence for all differences of a matrix together.",
    )


def _describe_optima(subject: Subject) -> str:
    """Say on which side of the diagonal the best training noise is shown to lie."""
    positions = [optimum.position for optimum in list_optima(subject)]
    open_ones = len(positions) - positions.count("above") - positions.count("below")
    return (
        f"{subject.label}: the best training noise is shown to be stronger than the test noise for "
        f"{positions.count('above')} of {len(positions)} sizes, weaker for "
        f"{positions.count('below')}; for {open_ones} it is open."
    )


FIGURES.add("optima", FigureKind(draw_optima))


def draw_copies(found: Found, *, corruption: str = "") -> Chart:
    """Accuracy and its standard deviation over runs against k (figure 4 of the MSCR paper).

    Parameters
    ----------
    found
        Findings, records or a results file of models that were measured with several k, such as by
        ``--k 1,2,5,10``. A study also trains with k noisy copies of every point.
    corruption
        Spec of the test noise; by default that of size eps_min, or the only one.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.8]], [False, True]
    >>> few, many = (st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.4)", k=k) for k in (1, 5))
    >>> type(st.figures.draw_copies(few + many)).__name__
    '_ConcatChart'
    """
    series = [s for s in as_results(found).groups.series if not s.first.is_clean]
    series = _choose(series, corruption)
    lines: dict[tuple[object, ...], dict[int, Series]] = {}
    for s in series:
        c = s.first
        key = (c.fingerprint, c.model, c.train, replace(c.setting, k=0))
        lines.setdefault(key, {})[c.k] = s
    several = [_share_runs(line) for line in lines.values() if len(line) > 1]
    several = [line for line in several if line]
    if not several:
        raise InputError(
            "the figure needs models that were measured with several k in the same runs; run the "
            f"study or the evaluation with {either('--k 1,2,5,10', 'k=1, 2, 5 and 10')}"
        )
    firsts = [next(iter(line.values())).first for line in several]
    facts = [{"data": c.data, **list_training_facts(c, name_training(c))} for c in firsts]
    labels = distinguish([c.model for c in firsts], facts)
    rows = [
        _make_row(label, place, s)
        for place, (label, line) in enumerate(zip(labels, several, strict=True))
        for s in line.values()
    ]
    noise = name_noise(next(iter(several[0].values())))
    panels = [_draw_accuracy(rows, noise)]
    with_sd = [row for row in rows if row["sd"] is not None]
    if with_sd:
        panels.append(_draw_sd(with_sd))
    studied = any(c.train not in ("clean", "as given") for c in firsts)
    return drawing.compose_figure(
        panels,
        finding=_describe_copies(labels, rows, noise),
        about="Bars: 95 % intervals. k: noisy copies of every point in test"
        + (", and in training with noise." if studied else "."),
    )


def _choose(series: Sequence[Series], corruption: str) -> list[Series]:
    """Return the series under one corruption."""
    if corruption:
        chosen = [s for s in series if matches(s, corruption)]
    else:
        chosen = [s for s in series if s.at_eps_min] or list(series)
    names = dict.fromkeys(map(name_noise, chosen))
    if len(names) != 1:
        known = names or dict.fromkeys(map(name_noise, series))
        raise InputError(
            f"the figure is about one corruption, got {corruption or 'none'!r} of "
            f"{list_first(known)}; name one of these with "
            f"{either('--corruption', 'corruption=')}"
        )
    return chosen


def _share_runs(line: Mapping[int, Series]) -> dict[int, Series]:
    """Return series by k, the smallest first, in the runs that all have; none without one."""
    common = set.intersection(*({cell.run for cell in s.noisy} for s in line.values()))
    return {k: line[k].keep_runs(common) for k in sorted(line)} if common else {}


def _make_row(label: str, place: int, series: Series) -> Row:
    return {
        "model": label,
        "k": series.first.k,
        "place": series.first.k * _APART**place,
        **make_columns(series.accuracy),
        "sd": 100 * float(np.std(series.accuracies, ddof=1)) if series.runs > 1 else None,
        "runs": series.runs,
    }


def _draw_accuracy(rows: Sequence[Row], noise: str) -> Chart:
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100), nice=False)
    base = _encode(rows)
    layers = drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)
    return alt.layer(*layers).properties(
        title=f"a  Accuracy under {noise}", width=WIDTH, height=_HEIGHT
    )


def _draw_sd(rows: Sequence[Row]) -> Chart:
    title = "standard deviation, percentage points"
    scale = alt.Scale(domain=[0, 1.1 * max(row["sd"] for row in rows) or 1.0], nice=False)
    base = _encode(rows).encode(y=alt.Y("sd:Q", title=title, scale=scale))
    shape = drawing.shape_like(_make_colour(rows))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=shape)
    return alt.layer(base.mark_line(), points).properties(
        title="b  Its standard deviation over runs", width=WIDTH, height=_HEIGHT
    )


def _encode(rows: Sequence[Row]) -> alt.Chart:
    numbers = sorted({row["k"] for row in rows})
    scale = alt.Scale(type="log", domain=[numbers[0] * 0.9, numbers[-1] * 1.15], nice=False)
    axis = alt.Axis(values=numbers, format="d", grid=False)
    chart: alt.Chart = drawing.make_chart(rows).encode(
        x=alt.X("place:Q", title="k, noisy copies of every point", scale=scale, axis=axis),
        color=_make_colour(rows),
        tooltip=make_tooltip(model="model", k="k", **VALUE_TIPS, sd="standard deviation"),
    )
    return chart


def _make_colour(rows: Sequence[Row]) -> alt.Color:
    return drawing.model_colour(row["model"] for row in rows)


def _describe_copies(labels: Sequence[str], rows: Sequence[Row], noise: str) -> str:
    """Say by how much accuracy and deviation change from the smallest k to the largest."""
    changes, factors = [], []
    for label in labels:
        first, *_, last = (row for row in rows if row["model"] == label)
        changes.append(f"{last['value'] - first['value']:+.2f}")
        if first["sd"] and last["sd"] is not None:
            factors.append(f"{last['sd'] / first['sd']:.2f}")
    numbers = sorted({row["k"] for row in rows})
    spread = ""
    if factors:
        spread = f", its standard deviation over runs by a factor of {_span(factors)}"
    return (
        f"From k = {numbers[0]} to k = {numbers[-1]}, accuracy under {noise} changes by "
        f"{_span(changes)} percentage points{spread}."
    )


def _span(numbers: Sequence[str]) -> str:
    """Return the least and the largest of some numbers, or the only one."""
    low, high = (choose(numbers, key=float) for choose in (min, max))
    return low if low == high else f"{low} to {high}"


FIGURES.add("k", FigureKind(draw_copies))


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
    match = re.fullmatch(r"\s*([\w.:]+)\s*(?:\[(.*)\])?\s*", metric)
    name, under = (match[1], (match[2] or "").strip()) if match else (metric, "")
    if name not in (known := {*QUANTITIES, *list_metrics()}) and not is_own_metric(name):
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
    places = (dict.fromkeys(parts) for parts in zip(*panels, strict=True))
    differ = [len(parts) > 1 for parts in places]  # models, and corruptions
    charts = [
        panel
        for (model, under), entries in panels.items()
        for panel in _draw_panels(
            f"mean {title}, per cent",
            ", ".join(compress((model, under), differ)),
            entries,
            by_size=bool(model),
        )
    ]
    lines = [rows for entries in panels.values() for _, rows in entries]
    return drawing.compose_figure(
        charts,
        finding=_describe_convergence(about, lines),
        about="Lines: means over the first runs; bands: their 95 % intervals, of few runs they may "
        "go on beyond the frame. If a line still moves at its end, more runs are needed.",
        columns=1 if len(charts) == len(panels) else 3,
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
        about = {"model": case.label, "train": name_training(case.first), "runs": runs}
        rows.append(about | make_columns(e))
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


def _draw_panels(
    y_title: str,
    about: str,
    entries: Sequence[tuple[Case[Any], Sequence[Row]]],
    *,
    by_size: bool,
) -> list[Chart]:
    """Draw cases, those of one model from weak to strong training noise."""
    if by_size:
        entries = sorted(entries, key=lambda entry: entry[0].first.train_epsilon or 0.0)
        colour = drawing.train_colour(name_training(case.first) for case, _ in entries)
    else:
        colour = drawing.model_colour(case.label for case, _ in entries)
    rows = [row for _, rows in entries for row in rows]
    panels = draw_runs(rows, colour, y_title=y_title)
    if not about:
        return panels
    return [
        p.properties(title=wrap(to_one_line(f"{about}: {p.title}"), 30 if len(panels) > 1 else 90))
        for p in panels
    ]


def _describe_convergence(metric: str, lines: Sequence[Sequence[Row]]) -> str:
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

"""The effect of k, the number of noisy copies of every point (Siedel et al. 2022, Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import altair as alt
import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.findings.choosing import list_first, matches
from shaketable.findings.conditions import name_training
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.labels import distinguish, list_training_facts
from shaketable.findings.mscr.charts import VALUE_TIPS
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import Series
from shaketable.findings.subjects import name_noise
from shaketable.views import drawing
from shaketable.views.drawing import WIDTH, Chart, Row, make_tooltip

_HEIGHT = 220
_APART = 1.025  # lines are drawn beside each other, by so much


def draw_copies(found: Found, *, corruption: str = "") -> Chart:
    """Accuracy and its standard deviation over runs against k (Fig. 4 of the MSCR paper).

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
        finding=_describe(labels, rows, noise),
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
    e = series.accuracy
    return {
        "model": label,
        "k": series.first.k,
        "place": series.first.k * _APART**place,
        "value": 100 * e.value,
        "low": 100 * e.low,
        "high": 100 * e.high,
        "sd": 100 * float(np.std(series.accuracies, ddof=1)) if series.runs > 1 else None,
        "runs": series.runs,
    }


def _draw_accuracy(rows: Sequence[Row], noise: str) -> Chart:
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100), nice=False)
    base = _encode(rows)
    bars, line, points = drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)
    points = points.encode(shape=drawing.shape_like(_make_colour(rows)))
    return alt.layer(bars, line, points).properties(
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


def _describe(labels: Sequence[str], rows: Sequence[Row], noise: str) -> str:
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

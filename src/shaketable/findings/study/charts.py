"""Charts of studies: the matrix, clean accuracy against MSCR, and convergence over runs."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from shaketable.findings.mscr.charts import (
    VALUE_TIPS,
    make_mscr_rows,
    make_row,
    make_training_colour,
)
from shaketable.findings.subjects import Subject
from shaketable.views import drawing, labels
from shaketable.views.drawing import COLOURS, HEIGHT, WIDTH, Chart, Row, make_tooltip
from shaketable.views.scatter import Frame, draw_points, draw_quadrant

MAX_STEPS = 40
"""Numbers of runs at which convergence is shown at most."""

_SMALL, _SMALL_HEIGHT = 165, 120  # pixels of a panel among several
_TRAINING = "noise in training, epsilon"
_NO_STUDY = "the records hold no study with noise in training"


def matrix_chart(subjects: Sequence[Subject]) -> Chart:
    """Accuracy for every training noise (columns) and test noise (rows): the paper's Table 2."""
    panels = [draw_matrix(s) for s in subjects if s.norm]
    title = "Accuracy in per cent, by noise in training and in test"
    return drawing.stack_panels(panels, title=title, otherwise=_NO_STUDY)


def tradeoff_chart(subjects: Sequence[Subject]) -> Chart:
    """Clean accuracy against MSCR, one point per training noise, in order: the paper's Fig. 6."""
    panels = [panel for subject in subjects for panel in draw_tradeoff(make_mscr_rows([subject]))]
    title = "Clean accuracy against MSCR, one point per training noise"
    return drawing.stack_panels(panels, title=title, otherwise=_NO_STUDY)


def draw_tradeoff(
    rows: Sequence[Row], *, names: str = "train", baseline: int = 0, title: str = ""
) -> list[Chart]:
    """Draw clean accuracy against MSCR as a panel, the quadrant above the baseline shaded.

    Parameters
    ----------
    rows
        As `make_mscr_rows` makes them; those of a study are joined in order of training noise.
    names
        Field with the names of points.
    baseline
        Place of the row that the others are compared with, drawn as a square.
    title
        Title of the panel; by default the model of the first row.
    """
    if not rows:
        return []
    base = rows[baseline]
    ends = [{"value": r["clean"], "low": r["clean_low"], "high": r["clean_high"]} for r in rows]
    frame = Frame(drawing.find_domain(ends, at_most=100), drawing.find_domain(rows), WIDTH, HEIGHT)
    points = [r | {"shape": "square" if r is base else "circle"} for r in rows]
    line = drawing.make_chart(points).mark_line(opacity=0.5)
    colour = drawing.model_colour((r["model"] for r in rows), legend=False)
    joined = [
        line.encode(frame.x("clean"), frame.y("value"), color=colour, order="train_epsilon:Q")
    ]
    layers = (
        *draw_quadrant(frame, base["clean"], base["value"]),
        *(joined if base["train_epsilon"] is not None else ()),
        *draw_points(
            points,
            frame,
            x_title="clean accuracy, per cent",
            y_title="MSCR, per cent",
            names=names,
            tooltip=make_tooltip(
                model="model", train="training noise", clean="clean accuracy, %", **VALUE_TIPS
            ),
        ),
    )
    title = title or rows[0]["model"]
    return [alt.layer(*layers).properties(title=title, height=HEIGHT, width=WIDTH)]


def draw_convergence(subject: Subject) -> list[Chart]:
    """Mean MSCR over an increasing number of runs, with its interval: see `draw_runs`."""
    series = [s for s in subject.at_eps_min if s.runs > 1]
    rows = [
        make_row(subject, part, part.change)
        for s in series
        for runs in choose_run_counts(s.runs)
        for part in [s.take_runs(runs)]
        if part.change is not None
    ]
    colour = make_training_colour(subject, series)
    panels = draw_runs(rows, colour, y_title="mean MSCR, per cent")
    return [*map(drawing.finish_chart, panels)]


def draw_matrix(subject: Subject) -> Chart:
    """Draw the matrix of a study as a panel."""
    measured = [s for s in subject.all_series if s.first.epsilon is not None]
    rows = [make_row(subject, s, s.accuracy) for s in measured]
    best: dict[str, float] = {}
    for r in rows:
        best[r["noise"]] = max(r["value"], best.get(r["noise"], 0.0))
    low, high = min(r["value"] for r in rows), max(r["value"] for r in rows)
    for r in rows:
        r["label"] = f"{r['value']:.2f}"
        r["best"] = r["value"] == best[r["noise"]]
        r["diagonal"] = r["train_epsilon"] == r["epsilon"]
        r["ink"] = "white" if r["value"] > (low + high) / 2 else "#10243a"
    trains = list(dict.fromkeys(r["train"] for r in rows))
    tests = list(dict.fromkeys(r["noise"] for r in sorted(rows, key=lambda r: float(r["epsilon"]))))
    base = drawing.make_chart(rows).encode(
        x=alt.X("train:O", title=_TRAINING, sort=trains, axis=labels.size_axis(trains)),
        y=alt.Y("noise:O", title="noise in test, epsilon", sort=tests, axis=labels.size_axis()),
        tooltip=make_tooltip(train="training noise", noise="test noise", **VALUE_TIPS, runs="runs"),
    )
    shades = alt.Scale(range=["#dfeaf5", "#0b4a83"], domain=[low, max(high, low + 0.01)])
    ink = alt.Color("ink:N", scale=None)
    diagonal, winners = (base.transform_filter(f"datum.{name}") for name in ("diagonal", "best"))
    others = base.transform_filter("!datum.best")
    layers = (
        base.mark_rect().encode(color=alt.Color("value:Q", scale=shades, legend=None)),
        diagonal.mark_rect(filled=False, stroke=COLOURS[1], strokeWidth=2.5, fill="transparent"),
        others.mark_text().encode(text="label:N", color=ink),
        winners.mark_text(fontWeight="bold").encode(text="label:N", color=ink),
        winners.mark_point(filled=True, size=30, yOffset=-13, opacity=1).encode(color=ink),
        *labels.mark_sizes(base, trains),
    )
    height = 44 * len(tests)
    chart: Chart = alt.layer(*layers).resolve_scale(color="independent")
    return chart.properties(title=subject.label, height=height)


def draw_runs(rows: Sequence[Row], colour: alt.Color, *, y_title: str) -> list[Chart]:
    """Draw means over an increasing number of ``runs``, with their intervals.

    Every line has a panel, all on one scale; several are small.
    """
    field = str(colour.shorthand).partition(":")[0]
    names = drawing.list_distinct(rows, field)
    plain = colour.legend(None)
    width, height = (WIDTH, HEIGHT) if len(names) == 1 else (_SMALL, _SMALL_HEIGHT)
    panels: list[Chart] = []
    for name in names:
        own = [row for row in rows if row[field] == name]
        panel = _draw_runs(own, rows, plain, y_title=y_title)
        panels.append(panel.properties(title=name, width=width, height=height))
    return panels


def _draw_runs(
    rows: Sequence[Row], together: Sequence[Row], colour: alt.Color, *, y_title: str
) -> Chart:
    """Draw some lines on the scale of all; the wide intervals of few runs go beyond it."""
    last = max(row["runs"] for row in together)
    steps = sorted({row["runs"] for row in rows})
    axis = alt.Axis(values=steps[:: -(len(steps) // 8 + 1)], format="d")
    base = drawing.make_chart(rows).encode(
        x=alt.X("runs:Q", title="runs", scale=alt.Scale(zero=False, nice=False), axis=axis),
        color=colour,
    )
    settled = [r for r in together if 3 * r["runs"] > 2 * last]
    values = [r["value"] for r in together]
    low, high = drawing.find_domain(settled, *values)
    near_zero = low <= 0 <= high or min(abs(low), abs(high)) < (high - low)
    zero = [0.0] if near_zero else []
    scale = alt.Scale(domain=drawing.find_domain(settled, *zero, *values))
    y, y_low = (alt.Y(f"{name}:Q", title=y_title, scale=scale) for name in ("value", "low"))
    tooltip = make_tooltip(model="model", train="training noise", runs="runs", **VALUE_TIPS)
    band = base.mark_area(opacity=0.2, clip=True).encode(y=y_low, y2=alt.Y2("high:Q"))
    line = base.mark_line().encode(y=y)
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        y=y, tooltip=tooltip, shape=drawing.shape_like(colour)
    )
    rules = [drawing.horizontal_rule(0, scale=scale)] if near_zero else []
    return alt.layer(*rules, band, line, points)


def choose_run_counts(n: int) -> list[int]:
    """Return numbers of runs up to n, without the smallest, whose intervals are far wider."""
    start = min(5, max(2, n // 3))
    return sorted(set(np.geomspace(start, n, MAX_STEPS).round().astype(int).tolist()))

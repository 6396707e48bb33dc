"""Charts: records in, Altair charts out, one function a figure; every number is a metric's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt
import numpy as np

from shaketable.core.errors import UndefinedError
from shaketable.evaluation.records import Records
from shaketable.findings.mce.charts import suite_errors, suite_means
from shaketable.findings.mscr import numbers
from shaketable.findings.series import Series, clean_beside
from shaketable.findings.subjects import Subject, subjects
from shaketable.statistics.estimate import Estimate
from shaketable.views import drawing
from shaketable.views.drawing import COLOURS, HEIGHT, Chart, Row, make_tooltip

__all__ = [
    "accuracy",
    "matrix",
    "mscr",
    "runs",
    "suite_errors",
    "suite_means",
    "tradeoff",
]


MAX_STEPS = 40
"""Numbers of runs at which convergence is shown at most."""

_VALUE = {"value": "value, %", "low": "95 % interval from, %", "high": "to, %"}
_NO_STUDY = "the records hold no study with noise in training"


def accuracy(records: Records) -> Chart:
    """Accuracy against the size of the noise, a line a model or, in a study, a training noise."""
    found = subjects(records)
    fixed = [s for s in found if not s.is_study]
    panels: list[Chart] = []
    for norm in dict.fromkeys(s.norm for s in fixed if s.norm):
        same = [s for s in fixed if s.norm == norm]
        panels.append(_accuracy_lines(same, drawing.model_colour(s.label for s in same), norm))
    studies = [s for s in found if s.is_study and s.norm]
    panels += [_accuracy_lines([s], _train_colour(s, s.clean), s.label) for s in studies]
    if rest := [s for s in found if not s.norm]:
        panels.append(_accuracy_dots(rest))
    return drawing.stack_panels(
        panels, title="Accuracy against the size of the noise", otherwise="there are no records"
    )


def mscr(records: Records) -> Chart:
    """MSCR of every model with its interval; of a study, against the training noise."""
    rows = _mscr_rows(records)
    title = "MSCR, per cent of the clean accuracy"
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    panels: list[Chart] = []
    if fixed := [r for r in rows if r["train_epsilon"] is None]:
        names = _names(fixed)
        base = drawing.make_chart(fixed).encode(
            y=alt.Y("model:N", title=None, sort=names),
            color=drawing.model_colour(names, legend=False),
            tooltip=make_tooltip(model="model", **_VALUE),
        )
        dots = drawing.dots_with_bars(base, title=title, scale=scale)
        height = 20 + 44 * len(names)
        panels.append(
            alt.layer(drawing.vertical_rule(0, scale=scale), *dots).properties(
                title="models as given", height=height
            )
        )
    if studied := [r for r in rows if r["train_epsilon"] is not None]:
        base = drawing.make_chart(studied).encode(
            x=alt.X("train_epsilon:Q", title="noise in training, epsilon"),
            color=drawing.model_colour(_names(studied)),
            tooltip=make_tooltip(model="model", train="training noise", **_VALUE),
        )
        lines = drawing.line_with_bars(base, title=title, scale=scale)
        zero = drawing.horizontal_rule(0, scale=scale)
        panels.append(alt.layer(zero, *lines).properties(title="studies", height=HEIGHT))
    return drawing.stack_panels(
        panels,
        title="MSCR: accuracy lost under noise of size eps_min",
        otherwise="no noise of size eps_min was measured, or MSCR is undefined",
    )


def matrix(records: Records) -> Chart:
    """Accuracy for every training noise (columns) and test noise (rows): the paper's Table 2."""
    panels = [_matrix(s) for s in subjects(records) if s.is_study and s.norm]
    title = "Accuracy in per cent, by noise in training and in test"
    return drawing.stack_panels(panels, title=title, otherwise=_NO_STUDY)


def tradeoff(records: Records) -> Chart:
    """Clean accuracy against MSCR, a point a training noise, in order: the paper's Fig. 6."""
    rows = [r for r in _mscr_rows(records) if r["train_epsilon"] is not None]
    base = drawing.make_chart(rows).encode(
        x=alt.X(
            "clean:Q", title="clean accuracy, per cent", scale=alt.Scale(zero=False, padding=45)
        ),
        y=alt.Y("value:Q", title="MSCR, per cent", scale=alt.Scale(zero=False, padding=25)),
        tooltip=make_tooltip(
            model="model", train="training noise", clean="clean accuracy, %", **_VALUE
        ),
    )
    colour = drawing.model_colour(_names(rows))
    layers = (
        drawing.horizontal_rule(0),
        base.mark_line(opacity=0.5).encode(order="train_epsilon:Q", color=colour),
        base.mark_point(filled=True, size=70, opacity=1).encode(color=colour),
        base.mark_text(dy=-12, fontSize=11).encode(text="train:N"),
    )
    panels: list[Chart] = [alt.layer(*layers).properties(height=HEIGHT)] if rows else []
    title = "Clean accuracy against MSCR, a point a training noise"
    return drawing.stack_panels(panels, title=title, otherwise=_NO_STUDY)


def runs(records: Records) -> Chart:
    """Mean MSCR over more and more runs, with its interval: whether there were enough of them."""
    panels = [panel for subject in subjects(records) for panel in _convergence(subject)]
    return drawing.stack_panels(
        panels,
        title="Mean MSCR over more and more runs",
        otherwise="no MSCR was measured in two runs or more",
    )


def _accuracy_lines(found: Sequence[Subject], colour: alt.Color, title: str) -> Chart:
    rows = [
        _row(subject, s, numbers.accuracy(s))
        for subject in found
        for s in subject.all_series
        if s.first.epsilon is not None
    ]
    base = drawing.make_chart(rows).encode(
        x=alt.X("epsilon:Q", title=f"noise in test, {found[0].norm} size epsilon"),
        color=colour,
        tooltip=make_tooltip(model="model", train="training noise", noise="test noise", **_VALUE),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100))
    lines = drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)
    eps_min = dict.fromkeys(s.separation.epsilon_min for s in found if s.separation is not None)
    marks = [drawing.vertical_rule(value, "eps_min") for value in eps_min]
    return alt.layer(*marks, *lines).properties(title=title, height=HEIGHT)


def _accuracy_dots(found: Sequence[Subject]) -> Chart:
    rows = [_row(subject, s, numbers.accuracy(s)) for subject in found for s in subject.all_series]
    noises = list(dict.fromkeys(r["noise"] for r in rows))
    base = drawing.make_chart(rows).encode(
        y=alt.Y("noise:N", title="test noise", sort=noises, axis=alt.Axis(grid=True)),
        yOffset=alt.YOffset("model:N", sort=_names(rows)),
        color=drawing.model_colour(_names(rows)),
        tooltip=make_tooltip(model="model", train="training noise", noise="test noise", **_VALUE),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100))
    dots = drawing.dots_with_bars(base, title="accuracy, per cent", scale=scale)
    height = 20 + len(noises) * (24 + 16 * len(found))
    return alt.layer(*dots).properties(height=height, title="Other corruptions")


def _matrix(subject: Subject) -> Chart:
    measured = [s for s in subject.all_series if s.first.epsilon is not None]
    rows = [_row(subject, s, numbers.accuracy(s)) for s in measured]
    best: dict[str, float] = {}
    for r in rows:
        best[r["noise"]] = max(r["value"], best.get(r["noise"], 0.0))
    low, high = min(r["value"] for r in rows), max(r["value"] for r in rows)
    for r in rows:
        r["label"] = f"{r['value']:.2f}"
        r["best"] = r["value"] == best[r["noise"]]
        r["diagonal"] = r["train_epsilon"] == r["epsilon"]
        r["ink"] = "white" if r["value"] > (low + high) / 2 else "#10243a"
    axis = alt.Axis(labelAngle=0, grid=False, domain=False, ticks=False, labelPadding=6)
    trains = list(dict.fromkeys(r["train"] for r in rows))
    tests = list(dict.fromkeys(r["noise"] for r in sorted(rows, key=lambda r: float(r["epsilon"]))))
    base = drawing.make_chart(rows).encode(
        x=alt.X("train:O", title="noise in training, epsilon", sort=trains, axis=axis),
        y=alt.Y("noise:O", title="noise in test, epsilon", sort=tests, axis=axis),
        tooltip=make_tooltip(train="training noise", noise="test noise", **_VALUE, runs="runs"),
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
    )
    height = 44 * len(tests)
    whole: Chart = alt.layer(*layers).resolve_scale(color="independent")
    return whole.properties(title=subject.label, height=height)


def _convergence(subject: Subject) -> list[Chart]:
    several = [s for s in subject.at_eps_min if s.runs > 1]
    rows = [
        _row(subject, part, estimate)
        for s in several
        for m in _steps(s.runs)
        for part in [Series(s.noisy[:m], s.clean[:m], s.at_eps_min)]
        for estimate in _mscr(part)
    ]
    if not rows:
        return []
    steps = _steps(max(s.runs for s in several))
    whole = alt.Axis(values=steps[:: -(-len(steps) // 8)], format="d")
    base = drawing.make_chart(rows).encode(
        x=alt.X("runs:Q", title="runs", scale=alt.Scale(zero=False, nice=False), axis=whole),
        color=_train_colour(subject, several),
    )
    settled = [r for r in rows if 3 * r["runs"] > 2 * steps[-1]]
    scale = alt.Scale(domain=drawing.find_domain(settled, 0.0, *(r["value"] for r in rows)))
    y, low = (
        alt.Y(f"{name}:Q", title="mean MSCR, per cent", scale=scale) for name in ("value", "low")
    )
    tooltip = make_tooltip(train="training noise", runs="runs", **_VALUE)
    band = base.mark_area(opacity=0.12, clip=True).encode(y=low, y2=alt.Y2("high:Q"))
    line = base.mark_line(point={"size": 25}).encode(y=y, tooltip=tooltip)
    chart = alt.layer(drawing.horizontal_rule(0, scale=scale), band, line)
    return [chart.properties(title=subject.label, height=HEIGHT)]


def _steps(n: int) -> list[int]:
    """Numbers of runs up to n; the very first, whose intervals dwarf all others, are left out."""
    start = min(5, max(2, n // 3))
    return sorted(set(np.geomspace(start, n, MAX_STEPS).round().astype(int).tolist()))


def _mscr_rows(records: Records) -> list[Row]:
    return [
        _row(subject, s, estimate) | {"clean": 100 * numbers.accuracy(clean_beside(s)).value}
        for subject in subjects(records)
        for s in subject.at_eps_min
        for estimate in _mscr(s)
    ]


def _mscr(series: Series) -> list[Estimate]:
    """MSCR, or nothing where it is undefined."""
    try:
        return [numbers.mscr(series)]
    except UndefinedError:
        return []


def _row(subject: Subject, s: Series, estimate: Estimate) -> Row:
    return {
        "model": subject.label, "train": subject.train_level(s), "noise": subject.test_level(s),
        "train_epsilon": s.first.train_epsilon, "epsilon": s.first.epsilon, "runs": s.runs,
        "value": 100 * estimate.value, "low": 100 * estimate.low, "high": 100 * estimate.high,
    }  # fmt: skip


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(r["model"] for r in rows))


def _train_colour(subject: Subject, found: Iterable[Series]) -> alt.Color:
    return drawing.train_colour(subject.train_level(s) for s in found)

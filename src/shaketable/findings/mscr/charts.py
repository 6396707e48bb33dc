"""Charts of accuracies and of MSCR; every number is an estimate of the finding's series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt

from shaketable.findings.series import Series
from shaketable.findings.subjects import Subject
from shaketable.statistics.estimate import Estimate
from shaketable.views import drawing, labels
from shaketable.views.drawing import HEIGHT, Chart, Row, list_distinct, make_columns, make_tooltip

VALUE_TIPS = {"value": "value, %", "low": "95 % interval from, %", "high": "to, %"}
"""Titles of an estimate's numbers in tooltips."""

_NOISE_TIPS = {"model": "model", "train": "training noise", "noise": "test noise", **VALUE_TIPS}


def accuracy_chart(subjects: Sequence[Subject]) -> Chart:
    """Accuracy against the size of the noise: one line per model or, in a study, training noise."""
    panels: list[Chart] = []
    fitted = [s for s in subjects if not s.is_study and s.norm]
    for norm in dict.fromkeys(s.norm for s in fitted):
        same = [s for s in fitted if s.norm == norm]
        panels.append(_draw_lines(same, drawing.model_colour(s.label for s in same), norm))
    panels += [
        _draw_lines([s], make_training_colour(s, s.clean), s.label)
        for s in subjects
        if s.is_study and s.norm
    ]
    if rest := [s for s in subjects if not s.norm]:
        panels.append(_draw_dots(rest))
    return drawing.stack_panels(
        panels, title="Accuracy against the size of the noise", otherwise="there are no records"
    )


def mscr_chart(subjects: Sequence[Subject]) -> Chart:
    """MSCR of every model with its interval; of a study, against the training noise."""
    rows = make_mscr_rows(subjects)
    title = "MSCR, per cent of the clean accuracy"
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    panels: list[Chart] = []
    if fitted := [r for r in rows if r["train_epsilon"] is None]:
        names = list_distinct(fitted, "model")
        base = drawing.make_chart(fitted).encode(
            y=alt.Y("model:N", title=None, sort=names, axis=labels.name_axis(names)),
            color=drawing.model_colour(names, legend=False),
            tooltip=make_tooltip(model="model", **VALUE_TIPS),
        )
        dots = drawing.dots_with_bars(base, title=title, scale=scale)
        height = labels.find_height(names, 2)
        panels.append(
            alt.layer(drawing.vertical_rule(0, scale=scale), *dots).properties(
                title="models as given", height=height
            )
        )
    if studied := [r for r in rows if r["train_epsilon"] is not None]:
        base = drawing.make_chart(studied).encode(
            x=alt.X("train_epsilon:Q", title="noise in training, epsilon"),
            color=drawing.model_colour(list_distinct(studied, "model")),
            tooltip=make_tooltip(model="model", train="training noise", **VALUE_TIPS),
        )
        lines = drawing.line_with_bars(base, title=title, scale=scale)
        zero = drawing.horizontal_rule(0, scale=scale)
        panels.append(alt.layer(zero, *lines).properties(title="studies", height=HEIGHT))
    return drawing.stack_panels(
        panels,
        title="MSCR: accuracy lost under noise of size eps_min",
        otherwise="no noise of size eps_min was measured, or MSCR is undefined",
    )


def _draw_lines(subjects: Sequence[Subject], colour: alt.Color, title: str) -> Chart:
    """Accuracy against epsilon, or epsilon / eps_min if all sizes are in units of eps_min."""
    in_units = all(subject.has_multiples for subject in subjects)
    rows = [
        make_row(subject, s, s.accuracy)
        | {"size": s.first.epsilon / (subject.eps_min if in_units and subject.eps_min else 1)}
        for subject in subjects
        for s in subject.all_series
        if s.first.epsilon is not None
    ]
    size = "epsilon / eps_min" if in_units else "size epsilon"
    base = drawing.make_chart(rows).encode(
        x=alt.X("size:Q", title=f"noise in test, {subjects[0].norm} {size}"),
        color=colour,
        tooltip=make_tooltip(**_NOISE_TIPS),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100))
    lines = drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)
    known = [s.eps_min for s in subjects if s.eps_min is not None]
    eps_min = [1.0] if in_units else dict.fromkeys(known)
    marks = drawing.mark_eps_min(eps_min, [row["size"] for row in rows])
    return alt.layer(*marks, *lines).properties(title=title, height=HEIGHT)


def _draw_dots(subjects: Sequence[Subject]) -> Chart:
    rows = [make_row(subject, s, s.accuracy) for subject in subjects for s in subject.all_series]
    dots = drawing.grouped_dots(
        rows,
        "noise",
        title="accuracy, per cent",
        scale=alt.Scale(domain=drawing.find_domain(rows, at_most=100)),
        tooltip=make_tooltip(**_NOISE_TIPS),
        groups="test noise",
    )
    height = labels.find_height(list_distinct(rows, "noise"), len(subjects))
    return alt.layer(*dots).properties(height=height, title="Other corruptions")


def make_mscr_rows(subjects: Iterable[Subject]) -> list[Row]:
    """One row per subject and training noise that has an MSCR, with the clean accuracy."""
    return [
        make_row(subject, s, s.change) | make_columns(s.on_clean.accuracy, "clean")
        for subject in subjects
        for s in subject.at_eps_min
        if s.change is not None
    ]


def make_row(subject: Subject, series: Series, estimate: Estimate) -> Row:
    """Row of chart data with an estimate in per cent, and what it is about."""
    return {
        "model": subject.label,
        "train": subject.train_level(series),
        "noise": subject.test_level(series),
        "train_epsilon": series.first.train_epsilon,
        "epsilon": series.first.epsilon,
        "runs": series.runs,
        **make_columns(estimate),
    }


def make_training_colour(subject: Subject, series: Iterable[Series]) -> alt.Color:
    """Colours along a ramp, from weak to strong training noise."""
    return drawing.train_colour(subject.train_level(s) for s in series)

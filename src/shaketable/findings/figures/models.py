"""Two or more models over training noise (Siedel et al. 2022, Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.core.errors import InputError
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.mscr.charts import VALUE_TIPS, make_mscr_rows, make_row
from shaketable.findings.mscr.numbers import estimate_accuracy_difference
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import meets_same_noise
from shaketable.findings.subjects import Subject
from shaketable.views import drawing
from shaketable.views.drawing import WIDTH, Chart, Row, make_tooltip
from shaketable.views.text import join_names

_HEIGHT = 210
_TRAINING = "noise in training, epsilon"


def draw_models(found: Found) -> Chart:
    """Models against each other: clean accuracy, MSCR, differences (Fig. 5 of the MSCR paper).

    Parameters
    ----------
    found
        Findings, records or a results file of a study of two or more models. Of two, their paired
        difference in accuracy is drawn, too, for every training noise and test noise.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> options = {"train_eps": [0], "test_eps": ["eps_min"], "k": 1, "n_jobs": 1}
    >>> records = st.study("iris", ["1nn", "logistic"], **options, runs=2)
    >>> type(st.figures.draw_models(records)).__name__
    '_ConcatChart'
    """
    subjects = [s for s in as_results(found).groups.subjects if s.is_study and s.norm]
    if len(subjects) < 2:
        raise InputError(
            "the figure needs a study of two models or more under p-norm noise, such as rf and "
            f"1nn, got {len(subjects)}"
        )
    clean = [make_row(x, s, s.on_clean.accuracy) for x in subjects for s in x.clean]
    panels = [_draw_lines(clean, "a  Clean accuracy", "clean accuracy, per cent", at_most=100)]
    if mscr := make_mscr_rows(subjects):
        panels.append(_draw_lines(mscr, "b  MSCR", "MSCR, per cent"))
    names = [s.label for s in subjects]
    finding = f"{join_names(names, 'models')}: clean accuracy and MSCR by training noise."
    about = "Points: means over runs; bars: 95 % intervals."
    if len(subjects) == 2 and (rows := _list_differences(*subjects)):
        letter = "c" if mscr else "b"
        panels.append(_draw_differences(rows, f"{letter}  {names[0]} minus {names[1]}"))
        finding = _describe(names, rows)
        about += (
            " Differences are in percentage points of accuracy, paired by run; bold with a star: "
            "the 95 % interval leaves out 0."
        )
    return drawing.compose_figure(panels, finding=finding, about=about)


def _draw_lines(rows: Sequence[Row], title: str, y_title: str, *, at_most: float = 1e9) -> Chart:
    colour = drawing.model_colour(row["model"] for row in rows)
    base = drawing.make_chart(rows).encode(
        x=alt.X("train_epsilon:Q", title=_TRAINING, axis=alt.Axis(format="~g")),
        color=colour,
        tooltip=make_tooltip(model="model", train="training noise", **VALUE_TIPS),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=at_most), nice=False)
    bars, line, points = drawing.line_with_bars(base, title=y_title, scale=scale)
    points = points.encode(shape=drawing.shape_like(colour))
    return alt.layer(bars, line, points).properties(title=title, width=WIDTH, height=_HEIGHT)


def _list_differences(first: Subject, second: Subject) -> list[Row]:
    """Accuracy of the first minus that of the second, where both had the same training and test."""
    others = {(s.first.train, s.first.corruption): s for s in second.all_series}
    rows = []
    for s in first.all_series:
        other = others.get((s.first.train, s.first.corruption))
        if other is not None and s.first.epsilon is not None and meets_same_noise(s, other):
            row = make_row(first, s, estimate_accuracy_difference(s, other))
            shown = row["low"] > 0 or row["high"] < 0
            rows.append(row | {"shown": shown, "label": f"{row['value']:+.2f}{'*' * shown}"})
    return rows


def _draw_differences(rows: Sequence[Row], title: str) -> Chart:
    """Differences as numbers, with more ink the larger they are."""
    trains = list(dict.fromkeys(row["train"] for row in rows))
    tests = list(dict.fromkeys(r["noise"] for r in sorted(rows, key=lambda r: float(r["epsilon"]))))
    axis = alt.Axis(labelAngle=0, grid=False, domain=False, ticks=False, labelPadding=6)
    most = max(abs(row["value"]) for row in rows) or 1.0
    base = drawing.make_chart(rows).encode(
        x=alt.X("train:O", title=_TRAINING, sort=trains, axis=axis),
        y=alt.Y("noise:O", title="noise in test, epsilon", sort=tests, axis=axis),
        tooltip=make_tooltip(train="training noise", noise="test noise", **VALUE_TIPS),
    )
    shades = alt.Scale(
        domain=[-most, 0, most],
        range=[drawing.COLOURS[1], "#ffffff", drawing.COLOURS[0]],
        interpolate="rgb",
    )
    colour = alt.Color("value:Q", scale=shades, legend=None)
    layers = (
        base.mark_rect(opacity=0.6).encode(color=colour),
        base.transform_filter("datum.shown").mark_text(fontWeight="bold").encode(text="label:N"),
        base.transform_filter("!datum.shown").mark_text().encode(text="label:N"),
    )
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=34 * len(tests))


def _describe(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Say how often each model is shown to be more accurate."""
    ahead = [sum(r["low"] > 0 for r in rows), sum(r["high"] < 0 for r in rows)]
    counts = [f"{name} is more accurate in {n}" for name, n in zip(names, ahead, strict=True)]
    rest = len(rows) - sum(ahead)
    return (
        f"Of {len(rows)} pairs of training noise and test noise, {counts[0]} and {counts[1]}; "
        f"{rest} may be chance."
    )


FIGURES.add("models", FigureKind(draw_models))

"""Models against each other: over training noise, and clean accuracy against MSCR and errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import altair as alt

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.spec import display_name, split_top_level
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mce.numbers import mean_error_difference
from shaketable.findings.mce.scores import Score, Scoreboard
from shaketable.findings.mscr.charts import VALUE_TIPS, make_mscr_rows, make_row
from shaketable.findings.mscr.numbers import estimate_accuracy_difference, mscr_difference
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.study.charts import draw_tradeoff as draw_panels
from shaketable.findings.subjects import Subject, choose_reference
from shaketable.findings.suite_results import meets_same_suite
from shaketable.views import drawing, labels
from shaketable.views.drawing import COLOURS, WIDTH, Chart, Row, make_columns, make_tooltip
from shaketable.views.scatter import Frame, draw_points
from shaketable.views.text import join_names, to_one_line

_LINES_HEIGHT = 210
_ERRORS_HEIGHT = 380
_GAP = 9.0  # pixels between an arrow and the points that it joins
_VALUE = {"value": "error, %", "low": "95 % interval from, %", "high": "to, %"}
_TRAINING = "noise in training, epsilon"


def draw_models(found: Found) -> Chart:
    """Models against each other: clean accuracy, MSCR, differences (figure 5 of the MSCR paper).

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
    panels = [draw_lines(clean, "a  Clean accuracy", "clean accuracy, per cent", at_most=100)]
    if mscr := make_mscr_rows(subjects):
        panels.append(draw_lines(mscr, "b  MSCR", "MSCR, per cent"))
    names = [s.label for s in subjects]
    finding = f"{join_names(names, 'models')}: clean accuracy and MSCR by training noise."
    about = "Points: means over runs; bars: 95 % intervals."
    if len(subjects) == 2 and (rows := _list_differences(*subjects)):
        letter = "c" if mscr else "b"
        panels.append(_draw_differences(rows, f"{letter}  {names[0]} minus {names[1]}"))
        finding = _describe_differences(names, rows)
        about += (
            " Differences are in percentage points of accuracy, paired by run; bold with a star: "
            "the 95 % interval leaves out 0."
        )
    return drawing.compose_figure(panels, finding=finding, about=about)


def draw_lines(rows: Sequence[Row], title: str, y_title: str, *, at_most: float = 1e9) -> Chart:
    """Draw a metric against the training noise as a panel, one line per model.

    Parameters
    ----------
    rows
        As `make_mscr_rows` makes them.
    title, y_title
        Titles of the panel and of its vertical axis.
    at_most
        Largest value that the metric can have.
    """
    colour = drawing.model_colour(row["model"] for row in rows)
    base = drawing.make_chart(rows).encode(
        x=alt.X("train_epsilon:Q", title=_TRAINING, axis=alt.Axis(format="~g")),
        color=colour,
        tooltip=make_tooltip(model="model", train="training noise", **VALUE_TIPS),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=at_most), nice=False)
    layers = drawing.line_with_bars(base, title=y_title, scale=scale)
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=_LINES_HEIGHT)


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
    most = max(abs(row["value"]) for row in rows) or 1.0
    base = drawing.make_chart(rows).encode(
        x=alt.X("train:O", title=_TRAINING, sort=trains, axis=labels.size_axis(trains)),
        y=alt.Y("noise:O", title="noise in test, epsilon", sort=tests, axis=labels.size_axis()),
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
        *labels.mark_sizes(base, trains),
    )
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=34 * len(tests))


def _describe_differences(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Say how often each model is shown to be more accurate."""
    ahead = [sum(r["low"] > 0 for r in rows), sum(r["high"] < 0 for r in rows)]
    counts = [f"{name} is more accurate in {n}" for name, n in zip(names, ahead, strict=True)]
    rest = len(rows) - sum(ahead)
    return (
        f"Of {len(rows)} pairs of training noise and test noise, {counts[0]} and {counts[1]}; "
        f"{rest} may be chance."
    )


FIGURES.add("models", FigureKind(draw_models))


def draw_tradeoff(found: Found, *, reference: str = "") -> Chart:
    """Clean accuracy against MSCR, with the quadrant above a baseline (figure 6 of the MSCR paper).

    Parameters
    ----------
    found
        Findings, records or a results file: of a study with several sizes of training noise, whose
        baseline is the weakest of them, or of several models.
    reference
        Label of the model that others are compared with, where models have no training noise; by
        default the only one trained on clean points, else the first.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> records = st.evaluate({"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6},
    ...                       ([[0.2], [0.8]], [False, True]), "linf(eps_min)", k=1)
    >>> type(st.figures.draw_tradeoff(records)).__name__
    '_ConcatChart'
    """
    subjects = as_results(found).groups.subjects
    panels, findings = [], []
    for subject in (s for s in subjects if s.is_study):
        series = _list_series([subject])
        if len(series) > 1:
            panels += draw_panels(make_mscr_rows([subject]))
            train = series[0].first.train_epsilon
            base = (
                f"{subject.label} with {subject.train_level(series[0])}" if train else subject.label
            )
            kind = "sizes of training noise"
            findings.append(_describe_tradeoff(base, series[0], series[1:], kind, "plain training"))
    fitted = [s for s in subjects if not s.is_study and _list_series([s])]
    if len(fitted) > 1:
        labels = [s.label for s in fitted]
        if reference and reference not in labels:
            raise unknown_name("reference", reference, labels)
        base = choose_reference(labels, reference)[0]
        place = labels.index(base)
        rows = make_mscr_rows(fitted)
        panels += draw_panels(rows, names="model", baseline=place, title="Models")
        series = _list_series(fitted)
        others = [s for s in series if s is not series[place]]
        findings.append(_describe_tradeoff("", series[place], others, "models", base))
    if not panels:
        raise InputError(
            "the figure needs MSCR at two sizes of training noise, or of two models; run a study "
            + either("with --train-eps 0,eps_min", "with train_eps=[0, 'eps_min']")
        )
    return drawing.compose_figure(
        panels,
        finding=" ".join(findings),
        about="Bars: 95 % intervals. Dashed lines: the baseline (square). Shaded: clean accuracy "
        "and MSCR are both higher than its own. Shown: both paired differences have 95 % intervals "
        "above 0.",
    )


def _list_series(subjects: Iterable[Subject]) -> list[Series]:
    """Return the series that have an MSCR, in the order of `make_mscr_rows`."""
    return [s for x in subjects for s in x.at_eps_min if s.change is not None]


def _describe_tradeoff(
    name: str, base: Series, others: Sequence[Series], kind: str, than: str
) -> str:
    """Say how many are better in both than the baseline, as measured and as shown."""
    better = [s for s in others if _is_above(s, base)]
    shown = [s for s in better if _is_shown(s, base)]
    count = f"{len(better)} of {len(others)} {kind}"
    start = f"{name}: {count}" if name else count
    end = f", {len(shown)} of them shown" if better else ""
    return f"{start} have higher clean accuracy and MSCR than {than}{end}."


def _is_above(series: Series, base: Series) -> bool:
    assert series.change is not None
    assert base.change is not None
    higher = series.on_clean.accuracy.value > base.on_clean.accuracy.value
    return higher and series.change.value > base.change.value


def _is_shown(series: Series, base: Series) -> bool:
    """Whether both paired differences are above 0 beyond chance."""
    if not meets_same_noise(series, base):
        return False
    accuracy = estimate_accuracy_difference(series.on_clean, base.on_clean)
    return accuracy.low > 0 and mscr_difference(series, base).low > 0


FIGURES.add("tradeoff", FigureKind(draw_tradeoff))


def draw_errors(
    found: Found, *, metric: str = "", arrows: Sequence[tuple[str, str]] | None = None
) -> Chart:
    """Clean error against mCE, with arrows between paired models (figure 4 of the p-norm paper).

    Parameters
    ----------
    found
        Findings, records or a results file of models under a suite that is scored by its mean
        error, such as common-19 or pnorm.
    metric
        Such as ``mce`` or ``mce_xn``; by default that of every suite.
    arrows
        Pairs of models (from, to) by their labels. By default each model of a study is reached
        from the same network without its last part of training, as ``net(augmix + C1)`` from
        ``net(augmix)``; else from the one trained without noise.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(20, 8, 8))
    >>> records = st.evaluate({"a": lambda x: x[:, ::2].mean(axis=(1, 2)) > 0.5,
    ...                        "b": lambda x: x.mean(axis=(1, 2)) > 0.5},
    ...                       (x, x.mean(axis=(1, 2)) > 0.5), st.suite("pnorm"), k=1, bounds=(0, 1))
    >>> type(st.figures.draw_errors(records)).__name__
    '_ConcatChart'
    """
    finding = as_results(found).findings.get("mce")
    boards = _choose_boards(finding, metric)
    panels, drawn, shown = [], list[Row](), 0
    for board in boards:
        panel, pairs = _draw_board(board, arrows)
        panels.append(panel)
        drawn += pairs
        shown += sum(_improves(board, arrow) for arrow in pairs if arrow["better"])
    name = boards[0].scores[0].metric if len(boards) == 1 else "the mean error"
    if drawn:
        better = sum(arrow["better"] for arrow in drawn)
        text = f"{better} of {len(drawn)} arrows improve both clean error and {name}"
        text += f", {shown} of them shown." if better else "."
    else:
        text = f"Clean error and {name} of {len(boards[0].scores)} models."
    return drawing.compose_figure(
        panels,
        finding=text,
        about="Errors in per cent; lower left is better. Bars: 95 % intervals. Arrows join models "
        "that differ in their training: solid where both errors fall, else dashed. Shown: both "
        "paired differences have 95 % intervals that leave out 0.",
    )


def _improves(board: Scoreboard, arrow: Row) -> bool:
    """Whether an arrow lowers both errors beyond chance."""
    start, end = (
        next(score.result for score in board.scores if score.label == arrow[name])
        for name in ("from", "to")
    )
    if not meets_same_suite(start, end):
        return False
    cleans = (end.series[0].on_clean, start.series[0].on_clean)
    accuracy = estimate_accuracy_difference(*cleans)
    return accuracy.low > 0 and mean_error_difference(start, end).low > 0


def _choose_boards(finding: object, metric: str) -> list[Scoreboard]:
    whole = finding.boards if isinstance(finding, SuiteErrors) else ()
    boards = {b.suite.metric: b for x in whole for b in (x, *x.parts) if b.suite.metric != "ice"}
    if not boards:
        raise InputError(
            "the figure needs models under a suite that is scored by its mean error; run study or "
            "evaluate with the suite common-19 or pnorm"
        )
    if metric and metric not in boards:
        raise unknown_name("metric", metric, boards)
    return [boards[metric]] if metric else [b for b in whole if b.suite.metric != "ice"]


def _draw_board(
    board: Scoreboard, arrows: Sequence[tuple[str, str]] | None
) -> tuple[Chart, list[Row]]:
    """Return the panel of a suite, and its arrows."""
    rows = [_make_row(score) for score in board.scores]
    for row, place in zip(rows, drawing.find_places(r["model"] for r in rows), strict=True):
        row["shape"] = drawing.find_shape(place)
    by_label = {row["model"]: row for row in rows}
    pairs = find_pairs(board.scores) if arrows is None else arrows
    for label in (label for pair in pairs for label in pair):
        if label not in by_label:
            raise unknown_name("model of an arrow", label, by_label)
    ends = [
        {"value": row["clean"], "low": row["clean_low"], "high": row["clean_high"]} for row in rows
    ]
    across, up = (_bound(drawing.find_domain(part, at_most=100)) for part in (ends, rows))
    frame = Frame(across, up, WIDTH, _ERRORS_HEIGHT)
    drawn = [_make_arrow(by_label[a], by_label[b], frame) | {"from": a, "to": b} for a, b in pairs]
    metric = board.scores[0].metric
    tooltip = make_tooltip(model="model", clean="clean error, %", **_VALUE)
    points = draw_points(
        rows,
        frame,
        x_title="error on clean points, per cent",
        y_title=f"{metric}, per cent",
        tooltip=tooltip,
        names="model",
    )
    title = to_one_line(f"{metric} on {board.data}, suite {board.suite.name}")
    chart = alt.layer(*(_draw_arrows(drawn, frame) if drawn else ()), *points)
    return chart.properties(title=title, width=WIDTH, height=_ERRORS_HEIGHT), drawn


def _bound(domain: Sequence[float]) -> list[float]:
    """Return the range of an axis of errors, which are never below 0."""
    return [max(0.0, domain[0]), domain[1]]


def find_pairs(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Return labels of models to join: each with the same network of simpler training."""
    known = {(s.first.network, display_name(s.first.train)): s.label for s in scores}
    pairs = []
    for (network, training), label in known.items():
        parts = split_top_level(training, "+")
        shorter = [" + ".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
        starts = (s for s in [*shorter, "clean"] if (network, s) in known and s != training)
        if (start := next(starts, None)) is not None:
            pairs.append((known[network, start], label))
    return pairs


def _make_row(score: Score) -> Row:
    columns = make_columns(score.clean, "clean") | make_columns(score.mean)
    return {"model": score.label, **columns}


def _make_arrow(start: Row, end: Row, frame: Frame) -> Row:
    """Return an arrow between two points that leaves room for their marks, and its direction."""
    a, b = (frame.to_pixels(row["clean"], row["value"]) for row in (start, end))
    across, down = b[0] - a[0], b[1] - a[1]
    length = math.hypot(across, down) or 1.0
    gap = min(_GAP, 0.3 * length)
    ends = [
        frame.from_pixels(x + sign * gap * across / length, y + sign * gap * down / length)
        for (x, y), sign in ((a, 1), (b, -1))
    ]
    return {
        "x": ends[0][0],
        "y": ends[0][1],
        "x2": ends[1][0],
        "y2": ends[1][1],
        "angle": math.degrees(math.atan2(down, across)) + 90,
        "better": end["clean"] < start["clean"] and end["value"] < start["value"],
    }


def _draw_arrows(arrows: Sequence[Row], frame: Frame) -> list[Chart]:
    layers: list[Chart] = []
    base = drawing.make_chart(arrows)
    styles: tuple[tuple[str, str, list[int]], ...] = (
        ("datum.better", COLOURS[2], [1, 0]),
        ("!datum.better", COLOURS[6], [5, 4]),
    )
    for which, colour, dash in styles:
        part = base.transform_filter(which)
        line = part.mark_rule(color=colour, strokeWidth=2, strokeDash=dash)
        layers.append(line.encode(frame.x("x"), frame.y("y"), alt.X2("x2:Q"), alt.Y2("y2:Q")))
        head = part.mark_point(filled=True, shape="triangle", size=90, opacity=1, color=colour)
        angle = alt.Angle("angle:Q", scale=None)
        layers.append(head.encode(frame.x("x2"), frame.y("y2"), angle=angle))
    return layers


FIGURES.add("errors", FigureKind(draw_errors))

"""What is shown of measures beyond accuracy: the headline, all of them, those of every class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shaketable.findings.measures.numbers import has_interval
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Heading,
    Kind,
    Table,
    Tone,
    split_cell,
)

if TYPE_CHECKING:
    from shaketable.findings.measures.finding import MeasuredValue, Measures, ModelMeasures
    from shaketable.views import drawing

_FEW = "few points, no interval"
_CHART = (
    "Points are measured values, bars their 95 % intervals, on clean points and under corruptions; "
    "shares are in per cent. Of the log loss and the Brier score less is better."
)
_FORMS = (
    "relative loss = (m_{ε} − m_{0}) / m_{0} of a measure m in [0, 1] of which more is better; "
    "mean error over a suite = mean of 1 − m"
)
_ABOUT = (
    "MSCR and mCE of the papers are these two forms for accuracy; here they are those of another "
    "measure. Measures are over all draws of all points, so on clean points they are those of "
    "scikit-learn."
)


def make_blocks(found: Measures) -> list[Block]:
    """Return the headline, if one was asked for, then a summary, a chart and details."""

    def draw() -> list[drawing.Chart]:
        from shaketable.findings.measures.charts import draw_measures  # slow to import

        return draw_measures(found)

    name, label = found.headline
    first = [m.find_worst(name, label) for m in found.models]
    several = len(found.models) > 1
    labels = [m.label for m in found.models]
    cards = [_make_card(m.label, v) for m, v in zip(found.models, first, strict=True)]
    summary = (
        _show_models(found.models, first) if several else _show_measures(found.models[0], first[0])
    )
    return [
        *([Cards(cards, "headline")] if found.asked else []),
        Heading("How do uneven classes and scores fare?", "measures", "Measures"),
        summary,
        Chart(draw, _CHART, "Measures under noise", labels if several else (), "detail"),
        *(block for model in found.models for block in _show_details(model, several)),
        *([_show_suites(found)] if found.suites else []),
        Definition(_FORMS, _ABOUT),
    ]


def _make_card(label: str, value: MeasuredValue) -> Card:
    change, kind = value.difference, _find_kind(value)
    sentences: list[str] = []
    tone: Tone = "open"
    if change is not None and value.clean is not None:
        text, small = split_cell(change, Column("", "points" if kind == "rate" else "number"))
        points = " percentage points" if kind == "rate" else ""
        clean = split_cell(value.clean, Column("", kind))[0]
        span = small[0] if has_interval(change) else _FEW
        sentences = [f"{clean} on clean points, so {text}{points} ({span}) by the noise"]
        tone = _choose_tone(change, value.measure.larger_is_better)
    noise = "on clean points" if value.series.first.is_clean else f"under {value.noise}"
    e = value.value
    shown = e.value if e is not None and not has_interval(e) else e
    return Card(label, shown, f"{value.title} {noise}", kind, sentences, tone=tone)


def _choose_tone(change: Estimate, larger_is_better: bool) -> Tone:
    low, high = (change.low, change.high) if larger_is_better else (-change.high, -change.low)
    return "lost" if high < 0 else "kept" if low >= 0 else "open"


def _find_kind(value: MeasuredValue) -> Kind:
    return "rate" if value.measure.is_share else "number"


def _show(value: MeasuredValue, e: Estimate | None, kind: Kind | None = None) -> Cell:
    if e is None:
        return None
    shown_as = kind or _find_kind(value)
    if not has_interval(e):
        return Entry(e.value, _FEW, kind=shown_as)
    return Entry(e, kind=shown_as)


def _show_change(value: MeasuredValue) -> Cell:
    return _show(value, value.difference, "points" if value.measure.is_share else "number")


_SUMMARY = Column("clean"), Column("noisy"), Column("difference", quantity="paired difference")


def _show_models(models: Sequence[ModelMeasures], first: Sequence[MeasuredValue]) -> Table:
    noises = {value.noise for value in first}
    under = (
        f", under {next(iter(noises))}" if len(noises) == 1 else ", under the worst noise for it"
    )
    rows: list[list[Cell]] = [
        [
            model.label,
            value.noise if len(noises) > 1 else "",
            _show(value, value.clean),
            *_show_noisy(value),
        ]
        for model, value in zip(models, first, strict=True)
    ]
    unit = ", %" if first[0].measure.is_share else ""
    return Table(
        f"{first[0].title}{unit}{under}", (Column("model"), Column("noise"), *_SUMMARY), rows
    )


def _show_noisy(value: MeasuredValue) -> list[Cell]:
    if value.series.first.is_clean:
        return [None, None]
    return [_show(value, value.value), _show_change(value)]


def _show_measures(model: ModelMeasures, first: MeasuredValue) -> Table:
    noise, series = first.noise, first.series
    values = [model.measure(name, noise, series) for name in model.names]
    if (first.measure.name, first.label) not in [(v.measure.name, v.label) for v in values]:
        values.insert(0, first)
    rows: list[list[Cell]] = [
        [value.title, _show(value, value.clean), *_show_noisy(value)] for value in values
    ]
    under = "" if series.first.is_clean else f", under {noise}"
    if len(model.corrupted) > 1:
        under += f", the worst of {len(model.corrupted)} for {first.title}"
    title = f"measures of {model.label}{under}; shares in per cent"
    return Table(title, (Column("measure"), *_SUMMARY), rows)


def _show_details(model: ModelMeasures, several: bool) -> Iterator[Block]:
    if several:
        yield Heading(f"Measures of {model.label}", level="detail")
    values = [
        model.measure(name, noise, series)
        for noise, series in (("clean", model.clean), *model.chosen)
        for name in model.names
    ]
    rows: list[list[Cell]] = [
        [
            value.noise,
            value.title,
            _show(value, value.value),
            _show_change(value),
            _show(value, value.relative_loss, "change"),
        ]
        for value in values
    ]
    columns = (
        Column("noise"),
        Column("measure"),
        Column("value", quantity="measures"),
        Column("difference from clean", quantity="paired difference"),
        Column("relative to clean", "change"),
    )
    yield Table(
        f"all measures of {model.label}; shares in per cent", columns, rows, "detail", limit=100
    )
    by_class = [
        _show_class(model, noise, series)
        for noise, series in (("clean", model.clean), *model.chosen)
    ]
    lines = [line for lines in by_class for line in lines]
    if lines:
        heads = [Column(name, "rate") for name in ("precision", "recall", "F1")]
        yield Table(
            f"every class, {model.label}",
            (Column("noise"), Column("class"), Column("points", "count"), *heads),
            lines,
            "detail",
            limit=100,
        )


def _show_class(model: ModelMeasures, noise: str, series: object) -> list[list[Cell]]:
    values = model.list_by_class(noise, series)  # type: ignore[arg-type]  # a Series
    rows: list[list[Cell]] = []
    for start in range(0, len(values), 3):
        label, points = values[start].label, values[start].series.first.points
        count = int((points.y == points.classes.index(label)).sum())
        shown = [_show(value, value.value) for value in values[start : start + 3]]
        rows.append([noise, str(label), count, *shown])
    return rows


def _show_suites(found: Measures) -> Table:
    title = found.suites[0].name.replace("_", " ")
    return Table(
        f"mean over a suite of 1 − {title}: mCE, which in the papers is that of accuracy",
        (Column("model"), Column("suite"), Column("mean error", "rate")),
        [[each.label, each.result.suite.name, each.mean_error] for each in found.suites],
    )

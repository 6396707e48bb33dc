"""The common look of all charts, and the parts they are composed of."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, TypeAlias, cast

import altair as alt
import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.writing import write_beside
from shaketable.statistics.estimate import Estimate
from shaketable.views import web
from shaketable.views.describing import describe
from shaketable.views.labels import LETTER, name_axis, wrap_labels
from shaketable.views.text import make_all_visible, to_one_line

Chart: TypeAlias = (
    "alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.ConcatChart"
)
Row: TypeAlias = dict[str, Any]

WIDTH, HEIGHT = 620, 300

FORMATS: Mapping[str, dict[str, Any]] = {
    ".html": {"format": "html"},  # needs no network
    ".json": {"format": "json"},
    ".pdf": {"format": "pdf"},
    ".png": {"format": "png", "scale_factor": 2},  # sharp on every screen
    ".svg": {"format": "svg"},
}
"""Endings of the files that a chart can be saved as, with Altair's arguments."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#6b4e00", "#3b2fa0", "#3f454d")
"""Colours that colour-blind readers can distinguish, on white; pages have others on black."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left")
"""Shapes of points that go with `COLOURS`."""

_DEFAULT = alt.Scale()
_LEGEND_LETTERS = 40  # of a line of a legend
_EPS_MIN_SHARE = 0.2  # of the width of a narrow chart, which the word eps_min needs
_GOES_ON = "arrows: intervals go on"
_RAMP = ((0x4F, 0x6F, 0xD8), (0xB8, 0x4C, 0x9E), (0xE8, 0x7A, 0x30))


class _InNotebooks:
    """A chart that notebooks show as an image: no script runs, and nothing is fetched."""

    def _repr_html_(self) -> str:
        chart = _complete(cast("Chart", self))
        image = base64.b64encode(_make_svg(chart).encode()).decode()
        about = escape(_describe(chart) or "chart", quote=True)
        return f'<img alt="{about}" src="data:image/svg+xml;base64,{image}">'

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        # Altair's own text has all the data
        return {"text/html": self._repr_html_(), "text/plain": _describe(cast("Chart", self))}


class _Chart(_InNotebooks, alt.Chart): ...


class _LayerChart(_InNotebooks, alt.LayerChart): ...


class _VConcatChart(_InNotebooks, alt.VConcatChart): ...


class _ConcatChart(_InNotebooks, alt.ConcatChart): ...


def make_theme(
    *, ink: str, faint: str, grid: str, background: str, colours: Sequence[str]
) -> dict[str, Any]:
    """Vega-Lite configuration of every chart; `colours` are those of the models, in order."""
    text = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 0,  # names that are cut may look the same
    }
    return {
        "background": background,
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "gridColor": grid,
            "domainColor": faint,
            "tickColor": faint,
            "labelSeparation": 12,
        },
        "legend": {**text, "orient": "top", "columns": 5, "symbolOpacity": 1, "offset": 22},
        "title": {"anchor": "start", "fontSize": 14, "fontWeight": 600, "color": ink},
        "text": {"color": ink, "fontSize": 12},
        "range": {"category": list(colours)},
        "style": {
            "reference": {"color": faint, "strokeDash": [5, 4], "strokeWidth": 1.5},
            "halo": {"stroke": background, "strokeWidth": 4, "strokeJoin": "round"},
            "pair": {"color": ink, "strokeWidth": 2},
            "count": {"color": colours[0]},
            "share": {"color": colours[1]},
        },
    }


THEME: Mapping[str, Any] = make_theme(
    ink="#2b3037", faint="#767d88", grid="#e3e5e8", background="white", colours=COLOURS
)
"""Look of a chart outside a page."""


def make_chart(rows: Iterable[Row]) -> alt.Chart:
    """Chart of these rows, still without marks."""
    # Altair copies lists again for every layer, encoding and property, but not tuples
    return alt.Chart({"values": tuple(rows)})


def make_columns(e: Estimate, name: str = "") -> Row:
    """Columns of an estimate in per cent: value, low and high, or those of a name.

    >>> make_columns(Estimate(0.5, 0.25, 0.75, 0.95, "by hand"), "clean")
    {'clean': 50.0, 'clean_low': 25.0, 'clean_high': 75.0}
    """
    columns = (name, f"{name}_low", f"{name}_high") if name else ("value", "low", "high")
    return dict(zip(columns, (100 * e.value, 100 * e.low, 100 * e.high), strict=True))


def list_distinct(rows: Iterable[Row], field: str) -> list[Any]:
    """Return the values of a field, each once, in order."""
    return list(dict.fromkeys(row[field] for row in rows))


def line_with_bars(base: alt.Chart, *, title: str, scale: alt.Scale) -> tuple[alt.Chart, ...]:
    """Points joined by a line, each with its interval from ``low`` to ``high``.

    Intervals that go on beyond the scale end in arrows.
    """
    arrows, title = draw_arrows(base, "y", title=title, scale=scale)
    y, low = (alt.Y(f"{name}:Q", title=title, scale=scale) for name in ("value", "low"))
    return (
        base.mark_rule(strokeWidth=1.5, opacity=0.7, clip=True).encode(low, alt.Y2("high:Q")),
        base.mark_line().encode(y),
        *arrows,
        base.mark_point(filled=True, size=45, opacity=1).encode(y, **_find_shape(base)),
    )


def dots_with_bars(base: alt.Chart, *, title: str, scale: alt.Scale) -> tuple[alt.Chart, ...]:
    """Points with their intervals from ``low`` to ``high`` along the x axis.

    Intervals that go on beyond the scale end in arrows.
    """
    arrows, title = draw_arrows(base, "x", title=title, scale=scale)
    x, low = (alt.X(f"{name}:Q", title=title, scale=scale) for name in ("value", "low"))
    return (
        base.mark_rule(strokeWidth=2, clip=True).encode(low, alt.X2("high:Q")),
        *arrows,
        base.mark_point(filled=True, size=80, opacity=1).encode(x, **_find_shape(base)),
    )


def draw_arrows(
    base: alt.Chart,
    channel: Literal["x", "y"],
    *,
    title: str,
    scale: alt.Scale,
    ends: tuple[str, str] = ("low", "high"),
) -> tuple[list[alt.Chart], str]:
    """Return arrows where intervals go on beyond a scale, and the axis title that says so."""
    known: Any = scale.to_dict(validate=False)
    first, last = known["domain"]
    start, end = ends
    rows = cast("dict[str, Sequence[Row]]", base.data)["values"]
    shapes = (
        ("triangle-left", "triangle-right") if channel == "x" else ("triangle-down", "triangle")
    )
    low, high = min(first, last), max(first, last)
    beyond = (
        (f"datum.{start} < {low}", low, any(row[start] < low for row in rows)),
        (f"datum.{end} > {high}", high, any(row[end] > high for row in rows)),
    )
    if not any(has_any for *_, has_any in beyond):
        return [], title
    title = f"{title} ({_GOES_ON})"
    arrows = []
    for (which, at, has_any), shape in zip(beyond, shapes, strict=True):
        if has_any:
            place = {"x": alt.XDatum, "y": alt.YDatum}[channel](at, title=title, scale=scale)
            mark = base.transform_filter(which).mark_point(filled=True, shape=shape, size=60)
            arrows.append(mark.encode(place))
    return arrows, title


def _find_shape(base: alt.Chart) -> dict[str, alt.Shape]:
    """Return the encoding of shapes that go with the colours of a chart, if it has such."""
    colour = getattr(base.encoding, "color", None)
    return {"shape": shape_like(colour)} if isinstance(colour, alt.Color) else {}


def grouped_dots(
    rows: Sequence[Row],
    field: str,
    *,
    title: str,
    scale: alt.Scale,
    tooltip: Sequence[alt.Tooltip],
    groups: str | None = None,
    legend: bool = True,
) -> tuple[alt.Chart, ...]:
    """Points with their intervals, one row per value of a field, and one line of it per model.

    `title` is that of the values, `groups` that of the field.
    """
    names = list_distinct(rows, "model")
    order = list_distinct(rows, field)
    base = make_chart(rows).encode(
        y=alt.Y(f"{field}:N", title=groups, sort=order, axis=name_axis(order, grid=True)),
        yOffset=alt.YOffset("model:N", sort=names),
        color=model_colour(names, legend=legend),
        tooltip=list(tooltip),
    )
    return dots_with_bars(base, title=title, scale=scale)


def vertical_rule(
    x: float, text: str = "", *, scale: alt.Scale = _DEFAULT, among: Iterable[float] = ()
) -> Chart:
    """Dashed vertical line at `x`, with a text above it.

    `among` are other values of the axis, so that the text of a line at its end is not cut.
    """
    known = [x, *among]
    share = (x - min(known)) / ((max(known) - min(known)) or 1)
    align: Literal["left", "center", "right"] = "center"
    if len(known) > 1 and not 0.1 < share < 0.9:
        align = "left" if share < 0.5 else "right"
    row = make_chart([{"at": x, "text": text}]).encode(alt.X("at:Q", scale=scale))
    label = row.mark_text(align=align, baseline="bottom", dy=-3, y=0).encode(text="text:N")
    return alt.layer(row.mark_rule(style="reference"), label)


def mark_eps_min(values: Iterable[float], among: Sequence[float]) -> list[Chart]:
    """Vertical lines at every eps_min of an axis with other values; words do not collide."""
    known = sorted(set(values))
    room = _EPS_MIN_SHARE * (max([*known, *among]) - min([*known, *among])) if known else 0.0
    marks, last = [], -math.inf
    for value in known:
        named = value - last > room
        last = value if named else last
        marks.append(vertical_rule(value, "eps_min" if named else "", among=[*known, *among]))
    return marks


def horizontal_rule(y: float, *, scale: alt.Scale = _DEFAULT) -> alt.Chart:
    """Dashed horizontal line at `y`."""
    rule: alt.Chart = make_chart([{"at": y}]).mark_rule(style="reference")
    return rule.encode(alt.Y("at:Q", scale=scale))


def make_tooltip(**titles: str) -> list[alt.Tooltip]:
    """Tooltip that shows the named fields under the given titles."""
    text_fields = {"model", "part", "train", "noise", "class", "group", "lowest", "highest"}
    return [
        alt.Tooltip(f"{name}:N", title=title)
        if name in text_fields
        else alt.Tooltip(f"{name}:Q", title=title, format=".6~g")
        for name, title in titles.items()
    ]


_PLACES: ContextVar[dict[str, int] | None] = ContextVar("places", default=None)


@contextmanager
def share_colours() -> Iterator[None]:
    """Give every model one colour and shape in all charts that are drawn inside.

    Models count in the order of their first appearance. The colours are those of the page's style,
    ``--c1`` and on, so that they suit light and dark.
    """
    token = _PLACES.set({})
    try:
        yield
    finally:
        _PLACES.reset(token)


def find_places(names: Iterable[str]) -> list[int]:
    """Return the place of every model among those of the page, or of the chart alone.

    What follows a comma, as in ``rf, L-inf``, tells apart results of one model: these share its
    place, unless they are in one chart.

    >>> find_places(["rf", "svm", "rf"])
    [0, 1, 0]
    >>> with share_colours():
    ...     find_places(["rf"]), find_places(["svm", "rf"])
    ([0], [1, 0])
    >>> with share_colours():
    ...     find_places(["rf, L-inf", "svm"]), find_places(["rf"])
    ([0, 1], [0])
    """
    shared = _PLACES.get()
    places: dict[str, int] = {} if shared is None else shared
    names = list(names)
    models = {name: name.partition(", ")[0] for name in names}
    several = [*models.values()]
    keys = {name: m if several.count(m) == 1 else name for name, m in models.items()}
    return [places.setdefault(keys[name], len(places)) for name in names]


def find_colour(place: int) -> str:
    """Return the colour of the model at a place; after the last comes the first."""
    place %= len(COLOURS)
    return COLOURS[place] if _PLACES.get() is None else f"var(--c{place + 1})"


def find_shape(place: int) -> str:
    """Return the shape of the model at a place; models of one colour differ in shape."""
    return SHAPES[(place + place // len(COLOURS)) % len(SHAPES)]


def model_colour(names: Iterable[str], *, legend: bool = True) -> alt.Color:
    """One colour per model, the same in all charts of a page (`share_colours`)."""
    names = list(dict.fromkeys(names))
    scale = alt.Scale(domain=names, range=[*map(find_colour, find_places(names))])
    return alt.Color(
        "model:N", title=None, scale=scale, legend=make_legend(names) if legend else None
    )


def make_legend(names: Sequence[str], texts: Sequence[str] = ()) -> alt.Legend:
    """Legend with full names, or with texts that stand for them, in as many columns as fit.

    Columns are for a chart of the width `WIDTH`; pages change them in proportion.
    """
    texts = texts or names
    wide = 34 + LETTER * min(_LEGEND_LETTERS, max(map(len, texts), default=0))
    columns = max(1, int(WIDTH / wide))
    return alt.Legend(columns=columns, labelExpr=wrap_labels(names, _LEGEND_LETTERS, texts))


def shape_like(colour: alt.Color) -> alt.Shape:
    """One shape per colour, for readers who see no colours."""
    known: Any = colour.to_dict()
    names, field = known["scale"]["domain"], str(colour.shorthand).partition(":")[0]
    places = find_places(names) if field == "model" else range(len(names))
    scale = alt.Scale(domain=names, range=[*map(find_shape, places)])
    legend = known.get("legend", alt.Undefined)
    return alt.Shape(f"{field}:N", title=known["title"], scale=scale, legend=legend)  # no order


def train_colour(levels: Iterable[str]) -> alt.Color:
    """Colours along a ramp, from weak to strong training noise, in the given order."""
    return _ramp_colour("train:O", levels, "noise in training, epsilon")


def noise_colour(names: Iterable[str]) -> alt.Color:
    """Colours along a ramp for test noises of one model: its own colour cannot tell them apart."""
    return _ramp_colour("noise:N", names, None)


def _ramp_colour(field: str, names: Iterable[str], title: str | None) -> alt.Color:
    domain = list(dict.fromkeys(names))
    at = np.linspace(0, len(_RAMP) - 1, max(2, len(domain)))[: len(domain)]
    mixed = [np.interp(at, range(len(_RAMP)), channel) for channel in zip(*_RAMP, strict=True)]
    colours = [
        f"#{round(r):02x}{round(g):02x}{round(b):02x}" for r, g, b in zip(*mixed, strict=True)
    ]
    scale = alt.Scale(domain=domain, range=colours)
    return alt.Color(field, title=title, scale=scale, legend=make_legend(domain))


def find_domain(rows: Sequence[Row], *include: float, at_most: float = math.inf) -> list[float]:
    """Range of an axis: all values, their intervals and what to include, with a margin.

    A few wide intervals must not press all others into a corner. Where the axis would be half as
    long again for them, every interval counts up to twice the typical (median) width from its
    value; what goes on beyond gets an arrow (`draw_arrows`).

    >>> find_domain([{"low": 90.0, "high": 100.0}], at_most=100)
    [89.4, 100]
    >>> narrow = [{"value": v, "low": v - 1.0, "high": v + 1.0} for v in (90.0, 92.0, 94.0)]
    >>> find_domain([*narrow, {"value": 93.0, "low": 20.0, "high": 99.0}], at_most=100)
    [88.52, 97.48]
    """
    widths = [r["high"] - r["low"] for r in rows if r["high"] > r["low"]]
    reach = 2 * float(np.median(widths)) if widths else 0.0
    middles = [r.get("value", (r["low"] + r["high"]) / 2) for r in rows]
    spans = []
    for far in (reach, math.inf):
        pairs = list(zip(rows, middles, strict=True))
        low = min([max(r["low"], m - far) for r, m in pairs] + list(include))
        high = max([min(r["high"], m + far) for r, m in pairs] + list(include))
        spans.append((low, high))
    (near, whole) = ((high - low, low, high) for low, high in spans)
    span, low, high = near if whole[0] > 1.5 * near[0] > 0 else whole
    margin = max(0.06 * span, 0.05)
    return [low - margin, min(high + margin, max(at_most, high))]


def stack_panels(panels: Sequence[Chart], *, title: str, otherwise: str = "") -> Chart:
    """Panels one below the other as one chart; `otherwise` says why there may be none.

    The title of a single panel is replaced by that of the chart.
    """
    if not panels:
        raise InputError(f"there is nothing to draw: {otherwise}")
    sized = [p.properties(width=WIDTH) for p in panels]
    chart = sized[0] if len(sized) == 1 else alt.vconcat(*sized).resolve_scale(color="independent")
    return finish_chart(chart.properties(title=title))


def arrange_panels(
    panels: Sequence[Chart],
    *,
    title: str,
    columns: int,
    subtitle: Sequence[str] = (),
    otherwise: str = "give at least one panel",
) -> Chart:
    """Panels, each of its own width, in rows of `columns` with one legend, as one chart."""
    if not panels:
        raise InputError(f"there is nothing to draw: {otherwise}")
    ink = THEME["title"]["color"]
    big = alt.TitleParams(title, subtitle=list(subtitle), subtitleColor=ink, fontSize=16, offset=14)
    chart: Chart = alt.concat(*panels, columns=columns, spacing=24)
    return finish_chart(chart.properties(title=big))


def compose_figure(
    panels: Sequence[Chart], *, finding: str, about: str, columns: int = 1, letters: int = 94
) -> Chart:
    """Panels as one figure that can stand alone: what it shows in words, and what is drawn.

    Parameters
    ----------
    panels
        At least one, each of its own size.
    finding
        What to see, as a sentence: the title.
    about
        What is drawn, and what bars and marks mean: the second title. Both are the text for those
        who cannot see the figure.
    columns
        Panels per row.
    letters
        Of a line of the second title; a line of the title has fewer. Fonts of readers may be wider
        than the one that the size of the figure is computed with.
    """
    ink = THEME["title"]["color"]
    title = alt.TitleParams(
        wrap(to_one_line(finding), letters * 2 // 3),
        subtitle=wrap(to_one_line(about), letters),
        subtitleColor=ink,
        subtitleFontSize=12,
        subtitlePadding=6,
        fontSize=16,
        offset=16,
    )
    chart: Chart = alt.concat(*map(_align_title, panels), columns=columns, spacing=28)
    chart = chart.resolve_scale(color="independent", shape="independent")
    chart = chart.properties(title=title, description=to_one_line(f"{finding} {about}"))
    chart = finish_chart(chart)
    legend = THEME["legend"] | {"offset": 8}
    return chart.properties(config={**THEME, "legend": legend})


def _align_title(panel: Chart) -> Chart:
    """Return a panel whose title begins at its axis, so that the titles of panels are in line."""
    text = panel.to_dict(validate=False).get("title", "")
    return panel.properties(title=alt.TitleParams(text, frame="group")) if text else panel


def finish_chart(chart: Chart) -> Chart:
    """Return a chart with the common look, which notebooks show as an image."""
    chart = chart.properties(config=dict(THEME))
    for kind in (_Chart, _LayerChart, _VConcatChart, _ConcatChart):
        if type(chart) is kind.__bases__[1]:
            object.__setattr__(chart, "__class__", kind)  # Altair's own would add it to the spec
    return chart


def save_chart(chart: Chart, path: str | Path) -> Path:
    """Write a chart in the format its file's ending names, one of `FORMATS`; return the path.

    Parameters
    ----------
    chart
        An Altair chart.
    path
        File; its ending names the format.

    Returns
    -------
    Path
        Path of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(horizontal_rule(0), Path(folder) / "rule.svg").read_text()[:4]
    '<svg'
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"a chart's file must end in {', '.join(FORMATS)}, got {str(path)!r}; rename it"
        )
    chart, options = _complete(chart), FORMATS[path.suffix.lower()]
    with write_beside(path, "chart") as beside:
        if options["format"] == "html":
            beside.write_text(_make_page(chart), encoding="utf-8")
        elif options["format"] == "svg":
            beside.write_text(_make_svg(chart), encoding="utf-8")
        else:
            chart.save(beside, **options)
    return path


def _describe(chart: Chart) -> str:
    """Return the text for those who cannot see a chart; empty for none."""
    text = chart.description
    return text if isinstance(text, str) else ""


def _make_svg(chart: Chart) -> str:
    """SVG of a chart, with its description as the title that screen readers read."""
    svg = io.StringIO()
    chart.save(svg, format="svg")
    tag, end, rest = svg.getvalue().partition(">")
    title = f"<title>{escape(_describe(chart))}</title>" if _describe(chart) else ""
    return f'{tag} role="img"{end}{title}{rest}' if title else svg.getvalue()


def _complete(chart: Chart) -> Chart:
    """Add the description, and write out in all texts what does not show: images cannot hold it."""
    spec = chart.to_dict(validate=False)
    if not _describe(chart) and (about := describe(spec)):
        chart, spec["description"] = chart.properties(description=about), about
    shown = make_all_visible(spec)
    return chart if shown == spec else type(chart).from_dict(shown, validate=False)


def _make_page(chart: Chart) -> str:
    """HTML page that draws a chart, with its scripts inside; it may not fetch anything."""
    spec = chart.to_dict(validate=False)
    about = _describe(chart) or _write_title(spec) or "chart"
    return web.fill_page("chart.html.j2", has_charts=True, title=about, about=about, spec=spec)


def _write_title(spec: dict[str, Any]) -> str:
    title = spec.get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    return text if isinstance(text, str) else " ".join(text)

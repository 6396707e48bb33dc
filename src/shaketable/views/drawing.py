"""Drawing: the look that all charts share, and the pieces they are put together from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import numpy as np

from shaketable.core.errors import InputError

Chart: TypeAlias = (
    "alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.ConcatChart"
)
Row: TypeAlias = dict[str, Any]

WIDTH, HEIGHT = 620, 300

FORMATS: Mapping[str, dict[str, Any]] = {
    ".html": {"format": "html", "inline": True},  # needs no network
    ".json": {"format": "json"},
    ".pdf": {"format": "pdf"},
    ".png": {"format": "png", "scale_factor": 2},  # sharp on every screen
    ".svg": {"format": "svg"},
}
"""Endings of the files a chart can be saved as, with how Altair is told to."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a8820b", "#5a6ad0", "#767d88")
"""Colours that colour-blind readers can tell apart, on white and on black."""

_DEFAULT = alt.Scale()
_RAMP = ((0x4F, 0x6F, 0xD8), (0xB8, 0x4C, 0x9E), (0xE8, 0x7A, 0x30))


def theme(
    *, ink: str, faint: str, grid: str, background: str, colours: Sequence[str]
) -> dict[str, Any]:
    """Vega-Lite configuration of every chart, in the given colours; `colours` tell models apart."""
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12,
            "titleFontWeight": "normal", "labelLimit": 200}  # fmt: skip
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
            "pair": {"color": ink, "strokeWidth": 2},
            "count": {"color": colours[0]},
            "share": {"color": colours[1]},
        },
    }


THEME: Mapping[str, Any] = theme(
    ink="#2b3037", faint="#767d88", grid="#e3e5e8", background="white", colours=COLOURS
)
"""Look of a chart by itself."""


def chart(rows: Iterable[Row]) -> alt.Chart:
    """Chart of these rows, marks still to come."""
    return alt.Chart({"values": list(rows)})


def line_with_bars(base: alt.Chart, *, title: str, scale: alt.Scale) -> tuple[alt.Chart, ...]:
    """Points joined by a line, each with its interval from ``low`` to ``high``."""
    y, low = (alt.Y(f"{name}:Q", title=title, scale=scale) for name in ("value", "low"))
    return (
        base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(low, alt.Y2("high:Q")),
        base.mark_line().encode(y),
        base.mark_point(filled=True, size=45, opacity=1).encode(y),
    )


def dots_with_bars(base: alt.Chart, *, title: str, scale: alt.Scale) -> tuple[alt.Chart, ...]:
    """Points with their intervals from ``low`` to ``high``, lying."""
    x, low = (alt.X(f"{name}:Q", title=title, scale=scale) for name in ("value", "low"))
    return (
        base.mark_rule(strokeWidth=2).encode(low, alt.X2("high:Q")),
        base.mark_point(filled=True, size=80, opacity=1).encode(x),
    )


def vertical_rule(x: float, text: str = "", *, scale: alt.Scale = _DEFAULT) -> Chart:
    """Dashed line at an x that means something, with its name above."""
    row = chart([{"at": x, "text": text}]).encode(alt.X("at:Q", scale=scale))
    words = row.mark_text(align="center", baseline="bottom", dy=-3, y=0).encode(text="text:N")
    return alt.layer(row.mark_rule(style="reference"), words)


def horizontal_rule(y: float, *, scale: alt.Scale = _DEFAULT) -> alt.Chart:
    """Dashed line at a y that means something."""
    rule: alt.Chart = chart([{"at": y}]).mark_rule(style="reference")
    return rule.encode(alt.Y("at:Q", scale=scale))


def tips(**titles: str) -> list[alt.Tooltip]:
    """Tooltip that shows these fields under these titles."""
    words = {"model", "train", "noise", "class", "group", "lowest", "highest"}
    return [
        alt.Tooltip(f"{name}:N", title=title) if name in words
        else alt.Tooltip(f"{name}:Q", title=title, format=".6~g")
        for name, title in titles.items()
    ]  # fmt: skip


def model_colour(names: Iterable[str], *, legend: bool = True) -> alt.Color:
    """One colour a model, in the order given."""
    scale = alt.Scale(domain=list(dict.fromkeys(names)))
    shown = alt.Undefined if legend else None
    return alt.Color("model:N", title=None, scale=scale, legend=shown)


def train_colour(levels: Iterable[str]) -> alt.Color:
    """Colours along a ramp, from weak to strong training noise."""
    domain = list(dict.fromkeys(levels))
    at = np.linspace(0, len(_RAMP) - 1, max(2, len(domain)))[: len(domain)]
    mixed = [np.interp(at, range(len(_RAMP)), channel) for channel in zip(*_RAMP, strict=True)]
    colours = [
        f"#{round(r):02x}{round(g):02x}{round(b):02x}" for r, g, b in zip(*mixed, strict=True)
    ]
    scale = alt.Scale(domain=domain, range=colours)
    return alt.Color("train:O", title="noise in training, epsilon", scale=scale)


def domain(rows: Sequence[Row], *include: float, at_most: float = math.inf) -> list[float]:
    """Range of the intervals with some air around it, never empty.

    >>> domain([{"low": 90.0, "high": 100.0}], at_most=100)
    [89.4, 100]
    """
    low = min([r["low"] for r in rows] + list(include))
    high = max([r["high"] for r in rows] + list(include))
    air = max(0.06 * (high - low), 0.05)
    return [low - air, min(high + air, max(at_most, high))]


def finish(panels: Sequence[Chart], *, title: str, otherwise: str = "") -> Chart:
    """All panels as one chart; a single one loses its own title to the chart's."""
    if not panels:
        raise InputError(f"there is nothing to draw: {otherwise}")
    sized = [p.properties(width=WIDTH) for p in panels]
    whole = sized[0] if len(sized) == 1 else alt.vconcat(*sized).resolve_scale(color="independent")
    return whole.properties(title=title, config=dict(THEME))


def side_by_side(
    panels: Sequence[Chart],
    *,
    title: str,
    columns: int,
    subtitle: Sequence[str] = (),
    otherwise: str = "give at least one panel",
) -> Chart:
    """Panels of their own width in rows of `columns`, one legend for all, as one chart."""
    if not panels:
        raise InputError(f"there is nothing to draw: {otherwise}")
    ink = THEME["title"]["color"]
    big = alt.TitleParams(title, subtitle=list(subtitle), subtitleColor=ink, fontSize=16, offset=14)
    whole: Chart = alt.concat(*panels, columns=columns, spacing=24)
    return whole.properties(title=big, config=dict(THEME))


def save(chart: Chart, path: str | Path) -> Path:
    """Write a chart in the format its file's ending names, one of `FORMATS`; return the path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(horizontal_rule(0), Path(folder) / "rule.svg").read_text()[:4]
    '<svg'
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"a chart's file must end in {', '.join(FORMATS)}, got {str(path)!r}; rename it"
        )
    try:
        chart.save(path, **FORMATS[path.suffix.lower()])
    except OSError as error:
        raise InputError(
            f"chart cannot be written to {str(path)!r} ({error.strerror}); name another file"
        ) from error
    return path

"""The page itself: charts as figures, templates filled in, one file written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

from shaketable.core.errors import InputError
from shaketable.views import drawing, numbers
from shaketable.views.text import to_sentence


@dataclass(frozen=True)
class Figure:
    """A chart on the page: its Vega-Lite spec, its title, and what to see in it."""

    id: str
    title: str
    caption: str
    spec: dict[str, Any]
    min_width: int
    """Pixels below which it scrolls rather than shrinks; 0 for none."""
    own_size: bool = False
    """Whether it has a width of its own, and shrinks as a whole where that is too much."""


def write(
    path: str | Path, template: str, *, figures: Mapping[str, Sequence[Figure]], **content: Any
) -> Path:
    """Fill in a template and write it as one file; a failure leaves an older file whole."""
    number = count(1)
    page = _template(template).render(
        **content,
        figures={
            place: [replace(f, id=f"figure-{next(number)}") for f in mine]
            for place, mine in figures.items()
        },
        theme=drawing.make_theme(
            ink="var(--ink)",
            faint="var(--faint)",
            grid="var(--line)",
            background="transparent",
            colours=[f"var(--c{i})" for i in range(1, len(drawing.COLOURS) + 1)],
        ),
        vega=_vega(),
    )
    path = Path(path)
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_text(page, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(
            f"report cannot be written to {str(path)!r} ({error.strerror}); name another file"
        ) from error
    return path


def drawn(
    draw: Callable[..., drawing.Chart],
    *data: Any,
    caption: str,
    min_width: int = 0,
    own_size: bool = False,
) -> list[Figure]:
    """A figure for every panel of a chart; none if nothing is to be shown.

    As wide as the page, unless a chart is better in its `own_size`.
    """
    try:
        spec = draw(*data).to_dict()
    except InputError:
        return []
    title = spec["title"]
    titles, panels, about = [title], [spec], ""
    if "vconcat" in spec:
        panels = spec["vconcat"]
        titles = [f"{title}: {panel['title']}" for panel in panels]
    elif "concat" in spec:  # small ones under a common heading, with short titles
        panels, about = spec["concat"], f"{title['text']}: "
        titles = [panel["title"] for panel in panels]
    own = {
        "$schema",
        "config",
        "title",
        "datasets",
    }  # the page has its own look, and its own titles
    own |= set() if own_size else {"width"}
    return [
        Figure(
            "",
            name,
            caption,
            {"width": "container"}
            | {key: value for key, value in panel.items() if key not in own}
            | {"description": about + name, "datasets": _used(spec, panel)},
            min_width,
            own_size,
        )
        for name, panel in zip(titles, panels, strict=True)
    ]


def _used(spec: dict[str, Any], panel: dict[str, Any]) -> dict[str, Any]:
    """Those of a spec's data sets that one of its panels names."""
    text = str([panel.get("data"), panel["layer"]])
    return {name: rows for name, rows in spec["datasets"].items() if name in text}


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shaketable", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": numbers.format_percent,
        "signed": numbers.format_change,
        "interval": numbers.format_interval,
        "points": numbers.format_points,
        "points_interval": numbers.format_points_interval,
        "number": numbers.format_distance,
        "short": numbers.format_short_distance,
        "sentence": to_sentence,
        "upper": lambda value: numbers.format_bound(value.high),
        "at_most": numbers.format_bound,
    }
    return environment.get_template(name)


@cache
def _vega() -> Markup:
    """Bundle the code that draws the charts, if possible in the version they are written for."""
    snippet = "window.vegaEmbed = vegaEmbed;"
    try:
        code = vl_convert.javascript_bundle(snippet, alt.SCHEMA_VERSION.rpartition(".")[0])
    except (RuntimeError, ValueError):  # it has no such version
        code = vl_convert.javascript_bundle(snippet)
    return Markup(code.replace("</script", "<\\/script").replace("<!--", "<\\!--"))

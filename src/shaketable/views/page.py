"""Pages: charts as figures, templates filled in, one HTML file written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup, escape

from shaketable.core.errors import InputError
from shaketable.core.writing import write_beside
from shaketable.views import drawing, numbers
from shaketable.views.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Heading,
    Picture,
    Table,
    collect_methods,
    name_column,
    number_places,
    split_cell,
)
from shaketable.views.text import (
    begin_sentence,
    end_sentence,
    make_all_visible,
    make_visible,
    to_sentence,
)

ENDINGS = (".html", ".htm")
"""Endings of the files that a page can be written to."""

MAX_COMPARISONS = 45
"""Differences of two models that a table lists at most."""


@dataclass(frozen=True)
class Figure:
    """A chart on a page: its Vega-Lite spec, its title, and what to see in it."""

    id: str
    title: str
    caption: str
    spec: dict[str, Any]
    min_width: int
    """Pixels below which it scrolls rather than shrinks; 0 for none."""
    own_size: bool = False
    """Whether it has a width of its own, and shrinks as a whole where that is too much."""


def write(
    path: str | Path,
    template: str,
    *,
    figures: Mapping[str, Sequence[Figure]] | None = None,
    **content: Any,
) -> Path:
    """Fill in a template and write it as one file; a failure leaves an older file as it was.

    `template` is a path below the package ``shaketable``; `figures` are numbered in order.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a page's file must end in {' or '.join(ENDINGS)}, got {str(path)!r}; rename it"
        )
    number = count(1)
    page = (
        _environment("shaketable")
        .get_template(template)
        .render(
            **content,
            figures={
                place: [replace(f, id=f"figure-{next(number)}") for f in group]
                for place, group in (figures or {}).items()
            },
            theme=drawing.make_theme(
                ink="var(--ink)",
                faint="var(--faint)",
                grid="var(--line)",
                background="transparent",
                colours=[f"var(--c{i})" for i in range(1, len(drawing.COLOURS) + 1)],
            ),
            policy=drawing.POLICY,
            vega=_bundle_vega(),
        )
    )
    with write_beside(path, "report") as beside:
        beside.write_text(page, encoding="utf-8")
    return path


def write_blocks(
    path: str | Path,
    blocks: Iterable[Block],
    *,
    title: str,
    lead: str,
    notes: Sequence[str] = (),
) -> Path:
    """Write blocks as one page: the headline, notes, sections, then how it was made.

    Parameters
    ----------
    path
        File to write; an older file is replaced.
    blocks
        In their order. A heading with a place begins a section; that of the place ``method`` ends
        the page, and gets all definitions, and how the estimates were computed.
    title, lead
        Heading of the page, and what it is about.
    notes
        Sentences that a reader should know.

    Returns
    -------
    pathlib.Path
        The path of the page.
    """
    blocks = [*number_places(blocks)]
    headline, sections = make_sections(blocks)
    return write(
        path,
        "views/templates/frame.html.j2",
        title=title,
        lead=lead,
        notes=notes,
        headline=headline,
        sections=[s for s in sections if s.parts or s.place == "method"],
        definitions=[block for block in blocks if isinstance(block, Definition)],
        methods=collect_methods(blocks),
        has_charts=any(isinstance(block, Chart) for block in blocks),
    )


def make_sections(
    blocks: Iterable[Block], prefix: str = "figure"
) -> tuple[_Section, list[_Section]]:
    """Fill in all blocks: those of the headline, and sections."""
    number = (f"{prefix}-{i}" for i in count(1))
    headline, sections = _Section(), list[_Section]()
    for block in blocks:
        if isinstance(block, Heading) and block.place:
            sections.append(_Section(block))
        elif block.level == "headline":
            headline.parts.append(_prepare(block, number))
        elif not isinstance(block, Definition):
            sections[-1].parts.append(_prepare(block, number))
    return headline, sections


@dataclass
class _Section:
    """A section of a page, as the template needs it."""

    heading: Heading | None = None
    parts: list[Markup] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Its anchor."""
        return self.heading.place if self.heading else ""


def _prepare(block: Block, names: Iterator[str]) -> Markup:
    """Fill in the macro of a block."""
    content: dict[str, Any] = {"block": block}
    if isinstance(block, Chart):
        content["figures"] = [
            replace(figure, id=next(names)) for figure in _make_block_figures(block)
        ]
    elif isinstance(block, Table):
        columns = [block.columns[i] for i in block.used]
        content["headings"] = [
            (name_column(c, has_units=True), "text" if c.kind == "text" else "") for c in columns
        ]
        longest = max((len(name) for name, _ in content["headings"]), default=0)
        content["tall"] = block.is_matrix and len(columns) > 6 and longest > 6
        content["rows"] = [
            [_Cell.of(row[i], block.columns[i]) for i in block.used]
            for row in block.rows[: block.limit]
        ]
    name = type(block).__name__.lower()
    return render("shaketable", "views/templates/blocks.html.j2", name, **content)


@dataclass(frozen=True)
class _Cell:
    """An entry of a table, as the template needs it."""

    text: str
    small: list[str]
    style: str
    heat: float | None = None
    picture: Picture | None = None
    about: str = ""

    @classmethod
    def of(cls, cell: Cell, column: Column) -> _Cell:
        """Write an entry."""
        text, small = split_cell(cell, column)
        entry = cell if isinstance(cell, Entry) else Entry(cell)
        picture = entry.value if isinstance(entry.value, Picture) else None
        styles = {
            "text": column.kind == "text",
            "wrap": column.kind == "text" and picture is None,
            "shown": entry.shown,
            "place": picture is not None,
            "heat": entry.heat is not None,
        }
        style = " ".join(name for name, holds in styles.items() if holds)
        missing = "–" if column.kind != "text" and picture is None else ""
        return cls(text or missing, small, style, entry.heat, picture, entry.about)


def _make_block_figures(block: Chart) -> list[Figure]:
    charts = block.draw()
    if isinstance(charts, Sequence):
        return make_small_figures(charts, heading=block.title, caption=block.caption, place="")
    return make_figures(
        charts, caption=block.caption, min_width=block.min_width, own_size=block.own_size
    )


def render(package: str, template: str, macro: str, **content: Any) -> Markup:
    """Fill in a macro of a template that lies in a package, and return its HTML.

    Templates of other packages may import the macros of ours, such as ``estimate`` and ``table``
    from ``views/templates/parts.html.j2``.
    """
    module = _environment(package).get_template(template).module
    return Markup(getattr(module, macro)(**content))


def make_figures(
    chart: drawing.Chart,
    *,
    caption: str,
    place: str = "",
    min_width: int = 0,
    own_size: bool = False,
) -> list[Figure]:
    """Make one figure per panel of a chart.

    Parameters
    ----------
    chart
        Any chart of `drawing`.
    caption
        What to see in it.
    place
        Unique on the page; the figures' anchors begin with it.
    min_width
        Pixels below which a figure scrolls rather than shrinks; 0 for none.
    own_size
        Whether the chart keeps its own width; by default figures are as wide as the page.
    """
    spec = _to_spec(chart)
    title = spec["title"]
    titles, panels = [title], [spec]
    if "vconcat" in spec:
        panels = spec["vconcat"]
        titles = [f"{title}: {panel['title']}" for panel in panels]
    return [
        Figure(
            f"{place}-figure-{number}",
            name,
            caption,
            _make_panel(panel, name, spec["datasets"], own_size=own_size),
            min_width,
            own_size,
        )
        for number, (name, panel) in enumerate(zip(titles, panels, strict=True), start=1)
    ]


def make_small_figures(
    panels: Sequence[drawing.Chart], *, heading: str, caption: str, place: str
) -> list[Figure]:
    """Make one figure per panel, for a grid of small ones under a common heading."""
    figures = []
    for number, panel in enumerate(panels, start=1):
        spec = _to_spec(panel)
        title, about = spec["title"], f"{heading}: {spec['title']}"
        content = _make_panel(spec, about, spec["datasets"], own_size=False)
        figures.append(Figure(f"{place}-figure-{number}", title, caption, content, 0))
    return figures


def _to_spec(chart: drawing.Chart) -> dict[str, Any]:
    # charts are checked against the Vega-Lite schema by the tests; here that would take longer
    # than all numbers of a report
    spec: dict[str, Any] = make_all_visible(chart.to_dict(validate=False))
    return spec


def _make_panel(
    panel: dict[str, Any], about: str, datasets: Mapping[str, Any], *, own_size: bool
) -> dict[str, Any]:
    """Panel of a chart without what the page has of its own, with the data that it names."""
    left_out = {"$schema", "config", "title", "datasets"} | (set() if own_size else {"width"})
    named = str([panel.get("data"), panel["layer"]])
    return (
        {"width": "container"}
        | {key: value for key, value in panel.items() if key not in left_out}
        | {
            "description": about,
            "datasets": {name: rows for name, rows in datasets.items() if name in named},
        }
    )


@cache
def _environment(package: str) -> jinja2.Environment:
    """Templates of a package, and ours."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(package, ""), jinja2.PackageLoader("shaketable", "")]
        ),
        autoescape=True,
        finalize=lambda value: make_visible(value) if type(value) is str else value,
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
        "stop": end_sentence,
        "capital": begin_sentence,
        "card": lambda card: split_cell(card.value, Column(card.name, card.kind)),
        "lower_marks": _lower_marks,
    }
    return environment


def _lower_marks(formula: str) -> Markup:
    """Write what stands in ``_{…}`` lower."""
    return Markup(re.sub(r"_\{(.*?)\}", r"<sub>\1</sub>", str(escape(formula))))


@cache
def _bundle_vega() -> Markup:
    """Bundle the code that draws the charts, if possible in the version they are written for."""
    snippet = "window.vegaEmbed = vegaEmbed;"
    try:
        code = vl_convert.javascript_bundle(snippet, alt.SCHEMA_VERSION.rpartition(".")[0])
    except (RuntimeError, ValueError):  # it has no such version
        code = vl_convert.javascript_bundle(snippet)
    return Markup(code.replace("</script", "<\\/script").replace("<!--", "<\\!--"))

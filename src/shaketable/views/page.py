"""Pages: charts as figures, templates filled in, one HTML file written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shaketable.core.browsers import print_page
from shaketable.core.errors import InputError
from shaketable.core.options import PAGE_ENDINGS
from shaketable.core.writing import write_beside
from shaketable.views import drawing, web
from shaketable.views.blocks import (
    Bar,
    Block,
    Cards,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Heading,
    Images,
    Picture,
    Table,
    collect_methods,
    name_column,
    number_places,
    split_cell,
)
from shaketable.views.describing import describe, join_title
from shaketable.views.text import make_all_visible


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
        File to write; an older file is replaced. An installed Chromium prints it if it ends in
        ``.pdf``.
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
    path = Path(path)
    if path.suffix.lower() not in PAGE_ENDINGS:
        raise InputError(
            f"a page's file must end in {', '.join(PAGE_ENDINGS)}, got {str(path)!r}; rename it"
        )
    blocks = [*number_places(blocks)]
    with drawing.share_colours():
        headline, sections = make_sections(blocks)
    page = web.fill_page(
        "frame.html.j2",
        has_charts=any(isinstance(block, Chart) for block in blocks),
        beneath=[block.beneath for block in blocks if isinstance(block, Images) and block.beneath],
        title=title,
        lead=lead,
        notes=notes,
        headline=headline,
        sections=[s for s in sections if s.parts or s.place == "method"],
        definitions=[block for block in blocks if isinstance(block, Definition)],
        methods=collect_methods(blocks),
        theme=drawing.make_theme(
            ink="var(--ink)",
            faint="var(--faint)",
            grid="var(--line)",
            background="transparent",
            colours=[f"var(--c{i})" for i in range(1, len(drawing.COLOURS) + 1)],
        ),
        models=[*dict.fromkeys(_list_models(blocks))],
    )
    with write_beside(path, "report") as beside:
        if path.suffix.lower() == ".pdf":
            print_page(page, beside)
        else:
            beside.write_text(page, encoding="utf-8")
    return path


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


def _list_models(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield what tables and cards call models, which the page's reader may hide."""
    for block in blocks:
        if isinstance(block, Cards):
            yield from (card.title for card in block.cards)
        elif isinstance(block, Table):
            named = [i for i, c in enumerate(block.columns) if c.heading in ("model", "models")]
            for row in block.rows:
                yield from (split_cell(row[i], block.columns[i])[0] for i in named)


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
        content["figures"] = [replace(figure, id=next(names)) for figure in _make_figures(block)]
        content["legend"] = list(zip(block.legend, drawing.find_places(block.legend), strict=True))
    elif isinstance(block, Table):
        used = block.used
        columns = [block.columns[i] for i in used]
        content["headings"] = [
            (name_column(c, has_units=True), "text" if c.kind == "text" else "") for c in columns
        ]
        longest = max((len(name) for name, _ in content["headings"]), default=0)
        content["tall"] = block.is_matrix and len(columns) > 6 and longest > 6
        content["rows"] = [
            [_Cell.of(row[i], block.columns[i]) for i in used] for row in block.rows[: block.limit]
        ]
    elif isinstance(block, Images):
        content["beneath"] = web.name_beneath(block.beneath)
    name = type(block).__name__.lower()
    macros = web.get_environment().get_template("blocks.html.j2").module
    return Markup(getattr(macros, name)(**content))


@dataclass(frozen=True)
class _Cell:
    """An entry of a table, as the template needs it."""

    text: str
    small: list[str]
    style: str
    picture: Picture | None = None
    about: str = ""
    tone: str | None = None
    bar: Bar | None = None
    place: str = ""

    @classmethod
    def of(cls, cell: Cell, column: Column) -> _Cell:
        """Write an entry."""
        text, small = split_cell(cell, column)
        entry = cell if isinstance(cell, Entry) else Entry(cell)
        picture = entry.value if isinstance(entry.value, Picture) else None
        styles = {
            "text": column.kind == "text" and picture is not None,
            "wrap": column.kind == "text" and picture is None,
            "shown": entry.shown,
            "place": picture is not None,
            f"heat heat-{round(web.HEATS * (entry.heat or 0))}": entry.heat is not None,
        }
        style = " ".join(name for name, holds in styles.items() if holds)
        missing = "–" if column.kind != "text" and picture is None else ""
        shown = picture, entry.about, entry.tone, entry.bar, entry.place
        return cls(text or missing, small, style, *shown)


def _make_figures(block: Chart) -> Iterator[Figure]:
    """One figure per panel; the id of a figure is that of its place on the page."""
    charts = block.draw()
    if isinstance(charts, Sequence):  # small panels under a common heading
        for chart in charts:
            spec = _to_spec(chart)
            about = f"{block.title}: {spec['title']}"
            content = _make_panel(spec, about, spec["datasets"], own_size=False)
            yield Figure("", spec["title"], block.caption, content, 0)
        return
    spec = _to_spec(charts)
    title = join_title(spec["title"])
    shared = {"data": spec["data"]} if "data" in spec else {}  # of all panels, or of a single one
    for panel in spec.get("vconcat") or spec.get("concat") or [spec]:
        own = "" if panel is spec else join_title(panel.get("title", ""))
        name = f"{title.removesuffix('.')}: {own}" if own else title
        content = _make_panel(shared | panel, name, spec["datasets"], own_size=block.own_size)
        yield Figure("", name, block.caption, content, block.min_width, block.own_size)


def _to_spec(chart: drawing.Chart) -> dict[str, Any]:
    # charts are checked against the Vega-Lite schema by the tests; here that would take longer
    # than all numbers of a report
    spec: dict[str, Any] = make_all_visible(chart.to_dict(validate=False))
    for rows in spec["datasets"].values():
        for row in rows:
            row.update((k, float(f"{v:.7g}")) for k, v in row.items() if type(v) is float)
    return spec


def _make_panel(
    panel: dict[str, Any], about: str, datasets: Mapping[str, Any], *, own_size: bool
) -> dict[str, Any]:
    """Panel of a chart without what the page has of its own, with the data that it names."""
    left_out = {"$schema", "config", "title", "datasets"} | (set() if own_size else {"width"})
    named = str({key: value for key, value in panel.items() if key != "datasets"})
    spec = (
        {"width": "container"}
        | {key: value for key, value in panel.items() if key not in left_out}
        | {"datasets": {name: rows for name, rows in datasets.items() if name in named}}
    )
    return spec | {"description": panel.get("description") or describe(spec, about)}

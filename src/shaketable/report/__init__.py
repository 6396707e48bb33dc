"""Reports: records in, one HTML file out that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

from shaketable import charts, drawing
from shaketable.data import Dataset
from shaketable.errors import InputError
from shaketable.records import Records, SeparationRecord
from shaketable.report import content, provenance, words
from shaketable.statistics import at_most
from shaketable.subjects import Subject, subjects

__all__ = ["write_report"]


@dataclass(frozen=True)
class Figure:
    """A chart on the page: its Vega-Lite spec, its title, and what to see in it."""

    id: str
    title: str
    caption: str
    spec: dict[str, Any]
    min_width: int
    """Pixels below which it scrolls rather than shrinks; 0 for none."""


def write_report(
    path: str | Path,
    records: Records,
    *,
    dataset: Dataset | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write all that the records tell as one HTML page, and return its path.

    The verdict comes first, then the risk of a wrong answer, accuracies and differences, the data,
    and how everything was measured. The file holds its charts and the code that draws them.

    Parameters
    ----------
    path
        File to write; one that exists is replaced.
    records
        Of fixed models, of studies, or both.
    dataset
        The data they were made from; two-dimensional points are drawn.
    title
        Heading of the page; by default it names models and data.
    notes
        Sentences a reader should know, shown near the top.
    """
    if not len(records):
        raise InputError("records must hold at least one cell; evaluate a model first")
    mine = {cell.fingerprint for cell in records}
    separations = [s for s in records.separations if s.fingerprint in mine]
    found = subjects(records)
    methods: content.Methods = {}
    page = _template().render(
        title=title or provenance.title(records),
        notes=[*notes, *_about(dataset, separations)],
        headlines=[content.headline(s, methods) for s in found],
        risks=[risk for s in found for risk in content.risks(s, methods)],
        accuracies=[content.accuracies(s, methods) for s in found if not s.is_study],
        matrices=[content.matrix(s, methods) for s in found if s.is_study and s.norm],
        differences=content.differences(found, methods),
        separations=[provenance.SeparationFacts.of(s) for s in separations],
        facts=provenance.facts(records),
        makers=provenance.makers(found),
        methods=methods,
        figures=_figures(records, found, dataset, separations),
        theme=drawing.theme(
            ink="var(--ink)",
            faint="var(--faint)",
            grid="var(--line)",
            background="transparent",
            colours=[f"var(--c{i})" for i in range(1, len(drawing.COLOURS) + 1)],
        ),
        vega=_vega(),
    )
    path = Path(path)
    beside = path.with_name(f".{path.name}.part")  # so that a failure leaves an older page whole
    try:
        beside.write_text(page, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(
            f"report cannot be written to {str(path)!r} ({error.strerror}); name another file"
        ) from error
    return path


def _figures(
    records: Records,
    found: list[Subject],
    dataset: Dataset | None,
    separations: list[SeparationRecord],
) -> dict[str, list[Figure]]:
    """Figures by the part of the page they belong to."""
    fixed = _only(records, [s for s in found if not s.is_study])
    studies = _only(records, [s for s in found if s.is_study])
    columns = max((len(s.clean) for s in found), default=0)
    about = words.ACCURACY if separations else words.PLAIN_ACCURACY
    parts = {
        "mscr": _drawn(charts.mscr, records, caption=words.MSCR),
        "accuracy": _drawn(charts.accuracy, fixed, caption=about),
        "matrix": _drawn(
            charts.matrix, studies, caption=words.MATRIX, min_width=120 + 74 * columns
        ),
        "study": [
            *_drawn(charts.accuracy, studies, caption=words.LADDER),
            *_drawn(charts.tradeoff, studies, caption=words.TRADEOFF),
            *_drawn(charts.runs, studies, caption=words.RUNS),
        ],
        "data": [
            figure
            for s in separations
            for figure in (
                *_drawn(charts.nearest, s, caption=words.NEAREST),
                *_points(dataset, s),
            )
        ],
    }
    number = count(1)
    return {
        place: [replace(f, id=f"figure-{next(number)}") for f in figures]
        for place, figures in parts.items()
    }


def _points(dataset: Dataset | None, separation: SeparationRecord) -> list[Figure]:
    if dataset is None or dataset.fingerprint != separation.fingerprint:
        return []
    return _drawn(charts.points, dataset, separation, caption=words.POINTS)


def _drawn(
    draw: Callable[..., drawing.Chart], *data: Any, caption: str, min_width: int = 0
) -> list[Figure]:
    """A figure for every panel of a chart, as wide as the page; none if nothing is to be shown."""
    try:
        spec = draw(*data).to_dict()
    except InputError:
        return []
    title = spec["title"]
    titles, panels = [title], [spec]
    if "vconcat" in spec:
        panels = spec["vconcat"]
        titles = [f"{title}: {panel['title']}" for panel in panels]
    own = (
        "$schema",
        "config",
        "title",
        "datasets",
    )  # the page has its own look, and its own titles
    return [
        Figure(
            "",
            name,
            caption,
            {key: value for key, value in panel.items() if key not in own}
            | {"width": "container", "description": name, "datasets": _used(spec, panel)},
            min_width,
        )
        for name, panel in zip(titles, panels, strict=True)
    ]


def _used(spec: dict[str, Any], panel: dict[str, Any]) -> dict[str, Any]:
    """Those of a spec's data sets that one of its panels names."""
    text = str([panel.get("data"), panel["layer"]])
    return {name: rows for name, rows in spec["datasets"].items() if name in text}


def _only(records: Records, chosen: list[Subject]) -> Records:
    """Cells of these subjects alone."""
    keys = {
        cell.key for subject in chosen for s in subject.all_series for cell in (*s.noisy, *s.clean)
    }
    return Records(tuple(c for c in records if c.key in keys), records.separations)


def _about(dataset: Dataset | None, separations: list[SeparationRecord]) -> list[str]:
    if (
        dataset is None
        or not separations
        or dataset.fingerprint in {s.fingerprint for s in separations}
    ):
        return []
    return [f"The points of {dataset.name} are not drawn: they are not the data of these results."]


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shaketable", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": words.percent,
        "signed": words.signed,
        "interval": words.interval,
        "number": words.number,
        "upper": lambda value: at_most(value.high),
        "at_most": at_most,
    }
    return environment.get_template("page.html.j2")


@cache
def _vega() -> Markup:
    """Bundle the code that draws the charts, if possible in the version they are written for."""
    snippet = "window.vegaEmbed = vegaEmbed;"
    try:
        code = vl_convert.javascript_bundle(snippet, alt.SCHEMA_VERSION.rpartition(".")[0])
    except (RuntimeError, ValueError):  # it has no such version
        code = vl_convert.javascript_bundle(snippet)
    return Markup(code.replace("</script", "<\\/script").replace("<!--", "<\\!--"))

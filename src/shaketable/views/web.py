"""HTML files that need nothing else: their scripts, their look, and what they may do.

A file runs only the scripts and styles whose hashes its content security policy names, evaluates
no text as code, has no style in an attribute, and fetches nothing.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup, escape

from shaketable.views.blocks import Bar, Column, split_cell
from shaketable.views.text import begin_sentence, end_sentence, make_visible

HEATS = 20
"""Steps of the colour behind entries of tables: a class each, as styles are not in attributes."""


def fill_page(
    template: str, *, has_charts: bool, beneath: Sequence[str] = (), **content: Any
) -> str:
    """Fill in the template of a page, with its look, its scripts and its policy.

    Parameters
    ----------
    template
        Name of the template.
    has_charts
        Whether the code that draws charts is needed.
    beneath
        Addresses of images that stand beneath others.
    content
        What the template needs beside.

    Returns
    -------
    str
        The page.
    """
    style = get_environment().get_template("style.css.j2")
    look = Markup(style.render(heats=HEATS, beneath={name_beneath(a): Markup(a) for a in beneath}))
    scripts = [Markup(_bundle_vega())] if has_charts else []
    scripts += [Markup(files(__package__).joinpath("templates", "page.js").read_text("utf-8"))]
    return (
        get_environment()
        .get_template(template)
        .render(
            look=look,
            scripts=scripts,
            policy=Markup(make_policy(scripts, [look])),
            has_charts=has_charts,
            **content,
        )
    )


def make_policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Content security policy of a file that has these scripts and styles, and fetches nothing.

    >>> make_policy([], ["p {}"])[:70]
    "default-src 'none'; script-src 'none'; style-src 'sha256-SNJDlN1Iy2mnt"
    """

    def list_hashes(texts: Sequence[str]) -> str:
        sums = (base64.b64encode(sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{sum_}'" for sum_ in sums) or "'none'"

    return (
        f"default-src 'none'; script-src {list_hashes(scripts)}; "
        f"style-src {list_hashes(styles)}; img-src data:"
    )


def name_beneath(address: str) -> str:
    """Name of the class that puts an image beneath others; empty for none."""
    return f"beneath-{sha256(address.encode()).hexdigest()[:8]}" if address else ""


@cache
def get_environment() -> jinja2.Environment:
    """Templates of this package; no text that they are given is markup, or invisible."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shaketable.views"),
        autoescape=True,
        finalize=lambda value: make_visible(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "stop": end_sentence,
        "capital": begin_sentence,
        "card": lambda card: split_cell(card.value, Column(card.name, card.kind)),
        "lower_marks": _lower_marks,
        "bar": _place_bar,
    }
    environment.filters |= filters
    return environment


def _lower_marks(formula: str) -> Markup:
    """Write what stands in ``_{…}`` lower."""
    return Markup(re.sub(r"_\{(.*?)\}", r"<sub>\1</sub>", str(escape(formula))))


def _place_bar(bar: Bar) -> tuple[float | None, ...]:
    """Places of low, value, high and mark in a drawing 100 wide; what lies outside is at its edge.

    >>> _place_bar(Bar(0.5, 0.25, 0.75, start=0, end=1))
    (25.0, 50.0, 75.0, None)
    """
    span = (bar.end - bar.start) or 1.0
    return tuple(
        None if at is None else round(min(100.0, max(0.0, 100 * (at - bar.start) / span)), 2)
        for at in (bar.low, bar.value, bar.high, bar.mark)
    )


@cache
def _bundle_vega() -> str:
    """Bundle the code that draws the charts, if possible in the version they are written for."""
    snippet = "window.vegaEmbed = vegaEmbed;"
    try:
        code = vl_convert.javascript_bundle(snippet, alt.SCHEMA_VERSION.rpartition(".")[0])
    except (RuntimeError, ValueError):  # it has no such version
        code = vl_convert.javascript_bundle(snippet)
    return code.replace("\r", "").replace("</script", "<\\/script").replace("<!--", "<\\!--")

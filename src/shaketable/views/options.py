"""Options of every activity that prints results."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.core.options import COMMON, RUNNING, one_of, option, switch
from shaketable.views.formats import TABLE_FORMATS

_FORMATS = ("text", *TABLE_FORMATS)


@dataclass(frozen=True)
class PrintOptions:
    """How results are printed: as JSON for programs, or with tables in another format."""

    json: bool = switch(
        "print JSON, for programs; rates are percentages",
        group=COMMON,
        rivals="format",
        kept=False,
    )
    format: str = option(
        "how tables and sentences are printed; LaTeX needs the package booktabs (default: text)",
        "text",
        read=one_of("format", _FORMATS),
        metavar="|".join(_FORMATS),
        group=COMMON,
        rivals="format",
        kept=False,
    )
    quiet: bool = switch("no progress bar", group=RUNNING, kept=False)

"""One metric against another, one dot per model."""

from __future__ import annotations

from shaketable.findings.correlation.finding import AskedCorrelations, find_asked
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.results import Found, as_records


def find_correlations(found: Found, *, metric: str = "mscr,mce") -> AskedCorrelations:
    """One metric against another, one dot per model, with their correlation.

    Parameters
    ----------
    found
        Findings, records or a results file of four models or more on the same data.
    metric
        Two metrics with a comma between them, such as ``mscr,error``; see `correlate`.
    """
    return find_asked(as_records(found), metric)


FIGURES.add("correlation", FigureKind(find_correlations, has_numbers=True))

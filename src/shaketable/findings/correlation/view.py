"""What is shown of correlations of metrics, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.findings.mce.scores import TITLES
from shaketable.statistics.difference import excludes_zero
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block, Chart, Column, Entry, Heading, Sentence, Table

if TYPE_CHECKING:
    from shaketable.findings.correlation.numbers import Correlation
    from shaketable.views import drawing

_MAX_CHARTS = 4  # pairs of metrics that are drawn, those with MSCR first
SCATTER = (
    "One dot per model, with 95 % intervals of both metrics. The correlation is that of the dots."
)

CAVEAT = (
    "intervals count the models as a random sample of all like them; models of one family are "
    "alike, which makes them too narrow; errors of measurement pull a correlation towards 0"
)


def make_blocks(
    correlations: Sequence[Correlation], shown: Sequence[bool] | None = None, judged: str = ""
) -> list[Block]:
    """Return one row per pair of metrics, and charts; `shown` says which are other than 0."""
    marks = [False] * len(correlations) if shown is None else shown

    def draw() -> drawing.Chart:
        from shaketable.findings.correlation.charts import scatter_chart  # slow to import

        order = sorted(correlations, key=lambda c: "mscr" not in (c.first, c.second))
        return scatter_chart(order[:_MAX_CHARTS])

    table = Table(
        "correlations of metrics over the models on the same data, with 95 % intervals",
        (
            Column("metrics"),
            Column("data"),
            Column("models", "count"),
            Column("Spearman", "correlation"),
            Column("Pearson", "correlation"),
            Column("not error of measurement"),
        ),
        [
            (
                f"{name_metric(c.first)} with {name_metric(c.second)}",
                c.data,
                len(c.models),
                Entry(c.spearman, shown=mark),
                c.pearson,
                " and ".join(f"{100 * x:.0f} %" for x in c.reliability),
            )
            for c, mark in zip(correlations, marks, strict=True)
        ],
        limit=60,
        shown=judged,
        what="pairs of metrics",
    )
    sentences = [] if shown is not None else [Sentence(c.words) for c in correlations]
    return [
        Heading("Do metrics order models alike?", "correlation", "Correlations"),
        Chart(draw, SCATTER),
        table,
        *sentences,
        Sentence(CAVEAT),
    ]


def name_metric(metric: str) -> str:
    """Return the name of a metric as the papers write it, if they do.

    >>> name_metric("mce_lp"), name_metric("mscr[l2(eps_min)]"), name_metric("error")
    ('mCE_Lp', 'MSCR[l2(eps_min)]', 'error')
    """
    name, bracket, rest = metric.partition("[")
    return f"{ {'mscr': 'MSCR', **TITLES}.get(name, name) }{bracket}{rest}"


def format_correlation(e: Estimate) -> str:
    """Return a correlation and its interval with two decimals.

    >>> format_correlation(Estimate(-0.826, -0.91, -0.7, 0.95, "by hand"))
    '-0.83 [-0.91, -0.70]'
    """
    return f"{e.value:+.2f} [{e.low:+.2f}, {e.high:+.2f}]"


def describe(correlation: Correlation) -> str:
    """Say whether two metrics order models alike, without claiming more than the interval."""
    first, second = name_metric(correlation.first), name_metric(correlation.second)
    rank = correlation.spearman
    about = f"over {len(correlation.models)} models on {correlation.data}"
    if not excludes_zero(rank):
        return (
            f"{about}, it is not shown that {first} and {second} go together: Spearman "
            f"{format_correlation(rank)}"
        )
    way = "higher" if rank.value > 0 else "lower"
    return (
        f"{about}, those with a higher {first} tend to have a {way} {second}: Spearman "
        f"{format_correlation(rank)}"
    )

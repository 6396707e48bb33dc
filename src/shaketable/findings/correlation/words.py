"""Sentences about correlations of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.findings.mce.scores import TITLES
from shaketable.statistics.difference import excludes_zero
from shaketable.statistics.estimate import Estimate

if TYPE_CHECKING:
    from shaketable.findings.correlation.numbers import Correlation

SCATTER = (
    "One dot per model, with 95 % intervals of both metrics. The correlation is that of the dots."
)

CAVEAT = (
    "intervals count the models as a random sample of all like them; models of one family are "
    "alike, which makes them too narrow; errors of measurement pull a correlation towards 0"
)


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

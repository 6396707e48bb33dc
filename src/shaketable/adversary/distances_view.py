"""What is shown of distances to the nearest failure: mean, quantiles, and the sorted curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.adversary.distances import SHARES, Between, Distances
from shaketable.views.blocks import Block, Chart, Column, Sentence, Table
from shaketable.views.numbers import format_distance

if TYPE_CHECKING:
    from shaketable.views import drawing

_CAPTION = (
    "Share of points that withstand every change up to a size. The true curve lies between what "
    "is proven, the lower edge, and what searches found, the upper one. Where both are one line, "
    "it is known exactly. From eps_min on, the dashed line, losses may be inevitable."
)


def show_distances(each: Sequence[Distances]) -> list[Block]:
    """Return mean and quantiles, one table for all models, and one curve per model."""

    def draw() -> drawing.Chart:
        from shaketable.adversary.charts import distances_chart  # altair is slow to import

        return distances_chart(each)

    rows = [
        [d.name, name, *_tell(between)]
        for d in each
        for name, between in [
            ("mean", d.mean),
            *((_name_share(share), d.quantile(share)) for share in SHARES),
        ]
    ]
    table = Table(
        f"distance to the nearest failure{each[0].norm and ', ' + each[0].norm}",
        (
            Column("model"),
            Column("points"),
            Column("proven, at least", "distance"),
            Column("found, at most", "distance"),
            Column("95 % interval"),
        ),
        rows,
        limit=60,
    )
    about = [Sentence(describe(d), d.name) for d in each]
    return [*about, table, Chart(draw, _CAPTION)]


def describe(d: Distances) -> str:
    """How much is known, in a sentence."""
    wrong = int((d.high == 0).sum())
    right = d.n - wrong
    about = f"of {right} points that are labelled rightly, "
    if d.exact > wrong:
        about += f"the nearest failure is known exactly for {d.exact - wrong} ({d.why})"
    else:
        about += f"failures were found for {d.found - wrong}"
    if d.found < d.n:
        about += f", and none was found within {format_distance(d.reach)} for {d.n - d.found}"
    return about if (d.low > 0).any() else f"{about}; no distance is proven"


def _name_share(share: float) -> str:
    return "half fail within" if share == 0.5 else f"{100 * share:g} % fail within"


def _tell(between: Between) -> list[float | str | None]:
    """Both values, and the interval as text."""
    found = None if between.found is None else between.found.value
    high = format_distance(between.high) if math.isfinite(between.high) else "unknown"
    return [between.proven.value, found, f"{format_distance(between.low)} to {high}"]

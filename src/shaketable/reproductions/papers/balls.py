"""Balls of p-norms: volume factors (Table 6), samples (Fig. 1) and overlaps (Fig. 5)."""

from __future__ import annotations

import math

from shaketable.core.norms import norm_title
from shaketable.corruptions.balls.numbers import volume_table
from shaketable.reproductions.claims import Close
from shaketable.reproductions.numbers import Number, NumberTable
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare


@declare(
    "pnorm-table6",
    place="Table 6",
    about="how many times larger one ball is than another of the same epsilon",
    forms={
        "full": Form(
            about="volumes in closed form",
            takes="a second",
            claims=[
                Close("every ratio rounds to the printed one", "ratio: *"),
            ],
        ),
    },
    errata=["pnorm-table6"],
)
def measure_volumes(_asked: Asked) -> Measured:
    """Compute the volume factors of Table 6, rounded as in print."""
    from shaketable.corruptions.balls.charts import tabulate_volumes, volumes_chart

    table, published = volume_table(), load_published("pnorm-table6")
    numbers = []
    for factor in table:
        column = f"{norm_title(factor.p)} over {norm_title(factor.q)}"
        numbers.append(
            Number(
                f"d = {factor.d}",
                math.exp(factor.log),
                published[f"d = {factor.d}", column],
                column=column,
            )
        )
    return Measured(
        tables=[NumberTable("ratio", "Ratio of volumes", numbers, digits=1)],
        blocks=[tabulate_volumes(table)],
        figure=lambda: volumes_chart(volume_table(range(1, 101))),
    )

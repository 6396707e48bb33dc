"""What is shown of rare failures: one row per model and corruption, and the worst points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.rare import METHODS
from shaketable.views.blocks import Block, Column, Heading, Sentence, Table
from shaketable.views.numbers import format_spec

if TYPE_CHECKING:
    from shaketable.findings.rare.numbers import RareRisk

_ABOUT = (
    "The probability that the model answers wrongly when this noise is drawn anew, at each of the "
    "points and as the mean over them; not in per cent. Intervals are about these points: no "
    "number of draws says how rare a kind of point is that is not among them"
)


def make_blocks(
    risks: Sequence[RareRisk], differences: Sequence[tuple[str, Difference]]
) -> list[Block]:
    """Return means and bounds of all models, differences, and the worst points of each."""
    blocks: list[Block] = [
        Heading("How rare are wrong answers under noise?", "rare", "Rare failures"),
        Sentence(_ABOUT, level="detail"),
        Table(
            "probability of a wrong answer, with 95 % intervals",
            (
                Column("model"),
                Column("corruption"),
                Column("points", "count"),
                Column("mean over the points", "number", quantity="probability of a wrong answer"),
                Column("worst point", "number"),
                Column("all points below", "number"),
                Column("answers asked", "count"),
            ),
            [
                (
                    risk.label,
                    format_spec(risk.record.corruption),
                    len(risk.record.points.rows),
                    risk.mean,
                    risk.highest.value,
                    risk.highest.high,
                    risk.queries,
                )
                for risk in risks
            ],
            what="models",
        ),
        *(Sentence(_describe_methods(risk), risk.label, level="detail") for risk in risks),
    ]
    if differences:
        blocks.append(
            Table(
                "differences of the means",
                (
                    Column("corruption"),
                    Column("first"),
                    Column("second"),
                    Column("difference", "number"),
                    Column("in words"),
                ),
                [
                    (format_spec(corruption), d.first, d.second, d.value, d.words)
                    for corruption, d in differences
                ],
                limit=45,
                what="differences",
            )
        )
    return blocks + [_list_worst(risk) for risk in risks]


def _describe_methods(risk: RareRisk) -> str:
    """Say how many points were estimated how."""
    counts = Counter(risk.record.method.tolist())
    parts = [f"{METHODS[method]} {count}" for method, count in sorted(counts.items())]
    plain = f"; {risk.record.why_plain}" if risk.record.why_plain else ""
    return (
        f"points by method, under {format_spec(risk.record.corruption)}: {', '.join(parts)}{plain}"
    )


def _list_worst(risk: RareRisk) -> Table:
    """Return the points with the highest probabilities."""
    points = risk.record.points
    low, high = risk.risks.limits(0.025)
    return Table(
        f"where {risk.label} fails most often under {format_spec(risk.record.corruption)}",
        (
            Column("row", "count"),
            Column("class"),
            Column("probability", "number"),
            Column("method"),
        ),
        [
            (
                int(points.rows[i]),
                str(points.classes[points.y[i]]),
                Estimate(
                    float(risk.risks.value[i]),
                    float(low[i]),
                    float(high[i]),
                    0.95,
                    METHODS[risk.record.method[i]],
                ),
                METHODS[risk.record.method[i]],
            )
            for i in risk.worst
        ],
        level="detail",
        what="points",
    )


def describe_outcome(risks: Sequence[RareRisk], limit: float) -> list[Block]:
    """Say whether every mean is at most at the limit, and of how many points that is shown."""
    sentences: list[Block] = []
    for risk in risks:
        outcome = risk.decide(limit)
        mean, spec = risk.mean, format_spec(risk.record.corruption)
        below, above, unclear = risk.risks.count_above(limit)
        text = (
            f"{outcome}: a wrong answer has probability {mean.value:.3g} (95 % interval "
            f"{mean.low:.3g} to {mean.high:.3g}) under {spec}, required <= {limit:g}; of "
            f"the points {below} are shown to be below that, {above} above, "
            f"{unclear} neither"
        )
        if outcome == "inconclusive":
            text += "; a larger --budget would narrow it"
        sentences.append(Sentence(text, risk.label))
    return sentences

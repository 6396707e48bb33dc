"""Heat map of answers by true class; every number is one of the finding."""

from __future__ import annotations

import altair as alt

from shaketable.findings.confusion.finding import ModelConfusion
from shaketable.findings.confusion.numbers import Confusion
from shaketable.views import drawing, labels
from shaketable.views.drawing import Chart, Row, make_tooltip
from shaketable.views.text import to_one_line


def draw_confusion(model: ModelConfusion) -> list[Chart]:
    """Share of the answers of each class, clean beside the corruption with the most errors."""
    shown = [model.clean, *([model.worst] if model.corrupted else [])]
    return [_draw_panel(confusion) for confusion in shown]


def _draw_panel(confusion: Confusion) -> Chart:
    answered = confusion.answered_labels if confusion.counts[:, -1].any() else confusion.labels
    turned = len(answered) > 10 or max(map(len, answered)) > 3
    axis = labels.name_axis(answered, labelAngle=-90 if turned else 0)
    rows: list[Row] = [
        {
            "true": confusion.labels[i],
            "answer": answered[j],
            "share": 100 * float(confusion.shares[i, j]),
            "answers": int(confusion.counts[i, j]),
        }
        for i in range(len(confusion.labels))
        for j in range(len(answered))
    ]
    cells: alt.Chart = (
        drawing.make_chart(rows)
        .mark_rect()
        .encode(
            x=alt.X("answer:N", sort=answered, title="answer", axis=axis),
            y=alt.Y(
                "true:N",
                sort=confusion.labels,
                title="true class",
                axis=labels.name_axis(confusion.labels),
            ),
            color=alt.Color(
                "share:Q",
                title="share, %",
                scale=alt.Scale(domain=[0, 100], scheme="blues"),
            ),
            tooltip=make_tooltip(
                true="true class", answer="answer", share="share of the class, %", answers="answers"
            ),
        )
    )
    name = "clean" if confusion.series.first.is_clean else to_one_line(confusion.noise)
    height = 30 * len(confusion.labels)
    return drawing.finish_chart(alt.layer(cells).properties(height=height, title=name))

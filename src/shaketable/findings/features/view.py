"""What is shown of fragile features: an answer per model, a chart and a table per noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.core.checks import list_names
from shaketable.core.spec import parse_call
from shaketable.views.blocks import Block, Chart, Column, Entry, Heading, Sentence, Table
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.findings.features.finding import FeatureBoard, ModelLosses
    from shaketable.views import drawing

_LOSS = "accuracy lost under noise in one feature"
_ABOUT = (
    "Clean accuracy minus the accuracy under noise in one column, all others as they are, in "
    "percentage points. Both are of the same points, so even small losses show. Intervals are for "
    "one loss at a time."
)
_CHART = (
    "Accuracy lost under noise in one column at a time, in percentage points, with 95 % intervals, "
    "one dot per model. The column with the largest mean loss is at the top."
)
_APART = (
    "features under different noise are ranked apart, as a loss depends on the size of the noise; "
    "for one ranking name one noise that suits all columns, such as swap(0.1)"
)


def make_blocks(boards: Sequence[FeatureBoard]) -> list[Block]:
    """Return the most fragile features, then all losses by data and noise."""
    data = {board.data for board in boards}
    answers = [
        Sentence(describe_model(model, board.judged), model.label)
        for board in boards
        for model in board.models
    ]
    parts = [
        block
        for board in boards
        for block in (
            *([Heading(_name_board(board, data), level="detail")] if len(boards) > 1 else []),
            *_show_board(board),
        )
    ]
    return [
        Heading("Which feature is fragile?", "features", "Features"),
        Sentence(_ABOUT, level="detail"),
        *answers,
        *([Sentence(_APART)] if len(boards) > len(data) else []),
        *parts,
    ]


def _name_board(board: FeatureBoard, data: set[str]) -> str:
    return f"{board.noise}, {board.data}" if len(data) > 1 else board.noise


def _show_board(board: FeatureBoard) -> list[Block]:
    def draw() -> drawing.Chart:
        from shaketable.findings.features.charts import features_chart  # slow to import

        return features_chart(board)

    table = Table(
        f"accuracy lost under {board.noise} in one feature at a time, {board.data}, the largest "
        "mean first",
        (Column("feature"), *(Column(m.label, "points", quantity=_LOSS) for m in board.models)),
        [
            [row.feature, *(Entry(loss.value, shown=loss.shown) for loss in board.at(row))]
            for row in board.rows
        ],
        limit=60,
        shown=_describe_judging(board),
        what="features",
    )
    note = note_unnoticed(board)
    return [Chart(draw, _CHART), table, *([Sentence(note)] if note else [])]


def describe_model(model: ModelLosses, judged: int = 1) -> str:
    """Say which feature is most fragile, or which ones may be, of losses judged together."""
    number = len(model.losses)
    top, size = model.losses[0], f"{format_entry(model.losses[0].value)} percentage points"
    loss = f"{size} of accuracy are lost"
    if number == 1:
        seen = loss if model.most_fragile else f"no loss is shown; {size} were measured"
        return f"under {model.noise} in {top.feature}, {seen}"
    if not model.most_fragile:
        together = f" with 95 % confidence for all {judged} losses together" if judged > 1 else ""
        return (
            f"no feature shows a loss under {model.noise}{together}; the largest of {number} "
            f"measured losses is {size}, in {top.feature}"
        )
    names = [loss.feature for loss in model.most_fragile]
    most = f"the most fragile of {number} features under {model.noise} is"
    if len(names) == 1:
        return f"{most} {top.feature}: {loss}"
    return (
        f"{most}, with 95 % confidence, one of {len(names)}: {list_names(names)}; the largest "
        f"measured loss is {size}, in {top.feature}"
    )


def note_unnoticed(board: FeatureBoard) -> str:
    """Say under noise in which numbers no answer of any model changes; empty if there is none.

    A model that uses a column of few values may miss noise that does not reach the next value.
    """
    if parse_call(board.noise).name in ("swap", "missing", "typo"):
        return ""
    names = [r.feature for r in board.rows if all(loss.is_unnoticed for loss in board.at(r))]
    if not names:
        return ""
    return (
        f"no answer changes under {board.noise} in {list_names(names)}: models do not use such a "
        "column, or the noise does not reach its next value, as swap(0.1) does"
    )


def _describe_judging(board: FeatureBoard) -> str:
    """Say for how many losses together a claim holds."""
    if board.judged == 1:
        return "accuracy is lost: the 95 % interval excludes 0"
    return (
        f"accuracy is lost: shown with 95 % confidence for all {board.judged} losses together "
        "(Bonferroni)"
    )

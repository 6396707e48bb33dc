"""What is shown of confidence: sure and wrong answers, calibration, and what refusing brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shaketable.findings.confidence.numbers import BINS, SURE
from shaketable.views.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Entry,
    Heading,
    Sentence,
    Table,
)
from shaketable.views.numbers import format_percent

if TYPE_CHECKING:
    from shaketable.findings.confidence.finding import Confidence, ModelConfidence
    from shaketable.views import drawing

MAX_ROWS = 9
"""Rows of the summary; of more, models are shown on clean points and where they err most."""

SHOWN = (0.0, 0.1, 0.2, 0.5)
"""Shares of refused answers that tables have."""

_ABOUT = (
    "Confidence is the score of the class that was answered. The calibration error is the mean "
    f"distance of confidence and accuracy (l1) in {BINS} bins of equal width; l2 is the root of "
    "the mean squared distance. Both are debiased, as they would be too large if few points are in "
    f"a bin. An answer is sure if its confidence is above {SURE}"
)
_RELIABILITY = (
    f"Accuracy of the answers in each of {BINS} bins of confidence with its 95 % interval; larger "
    "dots hold more answers. Below the dashed line the model is surer than it is right. On clean "
    "points and under the corruption with the most errors."
)
_SELECTIVE = (
    "Accuracy of the other answers if a share of them, the least sure, is refused, with 95 % "
    "intervals; on clean points and under corruptions, those with the most errors if there are "
    "many; wide intervals go on beyond the frame. Confidence is of use if the lines rise."
)

_WORST = ", on clean points and under the noise with the most errors"


def make_blocks(models: Sequence[ModelConfidence]) -> list[Block]:
    """Return how sure models are when they are wrong, then details of every model."""
    several = len(models) > 1
    listed = [(model, each) for model in models for each in model.all]
    brief = [(m, c) for m, c in listed if c is m.clean or c is m.worst]
    is_long = len(listed) > MAX_ROWS
    return [
        Heading("Is it as sure as it is right?", "confidence", "Confidence"),
        *(Sentence(_describe(model), model.label) for model in models),
        *(Sentence(text, m.label) for m in models if (text := _describe_disagreement(m))),
        _show_numbers(brief, several, _WORST) if is_long else _show_numbers(listed, several),
        Sentence(_ABOUT, level="detail"),
        *([_show_numbers(listed, several, is_detail=True)] if is_long else []),
        _show_l2(listed, several),
        *(block for model in models for block in _show_model(model, several)),
        _show_selective(listed, several),
    ]


def _describe(model: ModelConfidence) -> str:
    """Say how many of the wrong answers are sure, on clean points and where most are wrong."""
    places = {c.place: c.numbers.sure_and_wrong for c in (model.clean, model.worst)}
    right = [place for place, share in places.items() if share is None]
    shares = [f"{format_percent(e)} {place}" for place, e in places.items() if e is not None]
    sure = f"sure, with a confidence above {SURE}"
    parts = [
        *([f"no wrong answer {' or '.join(right)}"] if right else []),
        *([f"of its wrong answers, {' and '.join(shares)} are {sure}"] if shares else []),
        *_name_class(model.worst),
    ]
    return "; ".join(parts)


def _name_class(worst: Confidence) -> Iterator[str]:
    """Say which class is wrong and sure most often; nothing if no answer is."""
    counts = worst.numbers.sure_errors_by_class
    for label, most in counts[:1]:
        share = most / sum(count for _, count in counts)
        yield f"{worst.place}, {share:.0%} of these are of class {label}"


def _describe_disagreement(model: ModelConfidence) -> str:
    """Count the answers that the scores disagree with; empty if there are none."""
    counts = [
        f"{found.disagreeing:,} of {found.answers:,} answers {each.place}"
        for each in dict.fromkeys((model.clean, model.worst))
        if (found := each.numbers).disagreeing
    ]
    if not counts:
        return ""
    return f"another class has a higher score than the answer in {' and '.join(counts)}"


def _show_numbers(
    listed: Sequence[tuple[ModelConfidence, Confidence]],
    several: bool,
    where: str = "",
    *,
    is_detail: bool = False,
) -> Table:
    rows: list[list[Cell]] = [
        [
            model.label if several else "",
            each.noise,
            each.accuracy.value,
            found.mean_confidence,
            "none is wrong" if found.sure_and_wrong is None else found.sure_and_wrong,
            found.sure_errors.value,
            found.l1,
            None if found.difference is None else Entry(found.difference, shown=each.is_shown),
        ]
        for model, each in listed
        for found in [each.numbers]
    ]
    judged = max(each.judged for _, each in listed)
    together = f"95 % confidence for all {judged} differences together (Bonferroni)"
    return Table(
        f"confidence, calibration error (l1, {BINS} bins), sure answers (above {SURE}){where}",
        (
            Column("model"),
            Column("noise"),
            Column("accuracy", "rate"),
            Column("confidence", "rate"),
            Column("sure when wrong", "rate"),
            Column("sure and wrong", "rate"),
            Column("calibration error", "rate"),
            Column("against clean", "points", quantity="difference of calibration errors"),
        ),
        rows,
        level="detail" if is_detail else "summary",
        limit=len(rows) if is_detail else MAX_ROWS,
        shown=f"it differs: {together if judged > 1 else 'the 95 % interval excludes 0'}",
    )


def _show_l2(listed: Sequence[tuple[ModelConfidence, Confidence]], several: bool) -> Table:
    rows: list[list[Cell]] = [
        [
            model.label if several else "",
            each.noise,
            found.l2,
            found.sure_errors,
            found.answers,
            found.disagreeing or None,
        ]
        for model, each in listed
        for found in [each.numbers]
    ]
    return Table(
        f"calibration error, l2, in {BINS} bins, and answers that are sure and wrong",
        (
            Column("model"),
            Column("noise"),
            Column("calibration error, l2", "rate"),
            Column("sure and wrong, of all answers", "rate"),
            Column("answers", "count"),
            Column("with a higher score elsewhere", "count"),
        ),
        rows,
        level="detail",
        limit=len(rows),
    )


def _show_selective(listed: Sequence[tuple[ModelConfidence, Confidence]], several: bool) -> Table:
    rows: list[list[Cell]] = [
        [
            model.label if several else "",
            each.noise,
            *(each.numbers.selective[refused] for refused in SHOWN),
        ]
        for model, each in listed
    ]
    columns = [
        Column(f"{100 * q:.0f} % refused" if q else "all answers", "rate", quantity="accuracy")
        for q in SHOWN
    ]
    return Table(
        "accuracy if a share of the answers, the least sure, is refused",
        (Column("model"), Column("noise"), *columns),
        rows,
        level="detail",
        limit=len(rows),
    )


def _show_model(model: ModelConfidence, several: bool) -> Iterator[Block]:
    def draw_bins() -> list[drawing.Chart]:
        from shaketable.findings.confidence.charts import draw_reliability  # slow to import

        return draw_reliability(model)

    def draw_curve() -> drawing.Chart:
        from shaketable.findings.confidence.charts import draw_selective  # slow to import

        return draw_selective(model)

    if several:
        yield Heading(f"Confidence of {model.label}", level="detail")
    title = f"Reliability of {model.label}"
    yield Chart(draw_bins, _RELIABILITY, level="detail", title=title)
    yield Chart(draw_curve, _SELECTIVE, level="detail")

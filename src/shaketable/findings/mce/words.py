"""Sentences and captions about errors under suites of corruptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.views.numbers import format_brief

if TYPE_CHECKING:
    from shaketable.findings.mce.scores import Score

SUITE_MEANS = (
    "Points are measured errors, bars their 95 % intervals; dashed lines are errors on clean "
    "points. Errors grow to the right."
)
SUITE_ERRORS = (
    "One panel per norm or kind of corruption, on one scale. Points are measured errors from the "
    "weakest level to the strongest, bars their 95 % intervals; dashed lines are errors on clean "
    "points."
)


def describe_score(score: Score) -> str:
    """Describe a suite's metric without claiming more than its interval."""
    return _describe_ice(score) if score.result.suite.metric == "ice" else _describe_mean(score)


def format_metric(score: Score) -> str:
    """Format the value and interval of a suite's metric; iCE has a sign."""
    if score.value is None:
        return "undefined"
    return format_brief(score.value, signed=score.result.suite.metric == "ice")


def _describe_mean(score: Score) -> str:
    corruptions = f"{len(score.result.series)} corruptions"
    if score.result.part_of:
        name = score.result.suite.name
        return f"mean error over the {corruptions} of {name}, part of {score.result.part_of}"
    text = f"mean error over {corruptions}, against {format_brief(score.clean)} on clean points"
    for name, value in score.against_alexnet.items():
        text += f"; {name} {value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
    if score.worst.mean.value <= score.clean.value:
        return text
    what, kind = ("norms", " noise") if score.worst.p is not None else ("kinds", "")
    highest = f"{score.worst.title}{kind}, {format_brief(score.worst.mean)}"
    return f"{text}; the highest of {len(score.ladders)} {what}, as measured, is {highest}"


def _describe_ice(score: Score) -> str:
    kind = "noises derived from ones" if score.result.suite.derived else "noises"
    noises = f"{len(score.result.series)} {kind} published as imperceptible"
    value = score.value
    if value is None:
        return (
            "there is no error on clean points to compare with; the mean error under "
            f"{noises} is {format_brief(score.mean)}"
        )
    if value.low > 0 or value.high < 0:
        word = "more" if value.low > 0 else "fewer"
        return (
            f"under {noises} it makes {abs(value.value):.2%} {word} errors than on clean "
            "points (0 would be as many)"
        )
    return (
        f"no change shown; under {noises} it may make up to {-value.low:.2%} fewer or "
        f"{value.high:.2%} more errors than on clean points (0 would be as many)"
    )

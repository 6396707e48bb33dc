"""What is shown of errors under suites of corruptions, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaketable.corruptions.published import find_published_folder
from shaketable.views.blocks import (
    Block,
    Card,
    Cards,
    Chart,
    Column,
    Definition,
    Entry,
    Heading,
    Sentence,
    Table,
    format_card,
    tabulate_differences,
)
from shaketable.views.numbers import format_brief, format_interval, format_percent

if TYPE_CHECKING:
    from shaketable.findings.mce.scores import Ladder, Score, Scoreboard

SUITE_MEANS = (
    "Points are measured errors, bars their 95 % intervals; dashed lines are errors on clean "
    "points. Errors grow to the right."
)
SUITE_ERRORS = (
    "One panel per norm or kind of corruption, on one scale. Points are measured errors from the "
    "weakest level to the strongest, bars their 95 % intervals; dashed lines are errors on clean "
    "points."
)
_DRAWS = {
    "ladder": "A point’s noise was drawn once per norm and scaled to all sizes.",
    "independent": "A point’s noise was drawn anew for every size.",
    "shared": "All points have the same noise.",
}
_PAIRED = (
    "Both models of a row were evaluated under the same corruptions of the same points, so even "
    "small differences show. Intervals are for one comparison at a time."
)


def make_blocks(boards: Sequence[Scoreboard]) -> list[Block]:
    """Return one section per suite, and the definitions of its metrics."""
    return [*(block for board in boards for block in _show_board(board)), *_define(boards)]


def _show_board(board: Scoreboard) -> list[Block]:
    what = "p-norm noise" if board.of_norms else "Common corruptions"
    place = Heading(
        f"{what}: suite {board.suite.name} on {board.data}", "suite", f"Suite {board.suite.name}"
    )
    table = _tabulate_single(board) if board.levels == 1 else _tabulate_levels(board)
    return [
        place,
        *(Sentence(text, level="detail") for text in _list_facts(board)),
        *map(Sentence, _describe_draws(board)),
        Cards([_make_card(board, score) for score in board.scores]),
        Chart(lambda: _charts().means_chart(board), SUITE_MEANS),
        table,
        *(
            [
                Chart(
                    lambda: _charts().draw_error_panels(board),
                    SUITE_ERRORS,
                    "Error at every size",
                    board.labels,
                )
            ]
            if board.levels > 1
            else []
        ),
        *_show_differences(board),
    ]


def _charts() -> Any:
    return import_module("shaketable.findings.mce.charts")  # slow


def _make_card(board: Scoreboard, score: Score) -> Card:
    def make(s: Score) -> Card:
        kind = "change" if s.result.suite.metric == "ice" else "rate"
        return Card(s.label, s.value, s.metric, kind, [s.meaning])  # type: ignore[arg-type]

    parts = [s for part in board.parts for s in part.scores if s.label == score.label]
    asides = [f"{format_card(make(s))}: {s.meaning}" for s in parts]
    card = make(score)
    return Card(card.title, card.value, card.name, card.kind, card.sentences, asides)


def _tabulate_single(board: Scoreboard) -> Table:
    rows = [
        row
        for score in board.scores
        for row in (
            (score.label, "clean", score.clean, None),
            *(
                (score.label, level.spec, level.error, level.change)
                for ladder in score.ladders
                for level in ladder.levels
            ),
        )
    ]
    return Table(
        f"error, and error minus that on clean points, with 95 % intervals; suite "
        f"{board.suite.name}, {board.sizes}",
        (
            Column("model"),
            Column("noise"),
            Column("error", "rate"),
            Column("change against clean", "points", quantity="change of the error"),
        ),
        rows,
        limit=200,
    )


def _tabulate_levels(board: Scoreboard) -> Table:
    steps = range(1, board.levels + 1)
    ladders = [(score, ladder) for score in board.scores for ladder in score.ladders]
    highest = max(level.error.value for _, ladder in ladders for level in ladder.levels) or 1.0
    kind = "norm" if board.of_norms else "kind"
    return Table(
        f"error in % under every {kind}: the mean with its 95 % interval, and every level from the "
        f"weakest to the strongest; suite {board.suite.name}, {board.sizes}",
        (
            Column("model"),
            Column(kind),
            Column("mean", "rate", "", "error"),
            *(Column(str(step), "rate", "", "error") for step in steps),
        ),
        [
            (score.label, ladder.title, ladder.mean, *_list_levels(ladder, steps, highest))
            for score, ladder in ladders
        ],
        limit=200,
    )


def _list_levels(ladder: Ladder, steps: range, highest: float) -> list[Entry | None]:
    levels = {level.number: level for level in ladder.levels}
    return [
        Entry(
            level.error.value,
            "" if ladder.p is None else f"{level.size:.4g}",
            heat=level.error.value / highest,
            about=f"{level.spec}: {format_percent(level.error)}, 95 % interval "
            f"{format_interval(level.error)}",
        )
        if (level := levels.get(step)) is not None
        else None
        for step in steps
    ]


def _show_differences(board: Scoreboard) -> list[Block]:
    if not board.differences:
        return []
    tables = [
        tabulate_differences(
            f"{each.scores[0].metric} of the first minus that of the second over the corruptions "
            f"of {each.suite.name}, with 95 % intervals",
            each.differences,
            f"difference in {each.scores[0].metric}",
        )
        for each in (board, *board.parts)
        if each.differences
    ]
    return [Heading("Which model makes fewer errors?"), Sentence(_PAIRED, level="detail"), *tables]


def _list_facts(board: Scoreboard) -> list[str]:
    """Sentences about the source of the corruptions and how they were drawn."""
    ladders = board.scores[0].ladders
    missing = [
        f"{ladder.title} noise begins with level {ladder.levels[0].number}: lower levels would "
        "change no value of a point."
        for ladder in ladders
        if ladder.levels[0].number > 1
    ]
    return [_describe_origin(board, len(ladders)), *missing]


def _describe_origin(board: Scoreboard, kinds: int) -> str:
    suite = board.suite
    if board.of_norms:
        sizes = (
            f"{suite.derived}, so that they move every single value as much as there"
            if suite.derived
            else "the published ones"
        )
        return f"{len(suite.specs)} corruptions in {kinds} norms. Their sizes are {sizes}."
    origin = f"not read from a published set: {board.sizes}"
    if folder := find_published_folder(suite.specs):
        origin = f"published images that were read from {folder}, not generated"
    return (
        f"{len(suite.specs)} corruptions of {kinds} kinds, {origin}. The mean is plain: it is "
        "not normalised by another model's errors."
    )


def _describe_draws(board: Scoreboard) -> list[str]:
    folder = find_published_folder(board.suite.specs)
    word = "image" if folder else "draw"
    is_ladder = board.levels > 1 and not folder and board.of_norms
    sentences = (
        f"{c.n} test points, {c.k} {word if c.k == 1 else f'{word}s'} each."
        + (f" {_DRAWS[c.setting.draws]}" if is_ladder else "")
        + (" Noise was drawn on the model's own device." if c.setting.noise == "device" else "")
        for c in (score.first for score in board.scores)
    )
    return list(dict.fromkeys(sentences))


def _define(boards: Sequence[Scoreboard]) -> list[Block]:
    common = Definition(
        "mCE, mCE_{15}, mCE_{xN} = mean share of wrong answers over 5 severities of all 19 common "
        "corruptions, of the benchmark’s 15, of the 15 that are not noise on single pixels; not "
        "normalised",
        "Hendrycks & Dietterich (2019): the corruptions. Siedel et al. (2024), Eq. 3: the plain "
        "mean. Lower is better.",
    )
    of_norms = [
        Definition(
            "E = share of wrong answers on noisy copies of every test point, drawn uniformly from "
            "the ball of a norm around it; for L0 noise, with a share of its values set to the "
            "least or the greatest possible"
        ),
        Definition("mCE_{Lp} = mean of E over all norms and sizes of a suite"),
        Definition(
            "iCE = (mean of E over imperceptible noises − E_{clean}) / E_{clean}",
            "Siedel et al. (2024): random p-norm corruptions, Section 4.1 and Eq. 4. Lower is "
            "better; an iCE of 0: imperceptible noise changes nothing.",
        ),
    ]
    derived = Definition(
        "Derived sizes: ε = ε_{CIFAR} (d / 3072)^(1/p) (high − low) for points of d values; the "
        "shares of L0 noise stay"
    )
    return [
        *([] if all(b.of_norms for b in boards) else [common]),
        *(of_norms if any(b.of_norms for b in boards) else []),
        *([derived] if any(b.of_norms and b.suite.derived for b in boards) else []),
    ]


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

"""What is said first: verdicts in a table, the ranking in words, problems and their pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from shaketable.findings.comparison.ranking import say_rankings
from shaketable.findings.inputs.finding import find as find_inputs
from shaketable.findings.inputs.view import describe_flips
from shaketable.findings.mce.finding import find as find_suite_errors
from shaketable.findings.mscr.finding import find as find_robustness
from shaketable.findings.mscr.view import chart_accuracies
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.summary.numbers import MARGIN, Board, Line, Verdict
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import (
    Bar,
    Block,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Heading,
    Sentence,
    Table,
    Tone,
)
from shaketable.views.numbers import format_percent, format_spec, say_below
from shaketable.views.text import to_sentence

if TYPE_CHECKING:
    from shaketable.findings.mce.scores import Scoreboard
    from shaketable.findings.requirements.check import Decision
    from shaketable.findings.summary.finding import Summary
    from shaketable.views import drawing

_FEW = 3  # models whose points are named
MAX_ROWS = 20
"""Models in a table; of more, those with the most accuracy left are shown."""

_TONES: dict[Verdict, Tone] = {
    "robust as far as shown": "kept",
    "loses accuracy": "lost",
    "inconclusive": "open",
}
_OF_MANY: dict[Verdict, str] = {
    "robust as far as shown": "are robust as far as shown",
    "loses accuracy": "lose accuracy",
    "inconclusive": "are inconclusive",
}
_RULES = (
    "loses accuracy: the 95 % interval of the change of accuracy is below 0; robust as far as "
    f"shown: it is above −{100 * MARGIN:g} % and reaches 0 or more; inconclusive: else"
)
_CHANGES = {
    "eps_min": "the change is the MSCR at eps_min, in per cent of the clean accuracy",
    "suite": "the change is the mean accuracy over the suite minus that on clean points, paired, "
    "in percentage points",
    "worst": "the change is the accuracy under a noise minus that on clean points, paired, in "
    "percentage points; of all noises that with the largest loss that is shown counts, without one "
    "that which may lose most, with intervals that hold for all together (Bonferroni)",
}
_GUESSING = "a model whose clean accuracy is near guessing is not called robust"
_ORDER = (
    "Problems are those that are shown with 95 % confidence, together with all others of their "
    "kind: requirements that are not met, then of every kind the largest, by the percentage points "
    "that it costs over all points."
)
_NONE = (
    "none is shown: no loss under a corruption, no class, group, feature or confusion that stands "
    "out, and no model that is surer than right; smaller ones may take more points to show"
)
_HEAT = (
    "Share of wrong answers of every model, on one scale of colours; the kinds of corruption with "
    "the most wrong answers on average are at the top."
)


def make_blocks(found: Summary) -> list[Block]:
    """Return verdicts and rankings at the top, then problems with their pictures."""
    rankings = say_rankings(found.rankings)
    return [
        *(block for board in found.boards for block in _show_board(board, found)),
        *(
            Sentence(format_spec(words), under, level="headline", place="comparison")
            for under, words in rankings
        ),
        *(_show_problems(found) if found.boards or found.problems else []),
    ]


def _show_problems(found: Summary) -> list[Block]:
    listed = [
        Sentence(format_spec(p.text), f"{i}. {p.kind}", place=p.place)
        for i, p in enumerate(found.problems, 1)
    ]
    return [
        Heading("What are the largest problems?", "summary", "Problems"),
        *(listed or [Sentence(_NONE, tone="quiet")]),
        *_name_flips(found),
        Sentence(_ORDER, level="detail", tone="quiet"),
        *_draw(found),
        *([Definition(_RULES, _describe_rules(found))] if found.boards else []),
    ]


def _name_flips(found: Summary) -> Iterator[Sentence]:
    """Name the points that flip: of one model with what is known of them, of a few in short."""
    inputs = found.groups.take(find_inputs)
    if inputs is None or len(inputs.labels) > _FEW:
        return
    for label in inputs.labels:
        facts = islice(describe_flips(inputs, label), None if len(inputs.labels) == 1 else 1)
        for text in facts:
            yield Sentence(f"{format_spec(label)}: {text}", "inputs that flip", place="inputs")


def _describe_rules(found: Summary) -> str:
    """Say which change decides, for what the verdicts are based on."""
    names = dict.fromkeys(board.basis.name for board in found.boards)
    guess = any(line.is_guessing for board in found.boards for line in board.lines)
    parts = [_CHANGES[name] for name in names] + [_GUESSING] * guess
    return " ".join(map(to_sentence, parts))


def _draw(found: Summary) -> Iterator[Block]:
    robustness = found.groups.take(find_robustness)
    if robustness and (chart := chart_accuracies(robustness.fitted)):
        yield chart
    errors = found.groups.take(find_suite_errors)
    for board in errors.boards if errors else ():
        if board.levels > 1:
            yield _draw_heat(board)


def _draw_heat(board: Scoreboard) -> Chart:
    def draw() -> drawing.Chart:
        from shaketable.findings.summary.charts import heat_map  # slow to import

        return heat_map(board)

    return Chart(draw, _HEAT, min_width=560)


def _show_board(board: Board, found: Summary) -> Iterator[Block]:
    lines = board.lines if len(board.lines) <= MAX_ROWS else board.ordered
    basis = board.basis
    of_suite = basis.name == "suite"
    draw_bar = _make_bars(board)
    yield Table(
        _name_board(board),
        (
            Column("model"),
            Column("verdict"),
            Column(basis.heading, basis.kind, "%" if basis.kind == "change" else None),
            Column("against clean", "points", quantity="change of accuracy over a suite"),
            Column("wrong answer", "bound", quantity="probability of a wrong answer"),
            Column("under"),
            Column("clean accuracy", "rate"),
            Column("hurts most"),
            Column("requirements"),
        ),
        [
            [
                format_spec(line.label),
                _show_verdict(line),
                line.value and Entry(line.value, bar=draw_bar(line)),
                line.change if of_suite else None,
                _show_error(line),
                _show_noise(board, line),
                line.clean.accuracy.value,
                _show_worst(line),
                _count_met(line, found.decisions, found.undecided),
            ]
            for line in lines
        ],
        level="headline",
        limit=MAX_ROWS,
        what="models",
    )
    if len(lines) > MAX_ROWS:
        counts = Counter(line.verdict for line in lines)
        parts = ", ".join(f"{counts[v]} {many}" for v, many in _OF_MANY.items() if counts[v])
        yield Sentence(f"of {len(lines)} models, {parts}", level="headline")


def _name_board(board: Board) -> str:
    names = {
        "eps_min": "verdict by the MSCR, the change of accuracy under noise of size eps_min",
        "suite": f"verdict by suite {board.basis.suite}, of which not every loss may be avoidable",
        "worst": "verdict by the worst noise: accuracy minus that on clean points",
    }
    return f"{names[board.basis.name]}, {board.data}"


def _show_verdict(line: Line) -> Entry:
    note = "near guessing" if line.is_guessing else "undefined" if line.change is None else ""
    return Entry(line.verdict, note, tone=_TONES[line.verdict])


def _show_noise(board: Board, line: Line) -> Cell:
    """Name the noise, unless that is the same for all models of the table."""
    if line.series is None or all(x.under == line.under for x in board.lines) > (
        board.basis.name == "worst"
    ):
        return None
    note = f"of {line.candidates} noises" if line.candidates > 1 else ""
    return Entry(line.under, note, place=line.place)


def _show_error(line: Line) -> Cell:
    if line.series is None:
        return None
    if is_bounded(line.series):
        return line.series.error_bound
    return Entry(line.series.accuracy.subtract_from(1), kind="rate")


def _show_worst(line: Line) -> Cell:
    """Name the corruption with the most errors, unless that is what the verdict is based on."""
    worst = line.worst
    if worst is None or worst.series is line.series:
        return None
    below = say_below(worst.error.high) if worst.bounded else ""
    note = ", ".join(filter(None, [f"{format_percent(worst.error)} wrong", below]))
    return Entry(worst.noise, note, place=worst.place)


def _count_met(line: Line, decisions: Sequence[Decision], undecided: int) -> Cell:
    own = [d.outcome for d in decisions if d.model == line.label]
    if not own:
        return None
    met = own.count("met")
    tone: Tone = (
        "lost" if "not met" in own else "kept" if met == len(own) and not undecided else "open"
    )
    note = f"{undecided} not measured" if undecided else ""
    return Entry(f"{met} of {len(own)} met", note, tone=tone, place="requirements")


def _make_bars(board: Board) -> Callable[[Line], Bar | None]:
    """Return a function that makes the bar of a line, all on one scale."""
    lines = [(line, line.value) for line in board.lines if line.value is not None]
    ends = [x for line, value in lines for x in (value.low, value.high, _choose_mark(board, line))]
    start, end = min(ends, default=0.0), max(ends, default=0.0)

    def make(line: Line) -> Bar | None:
        value = line.value
        if value is None or not start < end:
            return None
        return Bar(value.value, value.low, value.high, start, end, _choose_mark(board, line))

    return make


def _choose_mark(board: Board, line: Line) -> float:
    """Value on clean points, or no change."""
    clean: Estimate = line.clean.accuracy
    if board.basis.kind != "rate":
        return 0.0
    return clean.value if board.basis.heading == "mean accuracy" else 1 - clean.value

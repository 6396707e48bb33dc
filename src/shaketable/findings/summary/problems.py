"""The largest problems: what the other findings show to cost accuracy, or to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shaketable.findings.confidence.finding import find as find_confidence
from shaketable.findings.confidence.numbers import SURE
from shaketable.findings.confusion.finding import find as find_confusion
from shaketable.findings.features.finding import find as find_features
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import Series
from shaketable.findings.subgroups.finding import find as find_subgroups
from shaketable.findings.summary.numbers import Board, Line
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_entry, format_percent, format_share
from shaketable.views.text import join_names

if TYPE_CHECKING:
    from shaketable.findings.requirements.check import Decision

MOST = 5
"""Problems that are listed at most."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Something that the data show to be wrong with a model."""

    kind: str
    """What it is, such as ``worst corruption``."""
    label: str
    """Label of the model."""
    text: str
    """What is wrong, as a sentence that begins with the model."""
    place: str
    """Section that has more about it."""
    size: Estimate | None = None
    """Accuracy lost, or errors in excess, as a fraction; None for what comes before all sizes."""
    share: float = 1.0
    """Share of all points that it is about: problems are ordered by what they cost in all."""

    @property
    def cost(self) -> float:
        """Size over all points, by which problems are ordered."""
        return 2.0 if self.size is None else self.share * self.size.value


def list_problems(
    groups: RecordGroups,
    boards: list[Board],
    decisions: tuple[Decision, ...] = (),
    others: tuple[Problem, ...] = (),
) -> list[Problem]:
    """Return the problems that are shown, those of other findings too, at most `MOST`.

    Requirements that are not met come first, then models that guess; then the largest problem of
    every kind, by what it costs over all points. It says which other models have one of its kind.
    """
    failed = [_describe_failure(d) for d in decisions if d.outcome == "not met"]
    by_kind: dict[str, list[Problem]] = {}
    for problem in (*_list_all(groups, boards), *others):
        by_kind.setdefault(problem.kind, []).append(problem)
    largest = [_join(sorted(same, key=lambda p: -p.cost)) for same in by_kind.values()]
    return [*failed, *sorted(largest, key=lambda p: -p.cost)][:MOST]


def _join(problems: list[Problem]) -> Problem:
    """Return the first of several problems of a kind, with the names of other models."""
    first = problems[0]
    others = [*dict.fromkeys(p.label for p in problems if p.label != first.label)]
    if not others:
        return first
    names = join_names(others, "other models")
    return replace(first, text=f"{first.text}; also shown for {names}")


def _describe_failure(decision: Decision) -> Problem:
    return Problem("failed requirement", decision.model, str(decision), "requirements")


def _list_all(groups: RecordGroups, boards: list[Board]) -> Iterator[Problem]:
    lines = {id(line.clean): line for board in boards for line in board.lines}
    yield from (_describe_guess(line) for line in lines.values() if line.is_guessing)
    fragile = [*_list_features(groups)]
    yield from _list_losses(boards, {problem.label for problem in fragile})
    yield from _list_groups(groups)
    yield from fragile
    yield from _list_turns(groups)
    yield from _list_excesses(groups)


def _describe_guess(line: Line) -> Problem:
    place = "accuracy" if line.clean.first.train_epsilon is None else "study"
    share = format_percent(line.clean.accuracy)
    text = f"{line.label} hardly knows the classes: its accuracy on clean points is {share}"
    return Problem("near guessing", line.label, text, place)


def _list_losses(boards: list[Board], fragile: set[str]) -> Iterator[Problem]:
    """Yield losses at eps_min, and those under the worst corruption of all.

    Models in `fragile` have problems of their own under noise in one feature.
    """
    seen: set[tuple[str, int]] = set()
    for board in boards:
        for line in board.lines:
            s, worst = line.series, line.worst
            if board.basis.name == "eps_min" and s is not None and line.verdict == "loses accuracy":
                loss = s.accuracy_change.subtract_from(0)
                text = f"{_say_loss(line.label, loss, line.under, s)}; this loss is avoidable"
                yield Problem("avoidable loss", line.label, text, "verdict", loss)
            if worst is None or (worst.place == "features" and line.label in fragile):
                continue
            is_named = board.basis.name == "eps_min" and worst.series is s
            if is_named or (line.label, id(worst.series)) in seen:
                continue
            seen.add((line.label, id(worst.series)))
            loss = worst.series.accuracy_change.subtract_from(0)
            if loss.value > 0 and is_shown(loss, worst.number):
                text = _say_loss(line.label, loss, worst.noise, worst.series)
                if worst.is_beyond_eps_min:
                    text += "; this noise is larger than eps_min, so not all may be avoidable"
                yield Problem("worst corruption", line.label, text, worst.place, loss)


def _say_loss(label: str, loss: Estimate, noise: str, series: Series) -> str:
    clean, noisy = (format_share(s.accuracies.mean()) for s in (series.on_clean, series))
    return f"{label} loses {_say_points(loss)} of accuracy under {noise}, from {clean} to {noisy}"


def _say_points(size: Estimate) -> str:
    return f"{format_entry(size)} percentage points"


def _list_groups(groups: RecordGroups) -> Iterator[Problem]:
    found = groups.take(find_subgroups)
    for board in found.boards if found else ():
        for model in board.models:
            breakdown = model.chosen
            worst = breakdown.worst
            if worst.gap is None or not worst.shown or worst.gap.value >= 0:
                continue
            under = "on clean points" if breakdown is model.clean else f"under {breakdown.noise}"
            size = worst.gap.subtract_from(0)
            text = (
                f"{model.label} is right less often in {board.by} {worst.label} than elsewhere, by "
                f"{_say_points(size)}, {under}"
            )
            kind = "worst class" if board.is_class else f"worst group by {board.by}"
            share = worst.n / breakdown.cell.n
            yield Problem(kind, model.label, text, "groups", size, share=share)


def _list_features(groups: RecordGroups) -> Iterator[Problem]:
    found = groups.take(find_features)
    for board in found.boards if found else ():
        for model in board.models:
            top = model.losses[0]
            if top.shown:
                text = (
                    f"{model.label} loses {_say_points(top.value)} of accuracy under "
                    f"{model.noise} in {top.feature} alone"
                )
                yield Problem("fragile feature", model.label, text, "features", top.value)


def _list_turns(groups: RecordGroups) -> Iterator[Problem]:
    found = groups.take(find_confusion)
    for model in found.models if found else ():
        turns = [
            (turn.growth, turn, confusion)
            for confusion in model.corrupted
            for turn in confusion.turns
            if turn.shown and turn.growth is not None
        ]
        if turns:
            size, turn, confusion = max(turns, key=lambda x: x[0].value * x[1].n)
            text = (
                f"{model.label} takes class {turn.true} for {turn.answered} more often under "
                f"{confusion.noise}: in {format_share(turn.noisy)} of the answers at {turn.true}, "
                f"{_say_points(size)} more than on clean points"
            )
            share = turn.n / confusion.series.first.n
            yield Problem("worst confusion", model.label, text, "confusion", size, share=share)


def _list_excesses(groups: RecordGroups) -> Iterator[Problem]:
    found = groups.take(find_confidence)
    models = found.models if found else ()
    judged = sum(len(model.all) for model in models)
    for model in models:
        top = max(model.all, key=lambda each: each.numbers.excess.value)
        size = top.numbers.excess
        if size.value > 0 and is_shown(size, judged):
            text = f"{model.label} is surer than it is right, by {_say_points(size)} {top.place}"
            if share := top.numbers.sure_errors.value:
                text += f": {format_share(share)} of its answers are sure (above {SURE}) and wrong"
            yield Problem("too sure", model.label, text, "confidence", size)

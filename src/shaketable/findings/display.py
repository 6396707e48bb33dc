"""Records as people read them in a terminal, and as programs read them in JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from shaketable.core.errors import UndefinedError
from shaketable.core.norms import norm_to_json
from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Records
from shaketable.findings.mce.scores import Ladder, Scoreboard, scoreboards, suites_json, unfinished
from shaketable.findings.mcv.boards import mcv_boards, mcv_json
from shaketable.findings.mcv.table import print_board
from shaketable.findings.mscr.numbers import (
    accuracy,
    error_probability,
    mscr_difference,
    relative_loss,
    verdict,
)
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.subjects import Subject, noise_name, subjects
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_bound, format_entry, format_percent
from shaketable.views.terminal import print_notes, print_table


def evaluation_json(
    records: Records, notes: Sequence[str], *, reference: str = ""
) -> dict[str, Any]:
    """Fixed models, suites and differences as one object; accuracies and errors in per cent."""
    found = subjects(records)
    models = []
    for subject in found:
        cell = subject.first
        cells = [
            {
                "corruption": s.first.corruption,
                "at_eps_min": s.at_eps_min,
                **_numbers(accuracy(s)),
            }
            for s in subject.all_series
        ]
        about = {
            "model": cell.model,
            "label": subject.label,
            "norm": subject.norm,
            "eps_min": _eps_min(subject),
            "data": cell.data,
            "n": cell.n,
            "k": cell.k,
            "seed": cell.seed,
            "bounds": cell.bounds,
        }
        models.append({**about, "cells": cells, **_mscr_json(subject)})
    differences = [
        {"first": a.label, "second": b.label, **_numbers(difference)}
        for a, b, difference in _differences(found)
    ]
    return {
        "models": models,
        "mscr_differences": differences,
        **suites_json(scoreboards(records)),
        **mcv_json(mcv_boards(records, reference=reference)),
        "notes": [*notes, *unfinished(records)],
    }


def print_evaluation(records: Records, notes: Sequence[str] = (), *, reference: str = "") -> None:
    """Fixed models as one table, with verdicts and differences in words, and a table a suite."""
    found = subjects(records)
    rows, words = [], []
    facts: dict[str, None] = {}
    for subject in found:
        cell, eps_min = subject.first, _eps_min(subject)
        size = "" if eps_min is None else f"; {subject.norm} eps_min = {eps_min:.6g}"
        facts[f"{cell.data}: {cell.n} test points{size}"] = None
        for s in subject.all_series:
            change = "" if s.first.corruption == "clean" else _percent(_defined(s))
            rows.append([subject.label, noise_name(s), _percent(accuracy(s)), change])
        if not subject.left_to_suites:
            words.append(f"{subject.label}: {_mscr_json(subject)['verdict']}")
        words += [f"  {risk_sentence(s)}" for s in subject.at_eps_min]
    for a, b, d in _differences(found):
        chance = "" if d.low > 0 or d.high < 0 else "; the difference may be chance"
        words.append(
            f"MSCR of {a.label} minus {b.label}, on the same points and noise: {_percent(d)} "
            f"percentage points{chance}"
        )
    print("\n".join(facts))
    header = ["model", "noise", "accuracy, %", "change, % of clean accuracy (MSCR at eps_min)"]
    if not any(row[3] for row in rows):
        header, rows = header[:3], [row[:3] for row in rows]
    print_table("95 % intervals in brackets", header, rows)
    if words:
        print("\n".join(words))
    for board in scoreboards(records):
        _print_suite(board)
    for mcv_board in mcv_boards(records, reference=reference):
        print_board(mcv_board)
    print_notes([*notes, *unfinished(records)])


def _print_suite(board: Scoreboard) -> None:
    for score in board.scores:
        cell = score.first
        title = (
            f"{score.label} on {cell.data}: error in %, suite {board.suite.name} ({board.sizes}), "
            f"{cell.n} test points, {cell.k} {'draw' if cell.k == 1 else 'draws'} each"
        )
        if board.levels == 1:
            noises = [level for ladder in score.ladders for level in ladder.levels]
            rows = [[n.spec, _percent(n.error), _percent(n.change)] for n in noises]
            header = ["noise", "error, %", "change against clean, points"]
            print_table(title, header, [["clean", _percent(score.clean), ""], *rows])
        else:
            steps = range(1, board.levels + 1)
            kind = "kind" if score.ladders[0].p is None else "norm"
            rows = [_ladder_row(ladder, steps) for ladder in score.ladders]
            print_table(title, [kind, "mean", *map(str, steps)], rows, spaces=2)
        print(f"{score.label}: {score}")
    for d in board.differences:
        print(
            f"{score.metric} of {d.first} minus {d.second}, on the same points and noise: "
            f"{_percent(d.value)} percentage points; {d.words}"
        )


def _ladder_row(ladder: Ladder, steps: Iterable[int]) -> list[str]:
    errors = {level.number: f"{100 * level.error.value:.1f}" for level in ladder.levels}
    mean = f"{100 * ladder.mean.value:.2f}"
    return [ladder.title, mean, *(errors.get(step, "-") for step in steps)]


@dataclass(frozen=True, eq=False)
class StudyRow:
    """One entry of a study: mean and spread over runs, as fractions."""

    subject: Subject
    train_eps: float
    test_eps: float | None
    """None for MSCR."""
    estimate: Estimate | None
    """None where MSCR is undefined."""
    sd: float | None
    runs: int

    def json(self) -> dict[str, Any]:
        """Entry as an object, in per cent."""
        test = {} if self.test_eps is None else {"test_eps": self.test_eps}
        e = self.estimate
        return {
            "model": self.subject.label,
            "data": self.subject.first.data,
            "train_eps": self.train_eps,
            **test,
            "mean": None if e is None else 100 * e.value,
            "sd": None if self.sd is None else 100 * self.sd,
            "runs": self.runs,
            "low": None if e is None else 100 * e.low,
            "high": None if e is None else 100 * e.high,
        }


def study_rows(subject: Subject) -> tuple[list[StudyRow], list[StudyRow]]:
    """Accuracies and MSCR values of a study, one row an entry."""

    def row(s: Series, *, mscr: bool) -> StudyRow:
        estimate = _defined(s) if mscr else accuracy(s)
        spread = s.runs > 1 and estimate is not None
        return StudyRow(
            subject,
            train_eps=s.first.train_epsilon or 0.0,
            test_eps=None if mscr else s.first.epsilon,
            estimate=estimate,
            sd=_sd(s.relative_losses if mscr else s.accuracies) if spread else None,
            runs=s.runs,
        )

    cells = [row(s, mscr=False) for s in subject.all_series if s.first.epsilon is not None]
    return cells, [row(s, mscr=True) for s in subject.at_eps_min]


def study_json(records: Records, notes: Sequence[str]) -> dict[str, Any]:
    """Study as one object; accuracies and MSCR in per cent."""
    found = subjects(records)
    tables = [study_rows(subject) for subject in found]
    cell, separation = found[0].first, found[0].separation
    return {
        "data": cell.data,
        "norm": None if separation is None else norm_to_json(separation.norm),
        "eps_min": _eps_min(found[0]),
        "k": cell.k,
        "seed": cell.seed,
        "draws": cell.draws,
        "bounds": cell.bounds,
        "cells": [row.json() for cells, _ in tables for row in cells],
        "mscr": [row.json() for _, mscr in tables for row in mscr],
        "notes": list(notes),
    }


def print_study(records: Records, notes: Sequence[str] = ()) -> None:
    """Study as the published matrix: one column a training noise, one row a test noise."""
    tables = [(subject, *study_rows(subject)) for subject in subjects(records)]
    for subject, cells, mscr in tables:
        columns = sorted({c.train_eps for c in cells})
        at = {(c.test_eps, c.train_eps): c for c in [*cells, *mscr]}
        rows = []
        for test in [*sorted({c.test_eps for c in cells if c.test_eps is not None}), None]:
            here = {t: at[test, t] for t in columns if (test, t) in at}
            values = [e.estimate.value for e in here.values() if e.estimate is not None]
            best = max(values, default=math.nan)
            name = "MSCR" if test is None else subject.level(test)
            rows.append([name, *(_study_cell(here.get(t), best) for t in columns)])
        counts = sorted({c.runs for c in cells})
        runs = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else f"{counts[0]} runs"
        print_table(
            f"{subject.label} on {subject.first.data}: accuracy in % with {subject.norm} noise in "
            f"training (columns) and test (rows), mean over {runs.replace('1 runs', '1 run')} and "
            "95 % interval; * best of its row; MSCR in %",
            ["test \\ train", *map(subject.level, columns)],
            rows,
        )
    print_notes(notes)


def _study_cell(row: StudyRow | None, best: float) -> str:
    if row is None:
        return ""
    e = row.estimate
    if e is None:
        return "undefined"
    mark = "*" if e.value == best else " "
    return f"{100 * e.value:.3f}{mark}\n[{100 * e.low:.2f}, {100 * e.high:.2f}]"


def _differences(found: Sequence[Subject]) -> list[tuple[Subject, Subject, Estimate]]:
    """Differences in MSCR of models that met the same noise on the same points."""
    able = [s for s in found if len(s.at_eps_min) == 1 and _defined(s.at_eps_min[0]) is not None]
    return [
        (a, b, mscr_difference(a.at_eps_min[0], b.at_eps_min[0]))
        for a, b in combinations(able, 2)
        if meets_same_noise(a.at_eps_min[0], b.at_eps_min[0])
    ]


def _defined(series: Series) -> Estimate | None:
    """Relative change of the accuracy; None where no clean point is right."""
    try:
        return relative_loss(series)
    except UndefinedError:
        return None


def _mscr_json(subject: Subject) -> dict[str, Any]:
    if len(subject.at_eps_min) != 1:
        return {"mscr": None, "verdict": "no MSCR: no noise of size eps_min was measured"}
    (s,) = subject.at_eps_min
    mscr, error = _defined(s), error_probability(s)
    undefined_verdict = "MSCR is undefined: it gets no clean point right, so it has none to lose"
    return {
        "mscr": None if mscr is None else _numbers(mscr),
        "verdict": undefined_verdict if mscr is None else verdict(mscr),
        "error_probability": {
            "overall": _bound(error.overall),
            "by_class": {str(label): _bound(e) for label, e in error.by_class.items()},
            "least_provable_per_point": 100 * error.least_provable,
            "classes_without_test_points": [str(label) for label in error.unseen],
        },
    }


def risk_sentence(series: Series) -> str:
    """Probability of a wrong answer, with what is and what is not proven about it."""
    error = error_probability(series)
    label, worst = max(error.by_class.items(), key=lambda item: item[1].high)
    unseen = ", ".join(repr(label) for label in error.unseen)
    return (
        f"probability of a wrong answer under this noise: {format_percent(error.overall)}, below "
        f"{format_bound(error.overall.high)} with 95 % confidence (worst class {label!r}: below "
        f"{format_bound(worst.high)}; a single point that was never wrong in {error.k} draws: "
        f"below {format_bound(error.least_provable)})"
        + (f"; no test points of {unseen}, so nothing is known about it" if unseen else "")
    )


def _numbers(e: Estimate) -> dict[str, Any]:
    return {**e.json(), "method": e.method}


def _bound(e: Estimate) -> dict[str, float]:
    return {"mean": 100 * e.value, "upper": 100 * e.high}


def _percent(e: Estimate | None) -> str:
    return "undefined" if e is None else format_entry(e)


def _eps_min(subject: Subject) -> float | None:
    return None if subject.separation is None else subject.separation.epsilon_min


def _sd(values: FloatArray) -> float:
    return float(values.std(ddof=1))

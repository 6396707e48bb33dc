"""Records as people read them in a terminal, and as programs read them in JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from shaketable import metrics
from shaketable.metrics import Series
from shaketable.norms import norm_title
from shaketable.records import Records
from shaketable.separations import Separation
from shaketable.statistics import Estimate
from shaketable.subjects import Subject, noise_name, subjects


def separation_json(result: Separation, notes: Sequence[str]) -> dict[str, Any]:
    """Separation as one object."""
    by_class = [[None if math.isnan(v) else v for v in row] for row in result.by_class.tolist()]
    return {
        "norm": _norm_json(result.p),
        "two_r": result.two_r,
        "epsilon_min": result.epsilon_min,
        "pair": list(result.pair),
        "classes": list(result.classes),
        "by_class": by_class,
        "by_part": result.by_part,
        "notes": list(notes),
    }


def print_separation(result: Separation) -> None:
    """Separation as tables."""
    i, j = result.pair
    print(f"{norm_title(result.p)} separation 2r = {result.two_r!r}")
    print(f"closest pair: rows {i} and {j}, of classes", end=" ")
    a, b = (result.classes[result.y[row]] for row in (i, j))
    print(f"{a!r} and {b!r}")
    print(f"eps_min = 2r/2 = {result.epsilon_min!r}")
    for part, value in result.by_part.items():
        print(f"  2r {part}: {'no two classes' if value is None else repr(value)}")
    if len(result.classes) > 2:
        rows = [
            [str(label), *("" if math.isnan(v) else f"{v:.4g}" for v in row)]
            for label, row in zip(result.classes, result.by_class.tolist(), strict=True)
        ]
        _print_table("2r of every pair of classes", ["", *map(str, result.classes)], rows)


def evaluation_json(records: Records, notes: Sequence[str]) -> dict[str, Any]:
    """Fixed models and their differences as one object; accuracies in per cent."""
    found = subjects(records)
    models = [
        {
            "model": subject.first.model,
            "label": subject.label,
            "norm": subject.norm,
            "data": subject.first.data,
            "n": subject.first.n,
            "k": subject.first.k,
            "cells": [
                {"corruption": s.first.corruption, **_numbers(metrics.accuracy(s))}
                for s in subject.all_series
            ],
            **_mscr_json(subject),
        }
        for subject in found
    ]
    differences = [
        {"first": a.label, "second": b.label, **_numbers(_difference(a, b))}
        for a, b in _comparable(found)
    ]
    return {"models": models, "mscr_differences": differences, "notes": list(notes)}


def print_evaluation(records: Records, notes: Sequence[str] = ()) -> None:
    """Fixed models as one table, with verdicts and differences in words."""
    found = subjects(records)
    rows = []
    for subject in found:
        for s in subject.all_series:
            clean = s.first.corruption == "clean"
            loss = "" if clean else _percent(metrics.relative_loss(s))
            rows.append([subject.label, noise_name(s), _percent(metrics.accuracy(s)), loss])
    words = []
    for subject in found:
        words.append(f"{subject.label}: {_mscr_json(subject)['verdict']}")
        words += [f"  {_risk(s)}" for s in subject.at_eps_min]
    for a, b in _comparable(found):
        d = _difference(a, b)
        chance = "" if d.low > 0 or d.high < 0 else "; the difference may be chance"
        words.append(
            f"MSCR of {a.label} minus {b.label}, on the same points and noise: {_percent(d)} "
            f"percentage points{chance}"
        )
    cell = records.cells[0]
    print(f"data: {cell.data}; {cell.n} test points")
    for known in records.separations:
        eps_min = known.two_r / 2
        print(
            f"{norm_title(known.norm)} separation 2r = {known.two_r:.6g}, eps_min = {eps_min:.6g}"
        )
    header = ["model", "corruption", "accuracy, %", "relative loss, %; at eps_min: MSCR"]
    _print_table("95 % intervals in brackets", header, rows)
    print("\n".join(words))
    print_notes(notes)


@dataclass(frozen=True, eq=False)
class StudyRow:
    """One entry of a study: mean and spread over runs, as fractions."""

    subject: Subject
    train_eps: float
    test_eps: float | None
    """None for MSCR."""
    estimate: Estimate
    sd: float | None
    runs: int

    def json(self) -> dict[str, Any]:
        """Entry as an object, in per cent."""
        test = {} if self.test_eps is None else {"test_eps": self.test_eps}
        e = self.estimate
        return {
            "model": self.subject.label,
            "train_eps": self.train_eps,
            **test,
            "mean": 100 * e.value,
            "sd": None if self.sd is None else 100 * self.sd,
            "runs": self.runs,
            "low": 100 * e.low,
            "high": 100 * e.high,
        }


def study_rows(subject: Subject) -> tuple[list[StudyRow], list[StudyRow]]:
    """Accuracies and MSCR values of a study, one row an entry."""

    def row(s: Series, *, mscr: bool) -> StudyRow:
        values = s.relative_losses if mscr else s.accuracies
        return StudyRow(
            subject,
            train_eps=s.first.train_epsilon or 0.0,
            test_eps=None if mscr else s.first.epsilon,
            estimate=metrics.mscr(s) if mscr else metrics.accuracy(s),
            sd=float(values.std(ddof=1)) if s.runs > 1 else None,
            runs=s.runs,
        )

    cells = [row(s, mscr=False) for s in subject.all_series if s.first.epsilon is not None]
    return cells, [row(s, mscr=True) for s in subject.at_eps_min]


def study_json(records: Records, notes: Sequence[str]) -> dict[str, Any]:
    """Study as one object; accuracies and MSCR in per cent."""
    tables = [study_rows(subject) for subject in subjects(records)]
    cell, separation = records.cells[-1], records.separations[0]
    return {
        "data": cell.data,
        "norm": _norm_json(separation.norm),
        "eps_min": separation.two_r / 2,
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
            best = max((e.estimate.value for e in here.values()), default=math.nan)
            name = "MSCR" if test is None else subject.level(test)
            rows.append([name, *(_study_cell(here.get(t), best) for t in columns)])
        runs = max(c.runs for c in cells)
        _print_table(
            f"{subject.label} on {subject.first.data}: accuracy in % with {subject.norm} noise in "
            f"training (columns) and test (rows), mean over {runs} runs ± half its 95 % interval; "
            "* best of its row; MSCR in %",
            ["test \\ train", *map(subject.level, columns)],
            rows,
        )
    print_notes(notes)


def print_notes(notes: Iterable[str]) -> None:
    """Notes on stderr, where they disturb no program."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def print_list(entries: dict[str, str]) -> None:
    """Names with their descriptions."""
    width = max(map(len, entries), default=0)
    for name, about in entries.items():
        print(f"{name:<{width}}  {about}")


def _print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Show a table as wide as it needs to be: a number that is cut is a wrong number."""
    from rich.box import SIMPLE_HEAD  # only where something is shown
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i > 0)
    for row in rows:
        table.add_row(*row)
    out = Console(highlight=False, markup=False)
    out.width = out.measure(table, options=out.options.update(max_width=10_000)).maximum
    print(f"\n{title}")
    out.print(table)


def _study_cell(row: StudyRow | None, best: float) -> str:
    if row is None:
        return ""
    e = row.estimate
    mark = "*" if e.value == best else " "
    return f"{100 * e.value:.3f}{mark}\n±{50 * (e.high - e.low):.3f} "


def _comparable(found: Sequence[Subject]) -> list[tuple[Subject, Subject]]:
    """Pairs of models that met the same noise of size eps_min on the same points."""
    able = [s for s in found if len(s.at_eps_min) == 1]
    return [
        (a, b)
        for a, b in combinations(able, 2)
        if metrics.meets_same_noise(a.at_eps_min[0], b.at_eps_min[0])
    ]


def _difference(a: Subject, b: Subject) -> Estimate:
    return metrics.mscr_difference(a.at_eps_min[0], b.at_eps_min[0])


def _mscr_json(subject: Subject) -> dict[str, Any]:
    if len(subject.at_eps_min) != 1:
        return {"mscr": None, "verdict": "no MSCR: no noise of size eps_min was measured"}
    (s,) = subject.at_eps_min
    mscr, error = metrics.mscr(s), metrics.error_probability(s)
    return {
        "mscr": _numbers(mscr),
        "verdict": metrics.verdict(mscr),
        "error_probability": {
            "overall": _bound(error.overall),
            "by_class": {str(label): _bound(e) for label, e in error.by_class.items()},
            "least_provable_per_point": 100 * error.least_provable,
        },
    }


def _risk(series: Series) -> str:
    error = metrics.error_probability(series)
    label, worst = max(error.by_class.items(), key=lambda item: item[1].high)
    return (
        f"probability of a wrong answer under this noise: {error.overall.value:.2%}, below "
        f"{error.overall.high:.2%} with 95 % confidence (worst class {label!r}: below "
        f"{worst.high:.2%}; a single point that was never wrong in {error.k} draws: below "
        f"{error.least_provable:.1%})"
    )


def _numbers(e: Estimate) -> dict[str, Any]:
    return {"mean": 100 * e.value, "low": 100 * e.low, "high": 100 * e.high, "method": e.method}


def _bound(e: Estimate) -> dict[str, float]:
    return {"mean": 100 * e.value, "upper": 100 * e.high}


def _percent(e: Estimate) -> str:
    return f"{100 * e.value:.2f} [{100 * e.low:.2f}, {100 * e.high:.2f}]"


def _norm_json(p: float) -> str | float:
    return "inf" if math.isinf(p) else p

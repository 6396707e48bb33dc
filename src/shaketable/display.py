"""Records as people read them in a terminal, and as programs read them in JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shaketable import metrics
from shaketable.errors import UndefinedError
from shaketable.metrics import Series
from shaketable.norms import norm_title
from shaketable.records import Records
from shaketable.separations import Separation
from shaketable.spec import format_value
from shaketable.statistics import Estimate

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 160
"""Width of tables that do not go to a terminal, wide enough for the published matrix."""


def console() -> Console:
    """Where tables go: stdout, wide enough when it is a file or a pipe."""
    from rich.console import Console  # only where something is shown

    return Console(
        width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, soft_wrap=True
    )


def separation_json(result: Separation, notes: Sequence[str]) -> dict[str, Any]:
    """Separation as one object."""
    return {
        "norm": "inf" if math.isinf(result.p) else result.p,
        "two_r": result.two_r,
        "epsilon_min": result.epsilon_min,
        "pair": list(result.pair),
        "classes": list(result.classes),
        "by_class": [
            [None if math.isnan(v) else v for v in row] for row in result.by_class.tolist()
        ],
        "by_part": result.by_part,
        "notes": list(notes),
    }


def print_separation(result: Separation) -> None:
    """Separation as tables."""
    out = console()
    i, j = result.pair
    out.print(f"{norm_title(result.p)} separation 2r = [bold]{result.two_r!r}[/]")
    out.print(f"closest pair: rows {i} and {j}")
    out.print(f"eps_min = 2r/2 = [bold]{result.epsilon_min!r}[/]")
    for part, value in result.by_part.items():
        out.print(f"  {part}: {'no two classes' if value is None else repr(value)}")
    if len(result.classes) > 2:
        header = ["between", *map(str, result.classes)]
        rows = [
            [str(label), *("" if math.isnan(v) else f"{v:.4g}" for v in row)]
            for label, row in zip(result.classes, result.by_class.tolist(), strict=True)
        ]
        _print_table("2r of every pair of classes", header, rows)


def evaluation_json(records: Records, notes: Sequence[str]) -> dict[str, Any]:
    """Fixed models and their differences as one object; accuracies in per cent."""
    models = []
    for chosen in _by_model(records):
        found = metrics.series(chosen)
        cells = [{"corruption": s.first.corruption, **_numbers(metrics.accuracy(s))} for s in found]
        models.append(
            {
                "model": chosen.models[0],
                "data": found[0].first.data,
                "n": found[0].first.n,
                "k": found[-1].first.k,
                "cells": cells,
                **_mscr_json(chosen),
            }  # fmt: skip
        )
    differences = [
        {"first": a.models[0], "second": b.models[0], **_numbers(metrics.mscr_difference(a, b))}
        for a, b in _comparable(records)
    ]
    return {"models": models, "mscr_differences": differences, "notes": list(notes)}


def print_evaluation(records: Records, notes: Sequence[str] = ()) -> None:
    """Fixed models as one table, with verdicts and differences in words."""
    for s in records.separations:
        console().print(
            f"{norm_title(s.norm)} separation 2r = {s.two_r:.6g}, eps_min = {s.two_r / 2:.6g}"
            + (f" ({s.note})" if s.note else "")
        )
    rows = []
    for chosen in _by_model(records):
        for s in metrics.series(chosen):
            cell = s.first
            loss = "" if cell.corruption == "clean" else _percent(metrics.relative_loss(s))
            mark = "  = eps_min" if s.at_eps_min else ""
            rows.append([cell.model, cell.corruption + mark, _percent(metrics.accuracy(s)), loss])
    header = ["model", "corruption", "accuracy, %", "relative loss, % (MSCR at eps_min)"]
    _print_table("95 % intervals in brackets", header, rows)
    out = console()
    for chosen in _by_model(records):
        mscr = _mscr_json(chosen)
        out.print(f"[bold]{chosen.models[0]}[/]: {mscr['verdict']}")
        if "error_probability" in mscr:
            out.print(f"  {_risk(chosen)}")
    for a, b in _comparable(records):
        d = metrics.mscr_difference(a, b)
        out.print(
            f"MSCR of {a.models[0]} minus {b.models[0]}, on the same points and noise: "
            f"{_percent(d)} percentage points"
            + ("" if d.low > 0 or d.high < 0 else "; the difference may be chance")
        )
    print_notes(notes)


def print_notes(notes: Iterable[str]) -> None:
    """Notes on stderr, where they disturb no program."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


@dataclass(frozen=True, eq=False)
class StudyRow:
    """One entry of a study: mean and spread over runs, in per cent."""

    model: str
    train_eps: float
    test_eps: float | None
    estimate: Estimate
    sd: float | None
    runs: int

    def json(self) -> dict[str, Any]:
        """Entry as an object; MSCR has no ``test_eps``."""
        test = {} if self.test_eps is None else {"test_eps": self.test_eps}
        e = self.estimate
        return {
            "model": self.model, "train_eps": self.train_eps, **test, "mean": 100 * e.value,
            "sd": self.sd, "runs": self.runs, "low": 100 * e.low, "high": 100 * e.high,
        }  # fmt: skip


def study_rows(records: Records) -> tuple[list[StudyRow], list[StudyRow]]:
    """Accuracies and MSCR values of a study, one row an entry."""
    cells, mscr = [], []
    for s in metrics.series(records):
        first = s.first
        if first.train_epsilon is None or first.epsilon is None:
            continue
        spread = 100 * float(s.accuracies.std(ddof=1)) if s.runs > 1 else None
        cells.append(
            StudyRow(
                first.model, first.train_epsilon, first.epsilon, metrics.accuracy(s), spread, s.runs
            )
        )
        if s.at_eps_min:
            spread = 100 * float(s.relative_losses.std(ddof=1)) if s.runs > 1 else None
            loss = metrics.mscr(s)
            mscr.append(StudyRow(first.model, first.train_epsilon, None, loss, spread, s.runs))
    return cells, mscr


def study_json(records: Records, notes: Sequence[str]) -> dict[str, Any]:
    """Study as one object; accuracies and MSCR in per cent."""
    cells, mscr = study_rows(records)
    cell, separation = records.cells[-1], records.separations[0]
    return {
        "data": cell.data, "norm": "inf" if math.isinf(separation.norm) else separation.norm,
        "eps_min": separation.two_r / 2, "k": cell.k, "seed": cell.seed, "draws": cell.draws,
        "bounds": cell.bounds, "cells": [row.json() for row in cells],
        "mscr": [row.json() for row in mscr], "notes": list(notes),
    }  # fmt: skip


def print_study(records: Records, notes: Sequence[str] = ()) -> None:
    """Study as the published matrix: one column a training noise, one row a test noise."""
    cells, mscr = study_rows(records)
    s = records.separations[0]
    runs = cells[0].runs
    for model in records.models:
        mine = [c for c in cells if c.model == model]
        columns = sorted({c.train_eps for c in mine})
        at = {(c.test_eps, c.train_eps): c for c in [*mine, *(m for m in mscr if m.model == model)]}
        rows = []
        for test in [*sorted({c.test_eps for c in mine if c.test_eps is not None}), None]:
            here = {t: at[test, t] for t in columns if (test, t) in at}
            best = max(e.estimate.value for e in here.values())
            name = "MSCR" if test is None else _level(test, s.two_r / 2)
            rows.append([name, *(_cell(here.get(t), best) for t in columns)])
        header = ["test \\ train", *(_level(t, s.two_r / 2) for t in columns)]
        title = (
            f"{model}: accuracy in %, {norm_title(s.norm)} noise in training (columns) and test (rows), "
            f"mean over {runs} runs ± half its 95 % interval; * best of a row; MSCR in % below"
        )
        _print_table(title, header, rows)
    print_notes(notes)


def _cell(row: StudyRow | None, best: float) -> str:
    if row is None:
        return ""
    e = row.estimate
    mark = "*" if e.value == best else " "
    return f"{100 * e.value:.3f}{mark}\n±{50 * (e.high - e.low):.3f} "


def _level(epsilon: float, eps_min: float) -> str:
    return f"{'eps_min' if epsilon == eps_min else format_value(epsilon)}"


def _print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="")
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_list(entries: dict[str, str]) -> None:
    """Names with their descriptions."""
    width = max(map(len, entries), default=0)
    for name, about in entries.items():
        print(f"{name:<{width}}  {about}")


def _by_model(records: Records) -> list[Records]:
    return [records.select(recipe=r) for r in dict.fromkeys(c.recipe for c in records)]


def _comparable(records: Records) -> list[tuple[Records, Records]]:
    """Pairs of models that have an MSCR on the same points."""
    able = [r for r in _by_model(records) if _mscr_series(r) is not None]
    return [
        (a, b) for a, b in combinations(able, 2) if a.cells[0].points.id == b.cells[0].points.id
    ]


def _mscr_series(records: Records) -> Series | None:
    found = [s for s in metrics.series(records) if s.at_eps_min]
    return found[0] if len(found) == 1 else None


def _mscr_json(records: Records) -> dict[str, Any]:
    s = _mscr_series(records)
    if s is None:
        return {"mscr": None, "verdict": "no MSCR: no noise of size eps_min was measured"}
    try:
        mscr = metrics.mscr(s)
    except UndefinedError as error:
        return {"mscr": None, "verdict": f"no MSCR: {error}"}
    error = metrics.error_probability(s)
    return {
        "mscr": _numbers(mscr),
        "verdict": metrics.verdict(mscr),
        "error_probability": {
            "overall": {"mean": 100 * error.overall.value, "upper": 100 * error.overall.high},
            "by_class": {
                str(label): {"mean": 100 * e.value, "upper": 100 * e.high}
                for label, e in error.by_class.items()
            },
            "least_provable_per_point": 100 * error.least_provable,
        },
    }


def _risk(records: Records) -> str:
    error = metrics.error_probability(_mscr_series(records) or records)
    label, worst = max(error.by_class.items(), key=lambda item: item[1].high)
    return (
        f"probability of a wrong answer under this noise: {error.overall.value:.2%}, below "
        f"{error.overall.high:.2%} with 95 % confidence (worst class {label!r}: below {worst.high:.2%}; "
        f"a single point that was never wrong in {error.k} draws: below {error.least_provable:.1%})"
    )


def _numbers(e: Estimate) -> dict[str, Any]:
    return {"mean": 100 * e.value, "low": 100 * e.low, "high": 100 * e.high, "method": e.method}


def _percent(e: Estimate) -> str:
    return f"{100 * e.value:.2f} [{100 * e.low:.2f}, {100 * e.high:.2f}]".replace("[", "\\[")

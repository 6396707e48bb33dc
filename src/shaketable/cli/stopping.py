"""Flags of stopping rules, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.evaluation.records import Records
    from shaketable.findings.requirements.requirement import Requirement
    from shaketable.findings.stopping.rules import Decided, Precision

RUNS = 10
MAX_RUNS = 200


def add_stopping_flags(
    parser: argparse.ArgumentParser,
    unit: str,
    rules: argparse._MutuallyExclusiveGroup | None = None,
) -> None:
    """Add when enough is known; `rules` has the flags that these replace."""
    rules = rules or parser.add_mutually_exclusive_group()
    rules.add_argument(
        "--precision",
        type=float,
        metavar="POINTS",
        help=f"take {unit} until half the width of every interval is at most so many percentage "
        "points; intervals hold wherever it stops",
    )
    parser.add_argument(
        "--precision-of",
        metavar="METRIC",
        help="what has to be so precise, such as mscr, mce or 'accuracy[linf(0.1)]' (default: all "
        "accuracies)",
    )
    rules.add_argument(
        "--stop-early",
        action="store_true",
        help=f"take {unit} until everything that --require asks for is decided",
    )


def read_rule(
    args: argparse.Namespace, requirements: Sequence[Requirement], *, models: int = 1
) -> Precision | Decided | None:
    """Stopping rule as the flags say; `models` are evaluated one after another."""
    from shaketable.findings.stopping.rules import Decided, Precision

    if args.precision_of and args.precision is None:
        raise InputError("--precision-of goes with --precision; leave it out")
    if args.precision is not None:
        return Precision(args.precision, of=args.precision_of or "")
    if not args.stop_early:
        return None
    if not requirements:
        raise InputError("--stop-early needs what is to be decided; add --require 'mscr >= -1'")
    if models > 1 and (differences := [r for r in requirements if r.is_difference]):
        raise InputError(
            f"--stop-early decides one model at a time, and {differences[0].text!r} is about two; "
            "use --precision"
        )
    return Decided(requirements, models=models)


def read_goal(args: argparse.Namespace) -> list[Requirement]:
    """Return what has to be precise, so that it is measured; nothing for all accuracies."""
    from shaketable.findings.stopping.rules import parse_quantity

    of = args.precision_of
    return [replace(parse_quantity(of), text=f"--precision-of {of}")] if of else []


def read_runs(args: argparse.Namespace, rule: Precision | Decided | None) -> int:
    """Return the number of runs, with a stopping rule the most."""
    if rule is None and args.max_runs is not None:
        raise InputError("--max-runs goes with --precision or --stop-early; give --runs instead")
    given, default = (args.runs, RUNS) if rule is None else (args.max_runs, MAX_RUNS)
    return default if given is None else int(given)


def note_shortfall(rule: Precision | Decided | None, records: Records, unit: str) -> list[str]:
    """Say if the precision asked for is not reached, or only without what failed."""
    from shaketable.findings.stopping.rules import Precision

    notes = []
    if isinstance(rule, Precision) and rule.forecast(records) > 1:
        notes.append(f"± {rule.half_width:g} percentage points are not reached with all {unit}")
    if rule is not None and records.failures:
        notes.append("the stopping rule knows only what was measured, not what failed")
    return notes

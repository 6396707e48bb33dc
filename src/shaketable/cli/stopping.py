"""Flags of stopping rules, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.evaluation.records import Records
    from shaketable.findings.requirements.requirement import Requirement
    from shaketable.findings.stopping.rules import Decided, Precision

MAX_RUNS = 200


def add_stopping_flags(parser: argparse.ArgumentParser, unit: str) -> None:
    """Add when enough is known, instead of a number of points or runs."""
    parser.add_argument(
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
    parser.add_argument(
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
    if args.precision is not None and args.stop_early:
        raise InputError("--precision and --stop-early are two rules to stop by; leave one out")
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


def note_shortfall(rule: Precision | Decided | None, records: Records, unit: str) -> list[str]:
    """Say if all points, or the most runs, were not enough for the precision asked for."""
    from shaketable.findings.stopping.rules import Precision

    if not isinstance(rule, Precision) or rule.forecast(records) <= 1:
        return []
    return [f"± {rule.half_width:g} percentage points are not reached with all {unit}"]

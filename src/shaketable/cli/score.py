"""``shaketable score``: the results in a results file, without measuring anything."""

from __future__ import annotations

import argparse
from dataclasses import replace

from shaketable.cli.flags import add_output_flags, add_reference_flag
from shaketable.cli.output import conclude, print_json
from shaketable.core.errors import InputError
from shaketable.views.terminal import ignore_broken_pipe

ABOUT = "read a results file again: tables, JSON, page, requirement"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, and where results go."""
    parser.add_argument("store", metavar="STORE", help="results file")
    add_reference_flag(parser)
    add_output_flags(parser, store=False)


def run(args: argparse.Namespace) -> int:
    """Print what a results file holds."""
    from shaketable.evaluation.records import AS_GIVEN
    from shaketable.evaluation.store import Store
    from shaketable.findings import display

    with Store(args.store, must_exist=True) as store:
        records = store.records()
    if not len(records):
        raise InputError(f"results file {args.store!r} must hold at least one cell, got none")
    given = replace(records, cells=tuple(c for c in records if c.train == AS_GIVEN))
    studied = replace(records, cells=tuple(c for c in records if c.train != AS_GIVEN))
    reference = args.reference or ""
    with ignore_broken_pipe():
        if args.json:
            shown = display.evaluation_json(given, (), reference=reference) if len(given) else {}
            shown |= {} if not len(studied) else display.study_json(studied, ())
            print_json(shown)
        else:
            if len(given):
                display.print_evaluation(given, reference=reference)
            if len(studied):
                display.print_study(studied)
    return conclude(args, records, reference=reference)

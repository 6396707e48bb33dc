"""``shaketable score``: the results in a results file, without measuring anything."""

from __future__ import annotations

import argparse

from shaketable.cli.flags import add_output_flags, add_reference_flag
from shaketable.cli.grouping import add_grouping_flags, read_group
from shaketable.cli.output import conclude, read_results

ABOUT = "read a results file again: tables, JSON, page, requirement"
SCHEMA = "findings/schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, and where results go."""
    parser.add_argument("store", metavar="STORE", help="results file")
    add_reference_flag(parser)
    add_grouping_flags(parser)
    add_output_flags(parser, store=False)


def run(args: argparse.Namespace) -> int:
    """Print what a results file holds."""
    results = read_results(
        args.store,
        reference=args.reference or "",
        baseline=args.baseline or "",
        group=read_group(args),
    )
    return conclude(args, results)

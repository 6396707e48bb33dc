"""``shaketable export``: a results file as CSV, Parquet or JSON."""

from __future__ import annotations

import argparse

from shaketable.cli.flags import add_grouping_flags, add_out_flag, add_reference_flag
from shaketable.cli.output import read_group, read_results
from shaketable.core.options import one_of
from shaketable.views.terminal import print_lines

ABOUT = "write the findings or the records of a results file as CSV, Parquet or JSON"
SCHEMA = "findings/export.schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, what to write, and where."""
    parser.add_argument("store", metavar="STORE", help="results file")
    contents = ["findings", "cells", "points"]
    parser.add_argument(
        "--content",
        type=one_of("content", contents),
        default="findings",
        metavar="|".join(contents),
        help="findings: every value with its interval; cells: one row per model and corruption; "
        "points: one row per point of every cell (default: findings)",
    )
    add_reference_flag(parser)
    add_grouping_flags(parser)
    add_out_flag(parser, "file to write", (".csv", ".csv.gz", ".parquet", ".json"), required=True)


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    from shaketable.findings.export import export

    results = read_results(
        args.store,
        reference=args.reference or "",
        baseline=args.baseline or "",
        group=read_group(args.group),
    )
    print_lines(
        f"{args.content}: {export(args.out, results, content=args.content)}", to_stderr=True
    )
    return 0

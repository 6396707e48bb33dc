"""``shaketable export``: a results file as a table, JSON, a model card or runs of MLflow.

Writes the results of a file for other programs: every value with its interval, tables, cells,
points or answers as rows, a section of a model card, or runs of MLflow.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from shaketable.cli.flags import (
    add_grouping_flags,
    add_intervals_flag,
    add_out_flag,
    add_reference_flag,
)
from shaketable.cli.output import read_group, read_results
from shaketable.core.options import one_of
from shaketable.views.terminal import print_lines, print_text

ABOUT = "results as CSV, Parquet, JSON or a model card, or to MLflow"
SCHEMA = "shaketable.findings.export:ExportJson"
EXAMPLES = """\
  shaketable export r.sqlite -o results.csv
  shaketable export r.sqlite --to card --task image-classification -o README.md
  shaketable export r.sqlite --to mlflow --tracking-uri http://localhost:5000"""

_TARGETS = ["csv", "parquet", "json", "card", "mlflow"]
_CONTENTS = ["findings", "tables", "cells", "points", "answers", "inputs"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, what to write, and where."""
    parser.add_argument("store", metavar="STORE", help="results file")
    parser.add_argument(
        "--to",
        type=one_of("target", _TARGETS),
        metavar="|".join(_TARGETS),
        help="what to write (default: as the file ends; .md is a card)",
    )
    endings = (".csv", ".csv.gz", ".parquet", ".json", ".md")
    add_out_flag(parser, "file to write; without it, a card is printed", endings)
    parser.add_argument(
        "--content",
        type=one_of("content", _CONTENTS),
        default="findings",
        metavar="|".join(_CONTENTS),
        help="findings: every value with its interval; tables: every number of the tables of the "
        "page, rates as fractions; cells: one row per model and corruption; points: one row per "
        "point of every cell; answers: one row per point and draw; inputs: one row per point and "
        "corruption, those wrong most often first (default: findings)",
    )
    add_reference_flag(parser)
    add_grouping_flags(parser)
    add_intervals_flag(parser)
    parser.add_argument(
        "--task",
        help="card: begin with the metrics as YAML for the Hugging Face Hub; the task is that of "
        "the models, such as image-classification or tabular-classification",
    )
    parser.add_argument(
        "--tracking-uri", metavar="URI", help="mlflow: where to log (default: as MLflow is set)"
    )
    parser.add_argument(
        "--experiment",
        default="shaketable",
        metavar="NAME",
        help="mlflow: experiment of the run, which has the file's name (default: shaketable)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the file, print the card, or log the run."""
    from shaketable.evaluation.store_guards import store_without_cells
    from shaketable.findings.export import export
    from shaketable.statistics.families import use_intervals

    reference, baseline = args.reference or "", args.baseline or ""
    group = read_group(args.group)
    # MLflow prints addresses
    with use_intervals(args.intervals), redirect_stdout(sys.stderr):
        results = read_results(args.store, reference=reference, baseline=baseline, group=group)
        if not results.findings:
            raise store_without_cells(args.store)
        written = export(
            results,
            args.out,
            to=args.to,
            content=args.content,
            task=args.task,
            tracking_uri=args.tracking_uri,
            experiment=args.experiment,
            run_name=Path(args.store).name,
        )
    if isinstance(written, str):
        print_text(written)
    else:
        what = "card" if written.suffix.lower() == ".md" else args.content
        print_lines(f"{what}: {written}", to_stderr=True)
    return 0

"""``shaketable log-mlflow``: a results file as runs of MLflow."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from shaketable.cli.flags import add_reference_flag
from shaketable.cli.output import read_results
from shaketable.views.terminal import print_lines

ABOUT = "log a results file to MLflow: parameters, metrics with intervals, the page"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, and where to log it."""
    parser.add_argument("store", metavar="STORE", help="results file")
    parser.add_argument(
        "--tracking-uri", metavar="URI", help="where to log (default: as MLflow is set)"
    )
    parser.add_argument(
        "--experiment",
        default="shaketable",
        metavar="NAME",
        help="experiment of the run (default: shaketable)",
    )
    parser.add_argument(
        "--run-name", metavar="NAME", help="name of the run (default: that of the file)"
    )
    add_reference_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Log the results, and print the ID of the run."""
    from shaketable.findings.mlflow_runs import log_mlflow

    results = read_results(args.store, reference=args.reference or "")
    with redirect_stdout(sys.stderr):  # MLflow prints addresses
        run_id = log_mlflow(
            results,
            tracking_uri=args.tracking_uri,
            experiment=args.experiment,
            run_name=args.run_name or Path(args.store).name,
        )
    print_lines(run_id)
    return 0

"""Studies in pieces: runs are begun while time is left, and the same command goes on later."""

import argparse
import time
from typing import Any

import shaketable as st


def add_piece_flags(parser: argparse.ArgumentParser, *, runs: int) -> None:
    """Add what every study in pieces can be told; `runs` is the default."""
    parser.add_argument("data", help=".npz of CIFAR-10: x_train, y_train, x_test, y_test, uint8")
    parser.add_argument("--store", required=True, help="results file, in which the study goes on")
    parser.add_argument("--network", help="default: that of the recipe")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--minutes", type=float, default=9.0, help="no run is begun after them")
    parser.add_argument("--points", type=int, help="a sample of the points")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--compile", action="store_true", help="the network; pays on large GPUs")


def make_network(args: argparse.Namespace, recipe: str) -> st.training.UntrainedNetwork:
    """Return the network that these flags name."""
    return st.training.UntrainedNetwork(
        args.network, recipe, args.epochs, compiled=args.compile or None
    )


def run_pieces(
    args: argparse.Namespace,
    network: st.training.UntrainedNetwork,
    **options: Any,
) -> st.Records:
    """Carry out a study run by run, as long as the longest run so far would end in time.

    At least one run is done; those in the results file are not done again.
    """
    data = st.load(args.data, points=args.points)
    began, longest = time.monotonic(), 0.0
    for run in range(1, args.runs + 1):
        start = time.monotonic()
        records = st.study(
            data,
            network,
            **options | {"runs": run},
            store=args.store,
            n_jobs=args.jobs,
            progress=True,
        )
        now = time.monotonic()
        longest = max(longest, now - start)
        if run < args.runs and now - began + longest > 60 * args.minutes:
            print(f"stopped after {run} of {args.runs} runs; the same command goes on\n")
            break
    print(f"{network.plan.network}, {network.plan.epochs} epochs, {data.name}\n")
    return records

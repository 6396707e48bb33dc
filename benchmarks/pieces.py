"""Studies in pieces: runs are begun while time is left, and the same command goes on later."""

import argparse
import time
from collections.abc import Callable

import shaketable as st

Study = Callable[[int], st.Records]
"""Returns the records of so many runs; those in the results file are not done again."""


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


def run_pieces(study: Study, *, runs: int, minutes: float) -> st.Records:
    """Add run after run, as long as the longest so far would end in time; at least one is done."""
    began, longest = time.monotonic(), 0.0
    for run in range(1, runs + 1):
        start = time.monotonic()
        records = study(run)
        now = time.monotonic()
        longest = max(longest, now - start)
        if run < runs and now - began + longest > 60 * minutes:
            print(f"stopped after {run} of {runs} runs; the same command goes on\n")
            break
    return records

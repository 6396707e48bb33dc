"""``shaketable compare``: two results files, old and new, on the points and noise they share.

Prints how much more accurate every model is in the new file than in the old one, on the points and
noise that both hold: paired differences, new minus old, with intervals. Models are matched by name.
It requires nothing, so differences do not change the exit code.
"""

from __future__ import annotations

import argparse

from shaketable.cli.flags import add_intervals_flag, add_json_flag
from shaketable.cli.output import print_result

ABOUT = "paired differences between two results files, old and new"
SCHEMA = "shaketable.findings.comparison.versions:VersionsJson"
EXAMPLES = """\
  shaketable compare old.sqlite new.sqlite --format markdown"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The two files, and how differences are printed."""
    parser.add_argument("old", metavar="OLD", help="results file")
    parser.add_argument("new", metavar="NEW", help="results file to compare with it")
    add_intervals_flag(parser)
    add_json_flag(parser, "; differences are percentage points, new minus old")


def run(args: argparse.Namespace) -> int:
    """Print how much more accurate every model is in the new file."""
    from shaketable.findings.comparison.versions import compare_stores
    from shaketable.statistics.families import use_intervals

    with use_intervals(args.intervals):
        print_result(compare_stores(args.old, args.new), json=args.json)
    return 0

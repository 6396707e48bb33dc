"""``shaketable worst-loss``: the finding alone, from a results file."""

import argparse
import json

ABOUT = "which corruption costs most accuracy"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the results file."""
    parser.add_argument("store", metavar="STORE", help="results file")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Print the finding."""
    from shaketable import Store
    from shaketable.findings.results import find

    with Store(args.store, must_exist=True) as store:
        finding = find(store.records()).findings["worst_loss"]
    if args.json:
        print(json.dumps(finding.json()))
    else:
        finding.print()
    return 0

"""``shaketable list``: names of data sets, models, corruptions and so on."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from shaketable.cli.flags import add_json_flag, one_of
from shaketable.cli.output import print_json
from shaketable.core.errors import InputError

ABOUT = "names of data sets, models, corruptions, suites, attacks and metrics"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What to list."""
    kinds = ["datasets", "models", "corruptions", "suites", "attacks", "metrics"]
    parser.add_argument("kind", type=one_of("kind", kinds), metavar="|".join(kinds))
    add_json_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Print the names of one kind, with their descriptions."""
    from shaketable.adversary.attacks.registry import describe_attacks
    from shaketable.corruptions import CORRUPTIONS
    from shaketable.corruptions.suites.suite import SUITES
    from shaketable.data import builtin as datasets
    from shaketable.findings.finding import list_metrics
    from shaketable.models.builtin import BUILTIN
    from shaketable.models.examples import EXAMPLES
    from shaketable.views.terminal import print_list

    lists: dict[str, Callable[[], dict[str, str]]] = {
        "datasets": lambda: {name: _first_line(make) for name, make in datasets.BUILTIN.items()},
        "models": lambda: {**BUILTIN, **EXAMPLES},
        "corruptions": CORRUPTIONS.describe,
        "suites": lambda: {name: _describe_suite(name) for name in SUITES},
        "attacks": describe_attacks,
        "metrics": lambda: {name: _first_line(f) for name, f in list_metrics().items()},
    }
    entries = lists[args.kind]()
    if args.json:
        print_json(entries)
    else:
        print_list(entries)
    return 0


def _describe_suite(name: str) -> str:
    from shaketable.corruptions.suites.suite import suite

    try:
        return str(suite(name))
    except InputError as error:  # of another package: the others are still listed
        return str(error)


def _first_line(documented: Callable[..., Any]) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]

"""``shaketable list``: names of data sets, models, corruptions and so on."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from shaketable.cli.flags import add_json_flag, one_of
from shaketable.cli.output import print_json

KINDS = (
    "datasets",
    "models",
    "networks",
    "corruptions",
    "suites",
    "attacks",
    "augmentations",
    "adversaries",
    "recipes",
    "metrics",
    "figures",
    "backends",
)
ABOUT = "names of data sets, models, corruptions, recipes and so on"
SCHEMA = "cli/list.schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What to list."""
    parser.add_argument("kind", type=one_of("kind", KINDS), metavar="|".join(KINDS))
    add_json_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Print the names of one kind, with their descriptions."""
    from shaketable.adversary.attacks.registry import describe_attacks
    from shaketable.core.workers.tasks import BACKENDS
    from shaketable.corruptions.registry import describe_corruptions
    from shaketable.corruptions.suites.suite import SUITES
    from shaketable.data import builtin as datasets
    from shaketable.findings.finding import FINDINGS
    from shaketable.models.builtin import BUILTIN
    from shaketable.models.examples import EXAMPLES
    from shaketable.models.networks.registry import describe_networks
    from shaketable.training.augmentations.registry import describe_augmentations
    from shaketable.training.recipes import describe_recipes
    from shaketable.views.terminal import print_list

    lists: dict[str, Callable[[], dict[str, str]]] = {
        "datasets": lambda: {name: _first_line(make) for name, make in datasets.BUILTIN.items()},
        "models": lambda: {**BUILTIN, **EXAMPLES},
        "networks": describe_networks,
        "corruptions": describe_corruptions,
        "suites": lambda: SUITES.describe(lambda name, suite: {name: str(suite)}),
        "attacks": describe_attacks,
        "augmentations": describe_augmentations,
        "adversaries": _describe_adversaries,
        "recipes": describe_recipes,
        "metrics": lambda: FINDINGS.describe(
            lambda _, kind: {name: _first_line(metric) for name, metric in kind.metrics.items()}
        ),
        "figures": _describe_figures,
        "backends": lambda: BACKENDS.describe(lambda name, make: {name: _first_line(make)}),
    }
    entries = lists[args.kind]()
    if args.json:
        print_json(entries, versioned=False)
    else:
        print_list(entries)
    return 0


def _describe_adversaries() -> dict[str, str]:
    from shaketable.models.networks.registry import import_torch

    import_torch()
    from shaketable.training.adversaries import describe_adversaries

    return describe_adversaries()


def _describe_figures() -> dict[str, str]:
    from shaketable.findings.figures.registry import describe_figures  # loads the charts

    return describe_figures()


def _first_line(documented: Callable[..., Any]) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]

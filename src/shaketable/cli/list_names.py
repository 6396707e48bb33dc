"""``shaketable list``: names of data sets, models and so on, and the schemas of JSON.

Prints what can be named in commands and in Python, each with one line of description, those of
installed packages included; slips in published papers, and their printed tables; or the JSON Schema
of what a command prints with --json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any, TypeAlias

from shaketable.cli.flags import add_json_flag
from shaketable.cli.output import print_json
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.options import one_of

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
    "errata",
    "published",
    "backends",
    "schema",
)
NamesJson: TypeAlias = Annotated[dict[str, str], "Result of list: descriptions by name"]

ABOUT = "names of data sets, models, corruptions …; schemas of JSON"
SCHEMA = "shaketable.cli.list_names:NamesJson"
EXAMPLES = """\
  shaketable list corruptions
  shaketable list errata pnorm-table6
  shaketable list schema report"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What to list."""
    parser.add_argument("kind", type=one_of("kind", KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="errata, published: which one to show in full; schema: the command whose JSON is "
        "described, such as separation or study-dry-run (default: report, which evaluate and study "
        "print too)",
    )
    add_json_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Print the names of one kind, with their descriptions; or a schema."""
    if args.kind == "schema":
        print_json(make_command_schema(args.name or "report"), versioned=False)
        return 0
    if args.kind == "errata":
        _print_errata(args.name, json=args.json)
        return 0
    if args.kind == "published":
        _print_published(args.name, json=args.json)
        return 0
    if args.name is not None:
        raise InputError(f"list {args.kind} takes no name, got {args.name!r}; leave it out")
    from shaketable.adversary.attacks.registry import describe_attacks
    from shaketable.core.workers.tasks import BACKENDS
    from shaketable.corruptions.registry import describe_corruptions
    from shaketable.corruptions.suites.suite import SUITES
    from shaketable.data import builtin as datasets
    from shaketable.findings.finding import FINDINGS, METRICS
    from shaketable.models.builtin import BUILTIN, EXAMPLES
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
        "metrics": lambda: (
            FINDINGS.describe(
                lambda _, kind: {name: _first_line(metric) for name, metric in kind.metrics.items()}
            )
            | METRICS.describe(lambda name, metric: {name: _first_line(metric)})
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


def _print_errata(name: str | None, *, json: bool) -> None:
    """Print all errata by paper, a line for each; or one in full."""
    from shaketable.findings.errata.errata import find_erratum, load_errata
    from shaketable.views.terminal import print_lines, print_list

    if name is not None:
        facts = find_erratum(name).facts()
        if json:
            print_json(facts, versioned=False)
        else:
            print_lines(*(line for entry in facts.items() for line in _wrap_fact(*entry)))
        return
    errata = load_errata()
    if json:
        print_json({name: str(erratum) for name, erratum in errata.items()}, versioned=False)
        return
    for paper in dict.fromkeys(erratum.paper for erratum in errata.values()):
        print_lines(paper)
        print_list(
            {f"  {e.id}": f"{e.kind}: {e.place}" for e in errata.values() if e.paper == paper}
        )
    print_lines("shaketable list errata NAME shows one in full.")


def _print_published(name: str | None, *, json: bool) -> None:
    """Print the names of all printed tables; or one of them."""
    from shaketable.reproductions.published import find_published, list_published
    from shaketable.views.terminal import print_blocks, print_list

    if name is None:
        tables = list_published()
        if json:
            print_json(tables, versioned=False)
        else:
            print_list(tables)
        return
    table = find_published(name)
    if json:
        print_json([number.json() for number in table], versioned=False)
    else:
        print_blocks([table.tabulate()])


def _wrap_fact(about: str, text: str) -> list[str]:
    """Return a fact in lines that fit the terminal, below what it is; a command is one line."""
    width = len(text) + 2 if about == "command" else get_terminal_size().columns
    lines = wrap(text, width - 2, break_long_words=False, break_on_hyphens=False)
    return [f"{about}:", *(f"  {line}" for line in lines)]


def make_command_schema(name: str) -> dict[str, object]:
    """Put together the JSON Schema of what a command prints with ``--json``.

    The command's SCHEMA names its type; DRY_RUN_SCHEMA, for ``NAME-dry-run``, that of what it
    prints with ``--dry-run``.
    """
    from shaketable.cli.commands import COMMANDS  # it imports this module
    from shaketable.findings.schema import make_result_schema

    command = name.removesuffix("-dry-run")
    if command not in COMMANDS:
        raise unknown_name("command", command, COMMANDS)
    kind = getattr(COMMANDS.get(command), "SCHEMA" if command == name else "DRY_RUN_SCHEMA", None)
    if kind is None:
        raise InputError(f"no JSON of {name!r} has a schema; name another command")
    return make_result_schema(name, kind)


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

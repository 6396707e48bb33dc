"""``shaketable schema``: what the JSON of a command holds."""

from __future__ import annotations

import argparse

from shaketable.cli.output import print_json
from shaketable.core.errors import InputError

ABOUT = "JSON Schema of what a command prints with --json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The command."""
    parser.add_argument(
        "name",
        nargs="?",
        default="score",
        metavar="COMMAND",
        help="such as separation; evaluate, study and score print the same (default: score)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    print_json(make_command_schema(args.name), versioned=False)
    return 0


def make_command_schema(name: str) -> dict[str, object]:
    """Put together the schema of a command's JSON; the command's SCHEMA names its file."""
    from shaketable.cli.commands import COMMANDS  # it imports this module
    from shaketable.core.checks import unknown_name
    from shaketable.findings.schema import make_schema

    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    path = getattr(COMMANDS.get(name), "SCHEMA", None)
    if path is None:
        raise InputError(f"command {name!r} prints no JSON that has a schema; name another one")
    return make_schema(name, path)

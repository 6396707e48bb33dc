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
    parser.add_argument(
        "--dry-run", action="store_true", help="that of what the command prints with --dry-run"
    )


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    print_json(make_command_schema(args.name, dry_run=args.dry_run), versioned=False)
    return 0


def make_command_schema(name: str, *, dry_run: bool = False) -> dict[str, object]:
    """Put together the schema of a command's JSON; the command's SCHEMA names its file.

    With `dry_run`, it is that of what ``--dry-run`` prints, and DRY_RUN_SCHEMA names it.
    """
    from shaketable.cli.commands import COMMANDS  # it imports this module
    from shaketable.core.checks import unknown_name
    from shaketable.findings.schema import make_schema

    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    path = getattr(COMMANDS.get(name), "DRY_RUN_SCHEMA" if dry_run else "SCHEMA", None)
    if path is None:
        flag = " with --dry-run" if dry_run else ""
        raise InputError(
            f"command {name!r} prints no JSON that has a schema{flag}; name another one"
        )
    return make_schema(f"{name}-dry-run" if dry_run else name, path)

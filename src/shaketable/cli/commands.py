"""All commands by name: ours, and those of other installed packages."""

from __future__ import annotations

import argparse
from typing import Any, Protocol

from shaketable.cli import (
    adversary,
    agreement,
    balls,
    corrupt,
    demo,
    evaluate,
    gallery,
    list_names,
    mcv,
    score,
    separation,
    study,
)
from shaketable.core.errors import InputError
from shaketable.core.registry import Registry


class Command(Protocol):
    """A module or an object that is a command.

    Another package adds one by an entry point in the group ``shaketable.commands``.
    """

    ABOUT: str
    """One line for ``shaketable --help``."""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Declare the flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Carry it out, and return the exit code."""


def _admit(name: str, command: Any) -> Command:
    """Check what another package declares as a command."""
    lacks = [part for part in ("add_flags", "run") if not callable(getattr(command, part, None))]
    if not isinstance(getattr(command, "ABOUT", None), str):
        lacks.insert(0, "ABOUT")
    if lacks:
        raise InputError(
            f"command {name!r} of an installed package must have ABOUT (a text), add_flags(parser) "
            f"and run(args); it lacks {', '.join(lacks)}; update the package or uninstall it"
        )
    checked: Command = command
    return checked


COMMANDS: Registry[Command] = Registry("command", admit=_admit)

COMMANDS.add("demo", demo)
COMMANDS.add("separation", separation)
COMMANDS.add("evaluate", evaluate)
COMMANDS.add("study", study)
COMMANDS.add("score", score)
COMMANDS.add("mcv", mcv)
COMMANDS.add("adversary", adversary)
COMMANDS.add("agreement", agreement)
COMMANDS.add("corrupt", corrupt)
COMMANDS.add("gallery", gallery)
COMMANDS.add("balls", balls)
COMMANDS.add("list", list_names)

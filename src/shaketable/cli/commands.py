"""All commands by name: ours, and those of other installed packages."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from shaketable.core.errors import InputError, ShaketableError
from shaketable.core.registry import Registry


class Command(Protocol):
    """A module or an object that is a command.

    Another package adds one by an entry point in the group ``shaketable.commands``. It may have
    ``EXAMPLES``, lines for the end of its help. Ours that print JSON also have ``SCHEMA``, the type
    that describes it, as ``module:name``.
    """

    ABOUT: str
    """One line for ``shaketable --help``."""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Declare the flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Carry it out, and return the exit code."""


@dataclass
class ForeignCommand:
    """A command of another package: its errors name it, and its exit code is checked."""

    name: str
    command: Command
    ABOUT: str

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Declare its flags; whatever it raises becomes an `InputError`."""
        with COMMANDS.guard(self.name, "failed to declare its flags: {error}"):
            self.command.add_flags(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Carry it out, and return its exit code."""
        passed, hint = (ShaketableError, BrokenPipeError), "; --debug shows where"
        with (
            COMMANDS.guard(self.name, hint=hint, but=(Exception,)),  # exits
            COMMANDS.guard(self.name, make=ShaketableError, hint=hint, but=(*passed, SystemExit)),
        ):
            code: object = self.command.run(args)
        if not isinstance(code, int) or isinstance(code, bool) or not 0 <= code <= 255:
            raise InputError(
                f"command {self.name!r} of an installed package must return its exit code, a whole "
                f"number from 0 to 255, got {code!r}; update the package or uninstall it"
            )
        return code


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
    return ForeignCommand(name, command, command.ABOUT)


COMMANDS: Registry[Command] = Registry("command", admit=_admit)

GROUPS: dict[str, tuple[str, ...]] = {
    "Start": ("demo",),
    "Measure": ("separation", "evaluate", "adversary", "risk", "study"),
    "Improve": ("train", "harden"),
    "Decide": ("check", "compare", "rerun"),
    "Read results": ("report", "dossier", "figure", "export", "merge"),
    "Data": ("corrupt", "list"),
    "Papers": ("reproduce",),
}
"""The commands as ``shaketable --help`` shows them."""

_MODULES = {"list": "list_names"}
"""Modules that are not named as their command."""


def _import(name: str) -> Command:
    """Import a command of ours; one that runs needs none of the others."""
    module: Any = import_module(f"shaketable.cli.{_MODULES.get(name, name)}")
    return module  # type: ignore[no-any-return]


for _names in GROUPS.values():
    for _name in _names:
        COMMANDS.declare(_name, partial(_import, _name))

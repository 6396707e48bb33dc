"""Read the arguments: errors of one line that suggest the nearest names, and study files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from shutil import get_terminal_size
from textwrap import fill
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from shaketable.cli.study_file import INIT
from shaketable.core.checks import unknown_name
from shaketable.core.errors import (
    InputError,
    ShaketableError,
    describe_error,
    guard_foreign,
)
from shaketable.core.options import list_options, list_values, make_options, read_settings
from shaketable.core.toml_files import read_toml

if TYPE_CHECKING:
    from shaketable.cli.commands import Command
    from shaketable.core.registry import Registry

EXIT_CODES = """exit codes:
  0 fine, 1 a requirement is not met or rerun does not agree, 2 usage or input,
  3 inconclusive, 4 anything else, 130 interrupted"""


class Parser(argparse.ArgumentParser):
    """Argument parser that raises its errors as `InputError`, in one line.

    Words such as ``-1,1`` are values, not flags. A flag of which only the last value would count
    must be given once.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf)")
        self.register("action", None, _StoreOnce)
        self.given: set[str] = set()
        """Flags that were given, in the parsing at hand."""

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """Parse as usual; no flag was given before."""
        self.given = set()
        return super().parse_known_args(*args, **options)

    def error(self, message: str) -> NoReturn:
        """Raise `message` as an input error."""
        raise InputError(f"{message}; see {self.prog} --help")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read the value of a flag; an error names the flag, whatever its type raises."""
        passed = (argparse.ArgumentError, ShaketableError)
        # argparse itself expects a TypeError or ValueError
        with guard_foreign(
            "cannot be read: {error}", partial(argparse.ArgumentError, action), but=passed
        ):
            try:
                return super()._get_value(action, arg_string)
            except argparse.ArgumentError as error:
                if isinstance(error.__context__, InputError):  # it says more
                    raise argparse.ArgumentError(action, str(error.__context__)) from error
                raise

    def format_help(self) -> str:
        """Return the help; an error names the command whose texts cannot be shown."""
        try:
            return super().format_help()
        except Exception as error:  # argparse fills in %(default)s, so a bare % in a text fails
            raise InputError(
                f"the help of '{self.prog}' cannot be shown: {describe_error(error)}; its package "
                "must write %% for % in the help of flags; update it or uninstall it"
            ) from error


class _StoreOnce(argparse._StoreAction):
    """Stores the value of a flag, and refuses a second one."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        if option is not None and self.dest in parser.given:
            remedy = "leave one out" if self.nargs is None else "write all values after one"
            raise argparse.ArgumentError(self, f"must be given once; {remedy}")
        parser.given.add(self.dest)
        super().__call__(parser, namespace, values, option)


def parse_args(
    argv: Sequence[str],
    commands: Registry[Command],
    groups: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> argparse.Namespace:
    """Parse the arguments; ``run`` is the command's function.

    What a study file says is filled in where no flag says otherwise. `groups` are the names of
    commands by the title of their group, for the list of all.
    """
    name = next((word for word in argv if not word.startswith("-")), None)
    if name is None or argv[0] in ("-h", "--help"):
        return _list_commands(commands, groups).parse_args(argv)
    if name not in commands:
        raise unknown_name("command", name, commands)
    parser, sub = make_parser(name, commands.get(name))
    args, rest = parser.parse_known_args(argv)
    if rest:
        _refuse(rest[0], sub)
    if (kind := getattr(args, "options", None)) is not None:
        args.options = _read_options(args, kind)
        vars(args).update(list_values(args.options))
    return args


def _read_options(args: argparse.Namespace, kind: type[Any]) -> Any:
    """Make the options of a command from its flags, and from a study file where none says else."""
    given = {key: value for key, value in vars(args).items() if key in list_options(kind)}
    file = given.get("file")
    if file is None or file == INIT:
        return make_options(kind, given)
    where = f"study file {file!r}"
    settings = read_settings(kind, read_toml(file, where), where=where, given=given)
    return make_options(kind, settings | given)


def _list_commands(
    commands: Registry[Command], groups: Mapping[str, Iterable[str]]
) -> argparse.ArgumentParser:
    """Parser of ``shaketable --help``: every command with its description, without flags."""
    parser, _ = _make_top_parser(help=argparse.SUPPRESS)
    parser.usage = f"{parser.prog} [-h] [--version] COMMAND …"
    about = commands.describe(lambda name, command: {name: command.ABOUT})
    grouped = {name for names in groups.values() for name in names}
    others = {"Of other packages": [name for name in about if name not in grouped]}
    lists = [
        "\n".join([f"{title}:", *(_describe(name, about[name]) for name in names)])
        for title, names in {**groups, **others}.items()
        if names
    ]
    more = "shaketable COMMAND --help shows the options of a command, and examples."
    parser.description = "\n\n".join([str(parser.description), *lists, more])
    return parser


def _describe(name: str, about: str) -> str:
    """Return the lines of a command in the list of all."""
    width = max(40, get_terminal_size().columns - 2)
    return fill(f"  {name:<12}{' '.join(about.split())}", width, subsequent_indent=" " * 14)


def make_parser(
    name: str, command: Command
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Make the parser of one command, within that of the program, and by itself."""
    parser, subparsers = _make_top_parser()
    examples = getattr(command, "EXAMPLES", None)
    sub = subparsers.add_parser(
        name,
        description=command.ABOUT,
        epilog=examples and f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.set_defaults(run=command.run)
    sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
    command.add_flags(sub)
    return parser, sub


def _make_top_parser(
    **options: str,
) -> tuple[Parser, argparse._SubParsersAction[Parser]]:
    """Parser of the program, and where its commands go."""
    parser = Parser(
        prog="shaketable",
        description="How robust is a classifier? Measure it under noise of the size its data "
        "allow.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    return parser, parser.add_subparsers(required=True, metavar="COMMAND", **options)


def _refuse(word: str, parser: argparse.ArgumentParser) -> NoReturn:
    """Raise for a word that the command does not take."""
    known = [flag for action in parser._actions for flag in action.option_strings]
    if word.startswith("-"):
        raise unknown_name("option", word.partition("=")[0], known)
    raise InputError(f"unexpected argument {word!r}; see {parser.prog} --help")

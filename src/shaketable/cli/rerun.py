"""``shaketable rerun``: make a results file again, and say whether it agrees.

Carries out the commands that made a results file again, and compares all cells. With the same
versions on the same platform all counts must be identical; else no mean accuracy may differ by more
than chance explains.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_result
from shaketable.core.options import (
    format_toml,
)
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_text

if TYPE_CHECKING:
    from shaketable.evaluation.command_records import CommandRecord
    from shaketable.evaluation.evaluate_options import RerunOptions

ABOUT = "make a results file again, and say whether it agrees"
EXAMPLES = """\
  shaketable rerun results.sqlite --cells 10
  shaketable rerun results.sqlite --json
  shaketable rerun results.sqlite --show"""
SCHEMA = "shaketable.evaluation.rerun:RerunJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The file, the new one, and which part is made again."""
    from shaketable.evaluation.evaluate_options import RerunOptions

    add_options(parser, RerunOptions)


def run(args: argparse.Namespace) -> int:
    """Make it again, and print whether it agrees; or print how it was made."""
    from shaketable.activities.rerun import read_commands, rerun

    options: RerunOptions = args.options
    if options.show:
        with ignore_broken_pipe():
            for command in read_commands(options.results)[0]:
                print_lines(*_describe(command))
                for key, value in command.settings.items():
                    print_text(f"{key} = {format_toml(value)}")
        return 0
    result = rerun(
        options.results,
        data=options.data,
        out=options.out,
        cells=options.cells,
        trust=options.trust,
        n_jobs=options.jobs,
        device=options.device,
        progress=not options.quiet,
    )
    print_result(result, json=options.json)
    return result.exit_code


def _describe(command: CommandRecord) -> list[str]:
    """How results were made, besides the settings, as comments of a study file."""
    versions = ", ".join(f"{name} {version}" for name, version in command.versions.items())
    models = ", ".join(f"{name} {identity}" for name, identity in command.models.items())
    return [
        f"# shaketable {command.command}, {command.created}, on {command.platform}",
        f"# versions: {versions}",
        f"# fingerprint of the data: {command.fingerprint}",
        f"# hashes of the models: {models}",
        *(f"# {key}, given in Python: {what}" for key, what in command.lacks.items()),
    ]

"""``shaketable reproduce``: published numbers made again, beside print.

Without a name it lists what can be reproduced, what each needs, and what was last measured. With a
name it makes the numbers again, prints them beside print, says which declared claims hold, and
writes a page, JSON and the figure into a folder. An interrupted command goes on where it stopped.
Slips of the papers are corrected before anything is compared, and named.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json, print_result
from shaketable.core.errors import InputError
from shaketable.views.terminal import print_blocks, print_lines

if TYPE_CHECKING:
    from shaketable.reproductions.options import ReproduceOptions

ABOUT = "numbers of the papers made again, ours beside print"
SCHEMA = "shaketable.reproductions.listing:ReproduceJson"
EXAMPLES = """\
  shaketable reproduce
  shaketable reproduce pnorm-table6
  shaketable reproduce mscr-table2 --data bands2d_b.npz
  shaketable reproduce mscr-table3 --data cifar10.npz --form gpu --minutes 9"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What is reproduced, from which data, and where the files go."""
    from shaketable.reproductions.options import ReproduceOptions

    add_options(parser, ReproduceOptions)


def run(args: argparse.Namespace) -> int:
    """Reproduce what is named, or list all names."""
    options: ReproduceOptions = args.options
    if options.name is None:
        return _list(options)
    from shaketable.reproductions.reproduce import reproduce

    try:
        found = reproduce(
            options.name,
            data=options.data,
            form=options.form,
            runs=options.runs,
            norm=options.norm,
            draws=options.draws,
            seed=options.seed,
            out=options.out,
            minutes=options.minutes,
            n_jobs=options.jobs,
            device=options.device,
            progress=not options.quiet,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_say_what_is_kept(options.out)) from None
    print_result(found, json=options.json)
    written = ", ".join(path.name for path in found.list_files(options.out))
    print_lines(f"in {options.out}: {written}", to_stderr=True)
    return found.exit_code


def _say_what_is_kept(folder: str) -> str:
    """Say whether anything is kept that the same command can go on with."""
    if any(Path(folder).glob("*.sqlite")):
        return f"what is done is in {folder}; run the same command to go on"
    return "nothing is kept yet; the same command begins again"


def _list(options: ReproduceOptions) -> int:
    """Print all names with what they need."""
    from shaketable.core.options import write_settings
    from shaketable.reproductions.listing import list_reproductions, show_reproductions

    if given := set(write_settings(options)) - {"json", "format"}:
        raise InputError(f"--{min(given)} is about one reproduction; name it, such as pnorm-table6")
    if options.json:
        print_json({"reproductions": list_reproductions()})
    else:
        print_blocks(show_reproductions())
    return 0

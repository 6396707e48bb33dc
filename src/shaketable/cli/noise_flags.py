"""The flags of commands about noise itself, without a model: corrupt, gallery, balls."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from shaketable.cli.flags import (
    CHART_ENDINGS,
    bounds_flags,
    data_flags,
    draws_flag,
    file_to_write,
    grid_flags,
    numbers,
    one_of,
    out_flag,
    path_name,
    quiet_flag,
    seed_flag,
    textures_flag,
    wholes,
    words,
)
from shaketable.core.errors import InputError

COPY_ENDINGS = (".npz", ".csv", ".csv.gz", ".parquet")
"""Of the files that a corrupted copy can be written to."""


def noise_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the commands about noise alone; `command` makes a parser of a name and a description."""
    sub = command("corrupt", "write a corrupted copy of a data set")
    sub.add_argument("data", metavar="DATA", help="file, folder of pictures or built-in set")
    data_flags(sub)
    what = sub.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--corruption", metavar="SPEC", help="such as 'l2(1)'; see shaketable list corruptions"
    )
    what.add_argument(
        "--suite",
        help="write a folder with all sets of a suite, such as two-factor or common-19",
    )  # fmt: skip
    grid_flags(what, sub)
    forms = ["arrays", "pictures"]
    sub.add_argument(
        "--form", type=one_of("form", forms), metavar="|".join(forms),
        help="what a set of a suite is: an array, or a folder of PNG files (default: what the data "
        "were read from)",
    )  # fmt: skip
    textures_flag(sub)
    bounds_flags(sub)
    seed_flag(sub, "what the noise follows from")
    sub.add_argument(
        "--uint8", action="store_true", help="round pictures to x/255, as uint8 (default: floats)"
    )
    draws_flag(sub, "ladder for a suite, else independent")
    sub.add_argument(
        "-o", "--out", type=path_name, required=True, metavar="FILE|DIR",
        help=f"file to write: {', '.join(COPY_ENDINGS)}; for a suite a new folder",
    )  # fmt: skip
    quiet_flag(sub)

    sub = command("gallery", "one picture under several corruptions, side by side")
    sub.add_argument("data", metavar="DATA", help="file or built-in set of pictures")
    data_flags(sub)
    sub.add_argument("--row", type=int, default=0, help="which picture (default: 0)")
    sub.add_argument(
        "--corruptions", nargs="+", default=[], metavar="SPEC",
        help="such as 'l2(1)' (default: the suite ice)",
    )  # fmt: skip
    sub.add_argument(
        "--suite", help="all corruptions of a suite; p-norm noise on the surface of its ball"
    )
    sub.add_argument(
        "--inside", action="store_true",
        help="noise of the suite inside its balls, as models meet it, not on their surface",
    )  # fmt: skip
    bounds_flags(sub)
    seed_flag(sub, "what the noise follows from")
    out_flag(sub, "what to write", [".html", ".png"], required=True)

    sub = command("balls", "what p-norm balls are like")
    views = ["samples", "volumes", "overlap"]
    sub.add_argument("view", type=one_of("view", views), metavar="|".join(views))
    sub.add_argument("--norms", type=words, metavar="LIST", help="such as 0.5,1,2,inf")
    sub.add_argument(
        "--surface", action="store_true", help="samples from the surface (default: inside)"
    )
    sub.add_argument(
        "-d", "--dimensions", type=wholes, metavar="LIST",
        help="of volumes (default: 3,5,10,20), or one for overlap (default: 3072)",
    )  # fmt: skip
    sub.add_argument(
        "--second", default="l2(4)", metavar="BALL", help="other ball of overlap (default: l2(4))"
    )
    sub.add_argument(
        "--epsilons", type=numbers, metavar="LIST", help="sizes of the first ball of overlap"
    )
    sub.add_argument("--n", type=int, default=1000, help="points of a ball (default: 1000)")
    seed_flag(sub, "what the points follow from")
    sub.add_argument("--json", action="store_true", help="for programs")
    out_flag(sub, "chart to write", CHART_ENDINGS)


def out_file(text: str, endings: Sequence[str]) -> str:
    """Path of a file that can be written and has one of the endings."""
    try:
        return file_to_write(text, endings)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"--out {error}") from error

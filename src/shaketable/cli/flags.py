"""Flags that several commands share, and how the values of flags are read."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import split_top_level

CHART_ENDINGS = (".html", ".json", ".pdf", ".png", ".svg")
"""Of the files that a chart can be written to."""


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are ours: one line, with the nearest names."""

    def error(self, message: str) -> NoReturn:
        """Raise `message` as an input error."""
        raise InputError(f"{message}; see {self.prog} --help")


def data_flags(sub: argparse.ArgumentParser) -> None:
    """Which data, and how to read them."""
    sub.add_argument(
        "--label", metavar="COLUMN", help="column of a CSV or parquet file with the classes"
    )
    sub.add_argument("--test", metavar="FILE", help="file or folder with a fixed test part")
    sub.add_argument("--scale", action="store_true", help="put every feature on [0, 1]")
    sub.add_argument(
        "--drop-clashes", action="store_true", help="leave out points that coincide across classes"
    )
    sub.add_argument(
        "--non-numeric", default="error", metavar="error|drop|onehot",
        help="what to do with columns that are not numbers (default: error)",
    )  # fmt: skip


def model_flag(sub: argparse.ArgumentParser, what: str) -> None:
    """Which models; `what` says what can be named."""
    sub.add_argument(
        "--model", action="append", metavar="MODEL",
        help=f"{what}; more than once to compare. Importing a model runs its code",
    )  # fmt: skip


def norm_flag(sub: argparse.ArgumentParser) -> None:
    """In which norm distances are measured."""
    sub.add_argument("--norm", default="inf", help="inf, 1, 2 or another order (default: inf)")


def copies_flags(sub: argparse.ArgumentParser, *, k: int | None = 10) -> None:
    """How many noisy copies, and the seed; `k` None where suites decide."""
    default = "10" if k else "10, or what the suite was published with"
    sub.add_argument(
        "--k", type=int, default=k, help=f"noisy copies of every point (default: {default})"
    )
    seed_flag(sub, "what all randomness follows from")


def seed_flag(sub: argparse.ArgumentParser, about: str) -> None:
    """Where randomness starts from."""
    sub.add_argument("--seed", type=int, default=0, help=f"{about} (default: 0)")


def draws_flag(sub: argparse.ArgumentParser, default: str) -> None:
    """Whether the levels of a ladder share what is drawn."""
    ways = ["independent", "ladder"]
    sub.add_argument(
        "--draws", type=one_of("draws", ways), metavar="|".join(ways),
        help=f"whether noise is drawn for every size, or once a norm and scaled (default: "
        f"{default})",
    )  # fmt: skip


def grid_flags(levels: Any, sub: argparse.ArgumentParser) -> None:
    """Flags of a grid of faults; `levels` is where those of its factors go, `sub` or a group."""
    levels.add_argument(
        "--grid", nargs="+", type=levels_of, action="append", metavar="LEVELS",
        help="faults that follow one another: levels of every factor, such as 'sp(0.1), sp(0.2)' "
        "'rotation(30)'; more than once for several grids",
    )  # fmt: skip
    orders = ["both", "given"]
    sub.add_argument(
        "--orders", type=one_of("orders", orders), metavar="|".join(orders),
        help="whether the factors of --grid come in every order, or only as given (default: both)",
    )  # fmt: skip


def textures_flag(sub: argparse.ArgumentParser) -> None:
    """Where frost gets its ice from."""
    sub.add_argument(
        "--frost-textures", type=path_name, metavar="DIR",
        help="folder with pictures of ice for the frost of a suite (default: drawn here)",
    )  # fmt: skip


def bounds_flags(sub: argparse.ArgumentParser) -> None:
    """The range of values, and what noise does at its edge."""
    rules = ["clip", "truncate", "none"]
    sub.add_argument(
        "--bounds", type=one_of("bounds", rules), metavar="|".join(rules),
        help="what noise does at the edge of the value range (default: as the data declare)",
    )  # fmt: skip
    sub.add_argument(
        "--range", type=_range, metavar="LOW,HIGH", help="the value range, such as 0,1"
    )


def output_flags(sub: argparse.ArgumentParser, *, store: bool = True) -> None:
    """Where results go, and what is required of them."""
    if store:
        sub.add_argument(
            "--store", type=path_name, metavar="FILE",
            help="results file; what is in it is not redone",
        )  # fmt: skip
        quiet_flag(sub)
    sub.add_argument("--json", action="store_true", help="for programs; percentages")
    page_flag(sub, "--report", about="write a page with tables and figures")
    sub.add_argument(
        "--min-mscr", type=_finite, metavar="PERCENT",
        help="require an MSCR of at least this; exit code 1: not met, 3: interval too wide",
    )  # fmt: skip


def page_flag(sub: argparse.ArgumentParser, *names: str, about: str) -> None:
    """A page to write."""
    check = partial(file_to_write, endings=(".html", ".htm"))
    sub.add_argument(*names, type=check, metavar="FILE.html", help=about)


def quiet_flag(sub: argparse.ArgumentParser) -> None:
    """Progress bar or none."""
    sub.add_argument("--quiet", action="store_true", help="no progress bar")


def one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    """Type of a flag that takes one of these names."""

    def check(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(str(unknown_name(kind, text, names)))
        return text

    return check


def words(text: str) -> list[str]:
    """Words with commas between them."""
    return [word.strip() for word in text.split(",")]


def numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(word) for word in words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be numbers, with commas: {error}") from error


def levels_of(text: str) -> list[str]:
    """Specs with commas between them."""
    return split_top_level(text, ",")


def wholes(text: str) -> list[int]:
    """Whole numbers with commas between them."""
    try:
        return [int(word) for word in words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be whole numbers, with commas: {error}") from error


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be LOW,HIGH, such as 0,1, got {text!r}") from error
    return low, high


def path_name(text: str) -> str:
    """Path of a file or folder, whether there is one or not."""
    if not text:
        raise argparse.ArgumentTypeError("must name a file, got an empty text")
    return text


def file_name(text: str) -> str:
    """Path of a file that can be written: found out now, not after the work."""
    path = Path(path_name(text))
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise argparse.ArgumentTypeError(f"must be a file, but {text!r} {what}")
    return text


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}")
    return number


def out_flag(
    sub: argparse.ArgumentParser, about: str, endings: Sequence[str], *, required: bool = False
) -> None:
    """Flag of a file to write that has one of the endings."""

    def check(text: str) -> str:
        return file_to_write(text, endings)

    sub.add_argument(
        "-o", "--out", type=check, required=required, metavar="FILE",
        help=f"{about}: {', '.join(endings)}",
    )  # fmt: skip


def file_to_write(text: str, endings: Sequence[str]) -> str:
    """Path of a file that can be written and has one of the endings, as a flag's value."""
    if not text.lower().endswith(tuple(endings)):
        raise argparse.ArgumentTypeError(f"must end in {', '.join(endings)}, got {text!r}")
    return file_name(text)

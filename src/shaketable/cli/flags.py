"""Flags that several commands share, and how the values of flags are read."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from shaketable.cli.columns import add_column_flags
from shaketable.cli.copies import parse_copies
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.sizes import read_multiple
from shaketable.core.spec import split_top_level
from shaketable.core.writing import check_writable
from shaketable.views.formats import TABLE_FORMATS

CHART_ENDINGS = (".html", ".json", ".pdf", ".png", ".svg")
"""Endings of the files that a chart can be written to."""


def add_data_flags(
    parser: argparse.ArgumentParser, points: str = "take only N points, of a fixed test part if any"
) -> None:
    """Add how data are read; `points` says what a sample is."""
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of a CSV or parquet file with the classes"
    )
    parser.add_argument("--test", metavar="FILE", help="file or folder with a fixed test part")
    parser.add_argument(
        "--points",
        type=int,
        metavar="N",
        help=f"{points}, drawn with --seed",
    )
    parser.add_argument("--scale", action="store_true", help="scale every feature to [0, 1]")
    parser.add_argument(
        "--drop-clashes",
        action="store_true",
        help="leave out points that coincide with a point of another class",
    )
    parser.add_argument(
        "--non-numeric",
        default="keep",
        metavar="keep|error|drop|onehot",
        help="what to do with columns of text (default: keep: models get a data frame)",
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="column of a table that is no feature; it may be repeated",
    )
    add_column_flags(parser)


def add_model_flag(parser: argparse.ArgumentParser, kinds: str) -> None:
    """Add which models; `kinds` says what can be named."""
    parser.add_argument(
        "--model",
        action="append",
        metavar="[NAME=]MODEL",
        help=f"{kinds}; repeat it to compare models. A module that is named is imported. NAME is "
        "the model's name in results (default: as given)",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="load model files that may hold code (.joblib, .pkl, .pt of a whole module, .pt2, "
        "folders of MLflow), and import modules that only a file names: it runs",
    )
    parser.add_argument(
        "--classes",
        type=split_words,
        metavar="LIST",
        help="labels of the data in the order of the models' classes, such as no,yes for a model "
        "that answers 0 and 1; or 1=no,2=yes with its own labels",
    )


def add_subject_flags(parser: argparse.ArgumentParser, how_many: str = "", **about: str) -> None:
    """Add the data and the models, which come fitted or are trained first."""
    parser.add_argument(
        "--data",
        metavar="DATA",
        help="file, folder or built-in set; where models are trained and there is no "
        "--test, 20 %% of the points are drawn as test points",
    )
    add_data_flags(parser, **about)
    files = (
        "file.joblib, file.skops, file.pt, file.pt2, file.onnx, file.ubj, file.json, file.txt, "
        "folder of MLflow, package.module:attribute, "
        "package.module:network@weights.pt or built-in"
    )
    add_model_flag(parser, files + how_many)
    parser.add_argument(
        "--preprocess",
        nargs="+",
        metavar="OPTION",
        help="what the models expect to be done to images: size=224 resample=bicubic crop=224 "
        "order=bgr scale=255 mean=0.485,0.456,0.406 std=0.229,0.224,0.225 layout=first",
    )
    parser.add_argument(
        "--fit", action="store_true", help="train the models on the training part first"
    )
    add_device_flag(parser)


def add_device_flag(parser: argparse.ArgumentParser) -> None:
    """Add where networks compute."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="where networks compute, such as cuda, cuda:1 or cpu (default: on the GPU if there is "
        "one)",
    )


def add_reference_flag(parser: argparse.ArgumentParser) -> None:
    """Add which model the others are compared with."""
    parser.add_argument(
        "--reference",
        metavar="MODEL",
        help="model that others are compared with on the mCV plot, and in accuracy if there are "
        "more than five (default: the only one whose name is clean or ends in (clean), else the "
        "first)",
    )


def add_norm_flag(parser: argparse.ArgumentParser, default: str = "inf") -> None:
    """Add the norm in which distances are measured."""
    parser.add_argument(
        "--norm", default=default, help=f"1, 2, inf or another order (default: {default})"
    )


def add_copies_flags(
    parser: argparse.ArgumentParser,
    *,
    k: int | None = 10,
    several: bool = False,
    auto: bool = False,
) -> None:
    """Add the number of noisy copies, and the seed; `k` None where suites decide.

    With `several`, it may be a list, which `split_copies` splits; with `auto`, it may be chosen.
    """
    default = "10" if k else "10, or what the suite was published with"
    chosen = ", or auto with --precision or --stop-early: what needs the fewest answers"
    more = ", or several, such as 1,2,5,10, one after the other" if several else ""
    parser.add_argument(
        "--k",
        type=parse_copies if several else int,
        default=k,
        help=f"noisy copies of every point{more}{chosen if auto else ''} (default: {default})",
    )
    add_seed_flag(parser, "all random numbers")


def add_seed_flag(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the seed; `purpose` says of what."""
    parser.add_argument("--seed", type=int, default=0, help=f"seed of {purpose} (default: 0)")


def add_draws_flag(parser: argparse.ArgumentParser, default: str) -> None:
    """Add whether the sizes of a ladder share their draws."""
    ways = ["independent", "ladder"]
    parser.add_argument(
        "--draws",
        type=one_of("draws", ways),
        metavar="|".join(ways),
        help="independent: noise is drawn for every size; ladder: it is drawn once per norm and "
        f"scaled (default: {default})",
    )


def add_grid_flags(levels: Any, parser: argparse.ArgumentParser) -> None:
    """Add a grid of faults; its levels go to `levels`, which is `parser` or a group of it."""
    levels.add_argument(
        "--grid",
        nargs="+",
        type=split_specs,
        action="append",
        metavar="LEVELS",
        help="faults that follow one another: the levels of every factor, such as "
        "'sp(0.1), sp(0.2)' 'rotation(30)'; repeat it for several grids",
    )
    orders = ["both", "given"]
    parser.add_argument(
        "--orders",
        type=one_of("orders", orders),
        metavar="|".join(orders),
        help="whether the factors of --grid come in every order, or only as given (default: both)",
    )


def add_bounds_flags(parser: argparse.ArgumentParser) -> None:
    """Add the range of values, and what happens at its edge."""
    rules = ["clip", "truncate", "none"]
    parser.add_argument(
        "--bounds",
        type=one_of("bounds", rules),
        metavar="|".join(rules),
        help="what noise does at the edge of the value range (default: as the data declare)",
    )
    parser.add_argument(
        "--range", type=_parse_range, metavar="LOW,HIGH", help="the value range, such as 0,1"
    )


def add_output_flags(parser: argparse.ArgumentParser, *, store: bool = True) -> None:
    """Add where results go, and what is required."""
    if store:
        add_store_flag(parser, "what it holds is not measured again")
        add_quiet_flag(parser)
    add_json_flag(parser, "; values are percentages")
    add_page_flag(parser, "--report", about="write a page with tables and figures")
    add_requirement_flags(parser)
    parser.add_argument(
        "--min-mscr",
        type=_parse_finite,
        metavar="PERCENT",
        help="the same as --require 'mscr >= PERCENT'",
    )


def add_store_flag(parser: argparse.ArgumentParser, about: str) -> None:
    """Add a results file."""
    parser.add_argument("--store", type=parse_path, metavar="FILE", help=f"results file; {about}")


def add_requirement_flags(parser: argparse.ArgumentParser) -> None:
    """Add what is required of models, and files for the decisions."""
    parser.add_argument(
        "--require",
        action="append",
        metavar="REQUIREMENT",
        help="such as 'accuracy >= 90%%', 'mscr >= -1' or 'difference(new, old).accuracy >= -0.5', "
        "in per cent; repeat it. Exit code 1: not met, 3: interval too wide to decide",
    )
    parser.add_argument(
        "--requirements",
        type=parse_path,
        metavar="FILE.toml",
        help="requirements as a file: require = ['mscr >= -1', …]",
    )
    parser.add_argument(
        "--junit",
        type=partial(parse_output_file, endings=(".xml",)),
        metavar="FILE.xml",
        help="write the decisions as JUnit XML, one test case each",
    )
    parser.add_argument(
        "--markdown",
        type=partial(parse_output_file, endings=("",)),
        metavar="FILE",
        help="write the decisions as a Markdown table, for the summary of a pipeline",
    )


def add_json_flag(parser: argparse.ArgumentParser, about: str = "") -> None:
    """Add how results are printed: as JSON for programs, or with tables in another format."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help=f"print JSON, for programs{about}")
    formats = ["text", *TABLE_FORMATS]
    group.add_argument(
        "--format",
        type=one_of("format", formats),
        default="text",
        metavar="|".join(formats),
        help="how tables and sentences are printed; LaTeX needs the package booktabs (default: "
        "text)",
    )


def add_page_flag(
    parser: argparse.ArgumentParser, *names: str, about: str, dest: str | None = None
) -> None:
    """Add an HTML page to write."""
    check = partial(parse_output_file, endings=(".html", ".htm"))
    parser.add_argument(*names, type=check, metavar="FILE.html", help=about, dest=dest)


def add_out_flag(
    parser: argparse.ArgumentParser, about: str, endings: Sequence[str], *, required: bool = False
) -> None:
    """Add a file to write that has one of the endings."""
    parser.add_argument(
        "-o",
        "--out",
        type=partial(parse_output_file, endings=endings),
        required=required,
        metavar="FILE",
        help=f"{about}: {', '.join(endings)}",
    )


def add_quiet_flag(parser: argparse.ArgumentParser) -> None:
    """Add whether there is a progress bar."""
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    """Type of a flag that takes one of these names."""

    def check(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(str(unknown_name(kind, text, names)))
        return text

    return check


def split_words(text: str) -> list[str]:
    """Split a text at its commas."""
    return [word.strip() for word in text.split(",")]


def split_specs(text: str) -> list[str]:
    """Split specs at the commas between them, not at those of their arguments."""
    return split_top_level(text, ",")


def parse_numbers(text: str) -> list[float]:
    """Parse numbers with commas between them."""
    try:
        return [float(word) for word in split_words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be numbers, with commas: {error}") from error


def parse_integers(text: str) -> list[int]:
    """Parse whole numbers with commas between them."""
    try:
        return [int(word) for word in split_words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be whole numbers, with commas: {error}") from error


def parse_epsilons(text: str) -> list[float | str]:
    """Parse numbers, or multiples of ``eps_min``, with commas between them."""
    words = split_words(text)
    try:
        return [float(word) if read_multiple(word) is None else word for word in words]
    except (ValueError, InputError) as error:
        raise argparse.ArgumentTypeError(
            "must be numbers, or multiples of eps_min such as 0.5*eps_min, with commas, got "
            f"{text!r}"
        ) from error


def parse_path(text: str) -> str:
    """Check that a text can be the path of a file or folder, which need not exist."""
    if not text:
        raise argparse.ArgumentTypeError("must name a file, got an empty text")
    return text


def parse_output_file(text: str, endings: Sequence[str]) -> str:
    """Check before any work that a file can be written, and that it has one of the endings."""
    if not text.lower().endswith(tuple(endings)):
        raise argparse.ArgumentTypeError(f"must end in {', '.join(endings)}, got {text!r}")
    try:
        check_writable(text, "it")
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def parse_confidence(text: str) -> float:
    """Parse a confidence in per cent, as a fraction."""
    percent = _parse_finite(text)
    if not 50 <= percent < 100:
        raise argparse.ArgumentTypeError(f"must be at least 50 and below 100, got {text!r}")
    return percent / 100


def _parse_range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be LOW,HIGH, such as 0,1, got {text!r}") from error
    return low, high


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}")
    return number

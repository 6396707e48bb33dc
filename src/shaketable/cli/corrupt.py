"""``shaketable corrupt``: corrupted copies of data, as files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.cli.flags import (
    add_bounds_flags,
    add_data_flags,
    add_draws_flag,
    add_grid_flags,
    add_quiet_flag,
    add_seed_flag,
)
from shaketable.cli.values import load_data, read_suites
from shaketable.core.errors import InputError
from shaketable.core.options import one_of, output_file, parse_path
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.evaluation.noise import Draws

ABOUT = "write a corrupted copy of a data set"

COPY_ENDINGS = (".npz", ".csv", ".csv.gz", ".parquet")
"""`shaketable.data.writing.ENDINGS`, which is slow to import."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, corruption or suite, and the file or folder to write."""
    parser.add_argument("data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--corruption", metavar="SPEC", help="such as 'l2(1)'; see shaketable list corruptions"
    )
    what.add_argument(
        "--suite",
        help="write a folder with all sets of a suite, such as two-factor or common-19",
    )
    add_grid_flags(what)
    forms = ["arrays", "pictures"]
    parser.add_argument(
        "--form",
        type=one_of("form", forms),
        metavar="|".join(forms),
        help="write every set of a suite as an array, or as a folder of PNG files (default: the "
        "form of the data)",
    )
    add_bounds_flags(parser)
    add_seed_flag(parser, "the noise")
    parser.add_argument(
        "--uint8", action="store_true", help="round images to x/255, as uint8 (default: floats)"
    )
    add_draws_flag(parser, "ladder for a suite, else independent")
    parser.add_argument(
        "-o",
        "--out",
        type=parse_path,
        required=True,
        metavar="FILE|DIR",
        help=f"file to write: {', '.join(COPY_ENDINGS)}; for a suite a new folder",
    )
    add_quiet_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Write a corrupted copy of a data set, or all copies of a suite."""
    suites = read_suites(args)
    if len(suites) > 1:
        raise InputError("--grid must be given once here: a folder holds one suite")
    return _write_suite(args, suites[0]) if suites else _write_copy(args)


def _write_copy(args: argparse.Namespace) -> int:
    from shaketable.core.norms import depends_on_distances
    from shaketable.corruptions import parse
    from shaketable.data.writing import write_dataset
    from shaketable.evaluation.copies import corrupted
    from shaketable.evaluation.noise import choose_range

    if args.form:
        raise InputError("--form is for --suite and --grid; the ending of --out says it here")
    try:
        output_file(*COPY_ENDINGS)(args.out)
    except InputError as error:
        raise InputError(f"--out: {error}") from error
    for source in (args.data, args.test):
        if source and Path(source).exists() and Path(source).resolve() == Path(args.out).resolve():
            raise InputError(f"--out must not be the data themselves, {source!r}; name a new file")
    parse(args.corruption, eps_min=lambda _: 1.0)  # refused before any work
    data = load_data(args)
    limits = choose_range(data, args.bounds) or "none"
    draws: Draws = args.draws or "independent"
    copy = corrupted(data, args.corruption, seed=args.seed, bounds=args.bounds, draws=draws)
    path = write_dataset(
        args.out,
        copy,
        as_uint8=args.uint8,
        label=args.label or "label",
        facts={
            "corruption": args.corruption,
            "seed": args.seed,
            "bounds": str(limits),
            "draws": draws,
        },
    )
    print_notes(data.notes(distances=depends_on_distances(args.corruption)))
    print_lines(f"{copy.name}: {copy.n} points, bounds {limits}, seed {args.seed}")
    print_lines(f"written to {path}")
    return 0


def _write_suite(args: argparse.Namespace, suite: Suite) -> int:
    from shaketable.evaluation.suite_copies import check_target, write_suite

    if args.uint8:
        raise InputError("--uint8 is for --corruption; a suite of uint8 images stays uint8")
    check_target(args.out, suite)
    data = load_data(args)
    draws: Draws = args.draws or "ladder"
    folder = write_suite(
        args.out,
        data,
        suite,
        seed=args.seed,
        bounds=args.bounds,
        draws=draws,
        form=args.form,
        progress=not args.quiet,
    )
    about = json.loads((folder / "manifest.json").read_text())
    drawn = "" if suite.kind == "sets" else f"{draws} draws, "  # named sets have their own
    part = "" if data.n_train is None else "training " if suite.part == "train" else "test "
    print_lines(
        f"{data.name} under {suite.name}: {len(about['corruptions'])} corruptions of "
        f"{about['points']} {part}points, {drawn}seed {args.seed}"
    )
    common = suite.kind == "common"
    hint = f"; evaluate --suite '{suite.name}(published={folder})' reads them" if common else ""
    print_lines(f"written to {folder}, with a manifest{hint}")
    return 0

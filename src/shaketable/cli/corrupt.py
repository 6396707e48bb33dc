"""``shaketable corrupt``: corrupted copies of data as files, or of one image as a gallery.

Writes a copy of the data with every point corrupted, with the same noise that evaluate uses in its
first draw; with --suite, one copy for every set of a suite. With --row it shows one image under
several corruptions instead.
"""

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
from shaketable.core.errors import InputError
from shaketable.core.options import make_options, one_of, output_file, parse_path
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.noise import Draws

ABOUT = "a corrupted copy of data; one image under several corruptions"
EXAMPLES = """\
  shaketable corrupt mydata.csv --label class --corruption "linf(0.1)" -o noisy.csv
  shaketable corrupt cifar10.npz --suite two-factor -o sets
  shaketable corrupt cifar10.npz --suite ice --row 7 -o gallery.html"""

COPY_ENDINGS = (".npz", ".csv", ".csv.gz", ".parquet")
"""`shaketable.data.writing.ENDINGS`, which is slow to import."""

GALLERY_ENDINGS = (".html", ".png")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, corruption or suite, and the file or folder to write."""
    parser.add_argument("data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser)
    parser.add_argument(
        "--corruption",
        action="append",
        default=[],
        metavar="SPEC",
        help="such as 'l2(1)'; see shaketable list corruptions; repeat it in a gallery",
    )
    parser.add_argument(
        "--suite",
        help="write a folder with all sets of a suite, such as two-factor or common-19; or a "
        "gallery of it (default of galleries: ice), with p-norm noise on the surface of its ball",
    )
    add_grid_flags(parser)
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
        help=f"file to write: {', '.join(COPY_ENDINGS)}; for a suite a new folder; for a gallery "
        f"{' or '.join(GALLERY_ENDINGS)}",
    )
    parser.add_argument("--row", type=int, help="which image a gallery shows (default: 0)")
    parser.add_argument(
        "--inside",
        action="store_true",
        help="gallery: p-norm noise of the suite inside its ball, as in evaluate, not on the "
        "surface",
    )
    add_quiet_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Write a corrupted copy of a data set, all copies of a suite, or a gallery."""
    if args.out.lower().endswith(GALLERY_ENDINGS):
        return _write_gallery(args)
    if args.row is not None or args.inside:
        flag = "--inside" if args.inside else "--row"
        endings = " or ".join(GALLERY_ENDINGS)
        raise InputError(f"{flag} is for a gallery, whose file ends in {endings}, got {args.out!r}")
    suites = _read_suites(args)
    if len(args.corruption) + len(suites) != 1:
        raise InputError(
            "corrupt writes one of --corruption, --suite and --grid, got "
            f"{len(args.corruption) + len(suites)}; for several corruptions of one image write a "
            "gallery, such as -o gallery.html"
        )
    return _write_suite(args, suites[0]) if suites else _write_copy(args, args.corruption[0])


def _load_data(args: argparse.Namespace) -> Dataset:
    """Load the data as the flags say."""
    from shaketable.data.options import DataOptions

    return make_options(DataOptions, vars(args)).load(seed=args.seed)


def _read_suites(args: argparse.Namespace) -> list[Suite]:
    """Suites and grids as the flags say."""
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.evaluate_options import make_grid

    names = [args.suite] if args.suite else []
    return [*map(suite, names), *map(make_grid, args.grid or ())]


def _write_copy(args: argparse.Namespace, corruption: str) -> int:
    from shaketable.core.norms import depends_on_distances
    from shaketable.corruptions import parse
    from shaketable.data.writing import write_dataset
    from shaketable.evaluation.copies import corrupted
    from shaketable.evaluation.noise import choose_range

    if args.form:
        raise InputError("--form is for --suite and --grid; the ending of --out says it here")
    _check_file(args.out, COPY_ENDINGS)
    for source in (args.data, args.test):
        if source and Path(source).exists() and Path(source).resolve() == Path(args.out).resolve():
            raise InputError(f"--out must not be the data themselves, {source!r}; name a new file")
    parse(corruption, eps_min=lambda _: 1.0)  # refused before any work
    data = _load_data(args)
    limits = choose_range(data, args.bounds) or "none"
    draws: Draws = args.draws or "independent"
    copy = corrupted(data, corruption, seed=args.seed, bounds=args.bounds, draws=draws)
    path = write_dataset(
        args.out,
        copy,
        as_uint8=args.uint8,
        label=args.label or "label",
        facts={
            "corruption": corruption,
            "seed": args.seed,
            "bounds": str(limits),
            "draws": draws,
        },
    )
    print_notes(data.notes(distances=depends_on_distances(corruption)))
    print_lines(f"{copy.name}: {copy.n} points, bounds {limits}, seed {args.seed}")
    print_lines(f"written to {path}")
    return 0


def _write_suite(args: argparse.Namespace, suite: Suite) -> int:
    from shaketable.evaluation.copies import check_target, write_suite

    if args.uint8:
        raise InputError("--uint8 is for --corruption; a suite of uint8 images stays uint8")
    check_target(args.out, suite)
    data = _load_data(args)
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


def _write_gallery(args: argparse.Namespace) -> int:
    """Write one image under the corruptions and the members of the suites, side by side."""
    from shaketable.corruptions.gallery import check_images, gallery, move_to_surface
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.noise import choose_range
    from shaketable.evaluation.resolve import resolve

    _check_file(args.out, GALLERY_ENDINGS)
    row = args.row or 0
    suites = _read_suites(args)
    data = _load_data(args)
    check_images(data.x, row)
    bounds = choose_range(data, args.bounds)
    corruptions = [*resolve(args.corruption, data, bounds).corruptions]
    if not suites and not corruptions:
        suites = [suite("ice")]
    for each in suites:
        members = resolve(each, data, bounds).corruptions
        corruptions += members if args.inside else map(move_to_surface, members)
    shown = gallery(data, corruptions, row=row, rng=args.seed, bounds=bounds)
    print_lines(f"{len(shown.pictures)} images written to {shown.save(args.out)}")
    return 0


def _check_file(path: str, endings: tuple[str, ...]) -> None:
    """Raise `InputError` before any work for a file that cannot be written."""
    try:
        output_file(*endings)(path)
    except InputError as error:
        raise InputError(f"--out: {error}") from error

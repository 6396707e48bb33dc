"""``shaketable gallery``: one image under several corruptions, side by side."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from shaketable.cli.flags import add_bounds_flags, add_data_flags, add_out_flag, add_seed_flag
from shaketable.cli.values import load_data
from shaketable.views.terminal import print_lines

if TYPE_CHECKING:
    from shaketable.corruptions import Corruption

ABOUT = "one image under several corruptions, side by side"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, which image, corruptions, and the file to write."""
    parser.add_argument("data", metavar="DATA", help="file, folder or built-in set of images")
    add_data_flags(parser)
    parser.add_argument("--row", type=int, default=0, help="which image (default: 0)")
    parser.add_argument(
        "--corruptions",
        nargs="+",
        default=[],
        metavar="SPEC",
        help="such as 'l2(1)' (default: the suite ice)",
    )
    parser.add_argument(
        "--suite", help="all corruptions of a suite; p-norm noise on the surface of its ball"
    )
    parser.add_argument(
        "--inside",
        action="store_true",
        help="p-norm noise of the suite inside its ball, as in evaluate, not on the surface",
    )
    add_bounds_flags(parser)
    add_seed_flag(parser, "the noise")
    add_out_flag(parser, "what to write", [".html", ".png"], required=True)


def run(args: argparse.Namespace) -> int:
    """Write the gallery."""
    from shaketable.corruptions.gallery.gallery import check_images, gallery
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.noise import choose_range
    from shaketable.evaluation.resolve import resolve

    data = load_data(args)
    check_images(data.x, args.row)
    bounds = choose_range(data, args.bounds)
    corruptions = [*resolve(args.corruptions, data, bounds).corruptions]
    if args.suite or not corruptions:
        members = resolve(suite(args.suite or "ice"), data, bounds).corruptions
        corruptions += members if args.inside else map(_move_to_surface, members)
    shown = gallery(data, corruptions, row=args.row, rng=args.seed, bounds=bounds)
    print_lines(f"{len(shown.pictures)} images written to {shown.save(args.out)}")
    return 0


def _move_to_surface(corruption: Corruption) -> Corruption:
    """Return p-norm noise at its largest, as in Fig. 2 of the paper; other corruptions as given."""
    from shaketable.corruptions import PNormNoise

    if not isinstance(corruption, PNormNoise):
        return corruption
    return replace(corruption, kind="vertices" if corruption.p == float("inf") else "surface")

"""``shaketable balls``: p-norm balls."""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import TYPE_CHECKING

from shaketable.cli.flags import (
    CHART_ENDINGS,
    add_json_flag,
    add_out_flag,
    add_seed_flag,
    one_of,
    parse_integers,
    parse_numbers,
    split_words,
)
from shaketable.cli.output import print_json
from shaketable.core.errors import InputError
from shaketable.views.terminal import print_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaketable.corruptions.balls.numbers import Overlap
    from shaketable.corruptions.pnorm import Kind
    from shaketable.views.drawing import Chart

ABOUT = "p-norm balls: points in them, their volumes, how they overlap"
SCHEMA = "corruptions/balls/schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What to show, norms, dimensions, and the chart to write."""
    views = ["samples", "volumes", "overlap"]
    parser.add_argument("view", type=one_of("view", views), metavar="|".join(views))
    parser.add_argument("--norms", type=split_words, metavar="LIST", help="such as 0.5,1,2,inf")
    parser.add_argument(
        "--surface", action="store_true", help="samples from the surface (default: inside)"
    )
    parser.add_argument(
        "-d",
        "--dimensions",
        type=parse_integers,
        metavar="LIST",
        help="of volumes (default: 3,5,10,20), or one for overlap (default: 3072)",
    )
    parser.add_argument(
        "--second", default="l2(4)", metavar="BALL", help="other ball of overlap (default: l2(4))"
    )
    parser.add_argument(
        "--epsilons", type=parse_numbers, metavar="LIST", help="sizes of the first ball of overlap"
    )
    parser.add_argument("--n", type=int, default=1000, help="points per ball (default: 1000)")
    add_seed_flag(parser, "the points")
    add_json_flag(parser)
    add_out_flag(parser, "chart to write", CHART_ENDINGS)


def run(args: argparse.Namespace) -> int:
    """Print the numbers, and draw the chart."""
    draw = {"samples": _show_samples, "volumes": _show_volumes, "overlap": _show_overlap}[args.view]
    chart = draw(args)
    if args.out is not None:
        from shaketable.views.drawing import save_chart

        print_lines(f"chart: {save_chart(chart(), args.out)}", to_stderr=True)
    return 0


def _show_samples(args: argparse.Namespace) -> Callable[[], Chart]:
    """Points of every ball, as a chart."""
    from shaketable.corruptions.balls.charts import PAPER_SAMPLES, sample_panels, samples_chart

    if args.out is None:
        raise InputError("balls samples draws a chart; name its file with -o")
    kind: Kind = "surface" if args.surface else "ball"
    balls = [(norm, kind) for norm in args.norms or ()] or PAPER_SAMPLES
    panels = sample_panels(balls, args.n, rng=args.seed)
    if args.json:
        print_json([])
    return lambda: samples_chart(panels)


def _show_volumes(args: argparse.Namespace) -> Callable[[], Chart]:
    """Ratio of the volumes of every ball and the next."""
    from shaketable.corruptions.balls.charts import volumes_chart
    from shaketable.corruptions.balls.numbers import PAPER_DIMENSIONS, volume_table
    from shaketable.corruptions.balls.table import print_volumes

    norms = args.norms or ["inf", "2", "1"]
    if len(norms) < 2:
        raise InputError("--norms must name two norms or more, whose volumes are compared")
    pairs = list(pairwise(norms))
    table = volume_table(args.dimensions or PAPER_DIMENSIONS, pairs)
    if args.json:
        print_json([volume.json() for volume in table])
    else:
        print_volumes(table)
    return lambda: volumes_chart(volume_table(args.dimensions or range(1, 101), pairs))


def _show_overlap(args: argparse.Namespace) -> Callable[[], Chart]:
    """Share of every ball that lies in the second, and the reverse."""
    from shaketable.core.norms import pnorm_level
    from shaketable.corruptions.balls.charts import overlap_chart
    from shaketable.corruptions.balls.numbers import PAPER_NORMS, overlap
    from shaketable.corruptions.balls.table import print_overlap, print_shares

    second = pnorm_level(args.second)
    if second is None or not second[0] > 0:
        raise InputError(f"--second must be a ball such as 'l2(4)', got {args.second!r}")
    if args.dimensions is not None and len(args.dimensions) != 1:
        raise InputError(f"overlap is found in one dimension at a time, got {args.dimensions}")
    (d,) = args.dimensions or (3072,)
    overlaps: list[Overlap] = [
        overlap(
            p,
            second[0],
            epsilon_q=second[1],
            epsilons=args.epsilons,
            d=d,
            n=args.n,
            rng=args.seed,
        )
        for p in args.norms or PAPER_NORMS
    ]
    if args.json:
        print_json([o.json() for o in overlaps])
    else:
        (print_shares if args.epsilons else print_overlap)(overlaps)
    return lambda: overlap_chart(overlaps)

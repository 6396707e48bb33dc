"""``shaketable adversary``: adversarial accuracy along epsilon."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from shaketable.cli.cluster import add_cluster_flags, use_cluster
from shaketable.cli.flags import (
    CHART_ENDINGS,
    add_bounds_flags,
    add_json_flag,
    add_norm_flag,
    add_out_flag,
    add_page_flag,
    add_quiet_flag,
    add_seed_flag,
    add_store_flag,
    add_subject_flags,
    one_of,
    parse_epsilons,
    parse_output_file,
    parse_path,
)
from shaketable.cli.output import print_json
from shaketable.cli.values import (
    load_data,
    load_declared,
    note_devices,
    read_bounds,
    read_models,
    run_model,
)
from shaketable.core.errors import InputError
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.adversary.worst_case import WorstCase

ABOUT = "accuracy at the worst point around every test point"
SCHEMA = "adversary/schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, region, attacks, and what to write."""
    add_subject_flags(parser, points="attack only N of the test points")
    parser.add_argument(
        "--own", action="store_true", help="train on all points, and attack the same points"
    )
    add_norm_flag(parser, "2")
    parser.add_argument(
        "--eps",
        type=parse_epsilons,
        required=True,
        metavar="LIST",
        help="how far the adversary may go: numbers, eps_min or 0.5*eps_min, with commas",
    )
    kinds = ["none", "genuine-max", "genuine-exact"]
    parser.add_argument(
        "--constraint",
        type=one_of("constraint", kinds),
        action="append",
        metavar="|".join(kinds),
        help="none: the whole ball; genuine: only what is closer to the point than to any other "
        "test point, at most (max) or exactly epsilon away; repeat it to compare (default: none)",
    )
    parser.add_argument(
        "--attack",
        action="append",
        default=[],
        metavar="SPEC",
        help="such as 'pgd(steps=20)', 'apgd(loss=ce)', 'random(queries=1000)', 'rays', 'cover', "
        "or 'package.module:name(…)' for your own; repeat it for several (default: what suits the "
        "model)",
    )
    parser.add_argument(
        "--random",
        type=int,
        default=0,
        metavar="K",
        help="also accuracy under random noise of the same sizes, K copies of every point",
    )
    add_bounds_flags(parser)
    add_seed_flag(parser, "random starts")
    add_json_flag(parser, "; values are percentages")
    add_out_flag(parser, "chart to write", CHART_ENDINGS)
    parser.add_argument(
        "--map",
        type=parse_path,
        metavar="FILE",
        help="chart of points of two features, for one model and one constraint: decision regions, "
        "Voronoi cells, and where the adversary went",
    )
    parser.add_argument(
        "--examples",
        type=partial(parse_output_file, endings=(".npz",)),
        metavar="FILE.npz",
        help="adversarial examples found at the largest epsilon: rows, points, labels",
    )
    add_page_flag(parser, "--report", about="write a page with tables, figures and examples")
    add_store_flag(parser, "it keeps the results of attacks, which are not run again")
    add_cluster_flags(parser)
    add_quiet_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Attack every model, and print its accuracies."""
    from shaketable.adversary.attacks.registry import parse_attack
    from shaketable.adversary.worst_case import worst_case
    from shaketable.models.devices import find_device

    sources = read_models(args)
    attacks = [parse_attack(spec) for spec in args.attack] or None
    constraints = args.constraint or ["none"]
    data = load_data(args, points=None)  # eps_min is that of all
    plain = data.d == 2 and data.table is None
    if args.map is not None and (not plain or len(sources) > 1 or len(constraints) > 1):
        raise InputError("--map draws one model and one constraint on points of two features")
    models = {}
    for name, source in sources.items():
        with run_model(name):
            models[name] = load_declared(source, args, data)
    split = not args.own and (args.fit or any(unfitted for _, unfitted in models.values()))
    parts = []
    with use_cluster(args):
        for name, (model, unfitted) in models.items():
            with run_model(name):
                part = worst_case(
                    model,
                    data,
                    args.eps,
                    norm=args.norm,
                    constraints=constraints,
                    attacks=attacks,
                    random=args.random,
                    bounds=read_bounds(args, data),
                    seed=args.seed,
                    name=name,
                    refit=unfitted or args.fit,
                    own=args.own,
                    split=split,
                    unscale=True,
                    points=args.points,
                    store=args.store,
                    progress=not args.quiet,
                )
            parts.append(part)
    worst = parts[0]
    for part in parts[1:]:
        worst += part
    with ignore_broken_pipe():
        if args.json:
            print_json(worst.json())
        else:
            worst.print()
    devices = {name: find_device(model) for name, (model, _) in models.items()}
    print_notes(note_devices(args, devices))
    _write(args, worst)
    return 0


def _write(args: argparse.Namespace, worst: WorstCase) -> None:
    """Write the charts, the examples and the page that the flags name."""
    if args.out is not None or args.map is not None:
        from shaketable.adversary.charts import curves_chart, map_chart  # altair is slow to import
        from shaketable.views.drawing import save_chart

        if args.out is not None:
            print_lines(f"chart: {save_chart(curves_chart(worst), args.out)}", to_stderr=True)
        if args.map is not None:
            curve = worst.curves[0]
            path = save_chart(map_chart(curve, curve.accuracies[-1]), args.map)
            print_lines(f"map: {path}", to_stderr=True)
    if args.examples is not None:
        print_lines(f"examples: {worst.save_examples(args.examples)}", to_stderr=True)
    if args.report is not None:
        print_lines(f"page: {worst.report(args.report)}", to_stderr=True)

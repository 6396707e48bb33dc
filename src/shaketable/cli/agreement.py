"""``shaketable agreement``: which of two models labels more like 1-NN."""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

from shaketable.cli.flags import (
    add_json_flag,
    add_norm_flag,
    add_quiet_flag,
    add_seed_flag,
    add_subject_flags,
)
from shaketable.cli.output import print_json
from shaketable.cli.values import get_models, load_data
from shaketable.core.errors import InputError
from shaketable.core.options import one_of
from shaketable.views.numbers import format_share
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

ABOUT = "which of two models labels more like 1-NN"
SCHEMA = "adversary/agreement.schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, norm, and what happens at ties."""
    add_subject_flags(parser, "; two or more")
    add_norm_flag(parser, "2")
    ties = ["neither", "majority"]
    parser.add_argument(
        "--ties",
        type=one_of("ties", ties),
        default="neither",
        metavar="|".join(ties),
        help="points with several nearest neighbours agree with neither model (default), or have "
        "the label of the majority of them",
    )
    add_seed_flag(parser, "the split, where the data have no test part")
    add_json_flag(parser, "; values are percentages")
    add_quiet_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Compare every two models where their labels differ."""
    import numpy as np

    from shaketable.adversary.agreement import agreement
    from shaketable.adversary.target import Target
    from shaketable.core.norms import norm_title
    from shaketable.models.options import note_devices, run_model
    from shaketable.separations.one_nn import one_nn

    if len(models := get_models(args).named()) < 2:
        raise InputError("--model must name two models or more; repeat it for the second")
    data = load_data(args)
    nearest = one_nn(data, norm=args.norm, seed=args.seed, progress=not args.quiet)
    classes = np.array([*data.classes, "none"], dtype=object)  # code -1 is the last
    labels: dict[str, Any] = {}
    devices: dict[str, str | None] = {}
    for name, source in models.items():
        with run_model(name):
            model, unfitted = get_models(args).load(source, data)
            target = Target.of(
                model, data, seed=args.seed, name=name, refit=unfitted or args.fit, unscale=True
            )
            devices[name] = target.classifier.computed_on
            labels[name] = classes[target.classifier(data.rows(nearest.test))]
    pairs = [
        agreement(labels[a], labels[b], nearest, ties=args.ties, names=(a, b))
        for a, b in combinations(labels, 2)
    ]
    low, high = nearest.accuracy if args.ties == "neither" else nearest.majority_accuracy
    truth = classes[nearest.y]
    accuracy = {name: float(np.mean(given == truth)) for name, given in labels.items()}
    with ignore_broken_pipe():
        if args.json:
            print_json(
                {
                    "data": data.name,
                    "norm": args.norm,
                    "n": len(truth),
                    "one_nn": {"low": 100 * low, "high": 100 * high},
                    "accuracy": {name: 100 * value for name, value in accuracy.items()},
                    "pairs": [pair.json() for pair in pairs],
                }
            )
            return 0
        share = f"{100 * low:.2f}" if low == high else f"{100 * low:.2f} to {100 * high:.2f}"
        print_lines(
            f"{data.name}: {len(truth)} test points; {norm_title(nearest.p)} 1-NN has {share} %"
        )
        for name, value in accuracy.items():
            print_lines(f"{name} has {format_share(value)}")
        for pair in pairs:
            print_lines("", pair, *([pair.words] if pair.differing else []), *pair.list_points())
        print_notes([*data.notes(), *note_devices(args.device, devices)])
    return 0

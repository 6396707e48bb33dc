"""``shaketable study``: training noise against test noise, over many runs."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from typing import Any

from shaketable.cli.flags import (
    add_bounds_flags,
    add_common_flags,
    add_copies_flags,
    add_data_flags,
    add_grid_flags,
    add_model_flag,
    add_norm_flag,
    add_output_flags,
    parse_epsilons,
    parse_path,
)
from shaketable.cli.output import conclude, read_requirements
from shaketable.cli.train import (
    add_network_flags,
    choose_jobs,
    read_network,
    read_training_bounds,
)
from shaketable.cli.values import (
    load_data,
    load_declared,
    read_models,
    read_suites,
    run_model,
)
from shaketable.core.errors import InputError

ABOUT = "train with noise, test with noise, over many runs"
SCHEMA = "findings/schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, sizes of noise, runs, and where results go; or a file that says it."""
    parser.add_argument(
        "file", nargs="?", metavar="STUDY.toml", help="flags as a file: train_eps = […] …"
    )
    parser.add_argument("--data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser)
    add_model_flag(parser, "estimator to train: built-in, package.module:attribute or file.joblib")
    add_network_flags(parser)
    add_norm_flag(parser)
    for part in ("train", "test"):
        parser.add_argument(
            f"--{part}-eps",
            type=parse_epsilons,
            metavar="LIST",
            help=f"sizes of the {part} noise, such as 0,0.01,0.5*eps_min (default: 0,eps_min)",
        )
    parser.add_argument(
        "--train",
        action="append",
        metavar="SPEC",
        help="training noise instead of --train-eps, such as clean, C1 or 'l2(1) | sp(0.1)', for "
        "networks also 'trivialaugment + C1' or 'pgd_at(0.03)'; it may be repeated",
    )
    parser.add_argument(
        "--corruptions",
        nargs="+",
        default=[],
        metavar="SPEC",
        help="test noise beside --test-eps, such as 'l2(1)'; without --test-eps instead of it",
    )
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        help="named list of test noise, such as pnorm-cifar; see shaketable list suites",
    )
    add_grid_flags(parser, parser)
    add_common_flags(parser)
    parser.add_argument(
        "--keep-models", type=parse_path, metavar="DIR", help="folder for all trained models"
    )
    parser.add_argument(
        "--runs", type=int, default=10, help="how often everything is repeated (default: 10)"
    )
    parser.add_argument(
        "--draws",
        default="independent",
        metavar="independent|shared",
        help="shared: the same k offsets for all points, only to reproduce the paper",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        help="processes (default: one per core; one per GPU if networks are trained there)",
    )
    add_copies_flags(parser)
    add_bounds_flags(parser)
    add_output_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Carry out the study, and print it."""
    from shaketable.core.norms import as_p, norm_name
    from shaketable.core.spec import Call
    from shaketable.evaluation.study import study
    from shaketable.findings.requirements.needs import check_needs
    from shaketable.findings.results import find
    from shaketable.separations.pair import note_pairs

    norm = norm_name(as_p(args.norm))
    suites = read_suites(args)
    test_eps = args.test_eps
    if test_eps is None and not suites and not args.corruptions:
        test_eps = [0, "eps_min"]
    if args.train is not None and args.train_eps is not None:
        raise InputError("--train and --train-eps both name the training noise; leave one out")
    check_needs(
        read_requirements(args),
        [*(str(Call(norm, (epsilon,))) for epsilon in test_eps or ()), *args.corruptions, *suites],
        remedy="add its size to --test-eps, or measure it with shaketable evaluate",
    )
    models: dict[str, Any] = {}
    if args.model or not (args.network or args.recipe):
        for name, source in read_models(args).items():
            with run_model(name):
                models[name] = load_declared(source, args)[0]
    network = None
    if args.network or args.recipe:
        network = read_network(args)
        models[network.name] = network
    data = load_data(args)
    notes = []
    if data.n_train is not None:
        notes.append(
            "the data have a fixed test part, so runs differ only in training and noise, and the "
            "intervals cover only these"
        )
    bounds = read_training_bounds(args, data, network)
    with redirect_stdout(sys.stderr):  # whatever models print must not end up in the results
        records = study(
            data,
            models,
            norm=args.norm,
            train_eps=args.train_eps or (0, "eps_min"),
            test_eps=test_eps,
            train=args.train,
            corruptions=[*args.corruptions, *suites],
            k=args.k,
            runs=args.runs,
            seed=args.seed,
            draws=args.draws,
            bounds=bounds,
            store=args.store,
            keep_models=args.keep_models,
            n_jobs=choose_jobs(args, models.values()),
            progress=not args.quiet,
        )
    results = find(records, notes=[*notes, *note_pairs(data, records.separations)])
    return conclude(args, results, dataset=data)

"""``shaketable harden``: the training noise that buys the most robustness."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import (
    add_bounds_flags,
    add_copies_flags,
    add_data_flags,
    add_json_flag,
    add_model_flag,
    add_norm_flag,
    add_out_flag,
    add_quiet_flag,
    parse_path,
)
from shaketable.cli.output import print_json
from shaketable.cli.train import (
    add_network_flags,
    choose_jobs,
    get_one_network,
    note_training_device,
    read_network,
    read_training_bounds,
    refuse_network_flags,
)
from shaketable.cli.values import load_data, load_declared, read_models, run_model
from shaketable.core.errors import InputError
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

ABOUT = "find the training noise that buys the most robustness"
SCHEMA = "training/hardening/schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, model, what it is to be robust to, training noise to choose from, and the price."""
    parser.add_argument("--data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser)
    add_model_flag(parser, "estimator to train: built-in, package.module:attribute or file.joblib")
    add_network_flags(parser)
    add_norm_flag(parser)
    parser.add_argument(
        "--target",
        metavar="SPEC",
        help="noise that the model is to be robust to, such as 'l2(0.5)' (default: that of size "
        "eps_min)",
    )
    parser.add_argument("--suite", help="the same as a suite, of which the mean accuracy counts")
    parser.add_argument(
        "--noise",
        action="append",
        metavar="SPEC",
        help="training noise to choose from, such as C1 or 'l2(1) | sp(0.1)', for networks also "
        "'trivialaugment + C1'; repeat it (default: p-norm noise, from coarse to fine)",
    )
    parser.add_argument(
        "--price",
        type=float,
        default=0.0,
        metavar="POINTS",
        help="largest loss of clean accuracy, in percentage points (default: 0)",
    )
    parser.add_argument(
        "--runs", type=int, default=10, help="trainings for the final test (default: 10)"
    )
    parser.add_argument(
        "--search-runs",
        type=int,
        default=3,
        metavar="RUNS",
        help="trainings of every candidate in the search (default: 3)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        help="processes (default: one per core; one per GPU if networks are trained there)",
    )
    parser.add_argument(
        "--store",
        type=parse_path,
        metavar="FILE",
        help="results file; what it holds is not trained and measured again",
    )
    add_copies_flags(parser, k=None)
    add_bounds_flags(parser)
    add_out_flag(
        parser,
        "file of the model, trained with the noise if it helps and plainly if not",
        (".pt", ".joblib"),
    )
    add_json_flag(parser, "; values are percentages")
    add_quiet_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Search, test what was found, print it, and write the model to a file."""
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.trainees import choose_ending, list_notes
    from shaketable.training.hardening.search import harden

    if args.target is not None and args.suite is not None:
        raise InputError("--target and --suite both say what to be robust to; leave one out")
    data = load_data(args)
    name, model = _read_model(args, data)
    if args.out is not None and not args.out.lower().endswith(ending := choose_ending(model)):
        raise InputError(f"--out of this model must end in {ending}, got {args.out!r}")
    with redirect_stdout(sys.stderr):  # whatever models print must not end up in the results
        result = harden(
            data,
            {name: model},
            norm=args.norm,
            target=args.target if args.suite is None else suite(args.suite),
            noise=args.noise,
            price=args.price,
            runs=args.runs,
            search_runs=args.search_runs,
            k=args.k,
            seed=args.seed,
            bounds=read_training_bounds(args, data),
            store=args.store,
            n_jobs=choose_jobs(args, [model]),
            progress=not args.quiet,
        )
        if args.out is not None:
            result.save(args.out)
    with ignore_broken_pipe():
        if args.json:
            print_json({**result.json(), "file": args.out})
        else:
            result.print()
    notes = note_training_device(args) if args.network or args.recipe else []
    print_notes([*data.notes(), *list_notes({name: model}, data), *notes])
    if args.out is not None:
        print_lines(f"model, trained with {result.noise}: {args.out}", to_stderr=True)
    return 0


def _read_model(args: argparse.Namespace, data: Dataset) -> tuple[str, Any]:
    """Return the model and its name."""
    if args.network or args.recipe:
        if args.model:
            raise InputError("--model and --network both name the model; leave one out")
        network = read_network(args, get_one_network(args))
        return network.name, network
    refuse_network_flags(args)
    models = read_models(args)
    if len(models) > 1:
        raise InputError(f"--model must name one model, got {len(models)}; harden one at a time")
    ((name, source),) = models.items()
    with run_model(name):
        return name, load_declared(source, args, data, place=False)[0]

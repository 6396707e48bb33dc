"""``shaketable study``: training noise against test noise, over many runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaketable.cli.cluster import add_cluster_flags, use_cluster
from shaketable.cli.copies import split_copies
from shaketable.cli.flags import (
    add_bounds_flags,
    add_copies_flags,
    add_data_flags,
    add_grid_flags,
    add_model_flag,
    add_norm_flag,
    add_output_flags,
    parse_epsilons,
    parse_path,
)
from shaketable.cli.grouping import add_grouping_flags, read_group
from shaketable.cli.output import conclude, print_json, read_requirements
from shaketable.cli.settings import read_settings
from shaketable.cli.stopping import (
    MAX_RUNS,
    RUNS,
    add_stopping_flags,
    note_shortfall,
    read_goal,
    read_rule,
    read_runs,
)
from shaketable.cli.study_file import INIT, NEW_FILE, write_study_file
from shaketable.cli.train import (
    add_network_flags,
    choose_jobs,
    read_network,
    read_training_bounds,
    refuse_network_flags,
)
from shaketable.cli.values import (
    load_data,
    load_declared,
    note_devices,
    read_models,
    read_suites,
    run_model,
)
from shaketable.core.errors import InputError
from shaketable.views.terminal import ignore_broken_pipe, print_lines

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.records import Records
    from shaketable.evaluation.study_plan import StudyOptions
    from shaketable.findings.requirements.requirement import Requirement
    from shaketable.findings.stopping.rules import Decided, Precision

ABOUT = "train with noise, test with noise, over many runs"
SCHEMA = "findings/schema.json"
DRY_RUN_SCHEMA = "evaluation/dry_run.schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, sizes of noise, runs, and where results go; or a file that says it."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="STUDY.toml",
        help="flags as a file: train_eps = […] …; init writes a new one",
    )
    parser.add_argument(
        "new", nargs="?", metavar="FILE", help=f"with init: file to write (default: {NEW_FILE})"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the number of trainings and cells, and estimates of time and size, and stop",
    )
    parser.add_argument("--data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser)
    add_model_flag(parser, "estimator to train: built-in, package.module:attribute or file.joblib")
    add_network_flags(parser)
    add_norm_flag(parser)
    training = parser.add_mutually_exclusive_group()
    for part, flags in (("train", training), ("test", parser)):
        flags.add_argument(
            f"--{part}-eps",
            type=parse_epsilons,
            metavar="LIST",
            help=f"sizes of the {part} noise, such as 0,0.01,0.5*eps_min (default: 0,eps_min)",
        )
    training.add_argument(
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
    parser.add_argument(
        "--keep-models",
        type=parse_path,
        metavar="DIR",
        help="folder for all trained models; those that are not there are trained again",
    )
    rules = parser.add_mutually_exclusive_group()
    rules.add_argument(
        "--runs", type=int, help=f"how often everything is repeated (default: {RUNS})"
    )
    add_stopping_flags(parser, "runs", rules)
    parser.add_argument(
        "--max-runs",
        type=int,
        help=f"runs at most with --precision or --stop-early (default: {MAX_RUNS})",
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
    add_cluster_flags(parser)
    add_copies_flags(parser, k=None, several=True)
    add_bounds_flags(parser)
    add_grouping_flags(parser)
    add_output_flags(parser)


@dataclass(frozen=True)
class Inputs:
    """What the flags of a study stand for."""

    data: Dataset
    models: dict[str, Any]
    options: StudyOptions
    jobs: int
    rule: Precision | Decided | None


def read_inputs(
    args: argparse.Namespace, *, data: Dataset | None = None, models: Any = None
) -> Inputs:
    """Load data and models as the flags say, or take those given instead."""
    from shaketable.evaluation.trainees import load_trainees
    from shaketable.findings.requirements.needs import check_models

    suites = read_suites(args)
    test_eps = args.test_eps
    if test_eps is None and not suites and not args.corruptions:
        test_eps = [0, "eps_min"]
    requirements = read_requirements(args)
    goals = [*requirements, *read_goal(args)]
    _check_needs(args, goals, test_eps or (), suites)
    if args.k == "auto":
        raise InputError(
            "--k of a study must be a number, as models are trained with so many noisy copies; "
            "auto is for evaluate"
        )
    rule = read_rule(args, requirements)
    runs = read_runs(args, rule)
    data = load_data(args) if data is None else data
    if models is None:
        models = {}
        if not (args.network or args.recipe):
            refuse_network_flags(args)
        if args.model or not (args.network or args.recipe):
            for name, source in read_models(args).items():
                with run_model(name):
                    models[name] = load_declared(source, args, data, place=False)[0]
        for spec in args.network or ([None] if args.recipe else []):
            network = read_network(args, spec)
            if network.name in models:
                raise InputError(
                    f"--network {spec}: the name {network.name!r} is taken by another model; leave "
                    "one out, or name the --model (NAME=MODEL)"
                )
            models[network.name] = network
        check_models(goals, models)
    models = load_trainees(models, data, trust=args.trust)
    options: StudyOptions = {
        "norm": args.norm,
        "train_eps": args.train_eps or (0, "eps_min"),
        "test_eps": test_eps,
        "train": args.train,
        "corruptions": [*args.corruptions, *suites],
        "runs": runs,
        "seed": args.seed,
        "draws": args.draws,
        "bounds": read_training_bounds(args, data),
    }
    return Inputs(data, models, options, choose_jobs(args, models.values()), rule)


def identify(_: argparse.Namespace, inputs: Inputs) -> dict[str, str]:
    """Hashes of the models before training, by name."""
    from shaketable.evaluation.study_plan import identify_trainees

    return identify_trainees(inputs.models)


def _check_needs(
    args: argparse.Namespace,
    goals: Iterable[Requirement],
    test_eps: Iterable[float | str],
    suites: Iterable[Suite],
) -> None:
    """Raise an error if something is required, or has to be precise, that is not measured."""
    from shaketable.core.norms import as_p, norm_name
    from shaketable.core.spec import Call
    from shaketable.findings.requirements.needs import check_needs

    norm = norm_name(as_p(args.norm))
    check_needs(
        goals,
        [*(str(Call(norm, (epsilon,))) for epsilon in test_eps), *args.corruptions, *suites],
    )


def measure(args: argparse.Namespace, inputs: Inputs) -> Records:
    """Carry out the study."""
    from shaketable.evaluation.study import study

    # whatever models print must not end up in the results
    with use_cluster(args, inputs.jobs), redirect_stdout(sys.stderr):
        return study(
            inputs.data,
            inputs.models,
            **inputs.options | {"k": args.k},
            store=args.store,
            keep_models=args.keep_models,
            n_jobs=inputs.jobs,
            until=inputs.rule,
            progress=not args.quiet,
            settings=read_settings(args, add_flags),
        )


def run(args: argparse.Namespace) -> int:
    """Carry out the study, and print it; or write a study file, or say what it would take."""
    from shaketable.evaluation.evaluate import check_complete
    from shaketable.evaluation.records import Records, list_devices
    from shaketable.findings.results import find
    from shaketable.separations.pair import note_eps_min

    if args.file == INIT:
        return _write_file(args)
    if args.new is not None:
        raise InputError(f"unexpected argument {args.new!r}; see shaketable study --help")
    group = read_group(args)
    inputs = read_inputs(args)
    if args.dry_run:
        return _print_dry_run(args, inputs)
    data = inputs.data
    records = sum((measure(each, inputs) for each in split_copies(args)), start=Records(()))
    notes = note_shortfall(inputs.rule, records, "runs")
    notes += note_devices(args, list_devices(records))
    notes += note_eps_min(data, records.separations)
    try:
        results = find(records, baseline=args.baseline or "", group=group, notes=notes)
    except InputError:  # the flags do not fit the results, which must not be lost
        conclude(args, find(records, notes=notes), dataset=data)
        raise
    code = conclude(args, results, dataset=data)
    check_complete(records)
    return code


def _write_file(args: argparse.Namespace) -> int:
    """Write a study file with the settings that were given, or with those of an example."""
    path = args.new or NEW_FILE
    write_study_file(path, read_settings(args, add_flags, without=()), add_flags)
    print_lines(f"{path} is written; what it would take: shaketable study {path} --dry-run")
    return 0


def _print_dry_run(args: argparse.Namespace, inputs: Inputs) -> int:
    """Print what the study would take."""
    from shaketable.evaluation.dry_run import dry_run

    with redirect_stdout(sys.stderr):
        first, *others = (
            dry_run(
                inputs.data,
                inputs.models,
                **inputs.options | {"k": each.k},
                store=args.store,
                n_jobs=inputs.jobs,
                stops=inputs.rule is not None,
                progress=not args.quiet,
            )
            for each in split_copies(args)
        )
    expected = sum(others, start=first)
    with ignore_broken_pipe():
        if args.json:
            print_json(expected.json())
        else:
            expected.print()
    return 0

"""``shaketable evaluate``: fitted models under noise and other corruptions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shaketable.cli.cluster import add_cluster_flags, use_cluster
from shaketable.cli.copies import split_copies
from shaketable.cli.flags import (
    add_bounds_flags,
    add_copies_flags,
    add_draws_flag,
    add_grid_flags,
    add_output_flags,
    add_reference_flag,
    add_subject_flags,
)
from shaketable.cli.held_out import add_held_out_flag, note_training_points, take_held_out
from shaketable.cli.output import conclude, read_requirements
from shaketable.cli.settings import read_settings
from shaketable.cli.stopping import add_stopping_flags, note_shortfall, read_goal, read_rule
from shaketable.cli.values import (
    load_data,
    load_declared,
    note_devices,
    read_bounds,
    read_models,
    read_suites,
    run_model,
)
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.data.bounds import BoundsLike
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.noise import Draws
    from shaketable.evaluation.records import Records
    from shaketable.evaluation.resolve import Corruptions
    from shaketable.evaluation.sequential import StoppingRule
    from shaketable.findings.stopping.rules import Decided, Precision

ABOUT = "measure models under noise and other corruptions"
SCHEMA = "findings/schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, corruptions, and where results go."""
    add_subject_flags(parser)
    add_held_out_flag(parser)
    parser.add_argument("--model-id", help="stable ID, so that --store recognises a function")
    parser.add_argument(
        "--corruptions",
        nargs="+",
        default=[],
        metavar="SPEC",
        help="such as 'linf(0.1)', or 'package.module:name(…)' for your own (default: what "
        "--require needs, else 'linf(eps_min)', and "
        "'swap(0.1)' 'missing(0.1)' for a table without numbers)",
    )
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        help="named list of corruptions, such as pnorm or 'common-19(published=CIFAR-10-C)', or "
        "package.module:name for your own; see shaketable list suites",
    )
    add_grid_flags(parser, parser)
    parser.add_argument(
        "--features",
        nargs="*",
        metavar="SPEC",
        help="noise in one column of a table at a time, which shows the most fragile feature "
        "(default: 'jitter(0.5)' in numbers and dates, 'swap(0.1)' in text, categories and numbers "
        "of few values)",
    )
    add_copies_flags(parser, k=None, several=True, auto=True)
    add_draws_flag(parser, "ladder in suites, else independent")
    add_stopping_flags(parser, "points at random")
    parser.add_argument(
        "--device-noise",
        action="store_true",
        help="make noise on the device of torch modules where that is possible: faster for small "
        "networks, but noise of p-norms is then never paired with other models' results",
    )
    add_bounds_flags(parser)
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="report every group of rows by the values of this column, also one that --drop "
        "leaves out, as every class; it may be repeated",
    )
    add_reference_flag(parser)
    add_cluster_flags(parser)
    add_output_flags(parser)


@dataclass(frozen=True)
class Inputs:
    """What the flags of an evaluation stand for."""

    data: Dataset
    models: Mapping[str, str]
    levels: list[str | Suite]
    rule: Precision | Decided | None
    notes: list[str]
    """On points that were held out."""


def read_inputs(args: argparse.Namespace, *, data: Dataset | None = None) -> Inputs:
    """Load the data as the flags say, or take those given, and find models and corruptions."""
    from shaketable.corruptions import parse
    from shaketable.corruptions.suites.per_feature import per_feature
    from shaketable.evaluation.resolve import list_usual
    from shaketable.findings.requirements.needs import check_models, check_needs, list_needs
    from shaketable.models.loading import check_source

    models = read_models(args)
    for source in models.values():
        check_source(source, trust=args.trust)  # before the first model is measured
    if args.reference and args.reference not in models:
        raise unknown_name("reference", args.reference, models)
    requirements = read_requirements(args)
    goals = [*requirements, *read_goal(args)]
    check_models(goals, models)
    rule = read_rule(args, requirements, models=len(models))
    levels: list[str | Suite] = [*args.corruptions, *read_suites(args)]
    levels = levels or list_needs(goals)
    if levels and args.features is None:
        check_needs(goals, levels)
    specs = [s for level in levels for s in ([level] if isinstance(level, str) else level.names)]
    for spec in specs:
        parse(spec, eps_min=lambda _: 1.0)  # refused before any work
    data = load_data(args, by=args.by) if data is None else data
    notes: list[str] = []
    if args.held_out:
        data, notes = take_held_out(models, data)
    if args.features is not None:
        levels.append(per_feature(data, *args.features))
    levels = levels or [*list_usual(data)]
    check_needs(goals, levels)
    return Inputs(data, models, levels, rule, notes)


def identify(args: argparse.Namespace, inputs: Inputs) -> dict[str, str]:
    """Hashes of the models that come fitted, by name."""
    from shaketable.models.classifier import as_classifier

    known: dict[str, str] = {}
    for name, source in inputs.models.items():
        with run_model(name):
            model, unfitted = load_declared(source, args, inputs.data, place=False)
            if unfitted or args.fit:
                continue
            identity = as_classifier(
                model, inputs.data, name=name, model_id=args.model_id, unscale=True
            ).identity
        if identity is not None:
            known[name] = identity
    return known


def measure(args: argparse.Namespace, inputs: Inputs) -> Records:
    """Evaluate every model under the same corruptions."""
    from shaketable.evaluation.command_records import make_command_record
    from shaketable.evaluation.store import Store

    with use_cluster(args):
        records = evaluate_models(
            inputs.models,
            inputs.data,
            inputs.levels,
            k=args.k,
            seed=args.seed,
            bounds=read_bounds(args, inputs.data),
            store=args.store,
            model_id=args.model_id,
            fit=args.fit,
            load=lambda source: load_declared(source, args, inputs.data),
            draws=args.draws,
            device_noise=args.device_noise,
            until=inputs.rule,
            progress=not args.quiet,
        )
    if args.store is not None:
        record = make_command_record(
            "evaluate",
            read_settings(args, add_flags),
            {},
            fingerprint=inputs.data.fingerprint,
            models={cell.model: cell.recipe for cell in records},
            recipes=(cell.recipe for cell in records),
            seed=args.seed,
        )
        with Store(args.store) as results:
            results.add_command(record)
    return records


def run(args: argparse.Namespace) -> int:
    """Evaluate the models, and print the results."""
    from shaketable.evaluation.failures import check_complete
    from shaketable.evaluation.records import Records, list_devices
    from shaketable.findings.results import find
    from shaketable.separations.pair import note_eps_min

    inputs = read_inputs(args)
    data, notes = inputs.data, []
    records = sum((measure(each, inputs) for each in split_copies(args)), start=Records(()))
    if not args.fit:
        notes += inputs.notes + note_training_points(inputs.models, data)
    notes += note_shortfall(inputs.rule, records, "points")
    notes += note_devices(args, list_devices(records))
    if args.device_noise:
        notes += _note_noise_of_the_cpu(records, data)
    notes += note_eps_min(data, records.separations)
    results = find(records, reference=args.reference or "", notes=notes)
    code = conclude(args, results, dataset=data)
    check_complete(records)
    return code


def _note_noise_of_the_cpu(records: Records, data: Dataset) -> list[str]:
    """Say which corruptions were made on the CPU though the flags ask for the device."""
    from shaketable.corruptions import parse
    from shaketable.views.text import join_distinct

    here = ("cpu",) if data.x.dtype == "uint8" else ("cpu", "any")
    made = dict.fromkeys(parse(r.corruption) for r in records if r.corruption != "clean")
    names = join_distinct(c.ladder for c in made if c.traits.made_on in here)
    return [f"made on the CPU in spite of --device-noise: {names}"] if names else []


def evaluate_models(
    models: Mapping[str, str],
    data: Dataset,
    corruptions: Corruptions,
    *,
    k: int | Literal["auto"] | None,
    seed: int,
    bounds: BoundsLike | Literal["declared"],
    store: str | Path | None = None,
    model_id: str | None = None,
    fit: bool = False,
    load: Callable[[str], tuple[Any, bool]] | None = None,
    draws: Draws | None = None,
    device_noise: bool = False,
    until: StoppingRule | None = None,
    progress: bool = True,
) -> Records:
    """Load the models that are given by name and evaluate each, all under the same corruptions.

    Models that come unfitted are trained on the training part, all models if `fit` is true; `load`
    loads one, by default `load_model`.
    """
    from shaketable.evaluation.evaluate import Subject, evaluate_each
    from shaketable.models.loading import load_model

    if model_id is not None and len(models) > 1:
        raise InputError("--model-id names one model; evaluate them one at a time")

    def load_subject(name: str, source: str) -> Subject:
        with run_model(name):
            model, unfitted = (load or load_model)(source)
        return Subject(model, name, model_id, refit=unfitted or fit)

    with redirect_stdout(sys.stderr):  # whatever models print must not end up in the results
        return evaluate_each(
            (load_subject(name, source) for name, source in models.items()),
            data,
            corruptions,
            k=k,
            seed=seed,
            store=store,
            bounds=bounds,
            draws=draws,
            device_noise=device_noise,
            unscale=True,
            until=until,
            progress=progress,
        )

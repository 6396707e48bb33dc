"""Evaluate fitted models as options say."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from shaketable.activities.held_out import take_held_out
from shaketable.activities.stopping import read_goal, read_requirements, read_rule, write_kept
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.options import write_words
from shaketable.core.workers.tasks import use_cluster
from shaketable.corruptions import parse
from shaketable.corruptions.suites.per_feature import per_feature
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.dataset import Dataset
from shaketable.evaluation.command_records import make_command_record
from shaketable.evaluation.evaluate import Subject, evaluate_each
from shaketable.evaluation.evaluate_options import EvaluateOptions
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import list_items, list_usual
from shaketable.evaluation.sequential import StoppingRule
from shaketable.evaluation.store import Store
from shaketable.findings.measures.finding import read_asked
from shaketable.findings.requirements.requirement import (
    check_groups,
    check_models,
    check_needs,
    list_needs,
)
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import check_source
from shaketable.models.options import run_model


@dataclass(frozen=True)
class Inputs:
    """What the options of an evaluation stand for."""

    data: Dataset
    models: Mapping[str, str]
    levels: list[str | Suite]
    rule: StoppingRule | None
    notes: list[str]
    """On points that were held out."""


def read_inputs(options: EvaluateOptions, *, data: Dataset | None = None) -> Inputs:
    """Load the data, or take those given, and find models and corruptions."""
    models = options.models.named()
    for source in models.values():
        check_source(source, trust=options.models.trust)  # before the first model is measured
    if options.reference and options.reference not in models:
        raise unknown_name("reference", options.reference, models)
    if options.model_id is not None and len(models) > 1:
        raise InputError("--model-id names one model; evaluate them one at a time")
    asked = read_asked(options.metric or "")
    if asked is not None and options.record == "hits":
        raise InputError(
            f"--metric {options.metric} needs what the model answered; leave out --record hits"
        )
    requirements = read_requirements(options)
    goals = [*requirements, *read_goal(options)]
    check_models(goals, models)
    check_groups(goals, options.by, answers=options.record != "hits")
    rule = read_rule(options, requirements, models=len(models))
    levels: list[Any] = [*list_items(options.corruptions), *options.list_suites()]
    levels = levels or list_needs(goals)
    if levels and options.features is None:
        check_needs(goals, levels)
    specs = [s for level in levels for s in ([level] if isinstance(level, str) else level.names)]
    for spec in specs:
        parse(spec, eps_min=lambda _: 1.0)  # refused before any work
    if data is None:
        data = options.dataset.load(by=options.by, seed=options.seed)
    if asked is not None and asked[1] is not None and asked[1] not in map(str, data.classes):
        raise unknown_name(f"class in --metric {options.metric}:", asked[1], map(str, data.classes))
    notes: list[str] = []
    if options.held_out:
        data, notes = take_held_out(models, data)
    if options.features is not None:
        levels.append(per_feature(data, *options.features))
    levels = levels or [*list_usual(data)]
    check_needs(goals, levels)
    return Inputs(data, models, levels, rule, notes)


def identify(options: EvaluateOptions, inputs: Inputs) -> dict[str, str]:
    """Hashes of the models that come fitted, by name."""
    known: dict[str, str] = {}
    for name, source in inputs.models.items():
        with run_model(name):
            model, unfitted = options.models.load(source, inputs.data, place=False)
            if unfitted or options.models.fit:
                continue
            identity = as_classifier(
                model, inputs.data, name=name, model_id=options.model_id, unscale=True
            ).identity
        if identity is not None:
            known[name] = identity
    return known


def measure(options: EvaluateOptions, inputs: Inputs) -> Records:
    """Evaluate every model under the same corruptions."""

    def load_subjects() -> Iterator[Subject]:
        """Load models; on a cluster, whose devices are not known here, they stay where they are."""
        place = options.cluster is None or options.models.device is not None
        for name, source in inputs.models.items():
            with run_model(name):
                model, unfitted = options.models.load(source, inputs.data, place=place)
            yield Subject(model, name, options.model_id, refit=unfitted or options.models.fit)

    # whatever models print must not end up in the results
    with use_cluster(options.cluster), redirect_stdout(sys.stderr):
        records = evaluate_each(
            load_subjects(),
            inputs.data,
            inputs.levels,
            replace(options, until=inputs.rule, unscale=True),
        )
    settings = write_kept(options)
    command = make_command_record(
        "evaluate",
        settings,
        {},
        write_words(EvaluateOptions, settings),
        fingerprint=inputs.data.fingerprint,
        models={cell.model: cell.recipe for cell in records},
        recipes=(cell.recipe for cell in records),
        seed=options.seed,
    )
    if options.store is not None:
        with Store(options.store) as results:
            results.add_command(command)
    return replace(records, commands=(command,))

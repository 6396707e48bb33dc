"""Carry out studies as options say."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from shaketable.activities.networks import choose_jobs, make_network, refuse_device
from shaketable.activities.stopping import read_goal, read_requirements, read_rule, write_kept
from shaketable.core.errors import InputError
from shaketable.core.norms import as_p, norm_name
from shaketable.core.spec import Call
from shaketable.core.workers.tasks import use_cluster
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate_options import StudyOptions
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import list_items
from shaketable.evaluation.study import identify_trainees, run_study
from shaketable.evaluation.trainees import load_trainees
from shaketable.findings.requirements.requirement import (
    Requirement,
    check_groups,
    check_models,
    check_needs,
)
from shaketable.models.options import run_model


@dataclass(frozen=True)
class Inputs:
    """What the options of a study stand for."""

    data: Dataset
    models: dict[str, Any]
    options: StudyOptions
    """With the stopping rule and the number of processes."""


def read_inputs(
    options: StudyOptions, *, data: Dataset | None = None, models: Any = None
) -> Inputs:
    """Load data and models, or take those given instead."""
    requirements = read_requirements(options)
    goals = [*requirements, *read_goal(options)]
    _check_measured(options, goals)
    check_groups(goals, (), answers=options.record == "answers")
    if options.k == "auto":
        raise InputError(
            "--k of a study must be a number, as models are trained with so many noisy copies; "
            "auto is for evaluate"
        )
    rule = read_rule(options, requirements)
    data = options.dataset.load(seed=options.seed) if data is None else data
    if models is None:
        models = _load_models(options, data)
        check_models(goals, models)
    models = load_trainees(models, data, trust=options.models.trust)
    jobs = choose_jobs(options.jobs, options.models.device, models.values())
    return Inputs(data, models, replace(options, until=rule, jobs=jobs))


def _load_models(options: StudyOptions, data: Dataset) -> dict[str, Any]:
    """Estimators and networks that are to be trained, by name."""
    models: dict[str, Any] = {}
    if not options.networks.named:
        refuse_device(options.models.device)
    if options.models.model or not options.networks.named:
        for name, source in options.models.named().items():
            with run_model(name):
                models[name] = options.models.load(source, data, place=False)[0]
    for spec in options.networks.list_specs():
        network = make_network(
            options.networks,
            spec,
            device=options.models.device,
            validate=options.keep_models is not None,  # files hold the curve
        )
        if network.name in models:
            raise InputError(
                f"--network {spec}: the name {network.name!r} is taken by another model; leave one "
                "out, or name the --model (NAME=MODEL)"
            )
        models[network.name] = network
    return models


def _check_measured(options: StudyOptions, goals: Iterable[Requirement]) -> None:
    """Raise an error if something is required, or has to be precise, that is not measured."""
    others: list[Any] = [*list_items(options.corruptions), *options.list_suites()]
    sizes = options.test_eps
    if sizes is None:
        sizes = () if others else (0, "eps_min")
    norm = norm_name(as_p(options.norm))
    check_needs(goals, [*(str(Call(norm, (epsilon,))) for epsilon in sizes), *others])


def identify(_: StudyOptions, inputs: Inputs) -> dict[str, str]:
    """Hashes of the models before training, by name."""
    return identify_trainees(inputs.models)


def measure(options: StudyOptions, inputs: Inputs) -> Records:
    """Carry out the study; `options` are those of the inputs, with one number of copies."""
    carried_out = replace(inputs.options, k=options.k)
    # whatever models print must not end up in the results
    with use_cluster(options.cluster, inputs.options.jobs), redirect_stdout(sys.stderr):
        return run_study(inputs.data, inputs.models, carried_out, write_kept(options), {})

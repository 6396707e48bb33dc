"""``shaketable adversary``: adversarial accuracy along epsilon, or agreement with 1-NN.

Searches around every test point, within epsilon, for a point that the model misclassifies, and
reports the share of points for which none was found: an upper bound, with the attacks that ran and
what is proven. With --agreement it attacks nothing and compares two models with 1-NN instead; with
--smooth it certifies the smoothed models.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_result, read_results
from shaketable.core.errors import InputError
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.adversary.options import AdversaryOptions
    from shaketable.adversary.worst_case import WorstCase
    from shaketable.evaluation.command_records import CommandRecord

ABOUT = "accuracy at the worst point around every test point"
EXAMPLES = """\
  shaketable adversary --model rf --data bands --eps eps_min,0.02 --report worst.html
  shaketable adversary --model rf --data bands --eps 0.02 --constraint none \\
      --constraint genuine-max --random 10 -o curve.svg
  shaketable adversary --agreement neither --model rf --model svm --data bands
  shaketable adversary --smooth 0.05 --model rf --data bands --points 50"""
SCHEMA = "shaketable.adversary.avoidable:AdversaryJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, region, attacks, and what to write."""
    from shaketable.adversary.options import AdversaryOptions

    add_options(parser, AdversaryOptions)


def run(args: argparse.Namespace) -> int:
    """Attack every model, and print its accuracies; or compare their labels with those of 1-NN."""
    from shaketable.adversary.attacks.registry import parse_attack
    from shaketable.adversary.worst_case import worst_case
    from shaketable.core.workers.tasks import use_cluster
    from shaketable.models.devices import find_device
    from shaketable.models.options import note_devices, run_model

    options: AdversaryOptions = args.options
    if options.smooth is not None:
        return _certify(options, options.smooth)
    if options.agreement is not None:
        return _compare_labels(options)
    sources = options.models.named()
    attacks = [parse_attack(spec) for spec in options.attack] or None
    constraints: Any = options.constraint or ("none",)
    data = options.dataset.load(seed=options.seed, points=None)  # eps_min is that of all
    plain = data.d == 2 and data.table is None
    if options.map is not None and (not plain or len(sources) > 1 or len(constraints) > 1):
        raise InputError("--map draws one model and one constraint on points of two features")
    device, fit = options.models.device, options.models.fit
    place = options.cluster is None or device is not None  # devices of a cluster are not known
    models = {}
    for name, source in sources.items():
        with run_model(name):
            models[name] = options.models.load(source, data, place=place)
    split = not options.own and (fit or any(unfitted for _, unfitted in models.values()))
    parts = []
    with use_cluster(options.cluster):
        for name, (model, unfitted) in models.items():
            with run_model(name):
                part = worst_case(
                    model,
                    data,
                    options.eps or None,
                    norm=options.norm,
                    constraints=constraints,
                    attacks=attacks,
                    random=options.random,
                    bounds=options.bounds,
                    seed=options.seed,
                    name=name,
                    refit=unfitted or fit,
                    own=options.own,
                    split=split,
                    unscale=True,
                    points=options.dataset.points,
                    store=options.store,
                    progress=not options.quiet,
                )
            parts.append(part)
    worst = parts[0]
    for part in parts[1:]:
        worst += part
    command = _keep(options, worst)
    print_result(worst, json=options.json)
    devices = {name: find_device(model) for name, (model, _) in models.items()}
    print_notes(note_devices(device, devices))
    _write(options, worst, command)
    return 0


def _keep(options: AdversaryOptions, worst: WorstCase) -> CommandRecord:
    """Keep the command in the results file, and return it."""
    from shaketable.adversary.options import AdversaryOptions
    from shaketable.core.options import write_settings, write_words
    from shaketable.evaluation.command_records import make_command_record
    from shaketable.evaluation.store import Store

    settings = write_settings(options)
    command = make_command_record(
        "adversary",
        settings,
        {},
        write_words(AdversaryOptions, settings),
        fingerprint=worst.fingerprint,
        models={curve.model: curve.attacked.model_id for curve in worst.curves},
        recipes=(),
        seed=options.seed,
    )
    if options.store is not None:
        with Store(options.store) as store:
            store.add_command(command)
    return command


def _compare_labels(options: AdversaryOptions) -> int:
    """Print which of every two models labels more like 1-NN where they differ."""
    import numpy as np

    from shaketable.adversary.agreement import Agreements
    from shaketable.adversary.target import Target
    from shaketable.findings.errata.errata import note_errata
    from shaketable.models.options import note_devices, run_model
    from shaketable.separations.one_nn import one_nn

    if options.eps:
        raise InputError("--eps is for attacks, and --agreement attacks nothing; leave one out")
    if len(models := options.models.named()) < 2:
        raise InputError("--model must name two models or more; repeat it for the second")
    data = options.dataset.load(seed=options.seed)
    nearest = one_nn(data, norm=options.norm, seed=options.seed, progress=not options.quiet)
    classes = np.array([*data.classes, "none"], dtype=object)  # code -1 is the last
    labels: dict[str, Any] = {}
    devices: dict[str, str | None] = {}
    for name, source in models.items():
        with run_model(name):
            model, unfitted = options.models.load(source, data)
            refit = unfitted or options.models.fit
            target = Target.of(model, data, seed=options.seed, name=name, refit=refit, unscale=True)
            devices[name] = target.classifier.computed_on
            labels[name] = classes[target.classifier(data.rows(nearest.test))]
    ties: Any = options.agreement
    found = Agreements(data, options.norm, nearest, labels, ties)
    print_result(found, json=options.json)
    if not options.json:
        notes = [*data.notes(), *note_devices(options.models.device, devices)]
        print_notes([*notes, *note_errata(found.errata)])
    return 0


def _certify(options: AdversaryOptions, sigma: float) -> int:
    """Print certificates of the smoothed models; attack these if attacks are named."""
    from shaketable.adversary.attacks.registry import parse_attack
    from shaketable.adversary.smoothing.model import smoothed
    from shaketable.adversary.smoothing.numbers import AllCertificates
    from shaketable.models.devices import find_device
    from shaketable.models.options import note_devices, run_model

    for key in ("agreement", "constraint", "random", "map", "examples", "report", "cluster"):
        if getattr(options, key):
            raise InputError(f"--{key} is not for --smooth, which certifies; leave one of them out")
    attacks = [parse_attack(spec) for spec in options.attack]
    data = options.dataset.load(seed=options.seed, points=None)  # eps_min is that of all
    models, devices = {}, {}
    for name, source in options.models.named().items():
        with run_model(name):
            models[name] = options.models.load(source, data)
    fit = options.models.fit
    split = not options.own and (fit or any(unfitted for _, unfitted in models.values()))
    certified = []
    for name, (model, unfitted) in models.items():
        around = smoothed(
            model, sigma, draws=options.smooth_draws, bounds=options.bounds, seed=options.seed
        )
        devices[name] = find_device(model)
        with run_model(name):
            found = around.certify(
                data,
                options.eps or None,
                norm=options.norm,
                name=f"{name}, {around.title}",
                refit=unfitted or fit,
                own=options.own,
                split=split,
                unscale=True,
                points=options.dataset.points,
                store=options.store,
                progress=not options.quiet,
            )
            if attacks:
                found = found.attack(attacks, store=options.store, progress=not options.quiet)
            certified.append(found)
    every = AllCertificates(tuple(certified))
    print_result(every, json=options.json)
    print_notes(note_devices(options.models.device, devices))
    if options.out is not None:
        from shaketable.adversary.smoothing.charts import certified_chart  # altair is slow
        from shaketable.views.drawing import save_chart

        chart = certified_chart(every.certificates)
        print_lines(f"chart: {save_chart(chart, options.out)}", to_stderr=True)
    return 0


def _write(options: AdversaryOptions, worst: WorstCase, command: CommandRecord) -> None:
    """Write the charts, the examples and the page that are named."""
    if options.out is not None or options.map is not None:
        from shaketable.adversary.charts import curves_chart  # altair is slow to import
        from shaketable.views.drawing import save_chart

        if options.out is not None:
            print_lines(f"chart: {save_chart(curves_chart(worst), options.out)}", to_stderr=True)
        if options.map is not None:
            print_lines(f"map: {save_chart(worst.draw_map(), options.map)}", to_stderr=True)
    if options.examples is not None:
        print_lines(f"examples: {worst.save_examples(options.examples)}", to_stderr=True)
    if options.report is not None:
        from shaketable.adversary.finding import join, make_results
        from shaketable.findings.page import write_report  # loads the charts

        results = make_results(worst, commands=[command])
        if options.store is not None:
            results = join(read_results(options.store), worst)
        page = write_report(options.report, results, dataset=worst.data)
        print_lines(f"page: {page}", to_stderr=True)

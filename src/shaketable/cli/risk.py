"""``shaketable risk``: how rare wrong answers are under noise, down to one in a billion.

Estimates the probability of a wrong answer under noise, at every test point and as the mean over
them. Noise of p-norms and Gaussian noise are searched for failures in steps, so that a million
times fewer answers are needed than there would be plain draws; for other corruptions, and for
models that give labels without scores, plain draws are made. With --below it says whether the
probability is at most that: exit code 0, 1 or 3.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_result, read_results
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.command_records import CommandRecord
    from shaketable.findings.rare.finding import RareFailures
    from shaketable.rare.options import RiskOptions

ABOUT = "how rare wrong answers are under noise, down to one in a billion"
EXAMPLES = """\
  shaketable risk --model lr.skops --data test.npz --corruption 'linf(eps_min)' --below 1e-6
  shaketable risk --model new=a.onnx --model old=b.onnx --data test.npz \\
      --corruption 'gaussian(0.1)' --store r.sqlite --report rare.html
  shaketable risk --model net.onnx --data test.npz --corruption 'l2(0.5)' --dry-run"""
SCHEMA = "shaketable.rare.dry_run:RiskResultJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, corruptions, and what is required."""
    from shaketable.rare.options import RiskOptions

    add_options(parser, RiskOptions)


def run(args: argparse.Namespace) -> int:
    """Measure every model under every corruption, and print the probabilities."""
    from shaketable.models.devices import find_device
    from shaketable.models.options import note_devices, run_model
    from shaketable.rare.dry_run import dry_run
    from shaketable.rare.risk import risk

    options: RiskOptions = args.options
    sources = options.models.named()
    data = options.dataset.load(seed=options.seed, points=None)  # eps_min is that of all
    models = {}
    for name, source in sources.items():
        with run_model(name):
            models[name] = options.models.load(source, data)
    fit = options.models.fit
    split = fit or any(unfitted for _, unfitted in models.values())
    parts: list[Any] = []
    for name, (model, unfitted) in models.items():
        for corruption in options.corruption or ("linf(eps_min)",):
            given: dict[str, Any] = {
                "budget": options.budget,
                "precision": options.precision,
                "bounds": options.bounds,
                "seed": options.seed,
                "name": name,
                "refit": unfitted or fit,
                "split": split,
                "unscale": True,
                "points": options.dataset.points,
                "store": options.store,
            }
            with run_model(name):
                if options.dry_run:
                    parts.append(dry_run(model, data, corruption, **given))
                    continue
                given |= {"below": options.below, "progress": not options.quiet}
                parts.append(risk(model, data, corruption, **given))
    found = parts[0]
    for part in parts[1:]:
        found += part
    print_result(found, json=options.json)
    if options.dry_run:
        return 0
    devices = {name: find_device(model) for name, (model, _) in models.items()}
    print_notes(note_devices(options.models.device, devices))
    _write(options, found, _keep(options, found), data)
    return int(found.exit_code)


def _keep(options: RiskOptions, found: RareFailures) -> CommandRecord:
    """Keep the command in the results file, and return it."""
    from shaketable.core.options import write_settings, write_words
    from shaketable.evaluation.command_records import make_command_record
    from shaketable.evaluation.store import Store
    from shaketable.rare.options import RiskOptions

    settings = write_settings(options)
    records = found.records.rare
    command = make_command_record(
        "risk",
        settings,
        {},
        write_words(RiskOptions, settings),
        fingerprint=records[0].fingerprint,
        models={record.model: record.model_id for record in records},
        recipes=(),
        seed=options.seed,
    )
    if options.store is not None:
        with Store(options.store) as store:
            store.add_command(command)
    return command


def _write(
    options: RiskOptions, found: RareFailures, command: CommandRecord, data: Dataset
) -> None:
    """Write the page that is named."""
    if options.report is None:
        return
    from shaketable.findings.page import write_report  # loads the charts
    from shaketable.findings.rare.finding import make_results

    results = make_results(found, [command])
    if options.store is not None:
        results = read_results(options.store)
    print_lines(f"page: {write_report(options.report, results, dataset=data)}", to_stderr=True)

"""``shaketable harden``: the training noise that buys the most robustness.

Tries training noise from weak to strong, chooses the one with the highest accuracy under the target
noise whose loss of clean accuracy is at most the price, and decides on points that the search has
not seen whether it helps. It writes the model that was trained so.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json
from shaketable.core.errors import InputError
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.training.options import HardenOptions

ABOUT = "find the training noise that buys the most robustness"
EXAMPLES = """\
  shaketable harden --data bands --model rf --price 1 -o hardened.joblib
  shaketable harden --data mydata.csv --label y --model rf --target 'l2(1)' --store h.sqlite"""
SCHEMA = "shaketable.training.hardening.result:HardenJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, model, what it is to be robust to, training noise to choose from, and the price."""
    from shaketable.training.options import HardenOptions

    add_options(parser, HardenOptions)


def run(args: argparse.Namespace) -> int:
    """Search, test what was found, print it, and write the model to a file."""
    from shaketable.activities.networks import choose_jobs, note_training_device
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.trainees import choose_ending, list_notes
    from shaketable.training.hardening.search import harden

    options: HardenOptions = args.options
    if options.target is not None and options.suite is not None:
        raise InputError("--target and --suite both say what to be robust to; leave one out")
    data = options.dataset.load(seed=options.seed)
    name, model = _read_model(options, data)
    out = options.out
    if out is not None and not out.lower().endswith(ending := choose_ending(model)):
        raise InputError(f"--out of this model must end in {ending}, got {out!r}")
    with redirect_stdout(sys.stderr):  # whatever models print must not end up in the results
        result = harden(
            data,
            {name: model},
            norm=options.norm,
            target=options.target if options.suite is None else suite(options.suite),
            noise=options.noise,
            price=options.price,
            runs=options.runs,
            search_runs=options.search_runs,
            k=options.k,
            seed=options.seed,
            bounds=options.bounds,
            store=options.store,
            n_jobs=choose_jobs(options.jobs, options.models.device, [model]),
            progress=not options.quiet,
        )
        if out is not None:
            result.save(out)
    with ignore_broken_pipe():
        if options.json:
            print_json({**result.json(), "file": out})
        else:
            result.print()
    trains_network = options.networks.named
    notes = note_training_device(options.models.device) if trains_network else []
    print_notes([*data.notes(), *list_notes({name: model}, data), *notes])
    if out is not None:
        print_lines(f"model, trained with {result.noise}: {out}", to_stderr=True)
    return 0


def _read_model(options: HardenOptions, data: Dataset) -> tuple[str, Any]:
    """Return the model and its name."""
    from shaketable.activities.networks import make_network, refuse_device
    from shaketable.models.options import run_model

    if options.networks.named:
        if options.models.model:
            raise InputError("--model and --network both name the model; leave one out")
        network = make_network(
            options.networks, options.networks.get_one(), device=options.models.device
        )
        return network.name, network
    refuse_device(options.models.device)
    models = options.models.named()
    if len(models) > 1:
        raise InputError(f"--model must name one model, got {len(models)}; harden one at a time")
    ((name, source),) = models.items()
    with run_model(name):
        return name, options.models.load(source, data, place=False)[0]

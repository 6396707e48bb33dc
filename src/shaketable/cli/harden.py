"""``shaketable harden``: the training noise that buys the most robustness."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json
from shaketable.core.errors import InputError
from shaketable.core.options import (
    COMMON,
    REPEATED,
    WHOLE,
    contains,
    jobs_option,
    norm_option,
    option,
    out_option,
    seed_option,
    store_option,
)
from shaketable.data.options import DataOptions, bounds_option
from shaketable.models.options import TRAINED, ModelOptions, NetworkOptions, run_model
from shaketable.views.options import PrintOptions
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

ABOUT = "find the training noise that buys the most robustness"
EXAMPLES = """\
  shaketable harden --data bands --model rf --price 1 -o hardened.joblib"""
SCHEMA = "training/hardening/schema.json"


@dataclass(frozen=True)
class HardenOptions(PrintOptions):
    """Data, model, what it is to be robust to, training noise to choose from, and the price."""

    dataset: DataOptions = contains(DataOptions)
    models: ModelOptions = contains(ModelOptions, without=("preprocess", "fit"), model=TRAINED)
    networks: NetworkOptions = contains(NetworkOptions)
    norm: str = norm_option("inf", "what to be robust to")
    target: str | None = option(
        "noise that the model is to be robust to, such as 'l2(0.5)' (default: that of size "
        "eps_min)",
        metavar="SPEC",
        group=COMMON,
    )
    suite: str | None = option(
        "the same as a suite, of which the mean accuracy counts", group=COMMON
    )
    noise: tuple[str, ...] | None = option(
        "training noise to choose from, such as C1 or 'l2(1) | sp(0.1)', for networks also "
        "'trivialaugment + C1'; repeat it (default: p-norm noise, from coarse to fine)",
        form=REPEATED,
        metavar="SPEC",
        group=COMMON,
    )
    price: float = option(
        "largest loss of clean accuracy, in percentage points (default: 0)",
        0.0,
        read=float,
        metavar="POINTS",
        group=COMMON,
    )
    runs: int = option(
        "trainings for the final test (default: 10)", 10, read=int, form=WHOLE, group=COMMON
    )
    search_runs: int = option(
        "trainings of every candidate in the search (default: 3)",
        3,
        read=int,
        form=WHOLE,
        metavar="RUNS",
        group="noise",
    )
    jobs: int | None = jobs_option()
    store: str | None = store_option("what it holds is not trained and measured again")
    k: int | None = option(
        "noisy copies of every point (default: 10, or what the suite was published with)",
        read=int,
        form=WHOLE,
        group="noise",
    )
    seed: int = seed_option("all random numbers")
    bounds: Any = bounds_option()
    out: str | None = out_option(
        "file of the model, trained with the noise if it helps and plainly if not",
        ".pt",
        ".joblib",
    )


OPTIONS = HardenOptions


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, model, what it is to be robust to, training noise to choose from, and the price."""
    add_options(parser, OPTIONS)


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

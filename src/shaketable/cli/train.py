"""``shaketable train``: a network, trained with noise.

Trains a network by its name, with noise, augmentations or against an adversary, and writes it to a
file that evaluate takes without --trust. An interrupted training goes on when the same command is
run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict, cast

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json
from shaketable.models.options import RecipeChoice, split_weights
from shaketable.views.blocks import Column, Table
from shaketable.views.terminal import print_blocks, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.training.options import TrainOptions
    from shaketable.training.trained import Trained

ABOUT = "train a network with noise"
EXAMPLES = """\
  shaketable train --data bands --network mlp --noise 'linf(eps_min)' \\
      --recipe 'auto(epochs=20)' -o net.pt
  shaketable train --data cifar10.npz --network resnet9 --noise 'trivialaugment + C1' -o net.pt"""
SCHEMA = "shaketable.cli.train:TrainJson"


class EpochJson(TypedDict):
    """One epoch of a training; accuracies in per cent."""

    epoch: int
    loss: float
    accuracy: Annotated[float, "on training points, with noise"]
    held_out: Annotated[float | None, "on clean held-out points"]
    rate: float
    seconds: float


class TrainingJson(TypedDict):
    """How a network was trained."""

    network: Annotated[str, "spec of the network, with all its options"]
    noise: Annotated[str, "training regime"]
    recipe: Annotated[dict[str, Any], "how it was trained"]
    seed: int
    data: Annotated[str, "fingerprint of the data"]
    bounds: str
    weights: NotRequired[Annotated[str, "hash of the file of weights to begin with, if any"]]


class TrainJson(TrainingJson):
    """Result of train."""

    parameters: Annotated[int, "number of weights"]
    curve: Annotated[list[EpochJson], "one entry per epoch; accuracies in per cent"]
    file: str | None


_SHOWN = 12  # epochs that are printed at most


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, network, noise, recipe, and where the network goes."""
    from shaketable.training.options import TrainOptions

    add_options(parser, TrainOptions)


def run(args: argparse.Namespace) -> int:
    """Train the network, print its learning curve, and write it to a file."""
    from shaketable.models.networks.registry import import_torch

    import_torch()
    from shaketable.activities.networks import note_training_device
    from shaketable.training.trained import UntrainedNetwork, train

    options: TrainOptions = args.options
    checkpoint = None if options.out is None else Path(f"{options.out}.checkpoint")
    spec, recipe = options.networks.get_one(), options.networks.recipe or RecipeChoice()
    network, weights = split_weights(spec)
    with _say_if_kept(checkpoint):
        data = options.dataset.load(seed=options.seed, part="train")
        for_notes = UntrainedNetwork(network, recipe.name, recipe.epochs, recipe.batch, weights)
        print_notes(for_notes.for_data(data).notes)
        trained = train(
            network,
            data,
            noise=options.noise,
            recipe=recipe.name,
            epochs=recipe.epochs,
            batch=recipe.batch,
            rate=recipe.rate,
            shift=recipe.shift,
            bounds=options.bounds,
            validate=not options.no_curve,
            seed=options.seed,
            device=options.device,
            precision=recipe.precision,
            weights=weights,
            checkpoint=checkpoint,
            progress=not options.quiet,
        )
        if checkpoint is not None:
            trained.save(str(options.out))
            checkpoint.unlink(missing_ok=True)
    if options.json:
        print_json(_make_json(trained, options.out))
    else:
        _print_curve(trained)
    print_notes(note_training_device(options.device))
    if options.out is not None:
        print_lines(f"network: {options.out}", to_stderr=True)
    return 0


@contextmanager
def _say_if_kept(checkpoint: Path | None) -> Iterator[None]:
    """Let an interrupt say where the training is kept, if it is."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        kept = f"the training is kept in {checkpoint}, run the same command to go on"
        raise KeyboardInterrupt(kept) from interrupt


def _make_json(trained: Trained, path: str | None) -> TrainJson:
    """Return settings and the learning curve; accuracies in per cent."""
    return {
        **cast(TrainingJson, trained.info),
        "parameters": trained.parameters,
        "curve": [
            {
                "epoch": result.epoch,
                "loss": result.loss,
                "accuracy": 100 * result.accuracy,
                "held_out": None if result.held_out is None else 100 * result.held_out,
                "rate": result.rate,
                "seconds": result.seconds,
            }
            for result in trained.curve
        ],
        "file": path,
    }


def _print_curve(trained: Trained) -> None:
    """Print some epochs of the learning curve, the last one among them."""
    step = -(-len(trained.curve) // _SHOWN)
    shown = trained.curve[::-1][::step][::-1]
    title = (
        f"{trained.network}, {trained.parameters:,} parameters, trained with "
        f"{trained.info['noise']}: accuracy on training points as the network got them, and on "
        "clean points that were held out"
    )
    columns = (
        Column("epoch", "count"),
        Column("loss", "number"),
        Column("training", "rate"),
        Column("held out", "rate"),
        Column("rate", "number"),
        Column("seconds", "number"),
    )
    rows = [(e.epoch, e.loss, e.accuracy, e.held_out, e.rate, e.seconds) for e in shown]
    print_blocks([Table(title, columns, rows, limit=len(rows))])

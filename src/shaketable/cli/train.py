"""``shaketable train``: a network, trained with noise."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shaketable.cli.flags import (
    add_bounds_flags,
    add_data_flags,
    add_device_flag,
    add_json_flag,
    add_out_flag,
    add_quiet_flag,
    add_seed_flag,
    one_of,
)
from shaketable.cli.output import print_json
from shaketable.cli.values import load_data, read_bounds
from shaketable.core.errors import InputError
from shaketable.views.terminal import print_lines, print_notes, print_table

if TYPE_CHECKING:
    from shaketable.data.bounds import BoundsLike
    from shaketable.data.dataset import Dataset
    from shaketable.training.trained import Trained, UntrainedNetwork

ABOUT = "train a network with noise"
SCHEMA = "cli/train.schema.json"

_SHOWN = 12  # epochs that are printed at most


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, network, noise, recipe, and where the network goes."""
    parser.add_argument("--data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser, "train on only N points, of the training part if the test part is fixed")
    add_network_flags(parser)
    parser.add_argument(
        "--noise",
        default="clean",
        metavar="SPEC",
        help="training noise, such as 'linf(0.1)' or C1; with augmentations before it, such as "
        "'trivialaugment + C1'; or an adversary, such as 'pgd_at(0.03)' (default: clean)",
    )
    parser.add_argument("--rate", type=float, help="highest learning rate (default: the recipe's)")
    precisions = ["auto", "float32", "bfloat16"]
    parser.add_argument(
        "--precision",
        type=one_of("precision", precisions),
        default="auto",
        metavar="|".join(precisions),
        help="floats of the network, bfloat16 where torch deems it safe (default: auto: bfloat16 "
        "on CUDA)",
    )
    parser.add_argument(
        "--no-curve",
        action="store_true",
        help="do not measure the accuracy on held-out points after every epoch",
    )
    add_seed_flag(parser, "weights, order, augmentation and noise")
    add_bounds_flags(parser)
    add_out_flag(
        parser,
        "file of the trained network, for evaluate --model; FILE.checkpoint beside it keeps the "
        "training if it is interrupted, for the same command to go on",
        (".pt",),
    )
    add_json_flag(parser)
    add_quiet_flag(parser)


def add_network_flags(parser: argparse.ArgumentParser) -> None:
    """Network and recipe, for commands that train."""
    parser.add_argument(
        "--network",
        action="append",
        metavar="SPEC",
        help="such as resnet9; see shaketable list networks; in a study it may be repeated",
    )
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help="how to train; see shaketable list recipes (default: fast for images, else points)",
    )
    parser.add_argument("--epochs", type=int, help="epochs (default: the recipe's)")
    parser.add_argument("--batch", type=int, help="points per step (default: the recipe's)")
    parser.add_argument(
        "--no-shift",
        action="store_true",
        help="do not mirror and crop images at random (default: as the recipe says)",
    )
    parser.add_argument(
        "--weights", metavar="FILE.pt", help="weights to start from (default: random ones)"
    )
    add_device_flag(parser)


def get_one_network(args: argparse.Namespace) -> str | None:
    """Return the spec of the only network that the flags name, if any."""
    if len(args.network or ()) > 1:
        raise InputError(f"--network must name one network, got {len(args.network)}; leave one out")
    return args.network[0] if args.network else None


def refuse_network_flags(args: argparse.Namespace) -> None:
    """Raise `InputError` for a flag that is for networks alone, where none is named."""
    for name in ("epochs", "batch", "no_shift", "weights", "device"):
        if getattr(args, name) not in (None, False):
            raise InputError(
                f"--{name.replace('_', '-')} is for networks, and none is named; add --network or "
                "--recipe, or leave it out"
            )


def read_network(args: argparse.Namespace, spec: str | None) -> UntrainedNetwork:
    """Return a network with the recipe that the flags name."""
    from shaketable.models.networks.registry import import_torch

    import_torch()
    from shaketable.training.trained import UntrainedNetwork

    return UntrainedNetwork(
        spec,
        args.recipe,
        args.epochs,
        args.batch,
        args.weights,
        device=args.device,
        validate=getattr(args, "keep_models", None) is not None,  # files hold the curve
        shift=False if args.no_shift else None,
    )


def note_training_device(args: argparse.Namespace) -> list[str]:
    """Say where networks are trained."""
    from shaketable.models.devices import choose_device, describe_device

    return [f"trained on {describe_device(choose_device(args.device))}"]


def read_training_bounds(
    args: argparse.Namespace, data: Dataset
) -> BoundsLike | Literal["declared"]:
    """Bounds as the flags say; a range alone leaves the rule to the recipe."""
    return read_bounds(args, data) if args.range is None or args.bounds else args.range


def choose_jobs(args: argparse.Namespace, models: Iterable[Any]) -> int:
    """Return the number of processes that train."""
    from shaketable.evaluation.trainees import trains_itself

    if args.jobs is not None:
        return int(args.jobs)
    if any(map(trains_itself, models)):
        import torch  # networks need it anyway

        if torch.cuda.is_available() and not str(args.device or "cuda").startswith("cpu"):
            return int(torch.cuda.device_count())
    return -1


def run(args: argparse.Namespace) -> int:
    """Train the network, print its learning curve, and write it to a file."""
    from shaketable.models.networks.registry import import_torch

    import_torch()
    from shaketable.training.trained import train

    checkpoint = None if args.out is None else Path(f"{args.out}.checkpoint")
    with _say_if_kept(checkpoint):
        data = load_data(args, part="train")
        print_notes(read_network(args, get_one_network(args)).for_data(data).notes)
        trained = train(
            get_one_network(args),
            data,
            noise=args.noise,
            recipe=args.recipe,
            epochs=args.epochs,
            batch=args.batch,
            rate=args.rate,
            shift=False if args.no_shift else None,
            bounds=read_training_bounds(args, data),
            validate=not args.no_curve,
            seed=args.seed,
            device=args.device,
            precision=args.precision,
            weights=args.weights,
            checkpoint=checkpoint,
            progress=not args.quiet,
        )
        if checkpoint is not None:
            trained.save(args.out)
            checkpoint.unlink(missing_ok=True)
    if args.json:
        print_json(_make_json(trained, args.out))
    else:
        _print_curve(trained)
    print_notes(note_training_device(args))
    if args.out is not None:
        print_lines(f"network: {args.out}", to_stderr=True)
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


def _make_json(trained: Trained, path: str | None) -> dict[str, Any]:
    """Return settings and the learning curve; accuracies in per cent."""
    return {
        **trained.info,
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
    rows = [
        [
            str(result.epoch),
            f"{result.loss:.4f}",
            f"{100 * result.accuracy:.2f}",
            "" if result.held_out is None else f"{100 * result.held_out:.2f}",
            f"{result.rate:.4g}",
            f"{result.seconds:.1f}",
        ]
        for result in shown
    ]
    title = (
        f"{trained.network}, {trained.parameters:,} parameters, trained with "
        f"{trained.info['noise']}: accuracy in % on training points as the network got them, and "
        "on clean points that were held out"
    )
    print_table(title, ["epoch", "loss", "training", "held out", "rate", "seconds"], rows)

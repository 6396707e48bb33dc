"""Options of `train` and `harden`, as the commands take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shaketable.core.options import (
    COMMON,
    REPEATED,
    RUNNING,
    contains,
    jobs_option,
    norm_option,
    option,
    out_option,
    seed_option,
    store_option,
    switch,
    whole,
)
from shaketable.data.options import DataOptions, bounds_option
from shaketable.models.options import TRAINED, ModelOptions, NetworkOptions, device_option
from shaketable.views.options import PrintOptions


@dataclass(frozen=True)
class TrainOptions(PrintOptions):
    """Data, network, noise, recipe, and where the network goes."""

    dataset: DataOptions = contains(
        DataOptions,
        points="train on only N points, of the training part if the test part is fixed, drawn with "
        "--seed",
    )
    networks: NetworkOptions = contains(
        NetworkOptions,
        recipe="how to train, such as fast or 'fast(epochs=10, batch=128, rate=0.1, shift=no, "
        "precision=float32)'; see shaketable list recipes (default: auto: fast for images, else "
        "points). shift=no: images are not mirrored and cropped; rate: highest learning rate; "
        "precision: floats of the network, auto is bfloat16 on CUDA where torch deems it safe",
    )
    noise: str = option(
        "training noise, such as 'linf(0.1)' or C1; with augmentations before it, such as "
        "'trivialaugment + C1'; or an adversary, such as 'pgd_at(0.03)' (default: clean)",
        "clean",
        metavar="SPEC",
        group=COMMON,
    )
    no_curve: bool = switch(
        "do not measure the accuracy on held-out points after every epoch", group=RUNNING
    )
    seed: int = seed_option("weights, order, augmentation and noise")
    bounds: Any = bounds_option()
    device: str | None = device_option()
    out: str | None = out_option(
        "file of the trained network, for evaluate --model; FILE.checkpoint beside it keeps the "
        "training if it is interrupted, for the same command to go on",
        ".pt",
    )


@dataclass(frozen=True)
class HardenOptions(PrintOptions):
    """Data, model, what it is to be robust to, training noise to choose from, and the price."""

    dataset: DataOptions = contains(DataOptions)
    models: ModelOptions = contains(
        ModelOptions, without=("preprocess", "threshold", "restrict_classes", "fit"), model=TRAINED
    )
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
    runs: int = whole("trainings for the final test (default: 10)", 10, group=COMMON)
    search_runs: int = whole(
        "trainings of every candidate in the search (default: 3)",
        3,
        metavar="RUNS",
        group="noise",
    )
    jobs: int | None = jobs_option()
    store: str | None = store_option("what it holds is not trained and measured again")
    k: int | None = whole(
        "noisy copies of every point (default: 10, or what the suite was published with)",
        group="noise",
    )
    seed: int = seed_option("all random numbers")
    bounds: Any = bounds_option()
    out: str | None = out_option(
        "file of the model, trained with the noise if it helps and plainly if not",
        ".pt",
        ".joblib",
    )

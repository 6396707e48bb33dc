"""Two-factor training: a small ResNet, trained on nine sets and evaluated on all 69.

The design of Dai & Berleant (2022), Table III, with a recent network. The training sets are those
of the suite ``two-factor-train``: clean images, single faults, two faults in sequence. All networks
are trained alike, from the same seed, and evaluated under the same noise of the suite
``two-factor`` on the test images, so that comparisons are paired. It takes minutes on a large GPU.

    python benchmarks/twofactor_training.py cifar10.npz --store two.sqlite
    python benchmarks/twofactor_training.py cifar10.npz --store two1.sqlite --seed 1
    shaketable mcv two.sqlite

The file holds x_train, y_train, x_test and y_test, images of 32 x 32 x 3 in uint8. Prints a
Markdown table. Results: results/twofactor_training.md.
"""

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from shaketable import Dataset, corrupted, evaluate, load, suite
from shaketable.core.spec import display_name
from shaketable.core.types import Array

BATCH, MARGIN = 512, 4
"""Images per step; pixels of black padding around an image before it is cropped."""

PEAK_RATE, WARM_UP = 0.4, 0.2
"""Highest learning rate, and the fraction of the training after which it is reached."""


def layer(inputs: int, outputs: int, *, halve: bool = False) -> nn.Sequential:
    """Convolution, normalisation and ReLU; with `halve`, pooling to half the resolution."""
    parts = [
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]
    return nn.Sequential(*parts, *([nn.MaxPool2d(2)] if halve else []))


class Residual(nn.Module):  # type: ignore[misc, unused-ignore]
    """Two layers with a skip connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(layer(width, width), layer(width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the two layers to their input."""
        added: Tensor = self.layers(x)
        return x + added


class ResNet9(nn.Module):  # type: ignore[misc, unused-ignore]
    """Nine layers, 6.6 million weights, by David Page for DAWNBench; takes pixels in [0, 1]."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            layer(3, 64),
            layer(64, 128, halve=True),
            Residual(128),
            layer(128, 256, halve=True),
            layer(256, 512, halve=True),
            Residual(512),
            nn.MaxPool2d(4),
            nn.Flatten(),
        )
        self.scores = nn.Linear(512, classes, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of images of shape (3, 32, 32)."""
        moved = (4 * x - 2).contiguous(memory_format=torch.channels_last)  # quicker on GPUs
        scores: Tensor = self.scores(self.features(moved))
        return scores / 8


def train(images: Tensor, labels: Tensor, *, classes: int, epochs: int, seed: int) -> ResNet9:
    """Train a network on uint8 images, HxWxC, on the device they are on."""
    torch.manual_seed(seed)
    device, steps = images.device, -(-len(images) // BATCH)
    net = ResNet9(classes)
    net.to(device)
    optimiser = torch.optim.SGD(
        net.parameters(), PEAK_RATE, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser,
        PEAK_RATE,
        total_steps=epochs * steps,
        pct_start=WARM_UP,
        anneal_strategy="linear",
        cycle_momentum=False,
    )
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    padded = nn.functional.pad(images, (0, 0, *4 * [MARGIN]))
    for _ in range(epochs):
        for rows in torch.randperm(len(images), device=device).chunk(steps):
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = loss_of(net(augment(padded, rows)), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return net


def augment(padded: Tensor, rows: Tensor) -> Tensor:
    """Return random crops of the images at these rows, half of them mirrored: CxHxW in [0, 1].

    >>> augment(torch.full((5, 40, 40, 3), 255, dtype=torch.uint8), torch.tensor([4, 2])).shape
    torch.Size([2, 3, 32, 32])
    """
    n, side, device = len(rows), padded.shape[1] - 2 * MARGIN, padded.device
    top, left = torch.randint(2 * MARGIN + 1, (2, n, 1), device=device)
    steps = torch.arange(side, device=device)
    mirrored = torch.rand(n, 1, device=device) < 0.5
    columns = left + torch.where(mirrored, side - 1 - steps, steps)
    cut = padded[rows[:, None, None], (top + steps)[:, :, None], columns[:, None]]
    return cut.permute(0, 3, 1, 2) / 255


def training_images(data: Dataset, spec: str, seed: int) -> Array:
    """Corrupt the training part, in uint8, as `write_suite` does with this seed."""
    pixels = corrupted(data, spec, seed=seed, draws="ladder").rows(slice(data.n_train))
    return np.asarray(np.rint(255 * pixels), dtype=np.uint8)


def main() -> None:
    """Train and evaluate nine networks; print one row per network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help=".npz of CIFAR-10")
    parser.add_argument("--store", required=True, help="results file; must not exist")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="seed of networks and training noise")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--save", help="file for the float16 weights of the network trained on clean images"
    )
    args = parser.parse_args()
    if Path(args.store).exists():
        parser.error(f"--store {args.store} exists; name a new file")
    torch.backends.cudnn.benchmark = True
    data, device = load(args.file), torch.device(args.device)
    labels = torch.from_numpy(data.y[: data.n_train]).to(device)
    who = f"ResNet9#{args.seed}" if args.seed else "ResNet9"
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    print(f"{chip}, torch {torch.__version__}, {today}, {args.epochs} epochs\n")
    print("| net | noise, s | training, s | 69 sets, s | clean | mean | CV |")
    print("|---|---|---|---|---|---|---|")
    for spec in suite("two-factor-train").names:
        times = [time.perf_counter()]
        images = torch.from_numpy(training_images(data, spec, args.seed)).to(device)
        times.append(time.perf_counter())
        net = train(images, labels, classes=len(data.classes), epochs=args.epochs, seed=args.seed)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter())
        name = f"{who}({display_name(spec)})"
        records = evaluate(net, data, suite("two-factor"), name=name, store=args.store)
        times.append(time.perf_counter())
        right = {record.corruption: 100 * record.accuracy for record in records}
        mean, deviation = np.mean(list(right.values())), np.std(list(right.values()))
        spent = " | ".join(f"{seconds:.1f}" for seconds in np.diff(times))
        print(
            f"| {name} | {spent} | {right['clean']:.2f} | {mean:.2f} | "
            f"{100 * deviation / mean:.2f} |",
            flush=True,
        )
        if spec == "clean" and args.save:
            weights = {key: part.half().cpu() for key, part in net.state_dict().items()}
            torch.save(weights, args.save)


if __name__ == "__main__":
    main()

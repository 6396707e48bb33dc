"""Compare RandAugment and AugMix as released with torchvision, operation by operation.

    pip install torchvision
    python benchmarks/papers/torchvision_operations.py

Every operation at every magnitude of both, with both signs, on 50 images of
32 x 32: RandAugment's on Pillow images, AugMix's on tensors. The defaults are magnitude 9 of
RandAugment, and 0 to 2 of AugMix. Results: results/augmentations.md.
"""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import PIL
import torch
import torchvision
from torch import Tensor
from torchvision.transforms import AugMix, InterpolationMode, RandAugment, autoaugment
from torchvision.transforms.functional import pil_to_tensor, to_pil_image

import shaketable as st
from shaketable.training.augmentations import eight_bit, plans
from shaketable.training.augmentations.operations import apply_steps
from shaketable.training.augmentations.plans import Operation, Size
from shaketable.training.augmentations.released import (
    BINS,
    CHAINED,
    DRAWN,
    STRONGEST,
)

SIZE = Size(32, 32)
NAMES = {
    "color": "Color", "autocontrast": "AutoContrast", "shear_x": "ShearX", "shear_y": "ShearY",
    "translate_x": "TranslateX", "translate_y": "TranslateY",
}  # fmt: skip


def make_images(n: int) -> Tensor:
    """Made-up pictures, with noise, so that every level occurs."""
    x = st.load(f"shapes(n={n})").x.astype(np.float64)
    noisy = x + np.random.default_rng(0).normal(0, 20, x.shape)
    return torch.from_numpy(np.clip(noisy, 0, 255).astype(np.uint8)).permute(0, 3, 1, 2)


def compute_ours(
    x: Tensor, operation: Operation, level: int, sign: float, rules: eight_bit.Rules
) -> Tensor:
    """What ours makes of all images."""
    n = len(x)
    levels, signs = np.full(n, float(level)), np.full(n, sign)
    step = plans.plan_step((operation,), np.zeros(n, np.int64), levels, signs, SIZE)
    found = apply_steps(eight_bit.as_levels(x), [step], rules=rules)
    return eight_bit.from_levels(found, x)


def compute_theirs(
    x: Tensor, operation: Operation, level: int, sign: float, *, augmentation: Any, bins: int
) -> Tensor:
    """What torchvision makes of every image, as that augmentation calls it."""
    name = NAMES.get(operation.name, operation.name.capitalize())
    magnitudes, signed = augmentation._augmentation_space(bins, SIZE)[name]
    magnitude = float(magnitudes[level]) if magnitudes.ndim else 0.0
    magnitude *= sign if signed else 1
    options = {"interpolation": augmentation.interpolation, "fill": augmentation.fill}
    if augmentation.interpolation == InterpolationMode.BILINEAR:
        return torch.stack([autoaugment._apply_op(i, name, magnitude, **options) for i in x])
    pictures = [to_pil_image(i) for i in x]
    changed = [autoaugment._apply_op(i, name, magnitude, **options) for i in pictures]
    return torch.stack([pil_to_tensor(i) for i in changed])


def compare(
    x: Tensor, space: tuple[Operation, ...], rules: eight_bit.Rules, augmentation: Any, bins: int
) -> Iterator[str]:
    """Rows of a table: largest difference and how many values differ, in all and by default."""
    for operation in space:
        found = []
        for level in range(bins):
            for sign in (-1.0, 1.0):
                ours = compute_ours(x, operation, level, sign, rules)
                theirs = compute_theirs(
                    x, operation, level, sign, augmentation=augmentation, bins=bins
                )
                found.append((ours.int() - theirs.int()).abs())
        gaps = torch.stack(found).view(bins, -1)
        usual = gaps[9:10] if bins > BINS else gaps[:3]
        numbers = [
            f"{int(gap.max())} | {1e6 * (gap > 0).double().mean():.0f}" for gap in (gaps, usual)
        ]
        yield f"| {operation.name} | {' | '.join(numbers)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=50, help="images")
    x = make_images(parser.parse_args().n)
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, torchvision {torchvision.__version__}, "
        f"torch {torch.__version__}, Pillow {PIL.__version__}\n"
    )
    head = (
        "| operation | largest difference, levels | values that differ, per million "
        "| largest, by default | per million, by default |\n|---|---|---|---|---|"
    )
    print(f"RandAugment, Pillow\n\n{head}")
    print(*compare(x, DRAWN, eight_bit.PILLOW, RandAugment(), STRONGEST + 1), sep="\n")
    print(f"\nAugMix, tensors\n\n{head}")
    print(*compare(x, CHAINED, eight_bit.TORCHVISION, AugMix(), BINS), sep="\n")


if __name__ == "__main__":
    main()

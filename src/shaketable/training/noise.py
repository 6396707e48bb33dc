"""Noise for batches of training, in anyone's loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.image_layout import CHANNELS, counts_as_images
from shaketable.core.keys import digest, make_key, row_keys
from shaketable.corruptions import Clean, Corruption, corrupt
from shaketable.data.bounds import ROUNDING, BoundsLike, as_bounds
from shaketable.training.augmentations.operations import find_range
from shaketable.training.augmentations.registry import Augmentation
from shaketable.training.regimes import Regime, as_regime, augment, refuse_gaps


class Noise:
    """A change of training batches: one fresh draw per image and call, on the batch's device.

    Also a transform in the style of torchvision's v2: it takes one image or a batch, and passes on
    whatever else it is given, such as labels. Draws follow from the seed and the number of calls;
    in a worker process of a ``DataLoader``, from the seed that torch gives to that worker. The
    result is always a copy, and no gradient is followed.

    Parameters
    ----------
    noise
        A corruption, or a spec such as ``linf(0.1)``, ``C2`` or ``l2(1) | sp(0.1) + ga(0.1)``, with
        augmentations before it if any, as in ``trivialaugment + C1``; or an augmentation. Noise
        that depends on the columns of the data, such as ``jitter(0.2)``, is refused.
    bounds
        Value range of the images, which noise is clipped to, or a `Bounds` for another rule; None:
        no bounds. Augmentations of floats need it, except FlipCrop and Mixup. Values beyond it are
        refused; on a GPU they are not checked, as that would make it wait, and noise clips them.
    seed
        A whole number for the same noise again; None for other noise every time.
    classes
        Number of classes, for Mixup, which mixes labels too: it is given them after the images,
        and returns one share per class.

    >>> noise = Noise("linf(0.1)", seed=0)
    >>> images = torch.full((4, 3, 8, 8), 0.5)
    >>> noisy = noise(images)
    >>> noisy.shape, bool((noisy - images).abs().max() <= 0.1), bool((noise(images) == noisy).all())
    (torch.Size([4, 3, 8, 8]), True, False)
    """

    def __init__(
        self,
        noise: str | Corruption | Augmentation | Regime,
        *,
        bounds: BoundsLike = (0.0, 1.0),
        seed: int | None = None,
        classes: int | None = None,
    ) -> None:
        self.regime = as_regime(noise)
        if self.regime.adversary is not None:
            raise InputError(
                f"{self.regime.adversary.spec} needs the network; use train, or attack the network "
                "in your own loop"
            )
        refuse_gaps(self.regime.noise)
        if self.regime.noise.traits.by_column:
            raise InputError(
                f"{self.regime.noise.spec} depends on the columns of the data, which batches do "
                "not show; use train, study or NoiseAugmented"
            )
        self.bounds = as_bounds(bounds)
        self.classes = None if classes is None else check_whole("classes", classes, least=1)
        self.key = make_key(seed)
        self.calls = 0

    def __call__(self, x: Tensor, *others: Any) -> Any:
        """Return a changed image (C, H, W) of 1, 3 or 4 channels, or a batch of images or points.

        A tensor of two axes holds points (n, d), one per row, and one of a single axis is a point;
        a grey image (H, W) is given as ``x[None]``. Anything else that was given follows it.
        """
        single = _is_single(x)
        rows = x.detach()[None] if single else x.detach()
        self._check_values(rows)
        key = self._next_key()
        mixed = others[0] if others else None
        if augmentations := self.regime.augmentations:
            keys = row_keys(key, np.arange(len(rows)), np.arange(1))[:, 0]
            levels = x.dtype == torch.uint8
            span = None if levels else find_range(augmentations, self.bounds)
            rows, mixed = augment(augmentations, rows, mixed, keys, classes=self.classes, span=span)
        elif isinstance(self.regime.noise, Clean):
            rows = rows.clone()
        if not isinstance(self.regime.noise, Clean):
            rows = corrupt(rows, self.regime.noise, rng=key, bounds=self.bounds)
        changed = rows[0] if single else rows
        return (changed, mixed, *others[1:]) if others else changed

    def _check_values(self, x: Tensor) -> None:
        """Raise `InputError` for finite values beyond the bounds, which would be clipped."""
        bounds = self.bounds
        if bounds is None or x.device.type != "cpu" or not x.numel() or x.is_complex():
            return
        if counts_as_images(x) and (bounds.low, bounds.high) == (0, 1):
            return
        ends = np.array([float(end) for end in torch.aminmax(x)])
        if np.isfinite(ends).all():  # else `corrupt` says where
            precision = torch.finfo(x.dtype).eps if x.is_floating_point() else 0.0
            bounds.check(ends, slack=max(ROUNDING, 8 * precision))

    def _next_key(self) -> int:
        worker = torch.utils.data.get_worker_info()
        self.calls += 1
        return digest("training noise", self.key, worker.seed if worker else 0, self.calls)

    def __repr__(self) -> str:
        return f"Noise({self.regime.spec!r}, bounds={self.bounds})"


def _is_single(x: Any) -> bool:
    """Whether a tensor is one image or point, and no batch; `InputError` if neither is clear."""
    if not isinstance(x, Tensor):
        raise InputError(f"x must be a tensor, an image or a batch, got {type(x).__name__}")
    if x.ndim < 1:
        raise InputError("x must be an image or a batch, got a tensor without axes; give x[None]")
    if x.ndim == 3 and x.shape[0] not in CHANNELS:
        raise InputError(
            f"x with three axes must be one image (C, H, W) of 1, 3 or 4 channels, got shape "
            f"{tuple(x.shape)}; give x[:, None] for a batch of grey images, or x[None] for one "
            "image of many channels"
        )
    return x.ndim in (1, 3)

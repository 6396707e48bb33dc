"""FlipCrop: random flips and shifts, the standard augmentation of small images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.keys import uniforms
from shaketable.core.types import IntArray, KeyArray
from shaketable.training.augmentations.plans import draw_whole
from shaketable.training.augmentations.registry import declare, write_spec

if TYPE_CHECKING:
    from torch import Tensor


@declare("flipcrop", "", "flips from left to right, and crops of the image with a black margin")
@dataclass(frozen=True)
class FlipCrop:
    """Every image is flipped from left to right with probability 1/2, and cropped at random.

    The crop has the size of the image, and is taken from the image with a black margin of `padding`
    pixels: 4 for images of 32 x 32, 8 for 64 x 64. All places are equally likely. Pixels are moved
    as they are, in any type and of any range; those of the margin are 0.

    Parameters
    ----------
    padding
        Width of the black margin, in pixels.

    Examples
    --------
    >>> FlipCrop().spec
    'flipcrop(padding=4)'
    """

    padding: int = 4
    """Width of the margin in pixels; 0 for flips alone."""

    takes_targets: ClassVar[bool] = False
    needs_range: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "padding", check_whole("padding", self.padding, least=0))

    @property
    def spec(self) -> str:
        """Name and margin."""
        return write_spec("flipcrop", self)

    def draw(self, keys: KeyArray) -> IntArray:
        """Draw whether to flip, and the upper and left edge of the crop, (3, images).

        Parameters
        ----------
        keys
            One key per image.

        Returns
        -------
        IntArray
            One column per image.

        Examples
        --------
        >>> from shaketable.core.keys import row_keys
        >>> keys = row_keys(0, np.arange(2), np.arange(1))[:, 0]
        >>> FlipCrop().draw(keys).shape
        (3, 2)
        """
        flip, top, left = uniforms(keys, 3).T
        places = 2 * self.padding + 1
        return np.stack([draw_whole(flip, 2), draw_whole(top, places), draw_whole(left, places)])

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        import torch
        from torch.nn import functional

        from shaketable.core.tensors import move
        from shaketable.training.augmentations.operations import check_images

        height, width = check_images(x, keys)
        flip, top, left = move(self.draw(keys), x.device)
        x = torch.where(flip.bool()[:, None, None, None], x.flip(3), x)
        if not self.padding:
            return x
        wide = functional.pad(x, (self.padding,) * 4)
        crops = wide.unfold(2, height, 1).unfold(3, width, 1)  # a view: one per place
        rows = torch.arange(len(x), device=x.device)
        return crops[rows, :, top, left]

"""What networks for images share: the form that a shape asks for, and He's initial weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from torch import nn

from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class ImageForm:
    """What the shape of images decides about a network."""

    channels: int
    side: int
    """The smaller one of height and width."""

    @classmethod
    def of(cls, shape: Sequence[int], network: str) -> ImageForm:
        """Return the form for images of a shape, in the layout that `arrange_images` gives them.

        >>> ImageForm.of((32, 32, 3), "resnet9"), ImageForm.of((28, 28), "resnet9").channels
        (ImageForm(channels=3, side=32), 1)
        """
        at = find_channels(shape)
        channels_first = (
            (shape[-1], *shape[:-1]) if at == "last" else (1, *shape) if at == "absent" else shape
        )
        if len(channels_first) != 3 or min(channels_first[1:]) < 8:
            odd = len(shape) == 3 and at == "unknown"
            remedy = "move channels to the first axis" if odd else "use mlp"
            raise InputError(
                f"network {network} needs images of at least 8x8 pixels, got points of shape "
                f"{tuple(shape)}; {remedy}"
            )
        return cls(channels_first[0], min(channels_first[1:]))

    @property
    def stride(self) -> int:
        """Stride of the first stage: 2 from 64x64 on."""
        return 2 if self.side >= 64 else 1

    @property
    def is_large(self) -> bool:
        """Whether the form for ImageNet is used: from 128x128 on."""
        return self.side >= 128


def conv(
    inputs: int, outputs: int, size: int = 3, *, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """Return a convolution without bias that keeps the size of images, up to its stride."""
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)


def initialise(network: M) -> M:
    """Draw He's weights (2015), and return the network.

    Convolutions and hidden linear layers are normal with variance 2 / fan, fan-out and fan-in; the
    last layer keeps torch's uniform weights; biases are 0.
    """
    linear = [part for part in network.modules() if isinstance(part, nn.Linear)]
    for part in network.modules():
        if not isinstance(part, nn.Conv2d | nn.Linear):
            continue
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
        elif part is not linear[-1]:
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
        if part.bias is not None:
            nn.init.zeros_(part.bias)
    return network

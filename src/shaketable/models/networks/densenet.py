"""Densely connected networks (Huang et al., 2017) for small images."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from shaketable.models.networks.layers import ImageForm, conv, initialise
from shaketable.models.networks.registry import declare


class DenseNet(nn.Module):
    """DenseNet-BC: dense blocks of bottleneck layers, between which channels and sides are halved.

    Every layer adds `growth` channels to all those before it. A 3x3 convolution to twice as many
    channels comes first, without pooling.
    """

    def __init__(
        self, form: ImageForm, classes: int, *, blocks: Sequence[int], growth: int
    ) -> None:
        super().__init__()
        channels = 2 * growth
        layers: list[nn.Module] = [conv(form.channels, channels, stride=form.stride)]
        for i, depth in enumerate(blocks):
            if i:
                layers += [*activate(channels), conv(channels, channels // 2, 1), nn.AvgPool2d(2)]
                channels //= 2
            layers += [DenseLayer(channels + j * growth, growth) for j in range(depth)]
            channels += depth * growth
        self.features = nn.Sequential(*layers, *activate(channels))
        self.linear = nn.Linear(channels, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        scores: Tensor = self.linear(self.features(x).mean((2, 3)))
        return scores


class DenseLayer(nn.Module):
    """1x1 convolution to four times the growth, and 3x3 convolution to the new channels."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *activate(channels),
            conv(channels, 4 * growth, 1),
            *activate(4 * growth),
            conv(4 * growth, growth),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Input, and the new channels."""
        return torch.cat([x, self.layers(x)], dim=1)


def activate(channels: int) -> tuple[nn.Module, nn.Module]:
    """Return batch normalisation and ReLU."""
    return nn.BatchNorm2d(channels), nn.ReLU(inplace=True)


@declare("densenet-201-12")
def densenet_201_12(*, shape: tuple[int, ...], classes: int) -> DenseNet:
    """DenseNet-BC of 201 layers and growth rate 12, as in Siedel et al. (2024).

    The paper names depth and growth rate only. 201 layers are those of DenseNet-201 for ImageNet,
    four blocks of 6, 12, 48 and 32 bottleneck layers: 1 + 2 * 98 + 3 + 1 = 201. The three equal
    blocks that Huang et al. use for CIFAR have 6n + 4 layers, which 201 is not. The code that the
    authors of the paper released has these four blocks, too.
    """
    form = ImageForm.of(shape, "densenet-201-12")
    return DenseNet(form, classes, blocks=(6, 12, 48, 32), growth=12)

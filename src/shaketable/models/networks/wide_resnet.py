"""Wide residual networks (Zagoruyko and Komodakis, 2016)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from shaketable.core.checks import check_real, check_whole
from shaketable.core.errors import InputError
from shaketable.models.networks.layers import ImageForm, conv, initialise
from shaketable.models.networks.registry import declare


class WideResNet(nn.Module):
    """WRN-depth-width: three groups of pre-activated blocks, 16, 32 and 64 channels times width.

    As the authors of the network released it: convolutions have no bias, and a shortcut that
    changes the number of channels starts after the first activation. Dropout is between the two
    convolutions of a block.
    """

    def __init__(
        self, form: ImageForm, classes: int, *, depth: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        blocks = (depth - 4) // 6
        self.conv = conv(form.channels, 16)
        inputs = 16
        groups = []
        for outputs, stride in ((16 * width, form.stride), (32 * width, 2), (64 * width, 2)):
            group = [WideBlock(inputs, outputs, stride, dropout)]
            group += [WideBlock(outputs, outputs, 1, dropout) for _ in range(blocks - 1)]
            groups.append(nn.Sequential(*group))
            inputs = outputs
        self.groups = nn.Sequential(*groups)
        self.norm = nn.BatchNorm2d(inputs)
        self.linear = nn.Linear(inputs, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        features = relu(self.norm(self.groups(self.conv(x))))
        scores: Tensor = self.linear(features.mean((2, 3)))
        return scores


class WideBlock(nn.Module):
    """Batch normalisation, ReLU and convolution, twice, with dropout before the second one."""

    def __init__(self, inputs: int, outputs: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = conv(inputs, outputs, stride=stride)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = conv(outputs, outputs)
        same = inputs == outputs and stride == 1
        self.shortcut = None if same else conv(inputs, outputs, 1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """Sum of the shortcut and the two convolutions."""
        active = relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(active)
        branch = self.conv2(self.dropout(relu(self.norm2(self.conv1(active)))))
        total: Tensor = shortcut + branch
        return total


@declare("wrn")
def wrn(
    *, shape: tuple[int, ...], classes: int, depth: int = 28, width: int = 10, dropout: float = 0.3
) -> WideResNet:
    """Wide residual network of any depth 6n + 4 and width."""
    depth = check_whole("depth", depth, least=10)
    if depth % 6 != 4:
        raise InputError(f"depth must be 6n + 4, such as 16, 22, 28 or 40, got {depth}")
    return WideResNet(
        ImageForm.of(shape, f"wrn-{depth}-{width}"),
        classes,
        depth=depth,
        width=check_whole("width", width, least=1),
        dropout=check_real("dropout", dropout, "lie in [0, 1)", low=0, high=1 - 1e-9),
    )


@declare("wrn-28-10")
def wrn_28_10(*, shape: tuple[int, ...], classes: int, dropout: float = 0.3) -> WideResNet:
    """Wide residual network of Siedel et al. (2022)."""
    return wrn(shape=shape, classes=classes, depth=28, width=10, dropout=dropout)


@declare("wrn-28-4")
def wrn_28_4(*, shape: tuple[int, ...], classes: int, dropout: float = 0.3) -> WideResNet:
    """Wide residual network of Siedel et al. (2024)."""
    return wrn(shape=shape, classes=classes, depth=28, width=4, dropout=dropout)

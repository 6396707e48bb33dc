"""ResNeXt (Xie et al., 2017) for small images."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from shaketable.models.networks.layers import ImageForm, conv, initialise
from shaketable.models.networks.registry import declare


class ResNeXt(nn.Module):
    """ResNeXt-29: three stages of three blocks, with 256, 512 and 1024 channels.

    The 3x3 convolution of a block has `cardinality` groups of `width` channels in the first stage,
    twice and four times as many in the others.
    """

    def __init__(self, form: ImageForm, classes: int, *, cardinality: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [conv(form.channels, 64), nn.BatchNorm2d(64), nn.ReLU()]
        inputs = 64
        for stage, stride in enumerate((form.stride, 2, 2)):
            for i in range(3):
                inner, outputs = cardinality * width * 2**stage, 256 * 2**stage
                layers.append(GroupedBlock(inputs, inner, outputs, cardinality, 1 if i else stride))
                inputs = outputs
        self.features = nn.Sequential(*layers)
        self.linear = nn.Linear(inputs, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        scores: Tensor = self.linear(self.features(x).mean((2, 3)))
        return scores


class GroupedBlock(nn.Module):
    """Bottleneck whose 3x3 convolution is grouped."""

    def __init__(self, inputs: int, inner: int, outputs: int, groups: int, stride: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            *(conv(inputs, inner, 1), nn.BatchNorm2d(inner), nn.ReLU()),
            *(conv(inner, inner, stride=stride, groups=groups), nn.BatchNorm2d(inner), nn.ReLU()),
            *(conv(inner, outputs, 1), nn.BatchNorm2d(outputs)),
        )
        self.shortcut = nn.Sequential()
        if inputs != outputs or stride != 1:
            self.shortcut.extend([conv(inputs, outputs, 1, stride=stride), nn.BatchNorm2d(outputs)])

    def forward(self, x: Tensor) -> Tensor:
        """Activated sum of the shortcut and the branch."""
        return relu(self.shortcut(x) + self.branch(x))


@declare("resnext-29-32x4d")
def resnext_29_32x4d(*, shape: tuple[int, ...], classes: int) -> ResNeXt:
    """ResNeXt of 29 layers, 32 groups of 4 channels, as in Siedel et al. (2024)."""
    form = ImageForm.of(shape, "resnext-29-32x4d")
    return ResNeXt(form, classes, cardinality=32, width=4)

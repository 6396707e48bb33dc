"""ResNet-50 (He et al., 2016), with the parameter names of torchvision."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from shaketable.models.networks.layers import ImageForm, conv, initialise
from shaketable.models.networks.registry import declare


class ResNet(nn.Module):
    """Four stages of bottleneck blocks, with 256, 512, 1024 and 2048 channels.

    For ImageNet, a 7x7 convolution and max-pooling, each with stride 2, come first; for small
    images, a 3x3 convolution without pooling. The stride of a block is that of its 3x3 convolution,
    as in torchvision (He et al. have it in the first one).
    """

    def __init__(self, form: ImageForm, classes: int, *, blocks: tuple[int, int, int, int]) -> None:
        super().__init__()
        large = form.is_large
        self.conv1 = conv(form.channels, 64, 7 if large else 3, stride=form.stride)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1) if large else nn.Identity()
        self.layer1 = stack(64, 64, blocks[0], stride=1)
        self.layer2 = stack(256, 128, blocks[1], stride=2)
        self.layer3 = stack(512, 256, blocks[2], stride=2)
        self.layer4 = stack(1024, 512, blocks[3], stride=2)
        self.fc = nn.Linear(2048, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        x = self.maxpool(relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        scores: Tensor = self.fc(x.mean((2, 3)))
        return scores


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions, whose result is added to their input."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, stride=stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, outputs, 1), nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential()
        if inputs != outputs or stride != 1:
            self.downsample.extend(
                [conv(inputs, outputs, 1, stride=stride), nn.BatchNorm2d(outputs)]
            )

    def forward(self, x: Tensor) -> Tensor:
        """Activated sum of the shortcut and the branch."""
        branch = relu(self.bn1(self.conv1(x)))
        branch = relu(self.bn2(self.conv2(branch)))
        return relu(self.bn3(self.conv3(branch)) + self.downsample(x))


def stack(inputs: int, width: int, depth: int, *, stride: int) -> nn.Sequential:
    """Return a stage of blocks, the first of which has the stride."""
    first = Bottleneck(inputs, width, stride)
    return nn.Sequential(first, *(Bottleneck(4 * width, width, 1) for _ in range(depth - 1)))


@declare("resnet-50")
def resnet_50(*, shape: tuple[int, ...], classes: int) -> ResNet:
    """Residual network of 50 layers."""
    return ResNet(ImageForm.of(shape, "resnet-50"), classes, blocks=(3, 4, 6, 3))

"""ResNet-9: a fast residual network for studies with small images."""

from __future__ import annotations

from torch import Tensor, nn

from shaketable.core.checks import check_whole
from shaketable.models.networks.layers import ImageForm, conv, initialise
from shaketable.models.networks.registry import declare


class ResNet9(nn.Module):
    """Eight convolutions, two residual blocks and one linear layer, after Page (2018).

    Page's network for the DAWNBench contest: with width 64, convolutions of 64, 128, 256 and 512
    channels, each but the first followed by 2x2 max-pooling, and a residual block of two
    convolutions after the second and the last. Each convolution is followed by batch normalisation
    and ReLU, the first of which makes the scale of pixels irrelevant; so none is fixed. The maximum
    over all pixels comes last, so images of any size fit. Scores are divided by 8, without which
    large learning rates diverge.
    """

    def __init__(self, form: ImageForm, classes: int, width: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            convolve(form.channels, width, stride=form.stride),
            convolve(width, 2 * width),
            nn.MaxPool2d(2),
            Residual(2 * width),
            convolve(2 * width, 4 * width),
            nn.MaxPool2d(2),
            convolve(4 * width, 8 * width),
            nn.MaxPool2d(2),
            Residual(8 * width),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.linear = nn.Linear(8 * width, classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        scores: Tensor = self.linear(self.features(x)) / 8
        return scores


class Residual(nn.Module):
    """Two convolutions, whose result is added to their input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(convolve(channels, channels), convolve(channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        """Sum of the input and of what the layers make of it."""
        total: Tensor = x + self.layers(x)
        return total


def convolve(inputs: int, outputs: int, *, stride: int = 1) -> nn.Sequential:
    """Return a 3x3 convolution, batch normalisation and ReLU."""
    return nn.Sequential(
        conv(inputs, outputs, stride=stride), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


@declare("resnet9")
def resnet9(*, shape: tuple[int, ...], classes: int, width: int = 64) -> ResNet9:
    """Fast residual network for studies; a small width trains on a CPU."""
    width = check_whole("width", width, least=1)
    return ResNet9(ImageForm.of(shape, "resnet9"), classes, width)

"""AlexNet (Krizhevsky, 2014), with the parameter names of torchvision."""

from __future__ import annotations

from torch import Tensor, nn

from shaketable.models.networks.layers import ImageForm, initialise
from shaketable.models.networks.registry import declare


class AlexNet(nn.Module):
    """Five convolutions and three linear layers, with dropout before the first two of these.

    For ImageNet, the form of one tower (2014), which torchvision has. No form for small images was
    published: ours has a first convolution of 5x5 pixels in place of 11x11 with stride 4, 2x2
    pooling in place of 3x3, and 4x4 pixels in place of 6x6 before the linear layers; all widths are
    the same. Weights are He's, as those of 2012 train with difficulty.
    """

    def __init__(self, form: ImageForm, classes: int) -> None:
        super().__init__()
        large = form.is_large
        pool = nn.MaxPool2d(3 if large else 2, 2)
        first = nn.Conv2d(form.channels, 64, 5, form.stride, 2)
        self.features = nn.Sequential(
            *(nn.Conv2d(form.channels, 64, 11, 4, 2) if large else first, nn.ReLU(inplace=True)),
            pool,
            *(nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(inplace=True)),
            pool,
            *(nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True)),
            pool,
        )
        side = 6 if large else 4
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier = nn.Sequential(
            *(nn.Dropout(), nn.Linear(256 * side**2, 4096), nn.ReLU(inplace=True)),
            *(nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(inplace=True)),
            nn.Linear(4096, classes),
        )
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        scores: Tensor = self.classifier(self.avgpool(self.features(x)).flatten(1))
        return scores


@declare("alexnet")
def alexnet(*, shape: tuple[int, ...], classes: int) -> AlexNet:
    """AlexNet, the network that errors under common corruptions are compared with."""
    return AlexNet(ImageForm.of(shape, "alexnet"), classes)

"""VGG-19 (Simonyan and Zisserman, 2015), with the parameter names of torchvision."""

from __future__ import annotations

from torch import Tensor, nn

from shaketable.models.networks.layers import ImageForm, initialise
from shaketable.models.networks.registry import declare

STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""Channels and number of the 3x3 convolutions before each 2x2 max-pooling."""


class VGG(nn.Module):
    """Sixteen convolutions, and three linear layers for ImageNet, one for small images.

    32x32 pixels leave one pixel of 512 channels, for which two layers of 4096 would be too many;
    that form is the usual one for CIFAR. Images of 16x16 and less are pooled less often.
    """

    def __init__(self, form: ImageForm, classes: int, *, batch_norm: bool) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs, side = form.channels, form.side
        stride = 1 if form.is_large else form.stride
        for channels, depth in STAGES:
            for _ in range(depth):
                layers.append(nn.Conv2d(inputs, channels, 3, stride, 1))
                layers += [nn.BatchNorm2d(channels)] if batch_norm else []
                layers.append(nn.ReLU(inplace=True))
                inputs, stride = channels, 1
            layers.append(nn.MaxPool2d(2) if side > 1 else nn.Identity())
            side //= 2
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7 if form.is_large else 1)
        hidden: list[nn.Module] = []
        if form.is_large:
            hidden = [nn.Linear(512 * 49, 4096), nn.ReLU(inplace=True), nn.Dropout()]
            hidden += [nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout()]
        self.classifier = nn.Sequential(*hidden, nn.Linear(4096 if hidden else 512, classes))
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of images."""
        scores: Tensor = self.classifier(self.avgpool(self.features(x)).flatten(1))
        return scores


@declare("vgg-19")
def vgg_19(*, shape: tuple[int, ...], classes: int) -> VGG:
    """VGG of 19 layers as published, without batch normalisation; to train it is hard.

    The pretrained network of the two-factor paper has none. Trained from new weights, take
    ``vgg-19-bn``.
    """
    return VGG(ImageForm.of(shape, "vgg-19"), classes, batch_norm=False)


@declare("vgg-19-bn")
def vgg_19_bn(*, shape: tuple[int, ...], classes: int) -> VGG:
    """VGG of 19 layers with batch normalisation, which is newer than VGG."""
    return VGG(ImageForm.of(shape, "vgg-19-bn"), classes, batch_norm=True)

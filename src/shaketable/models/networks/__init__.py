"""Networks of torch by name, one family per file, and the files that hold trained ones.

`registry` makes a network from a spec, for points of a shape and a number of classes; `files` saves
and loads it. Importing either does not import torch.

Images come as floats in [0, 1], channels first, and no network normalises them by mean and standard
deviation. Networks for images take 8x8 pixels or more. From 64x64 on, their first stage has stride
2, as in Siedel et al. (2024), and from 128x128 on `alexnet`, `resnet` and `vgg` have the form for
ImageNet, with torchvision's names of parameters, so that published weights fit.
"""

from shaketable.models.networks.files import TrainedNetwork, load_network, save_network
from shaketable.models.networks.registry import NETWORKS, build_network

__all__ = ["NETWORKS", "TrainedNetwork", "build_network", "load_network", "save_network"]

"""Networks of torch's, points and regions that tests attack them in."""

import numpy as np
import torch
from torch import nn

from shaketable.adversary.cells.cells import Cells
from shaketable.adversary.region import Region
from shaketable.core.keys import row_keys
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier


def classifier(module, n_classes):
    codes = np.arange(n_classes)
    return as_classifier(module, make_dataset(codes[:, None] * 1.0, codes))


def linear(n_classes, d, dtype="float64"):
    torch.manual_seed(n_classes)
    return nn.Linear(d, n_classes, dtype=getattr(torch, dtype))


def network(d, n_classes=3, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, n_classes))


def keys_of(n, seed=0):
    return row_keys(seed, np.arange(n), np.array([0]))[:, 0]


def points(n, d, seed=0, dtype="float64"):
    x = np.random.default_rng(seed).uniform(size=(n, d))
    return x.astype(dtype).astype(np.float64)


def region_of(x, p, epsilon, *, dtype="float64", constraint="none", bounds=None):
    dtype = np.dtype(dtype)
    cells = None if constraint == "none" else Cells.of(x, p, epsilon, dtype=dtype)
    return Region(x, x.shape[1:], dtype, p, epsilon, constraint, cells, bounds)

"""Torch networks, and points and keys to attack them with."""

import numpy as np
import torch
from torch import nn

from shaketable.core.keys import row_keys
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier


def make_classifier(module, n_classes):
    """Wrap a module as a classifier of the classes 0, 1, …"""
    codes = np.arange(n_classes)
    return as_classifier(module, make_dataset(codes[:, None] * 1.0, codes))


def make_linear(n_classes, d, dtype="float64"):
    """Linear layer with random weights."""
    torch.manual_seed(n_classes)
    return nn.Linear(d, n_classes, dtype=getattr(torch, dtype))


def make_network(d, n_classes=3, seed=0):
    """Two layers with random weights."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, n_classes))


def make_keys(n, seed=0):
    """One key per point."""
    return row_keys(seed, np.arange(n), np.array([0]))[:, 0]


def make_points(n, d, seed=0, dtype="float64"):
    """Uniform points in the unit cube, as float64, with values that `dtype` can represent."""
    x = np.random.default_rng(seed).uniform(size=(n, d))
    return x.astype(dtype).astype(np.float64)


def copy_weights(trained):
    """Weights of a trained network by name."""
    return {name: w.clone() for name, w in trained.module.state_dict().items()}


def same_weights(first, second):
    """Whether two trained networks are the same, bit by bit."""
    a, b = copy_weights(first), copy_weights(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)

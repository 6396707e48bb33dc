"""A classifier by one threshold, and points that it classifies correctly."""

import numpy as np

X = np.random.default_rng(0).uniform(size=(60, 2))
Y = (X[:, 0] > 0.5).astype(int)


def threshold(x):
    """Classify points by their first feature."""
    return (x[:, 0] > 0.5).astype(int)


def list_hits(records):
    """Hits of every cell, as lists."""
    return [cell.hits.tolist() for cell in records]

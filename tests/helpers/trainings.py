"""Images with classes that a small network can learn, and a plan to train one in a second."""

import numpy as np

from shaketable.reproductions.papers.images import TrainingPlan

TINY_PLAN = TrainingPlan(recipe="fast", network="resnet9(width=1)", epochs=1, runs=1)


def write_images(path, *, n_train=60, n_test=20, size=32):
    """Write ten classes of noisy images, a brighter one for each class, in equal shares."""
    y = np.arange(n_train + n_test) % 10
    noise = np.random.default_rng(0).normal(128, 40, (len(y), size, size, 3))
    x = np.clip(noise + 12 * (y[:, None, None, None] - 4.5), 0, 255).astype(np.uint8)
    np.savez(
        path,
        x_train=x[:n_train],
        y_train=y[:n_train],
        x_test=x[n_train:],
        y_test=y[n_train:],
    )
    return path

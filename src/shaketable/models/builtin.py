"""Models by name: scikit-learn estimators that are trained, and exact ones of teaching data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.types import Array

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


BUILTIN: Mapping[str, str] = {
    "rf": "random forest, 100 trees",
    "1nn": "nearest neighbour",
    "svm": "support vector machine on standardised features",
    "mlp": "neural network, one hidden layer of 100, on standardised features",
    "logistic": "logistic regression on standardised features",
}
"""Names of the built-in models, with their descriptions."""


def builtin(name: str, data: Dataset | None = None) -> Any:
    """Return a built-in model, not yet fitted, with the preparation that `data` need."""
    from sklearn.ensemble import RandomForestClassifier  # heavy
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    makers: dict[str, Callable[[], Any]] = {
        "rf": lambda: RandomForestClassifier(100),
        "1nn": lambda: KNeighborsClassifier(1),
        "svm": lambda: make_pipeline(StandardScaler(), SVC()),
        "mlp": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=1000)),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    model = makers[name]()
    if data is None:
        return model
    from shaketable.models.preparation import prepare_for_table

    return prepare_for_table(model, data)


EXAMPLES: Mapping[str, str] = {
    "f1": "for toy1d: 1 where x >= 1, with no room at the edge of the class",
    "f2": "for toy1d: 1 where x >= 0, and again far to the left",
    "f3": "for toy1d: 1 where x >= 0, the oracle",
    "circle": "for sunset: A on the hypersphere and in it, with no room around",
    "oracle": "for sunset: A above the paraboloid that is equally far from both classes",
    "flat": "for sunset: A above a plane, blind to changes that matter",
}
"""Names of the classifiers, with their descriptions; they need no training."""


def example(name: str) -> Callable[[Array], Array]:
    """Return the classifier that `EXAMPLES` lists under a name."""
    return {f.__name__: f for f in (f1, f2, f3, circle, oracle, flat)}[name]


def f1(x: Array) -> Array:
    """1 where x >= 1, else -1: right on `toy1d`, wrong as soon as a point at 1 moves left."""
    return _step(x, 1.0)


def f2(x: Array) -> Array:
    """1 where x >= 0 or x < -4, else -1: right on the data, wrong far to the left.

    The paper writes 1 - step(x + 4) + step(x); this is what it means.
    """
    flat = x.reshape(len(x))
    return np.where((flat >= 0) | (flat < -4), 1, -1)


def f3(x: Array) -> Array:
    """1 where x >= 0, else -1: the boundary is midway between the classes of `toy1d`."""
    return _step(x, 0.0)


def circle(x: Array) -> Array:
    """A inside the hypersphere of `sunset` and on it, else B: right, with no room outwards."""
    centred = x.reshape(len(x), -1).astype(np.float64)
    centred[:, -1] -= 1
    # points of the data lie on the sphere up to their rounding
    return np.where((centred**2).sum(axis=1) <= 1 + 1e-9, "A", "B")


def oracle(x: Array) -> Array:
    """A above the paraboloid x_d = |x_1..d-1|^2 / 4, else B: equally far from both classes."""
    flat = x.reshape(len(x), -1).astype(np.float64)
    return np.where(4 * flat[:, -1] > (flat[:, :-1] ** 2).sum(axis=1), "A", "B")


def flat(x: Array) -> Array:
    """A above the plane x_d = 1/2, else B: wrong on points of A below it, right on all of B."""
    return np.where(x.reshape(len(x), -1)[:, -1] > 0.5, "A", "B")


def _step(x: Array, at: float) -> Array:
    return np.where(x.reshape(len(x)) >= at, 1, -1)

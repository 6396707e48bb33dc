"""Training with noise, as a scikit-learn meta-estimator.

The code of the class, docstrings of methods included, is part of the identity of its models.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from shaketable.core.checks import check_copies, check_whole
from shaketable.core.errors import InputError
from shaketable.core.image_layout import counts_as_images
from shaketable.core.keys import digest, row_keys
from shaketable.core.norms import as_p
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions import Clean, Corruption, PNormNoise
from shaketable.corruptions.corrupt import (
    check_noisy,
    choose_limits,
    corrupt_array,
    find_scale,
    prepare,
)
from shaketable.corruptions.parse import as_corruption
from shaketable.data.bounds import ROUNDING, BoundsLike


def _inner_has(method: str) -> Any:
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


class NoiseAugmented(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Any classifier, trained on k noisy copies of every training point.

    The copies are uniform in the p-norm ball of radius `epsilon` around the point, or corrupted as
    `noise` says. The original points are not used (Siedel et al. 2022, Sec. 3.2); ``epsilon=0``
    without `noise` trains on them alone. ``sample_weight`` is not supported: a point given twice
    gets different noise each time, so a weight of 2 is not the same.

    uint8 images, rows of 64 values or more or with a `shape`, are corrupted as by `corrupt`: they
    count as x/255, and the estimator gets copies with the 256 levels, in numbers from 0 to 255.

    Parameters
    ----------
    estimator
        Classifier to train; it is cloned.
    norm
        ``"inf"``, 1, 2, or any other positive order.
    epsilon
        Radius of the noise, in the units of the features; of uint8 images, for values in [0, 1].
    k
        Number of noisy copies per point.
    random_state
        Seed of the noise; that of the estimator is ``estimator__random_state``.
    noise
        Any other noise in place of `norm` and `epsilon`: a spec such as ``"l0(0.1) | sp(0.1)"``,
        or a corruption. Column means and the like are those of the training points; ``only=`` names
        columns of a data frame.
    bounds
        (low, high) that the features lie in, to clip noise to, or a `Bounds`; None for no bounds,
        and [0, 1] for uint8 images. L0 noise, camera faults and the like need them.
    shape
        Shape of an image, such as (32, 32, 3), for noise that needs it, such as rotation; None:
        rows of a table.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = NoiseAugmented(KNeighborsClassifier(1), epsilon=0.1, random_state=0)
    >>> model.fit([[0.0], [1.0]], ["left", "right"]).predict([[0.3], [0.8]])
    array(['left', 'right'], dtype='<U5')
    """

    def __init__(
        self,
        estimator: Any,
        norm: str | float = "inf",
        epsilon: float = 0.0,
        k: int = 10,
        random_state: Any = None,
        *,
        noise: str | Corruption | None = None,
        bounds: BoundsLike = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.estimator = estimator
        self.norm = norm
        self.epsilon = epsilon
        self.k = k
        self.random_state = random_state
        self.noise = noise
        self.bounds = bounds
        self.shape = shape

    def fit(self, X: Array, y: Array) -> Self:  # noqa: N803  (scikit-learn's name)
        """Train a clone of the estimator on noisy copies of the rows of `X`.

        Parameters
        ----------
        X
            Points, one per row.
        y
            Their labels.

        Returns
        -------
        Self
            The fitted model itself.
        """
        noise = self._choose_noise()
        k = check_whole("k", self.k, least=1)
        x, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        if not isinstance(noise, Clean):
            check_copies(k, *x.shape)
            state = self.random_state
            seed = (
                int(state)
                if isinstance(state, Integral)
                else check_random_state(state).randint(2**31)
            )
            keys = row_keys(digest("training noise", int(seed)), np.arange(len(x)), np.arange(k))
            points = x.astype(np.uint8) if np.asarray(X).dtype == np.uint8 else x
            x, y = self._add_noise(noise, points, keys).astype(x.dtype), np.repeat(y, k)
        self.estimator_ = clone(self.estimator).fit(x, y)
        self.classes_ = self.estimator_.classes_
        return self

    def _choose_noise(self) -> Corruption:
        """Return the training noise as it was given; `Clean` for none."""
        ball = PNormNoise(as_p(self.norm), self.epsilon)
        if self.noise is None:
            return ball if ball.epsilon else Clean()
        if ball.epsilon:
            raise InputError(
                f"noise and epsilon must not both be given, got {self.noise!r} and "
                f"{self.epsilon!r}; leave epsilon out, or write noise='{ball.spec}'"
            )
        return as_corruption(self.noise)

    def _add_noise(self, noise: Corruption, x: Array, keys: KeyArray) -> Array:
        """Return noisy copies of rows, which may be images; of uint8, in units of its levels."""
        given = x.shape[1:] if self.shape is None else self.shape
        if not np.iterable(given) or not all(isinstance(axis, Integral) for axis in given):
            raise InputError(f"shape must be whole numbers, such as (32, 32, 3), got {given!r}")
        shape = tuple(given)
        if min(shape, default=0) < 1 or math.prod(shape) != x.shape[1]:
            raise InputError(
                f"shape must have as many values as a row, {x.shape[1]}, got {self.shape!r}"
            )
        points = x.reshape(len(x), *shape)
        if points.dtype == np.uint8 and not counts_as_images(points):
            points = points.astype(np.float64)
        bounds = choose_limits(points, self.bounds)
        if bounds is not None and find_scale(points.dtype, bounds) == 1:
            bounds.check(x, slack=ROUNDING)
        names = getattr(self, "feature_names_in_", None)
        fitted = prepare(noise, points, bounds, None if names is None else tuple(names))
        repeated = np.repeat(points, keys.shape[1], axis=0)
        copies: Array = corrupt_array(repeated, fitted, keys.reshape(-1), bounds)
        return np.asarray(check_noisy(copies, fitted)).reshape(-1, x.shape[1])

    def predict(self, X: Array) -> Array:  # noqa: N803
        """Label of every row.

        Parameters
        ----------
        X
            Points, one per row.

        Returns
        -------
        Array
            Labels.
        """
        return self._ask("predict", X)

    @_inner_has("predict_proba")  # type: ignore[untyped-decorator]  # scikit-learn's
    def predict_proba(self, X: Array) -> Array:  # noqa: N803
        """Probability of every class, where the estimator has one."""
        return self._ask("predict_proba", X)

    @_inner_has("decision_function")  # type: ignore[untyped-decorator]  # scikit-learn's
    def decision_function(self, X: Array) -> Array:  # noqa: N803
        """Score of every class, where the estimator has one."""
        return self._ask("decision_function", X)

    def _ask(self, method: str, x: Array) -> Array:
        check_is_fitted(self)
        x = validate_data(self, x, reset=False, dtype=[np.float64, np.float32])
        return np.asarray(getattr(self.estimator_, method)(x))

"""The smoothed model: the class that a model answers most often under Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shaketable.core.checks import HUGE, MOST_COPIES, TINY, check_real, check_whole
from shaketable.core.errors import InputError, either
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.only import fit_to_columns
from shaketable.data.bounds import Bounds, BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import choose_bounds
from shaketable.models.adapted import Derived
from shaketable.models.classifier import Classifier

if TYPE_CHECKING:
    from pathlib import Path

    from shaketable.adversary.smoothing.numbers import Certificates

_VALUES = 1 << 22
"""Values of the noisy copies that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Vote:
    """Shares of the noisy copies of points that a model gives to each class.

    The noise vectors are the same for all points, so an answer depends on the point alone.
    """

    base: Classifier
    noise: Corruption
    keys: KeyArray
    """One per noise vector."""
    count: int
    """Number of classes of the data."""

    def __call__(self, x: Any) -> FloatArray:
        """Return one column per class, and a last one for answers that the data lack."""
        x = np.asarray(x)
        keys = np.broadcast_to(self.keys, (len(x), len(self.keys)))
        return self.count_answers(x, keys) / len(self.keys)

    def count_answers(self, x: Array, keys: KeyArray) -> IntArray:
        """Count how often the model gives every class to noisy copies of points.

        Parameters
        ----------
        x
            Points.
        keys
            One per copy, shape (points, copies).
        """
        copies = keys.shape[1]
        width, columns = max(1, x[:1].size), self.count + 1
        rows = max(1, _VALUES // (width * copies))
        some = min(copies, max(1, _VALUES // width))
        votes = np.zeros((len(x), columns), np.int64)
        for start in range(0, len(x), rows):
            part = slice(start, start + rows)
            for first in range(0, copies, some):
                chosen = keys[part, first : first + some]
                noisy = self.noise(np.repeat(x[part], chosen.shape[1], axis=0), chosen.ravel())
                codes = self.base(noisy).reshape(chosen.shape)
                places = np.where(codes < 0, self.count, codes)
                places += columns * np.arange(len(chosen))[:, None]
                counts = np.bincount(places.ravel(), minlength=columns * len(chosen))
                votes[part] += counts.reshape(len(chosen), columns)
        return votes


@dataclass(frozen=True)
class Smoothed(Derived):
    r"""The smoothed model: of every point the class that a model answers most often under noise.

    .. math:: g(x) = \arg\max_c P(f(x + \delta) = c), \quad \delta \sim N(0, \sigma^2 I)

    Every function that takes models takes it, and so gets the vote of `select` noisy copies, with
    the shares of the classes as scores. The noise vectors of the vote are the same for all points
    and follow from the seed, so the answer depends on the point alone. The vote never abstains; of
    classes with as many votes it answers the first. `certify` proves what the smoothed model
    answers around points.

    Parameters
    ----------
    model, sigma, draws, select, confidence, bounds, seed
        As in `smoothed`.

    Examples
    --------
    >>> import shaketable as st
    >>> model = st.smoothed(lambda x: x[:, 0] > 0.5, 0.1)
    >>> data = [[0.2], [0.9]], [False, True]
    >>> [cell.accuracy for cell in st.evaluate(model, data, "linf(0.1)")]
    [1.0, 1.0]
    >>> model.certify(data).radius.round(2)
    array([0.28, 0.32])
    """

    model: Any
    sigma: float
    draws: int = 10_000
    select: int = 100
    confidence: float = 0.999
    bounds: BoundsLike | Literal["declared"] = "declared"
    seed: int = 0

    def __post_init__(self) -> None:
        name = either("--smooth", "sigma")
        sigma = check_real(name, self.sigma, "be positive and finite", low=TINY, high=HUGE)
        object.__setattr__(self, "sigma", sigma)
        for name, least in (("draws", 1), ("select", 1), ("seed", 0)):
            value = check_whole(name, getattr(self, name), least=least)
            if name != "seed" and value > MOST_COPIES:
                raise InputError(f"{name} must be at most {MOST_COPIES:,}, got {value:,}")
            object.__setattr__(self, name, value)
        confidence = check_real(
            "confidence", self.confidence, "be at least 0.5 and below 1", low=0.5, high=1 - 1e-15
        )
        object.__setattr__(self, "confidence", confidence)
        least = math.floor(-math.log2(1 - confidence)) + 1  # the bound must exceed one half
        if self.draws < least:
            raise InputError(
                f"{either('--smooth-draws', 'draws')} must be at least {least} to certify anything "
                f"at confidence {confidence:g}, got {self.draws}; take more"
            )

    @property
    def title(self) -> str:
        """What it makes of the model inside."""
        return f"smoothed {self.sigma:g}"

    def classify(self, inner: Classifier, data: Dataset) -> Classifier:
        """Return the vote as a classifier.

        Parameters
        ----------
        inner
            The model inside.
        data
            Data whose classes it predicts.

        Returns
        -------
        Classifier
            The vote, whose `answer` is a `Vote`.

        Examples
        --------
        >>> from shaketable import load
        >>> from shaketable.models.builtin import f3
        >>> from shaketable.models.classifier import as_classifier
        >>> toy = load("toy1d(n=40)")
        >>> as_classifier(Smoothed(f3, 0.5), toy)(toy.x[[0, -1]])
        array([0, 1])
        """
        bounds = choose_bounds(data, self.bounds)
        key = digest("vote", SCHEME, self.seed)
        keys = row_keys(key, np.zeros(1, np.int64), np.arange(self.select))[0]
        noise = make_noise(self.sigma, data, bounds)
        identity = inner.identity
        if identity is not None:
            identity += f" under {self.select} votes of {noise.spec} in {bounds}, seed {self.seed}"
        names: Sequence[Any] = [*data.classes, "none"]
        return Classifier(
            inner.name,
            Vote(inner, noise, keys, len(data.classes)),
            {label: code for code, label in enumerate(data.classes)},
            identity,
            columns=(*range(len(data.classes)), -1),
            computed_on=inner.computed_on,
            notes=inner.notes,
            column_names=names,
        )

    def certify(
        self,
        data: Any,
        epsilons: float | str | Sequence[float | str] | None = None,
        *,
        norm: str | float = 2,
        name: str | None = None,
        refit: bool = False,
        own: bool = False,
        split: bool = False,
        unscale: bool = False,
        points: int | None = None,
        store: str | Path | None = None,
        progress: bool = False,
    ) -> Certificates:
        """Compute for every point a radius within which the smoothed model keeps its answer.

        The vote selects a class. `draws` more copies, whose noise is drawn anew for every point,
        bound the probability of this class from below (Clopper-Pearson, one-sided); the radius is
        sigma times the normal quantile of that bound. If the bound is not above one half, there is
        no certificate: the point abstains.

        Parameters
        ----------
        data
            As in `evaluate`. The test part is certified; with a fitted model all points if the data
            have no test part.
        epsilons
            Sizes at which tables show the certified accuracy, such as ``[0.1, "eps_min"]``; by
            default steps of half a sigma. `Certificates.certified` takes any size.
        norm
            Norm of these sizes: 1, 2, ``"inf"`` or another order.
        name
            Name in tables; by default that of the model, with sigma.
        refit, own, split, unscale, points
            As in `adversarial_curve`.
        store
            Results file, in which counts are kept while they are drawn. If the work is killed, the
            same call continues where it stopped. Functions are not recognised.
        progress
            Show a progress bar on stderr.

        Returns
        -------
        Certificates
            Class, bound, radius and abstention of every point, and certified accuracies.

        Examples
        --------
        >>> import shaketable as st
        >>> model = st.smoothed(lambda x: x[:, 0] > 0.5, 0.1)
        >>> found = model.certify(([[0.2], [0.49], [0.9]], [False, False, True]), 0.1)
        >>> found.abstained
        array([False, False, False])
        >>> [round(float(estimate.value), 3) for estimate in found.curve([0, 0.1])]
        [1.0, 0.667]
        """
        from shaketable.adversary.smoothing.certify import compute_certificates

        return compute_certificates(
            self,
            data,
            epsilons,
            norm=norm,
            name=name,
            refit=refit,
            own=own,
            split=split,
            unscale=unscale,
            points=points,
            store=store,
            progress=progress,
        )


def make_noise(sigma: float, data: Dataset, bounds: Bounds | None) -> Corruption:
    """Return Gaussian noise on all that moves.

    Clipping to the bounds, which follows the noise, counts as a part of the model inside, and so do
    the limits and steps of columns: they are functions of the noisy point alone, so the certificate
    holds for them as for any model.
    """
    bounds = None if bounds is None else replace(bounds, rule="clip")
    return fit_to_columns(Gaussian(sigma), data.columns).for_shape(data.shape).bind(bounds)


def smoothed(
    model: Any,
    sigma: float,
    *,
    draws: int = 10_000,
    select: int = 100,
    confidence: float = 0.999,
    bounds: BoundsLike | Literal["declared"] = "declared",
    seed: int = 0,
) -> Smoothed:
    r"""Smooth a model with Gaussian noise, so that its answers can be certified.

    .. math:: g(x) = \arg\max_c P(f(x + \delta) = c), \quad \delta \sim N(0, \sigma^2 I)

    Cohen, Rosenfeld & Kolter (2019) prove: if g answers a class with probability at least
    :math:`p > 1/2`, it answers this class everywhere within the L2 radius
    :math:`\sigma \Phi^{-1}(p)`, whatever the model inside is. That is a statement about g, and none
    about the model inside.

    Parameters
    ----------
    model
        Any model that `evaluate` takes; one that is still to be fitted, with ``refit=True``.
    sigma
        Standard deviation of the noise, in the units of the data. Of a table, it is on the columns
        that noise changes.
    draws
        Noisy copies per point that bound the probability. They limit the radius: no bound exceeds
        ``(1 - confidence) ** (1 / draws)``.
    select
        Noisy copies per point whose vote selects the class. They are also how the smoothed model
        answers wherever it stands in place of a model.
    confidence
        Confidence of every single certificate.
    bounds
        Value range, to which noisy points are clipped before the model inside gets them; by default
        what the data declare, None for no clipping. It is a part of the model inside.
    seed
        Seed of the noise.

    Returns
    -------
    Smoothed
        The smoothed model.

    Examples
    --------
    >>> import shaketable as st
    >>> found = st.smoothed(lambda x: x[:, 0] > 0.5, 0.1).certify(([[0.2], [0.9]], [False, True]))
    >>> found.codes, found.lower.round(3), found.radius.round(2)
    (array([0, 1]), array([0.997, 0.999]), array([0.28, 0.32]))
    """
    return Smoothed(model, sigma, draws, select, confidence, bounds, seed)

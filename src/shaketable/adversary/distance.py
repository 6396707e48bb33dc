"""`distance`: the distance to the nearest failure of every point, between two bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from shaketable.adversary.attacks.registry import Attacks
from shaketable.adversary.distances import Distances
from shaketable.adversary.worst_case import worst_case
from shaketable.data.bounds import BoundsLike


def distance(
    model: Any,
    data: Any,
    *,
    norm: str | float = 2,
    constraint: Literal["none", "genuine-max"] = "none",
    attacks: Attacks = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    seed: int = 0,
    name: str | None = None,
    refit: bool = False,
    own: bool = False,
    points: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Distances:
    r"""Measure how far every point is from its nearest failure, between two bounds.

    .. math:: \min \{\lVert x' - x\rVert : f(x') \ne y\}

    A failure is a point of the region that the model labels wrongly. For models of known form
    (1-NN, linear models, trees and their ensembles) a lower bound is proven, often the distance
    itself. The upper bound is the distance of a failure that was found. Robust accuracy at every
    epsilon follows from the same bounds: points with a lower bound of epsilon or more withstand for
    certain, and those with an upper bound of epsilon or less fall.

    Parameters
    ----------
    model, data
        As in `evaluate`. Distances are measured at the test part; those of a fitted model at all
        points if the data have no test part.
    norm
        Order of the norm.
    constraint
        ``none``: within the value range. ``genuine-max``: within the point's Voronoi cell.
    attacks
        Searches for failures, as in `worst_case`; by default those that suit the model.
    bounds, seed, name, refit, own, points, store, progress
        As in `worst_case`.

    Returns
    -------
    Distances
        Bounds of every point; mean, quantiles and accuracies with intervals.

    Examples
    --------
    >>> found = distance(lambda x: x[:, 0] > 0.5, ([[0.2], [0.9]], [False, True]), name="step")
    >>> found.high.round(2).tolist(), found.low.tolist()
    ([0.3, 0.4], [0.0, 0.0])
    >>> [accuracy.value for accuracy in found.accuracy(0.35)]
    [0.0, 0.5]
    """
    found = worst_case(
        model,
        data,
        None,
        norm=norm,
        constraints=constraint,
        attacks=attacks,
        bounds=bounds,
        seed=seed,
        name=name,
        refit=refit,
        own=own,
        points=points,
        store=store,
        progress=progress,
    )
    distances = found.curves[0].find_distances(found.data, found.eps_min)
    assert distances is not None, "no constraint but genuine-exact is without"
    return distances

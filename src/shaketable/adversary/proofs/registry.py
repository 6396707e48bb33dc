"""Provers by name, and which of them know a model.

A prover declares in its module, by `PROVERS.add`, a function that returns it for a model it knows.
Other packages list theirs as entry points in the group ``shaketable.provers``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from shaketable.adversary.attacks.registry import Attack, confirm
from shaketable.adversary.region import Region
from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.dataset import Dataset
from shaketable.models.adapted import Derived
from shaketable.models.answers import knows_any
from shaketable.models.classifier import Classifier


@runtime_checkable
class Prover(Attack, Protocol):
    """An attack that also says up to which distance no point is misclassified."""

    @property
    def why(self) -> str:
        """How it knows, such as ``closed form for a linear model``."""

    def suits(self, region: Region) -> bool:
        """Whether it can say anything about regions of this norm and constraint."""


Recognise = Callable[[Any, Dataset, bool], "Prover | None"]
"""Function of a fitted model, the data, and whether the model takes features before they were
scaled; it returns a prover for the model, or None if it does not know it."""


def _admit(name: str, thing: Any) -> Recognise:
    if not callable(thing):
        raise InputError(
            f"prover {name!r} must be a function of a model, data and a flag, got {thing!r}"
        )
    return partial(_recognise, name, thing)


def _recognise(name: str, thing: Any, model: Any, data: Dataset, unscale: bool) -> Prover | None:
    with PROVERS.guard(name, "failed on a model: {error}"):
        found = thing(model, data, unscale)
    if found is not None and not isinstance(found, Prover):
        raise InputError(f"prover {name!r} must return a Prover or None, got {found!r}")
    return found


PROVERS: Registry[Recognise] = Registry(
    "prover",
    admit=_admit,
    homes=tuple(
        f"shaketable.adversary.proofs.{home}"
        for home in ("bernoulli", "linear", "nearest", "trees")
    ),
)
"""All functions that recognise models."""


def find_provers(model: Any, data: Dataset, *, unscale: bool) -> tuple[Prover, ...]:
    """Return the provers that know a model; none for one of unknown form.

    Parameters
    ----------
    model
        Fitted model, as it was given.
    data
        The data it labels.
    unscale
        Whether it takes features as they were before these data were scaled.
    """
    if isinstance(model, Derived):  # its answers are not those of the model inside
        return ()
    if data.label_sets is not None and not knows_any(model, data.classes):
        return ()  # what is known of the form of models is of those of one label
    found = (recognise(model, data, unscale) for _, recognise in PROVERS.items())
    return tuple(prover for prover in found if prover is not None)


_PUSHES = (0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4)


def confirm_nearest(
    model: Classifier, region: Region, rows: IntArray, y: IntArray, moved: FloatArray
) -> tuple[FloatArray, Array, int]:
    """Push points on a decision boundary over it, until they count as found; see `confirm`.

    Returns the points, which of them count, and the number of points that the model was asked
    about. Each is pushed away from its row's own point by shares of the step up to 1e-4.

    >>> region = Region(np.array([[0.0]]), (1,), np.dtype(float), 2, 1.0)
    >>> from shaketable.models.classifier import Classifier
    >>> above = Classifier("above", lambda x: (x[:, 0] > 0.5).astype(int), {0: 0, 1: 1}, None)
    >>> zero = np.array([0])
    >>> moved, hit, queries = confirm_nearest(above, region, zero, zero, np.array([[0.5]]))
    >>> bool(hit[0]), float(moved[0, 0]) > 0.5, queries
    (True, True, 2)
    """
    moved, origin = np.array(moved, np.float64), region.x[rows]
    step, hit, queries = moved - origin, np.zeros(len(rows), bool), 0
    for push in _PUSHES:
        left = np.flatnonzero(~hit)
        if not len(left):
            break
        tried = origin[left] + (1 + push) * step[left]
        if region.bounds is not None:
            tried = np.clip(tried, *region.value_range(origin[left]))
        found = confirm(model, region, rows[left], y[left], tried)
        queries += len(left)
        moved[left[found]], hit[left[found]] = tried[found], True
    return moved, hit, queries

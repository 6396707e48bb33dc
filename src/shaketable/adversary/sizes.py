"""Sizes of regions: numbers, or multiples of the data's eps_min."""

from __future__ import annotations

from collections.abc import Iterable

from shaketable.core.checks import unknown_name
from shaketable.core.errors import UndefinedError
from shaketable.core.spec import read_multiple
from shaketable.data.dataset import Dataset
from shaketable.evaluation.store import Store
from shaketable.separations.separation import separation


def resolve_epsilons(data: Dataset, p: float, epsilons: Iterable[float | str]) -> list[float]:
    """Return sizes as numbers, which may be given as multiples of the data's eps_min."""
    sizes = list(epsilons)
    needed = any(read_multiple(size) is not None for size in sizes)
    with Store() as store:
        eps_min = find_eps_min(data, p, store, needed=True, progress=False) if needed else None
    return [resolve_epsilon(size, eps_min) for size in sizes]


def find_eps_min(
    data: Dataset, p: float, store: Store, *, needed: bool, progress: bool
) -> float | None:
    """eps_min of the data; if points of different classes coincide, None, or raise if needed."""
    if (known := store.separation(data.fingerprint, p)) is not None:
        return known.epsilon_min
    keep = None if store.in_memory else store
    try:
        return separation(data, norm=p, points=False, keep=keep, progress=progress).epsilon_min
    except UndefinedError:
        if needed:
            raise
        return None


def resolve_epsilon(given: float | str, eps_min: float | None) -> float:
    """Return a size as a number; `eps_min` must be known if it is a multiple of it."""
    factor = read_multiple(given)
    if factor is not None:
        assert eps_min is not None, "it is needed"
        return factor * eps_min
    if isinstance(given, str):
        raise unknown_name("epsilon", given, ["eps_min"])
    return given

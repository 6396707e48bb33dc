"""Corrupted inputs drawn again: noise depends on keys alone, so records need not hold inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.corruptions import Clean
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset, as_floats
from shaketable.evaluation.cells import Cell, Origin, make_inputs
from shaketable.evaluation.noise import Noise, choose_bounds
from shaketable.evaluation.records import Record
from shaketable.evaluation.resolve import resolve


def draw_again(
    record: Record, data: Dataset, places: Sequence[int], draws: range | None = None
) -> Array:
    """Return the inputs that a model got: points as the corruption of a record changed them.

    Parameters
    ----------
    record
        A cell.
    data
        The data that it was measured on.
    places
        Positions among the points of the cell, not rows of the data.
    draws
        Numbers of draws; None for all.

    Returns
    -------
    Array
        Of shape (places, draws, shape of a point).

    Examples
    --------
    >>> import shaketable as st
    >>> data = st.make_dataset([[0.2], [0.8]], [False, True])
    >>> clean, noisy = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.4)", k=5)
    >>> inputs = draw_again(noisy, data, [1])
    >>> inputs.shape, bool(((inputs[0, :, 0] > 0.5).sum() == noisy.hits[1]))
    ((1, 5, 1), True)
    """
    check_redrawable(record, data)
    draws = range(record.k) if draws is None else draws
    setting = record.setting
    corruption = (
        Clean() if record.is_clean else resolve(record.corruption, data, None).corruptions[0]
    )
    if corruption.spec != record.corruption:
        raise InputError(
            f"inputs under {record.corruption} cannot be drawn again: on these data its spec is "
            f"{corruption.spec}; give the data as they were evaluated"
        )
    noise = Noise(
        k=setting.k,
        seed=setting.seed,
        run=record.run,
        draws="independent" if record.is_clean else setting.draws,  # type: ignore[arg-type]
        bounds=_read_bounds(setting.bounds, data),
    )
    origin = Origin(record.model, record.recipe, record.train)
    cell = Cell(data, record.points, corruption, noise, origin, record.model_id)
    inputs = as_floats(np.asarray(make_inputs(cell, np.asarray(places, dtype=np.int64), draws)))
    return inputs.reshape(len(places), len(draws), *data.shape)


def check_redrawable(record: Record, data: Dataset) -> None:
    """Raise an `InputError` if the inputs of a cell cannot be drawn again from these data."""
    if record.fingerprint != data.fingerprint:
        raise InputError(
            f"inputs of {record.data} can be drawn again from the same data only, and the "
            f"fingerprint of {data.name} is another; give the data, and all that was said about "
            "them, as they were evaluated"
        )
    if record.setting.noise == "device":
        raise InputError(
            f"inputs under {record.corruption} cannot be drawn again: their noise was made on a "
            "device; evaluate without device noise to see them"
        )


def _read_bounds(text: str, data: Dataset) -> Bounds | None:
    """Return the bounds that a setting names."""
    if text == "none":
        return None
    if data.bounds is not None and str(data.bounds) == text:
        return choose_bounds(data, data.bounds)
    match = re.fullmatch(r"(\w+)\[(\S+), (\S+)\]", text)
    if match is None:
        raise InputError(f"bounds of a record must read rule[low, high], got {text!r}")
    low, high = float(match[2]), float(match[3])
    return choose_bounds(data, Bounds(low, high, match[1]))  # type: ignore[arg-type]

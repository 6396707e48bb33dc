"""Cells: one model under one corruption. Each has a key, and is measured in batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from shaketable.core.keys import SCHEME, digest
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.records import Points, Record
from shaketable.models.classifier import Classifier
from shaketable.views.progress import count_steps

BATCH_VALUES, BATCH_ROWS = 1 << 22, 1 << 16
"""Values (32 MB of float64) and rows handed to the model at a time; results do not depend on it."""


@dataclass(frozen=True)
class Origin:
    """Where a model comes from: what the models of all runs have in common."""

    name: str
    recipe: str
    """See `Record.recipe`."""
    train: str
    """See `Record.train`."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One model under one corruption, to be measured; its key is known before."""

    data: Dataset
    points: Points
    corruption: Corruption
    noise: Noise
    origin: Origin
    model_id: str
    """Identifies the model; models of other runs have other IDs."""

    @property
    def is_clean(self) -> bool:
        """Whether the points are not corrupted."""
        return isinstance(self.corruption, Clean)

    @property
    def k(self) -> int:
        """Draws per point; 1 for clean points and for images that are read from files."""
        return 1 if self.is_clean or self.corruption.by_row else self.noise.k

    @property
    def bounds(self) -> str:
        """The bounds as recorded; ``none`` for clean points."""
        return "none" if self.is_clean else str(self.noise.bounds or "none")

    @property
    def draws(self) -> str:
        """How noise is drawn, as recorded; ``none`` for clean points."""
        return "none" if self.is_clean else self.noise.draws

    @property
    def drawn_on(self) -> str:
        """Where noise is drawn, as recorded: ``cpu``, ``device``, or ``none`` for clean points."""
        on_device = self.noise.on_device and not self.corruption.by_row
        return "none" if self.is_clean else "device" if on_device else "cpu"

    @property
    def key(self) -> str:
        """Hash of everything that the counts depend on."""
        parts = (
            self.corruption.spec,
            self.points.id,
            self.model_id,
            self.bounds,
            self.draws,
            self.drawn_on,
            self.k,
            self.noise.seed,
            self.noise.run,
        )
        return f"{digest(SCHEME, *parts):016x}{digest(*parts, 'second half'):016x}"

    def record(
        self,
        *,
        hits: IntArray,
        predictions: IntArray,
        dtype: str,
        versions: dict[str, str],
        seconds: float,
    ) -> Record:
        """Record of the cell with what was measured; predictions are kept for clean points only."""
        return Record(
            key=self.key,
            points=self.points,
            data=self.data.name,
            fingerprint=self.data.fingerprint,
            model=self.origin.name,
            recipe=self.origin.recipe,
            model_id=self.model_id,
            train=self.origin.train,
            corruption=self.corruption.spec,
            bounds=self.bounds,
            draws=self.draws,
            noise=self.drawn_on,
            k=self.k,
            seed=self.noise.seed,
            run=self.noise.run,
            hits=hits,
            predictions=predictions if self.is_clean else None,
            dtype=dtype,
            versions=versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=seconds,
        )


def make_points(data: Dataset, rows: IntArray) -> Points:
    """Points at these rows, with an ID made from them and the data."""
    id_ = f"{digest(data.fingerprint, rows.astype('<i8').tobytes()):016x}"
    return Points(id_, data.classes, rows, data.y[rows])


def group_by_draws(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Group the cells of one model by their draws: the sizes of a ladder, or one cell alone."""
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        stream = cell.noise.stream(cell.corruption)
        groups.setdefault((replace(cell.noise, k=cell.k), stream), []).append(cell)
    return list(groups.values())


def measure_groups(
    groups: Sequence[Sequence[Cell]], model: Classifier, *, progress: bool
) -> Iterator[list[Record]]:
    """Measure groups of cells that share their draws; yields the records of each."""
    total = sum(len(group) * len(list(_batches(group[0]))) for group in groups)
    with count_steps(f"evaluating {model.name}", total=total, enabled=progress) as step:
        for group in groups:
            yield measure_group(group, model, step)


def measure_group(
    cells: Sequence[Cell], model: Classifier, step: Callable[[], None]
) -> list[Record]:
    """Count a model's correct answers in cells that share their draws.

    `step` is called after every batch of every cell.
    """
    first, started = cells[0], time.perf_counter()
    data, rows = first.data, first.points.rows
    hits = np.zeros((len(cells), len(rows)), np.int64)
    predictions = np.zeros(len(rows), np.int64)
    corruptions = [cell.corruption.bind(cell.noise.bounds) for cell in cells]
    strongest = max(corruptions, key=lambda c: c.size)  # its draw serves all smaller sizes
    dtype = ""
    for batch, draws in _batches(first):
        x: Any = np.repeat(data.rows(rows[batch]), len(draws), axis=0)
        dtype = str(x.dtype)
        if first.noise.on_device:
            x = model.to_device(x)
        keys = _keys(first, rows[batch], draws).reshape(-1)
        drawn = strongest.draw(x, keys)
        for i, corruption in enumerate(corruptions):
            codes = model(corruption.apply(x, drawn)).reshape(-1, len(draws))
            predictions[batch] = codes[:, 0]
            hits[i, batch] += (codes == data.y[rows[batch], None]).sum(axis=1)
            step()
    seconds = (time.perf_counter() - started) / len(cells)
    libraries = list_versions() if model.device is None else list_versions("torch")
    return [
        cell.record(
            hits=cell_hits,
            predictions=predictions,
            dtype=dtype,
            versions=libraries,
            seconds=seconds,
        )
        for cell, cell_hits in zip(cells, hits, strict=True)
    ]


def _keys(cell: Cell, rows: IntArray, draws: IntArray) -> Any:
    """Keys of every row and draw, (rows, draws); for images in files their positions there."""
    if cell.corruption.by_row:
        places = rows - (cell.data.n_train or 0)
        return np.repeat(places.astype(np.uint64)[:, None], len(draws), axis=1)
    return cell.noise.keys(cell.data, cell.corruption, rows, draws)


def _batches(cell: Cell) -> Iterator[tuple[slice, IntArray]]:
    """Split points and draws into batches that fit into memory."""
    n, k = len(cell.points.rows), cell.k
    size = max(1, min(BATCH_VALUES // cell.data.d, BATCH_ROWS))
    rows, draws = max(1, size // k), min(k, size)
    for i in range(0, n, rows):
        for j in range(0, k, draws):
            yield slice(i, min(n, i + rows)), np.arange(j, min(k, j + draws))

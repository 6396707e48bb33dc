"""Nearest neighbours across groups of points in many dimensions, exact.

Points are compared block by block, each pair of blocks a task of its own: threads here, or the
workers of whatever backend ``joblib.parallel_config`` names. `trees` answers the same questions
in few dimensions.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from shaketable.core.progress import show_progress
from shaketable.core.threads import count_threads
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.answer import Nearest
from shaketable.separations.search.distances import MAXIMUM
from shaketable.separations.search.features import sketch
from shaketable.separations.search.kernels import LANES, Best, Sketch, compare, measure_pairs

_BLOCK = 4096  # positions of a task, at least
_BLOCKS = 64  # blocks, at most
_NONE = np.iinfo(np.int64).max  # a row that is none
_CHUNK = 1024  # pairs that a thread measures at a time
_ROOM = 1 << 17  # pairs that a task can hold

Block = tuple[int, int]
Task = tuple[Block, Block, bool]  # two blocks, and whether their touching tiles or the others


def search(
    x: Array,
    group: IntArray,
    p: float,
    *,
    of: Array | None = None,
    cell: IntArray | None = None,
    part: IntArray | None = None,
    top: int = 0,
    progress: bool = False,
) -> Nearest:
    """Find nearest points of other groups, as `neighbours.search` describes."""
    zeros = np.zeros(len(x), np.int64)
    points = sketch(
        x,
        p,
        group,
        zeros if cell is None else cell,
        zeros if part is None else part,
        finest=of is not None,
    )
    state = _State(points, of, cell is not None, part is not None, top)
    for touching in (True, False):
        tasks = state.tasks(touching)
        jobs = (delayed(_least)(points, p, task, state.bounds(task)) for task in tasks)
        words = "comparing near points" if touching else "comparing the others"
        for task, best in show_progress(_run(jobs), words, enabled=progress, total=len(tasks)):
            state.merge(task, best)
    return state.result()


def pairs_within(
    x: Array, group: IntArray, p: float, radius: FloatArray, *, progress: bool = False
) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `neighbours` describes."""
    zeros = np.zeros(len(x), np.int64)
    points = sketch(x, p, group, zeros, zeros, finest=True)
    state = _State(points, None, False, False, 0)
    state.near[: len(x)] = radius[points.rows]
    tasks = [*state.tasks(True), *state.tasks(False)]
    jobs = (delayed(_within)(points, p, task, state.bounds(task)) for task in tasks)
    found = show_progress(_run(jobs), "collecting near points", enabled=progress, total=len(tasks))
    return np.concatenate([np.empty((0, 2), np.int64), *found])


def measured(x: Array, pairs: IntArray, p: float) -> FloatArray:
    """Measures of pairs of rows, to the last bit as a search finds them; threads share them."""
    chunks = np.array_split(pairs, len(pairs) // _CHUNK + 1)
    with ThreadPoolExecutor(count_threads()) as pool:
        return np.concatenate([*pool.map(lambda chunk: measure_pairs(x, chunk, p), chunks)])


def _run(jobs: Iterable[tuple[object, ...]]) -> Iterator[Any]:
    parallel = Parallel(n_jobs=-1, prefer="threads", return_as="generator_unordered", mmap_mode="c")
    return iter(parallel(jobs))


def _least(points: Sketch, p: float, task: Task, best: Best) -> tuple[Task, Best]:
    best = _with_limits(points, task, best)
    compare(points, _order(p), *task, best, (-1, -1))
    return task, best


def _within(points: Sketch, p: float, task: Task, best: Best) -> IntArray:
    best = _with_limits(points, task, best)._replace(found=np.empty((_ROOM, 2), np.int64))
    found, resume = [], (-1, -1)
    while True:
        count, *tiles = compare(points, _order(p), *task, best, resume)
        found.append(best.found[:count].copy())
        if tiles[0] < 0:
            return np.concatenate(found)
        resume = tiles[0], tiles[1]


def _order(p: float) -> float:
    """Order of a norm as `distances.measure` wants it: a whole number where it can be."""
    return {1.0: 1, 2.0: 2, math.inf: MAXIMUM}.get(p, p)


def _with_limits(points: Sketch, task: Task, best: Best) -> Best:
    """Bounds with room for their limits; a block compared with itself has one set of both."""
    limit_a, limit_b = (np.empty(len(b), points.tiles.dtype) for b in (best.near_a, best.near_b))
    if task[0] == task[1]:
        return best._replace(limit_a=limit_a, near_b=best.near_a, who_b=best.who_a, limit_b=limit_a)
    return best._replace(limit_a=limit_a, limit_b=limit_b)


class _State:
    """Least measures so far, over all positions; tasks work on copies of what concerns them."""

    def __init__(
        self, points: Sketch, of: Array | None, cells: bool, parts: bool, top: int
    ) -> None:
        n = len(points.rows)
        size = max(_BLOCK, -(-n // (_BLOCKS * LANES)) * LANES)
        self.points = points
        self.blocks = [(start, min(start + size, n)) for start in range(0, n, size)]
        whole_tiles = -(-n // LANES) * LANES
        self.near = np.full(whole_tiles, -1.0)
        if of is not None:
            self.near[:n][of[points.rows]] = math.inf
        self.who = np.full(whole_tiles, _NONE)
        count = int(points.cell[-1]) + 1 if cells else 1
        self.cells = np.full((count, count), math.inf if cells else -1.0)
        if np.array_equal(points.cell, points.group):
            np.fill_diagonal(self.cells, -1.0)  # no such pairs
        self.parts = np.full(3, math.inf if parts else -1.0)
        self.top = np.full(max(1, top), math.inf if top else -1.0)
        self.top_rows = np.full((max(1, top), 2), _NONE)
        self.lock = threading.Lock()

    def tasks(self, touching: bool) -> list[Task]:
        """Every two blocks once."""
        return [(a, b, touching) for a in self.blocks for b in self.blocks if a <= b]

    def bounds(self, task: Task) -> Best:
        """Copy of what a task can improve."""
        a, b, _ = task
        cell = self.points.cell
        with self.lock:
            near_a, who_a = self.near[_tiles(a)].copy(), self.who[_tiles(a)].copy()
            same = a == b
            near_b = near_a if same else self.near[_tiles(b)].copy()
            who_b = who_a if same else self.who[_tiles(b)].copy()
            rows = slice(int(cell[a[0]]), int(cell[a[1] - 1]) + 1)
            columns = slice(int(cell[b[0]]), int(cell[b[1] - 1]) + 1)
            return Best(
                near_a=near_a,
                who_a=who_a,
                limit_a=np.empty(0),
                near_b=near_b,
                who_b=who_b,
                limit_b=np.empty(0),
                cells=self.cells[rows, columns].copy(),
                first_cell=(rows.start, columns.start),
                parts=self.parts.copy(),
                top=self.top.copy(),
                top_rows=self.top_rows.copy(),
                found=np.empty((0, 2), np.int64),
            )

    def merge(self, task: Task, best: Best) -> None:
        """Take over what a task improved."""
        a, b, _ = task
        with self.lock:
            for block, near, who in ((a, best.near_a, best.who_a), (b, best.near_b, best.who_b)):
                at = _tiles(block)
                better = (near < self.near[at]) | ((near == self.near[at]) & (who < self.who[at]))
                self.near[at][better] = near[better]
                self.who[at][better] = who[better]
            row, column = best.first_cell
            cells = self.cells[row : row + len(best.cells), column : column + best.cells.shape[1]]
            np.minimum(cells, best.cells, out=cells)
            np.minimum(self.parts, best.parts, out=self.parts)
            pairs = {
                (value, *rows)
                for top, top_rows in ((self.top, self.top_rows), (best.top, best.top_rows))
                for value, rows in zip(top.tolist(), top_rows.tolist(), strict=True)
            }
            for k, (value, i, j) in enumerate(sorted(pairs)[: len(self.top)]):
                self.top[k], self.top_rows[k] = value, (i, j)

    def result(self) -> Nearest:
        """What was found, by row."""
        rows, n = self.points.rows, len(self.points.rows)
        near, who = np.empty(n), np.empty(n, np.int64)
        near[rows], who[rows] = self.near[:n], self.who[:n]
        known = np.isfinite(self.top) & (self.top >= 0)
        return Nearest(
            near,
            who,
            np.where(self.cells < 0, math.inf, self.cells),
            self.parts,
            self.top[known],
            self.top_rows[known],
            squared=self.points.units.squared,
        )


def _tiles(block: Block) -> slice:
    """Whole tiles of a block."""
    return slice(block[0], -(-block[1] // LANES) * LANES)

"""Search in many dimensions, by compiled loops over blocks of points.

Each pair of blocks is a task of its own, which runs in a thread or on a worker of the backend that
``joblib.parallel_config`` names. What is found is kept every few seconds, if there is a place.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from shaketable.core.arrays import keep_arrays, load_arrays, split_rows
from shaketable.core.keys import digest
from shaketable.core.threads import count_threads
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import on_cluster, run_tasks
from shaketable.separations.search.distances import MAXIMUM, compile_measure
from shaketable.separations.search.features import choose_bound, choose_sample, sketch
from shaketable.separations.search.kernels import LANES, Best, Sketch, compare, measure_pairs
from shaketable.separations.search.mark_kernels import Marks, scan
from shaketable.separations.search.marks import arrange, mark
from shaketable.separations.search.question import Answer, Question
from shaketable.views.progress import show_progress

Block = tuple[int, int]
"""First position, and the one after the last."""

BlockPair = tuple[Block, Block, bool]
"""Two blocks, and whether to compare the tiles that come first or the others."""
_BLOCK = 4096  # least number of positions in a block
_BLOCKS = 64  # largest number of blocks
_CHUNK = 1024  # pairs that a thread measures at a time
_ROOM = 1 << 17  # pairs that a task can hold
_FAR = np.array([0, 1e-3, 1e-2, 0.1, 0.5])  # shares of all pairs nearer than the first levels
_WANTED = 4096  # pairs that tell which distances matter
_PAUSE = 5  # seconds between two times that something is kept

_ORDERS = {1.0: 1, 2.0: 2, math.inf: MAXIMUM}  # norms that are given as whole numbers

NO_ROW = np.iinfo(np.int64).max
"""Stands for the row of an opponent that there is not."""


class Metric(NamedTuple):
    """Measures of two points; workers may be other processes."""

    x: Array
    p: float

    @property
    def arguments(self) -> tuple[Any, int, int, float]:
        """What compiled loops take: a function, the address of the points, their width, p."""
        function = compile_measure(self.x.dtype, self.p in _ORDERS)
        p = float(_ORDERS.get(self.p, self.p))
        return function, self.x.ctypes.data, self.x.shape[1], p

    @property
    def maximum(self) -> float:
        """What makes the function measure in L-inf."""
        return float(MAXIMUM if self.p in _ORDERS else math.inf)


def search(question: Question) -> Answer:
    """Answer as `search.search` does."""
    metric = Metric(np.ascontiguousarray(question.x), question.p)
    describe = _choose_features(question, finest=question.nearest_of is not None)
    points = describe(None)
    state = _State(points, question)
    kept = KeptSearch(question, points.rows)
    done = kept.restore(state.arrays)
    for first in (True, False):
        tasks = [task for task in state.tasks(first) if task not in done]
        if tasks and not first:
            points = describe(state.wanted())
        jobs = (_Job(_lower, points, metric, task, state.bounds(task)) for task in tasks)
        title = "comparing near points" if first else "comparing the others"
        results = _run(jobs, len(tasks))
        for task, best in show_progress(
            results, title, enabled=question.progress, total=len(tasks)
        ):
            state.merge(task, best)
            done.add(task)
            kept.keep(state.arrays, done)
    kept.keep(state.arrays, done, last=True)
    return state.answer()


def pairs_within(question: Question, radius: FloatArray) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `search.pairs_within`."""
    plain = Question(question.x, question.group, question.p, radius >= 0)
    metric = Metric(np.ascontiguousarray(question.x), question.p)
    points = _choose_features(plain, finest=True)(radius)
    state = _State(points, plain)
    state.nearest[: question.n] = radius[points.rows]
    tasks = [*state.tasks(True), *state.tasks(False)]
    jobs = (_Job(_collect, points, metric, task, state.bounds(task)) for task in tasks)
    title = "collecting near points"
    results = _run(jobs, len(tasks))
    pairs = show_progress(results, title, enabled=question.progress, total=len(tasks))
    return np.concatenate([np.empty((0, 2), np.int64), *pairs])


def _choose_features(
    question: Question, *, finest: bool
) -> Callable[[FloatArray | None], Sketch | Marks]:
    """Return a function that describes points by features, given distances that are wanted."""
    rows = choose_sample(question.x)
    sample = np.asarray(question.x[rows], np.float64)
    bound = choose_bound(sample, question.p)
    if math.isinf(bound.norm):
        distances = _measure_some(question, rows)
        order = arrange(question, sample, distances)
        guess = distances[(len(distances) * _FAR).astype(int)] if len(distances) else distances

        def describe(wanted: FloatArray | None) -> Marks:
            if wanted is None:
                wanted = guess
            elif len(guess):  # what was not found yet may be far
                wanted = np.where(np.isinf(wanted), guess[-1], wanted)
            return mark(question, sample, order, wanted, finest=finest)

        return describe
    points = sketch(question, sample, bound, finest=finest)
    return lambda _: points


def _measure_some(question: Question, rows: IntArray) -> FloatArray:
    """Distances of all pairs of different groups among some rows, ascending."""
    pairs = rows[np.column_stack(np.triu_indices(len(rows), 1))]
    pairs = pairs[np.not_equal(*question.group[pairs].T)]
    return np.sort(measure_in_threads(question.x, pairs, question.p))


def measure_in_threads(x: Array, pairs: IntArray, p: float) -> FloatArray:
    """Measures of pairs of rows, equal to those of a search to the last bit."""
    chunks = np.array_split(pairs, len(pairs) // _CHUNK + 1)
    metric = Metric(np.ascontiguousarray(x), p)
    with ThreadPoolExecutor(count_threads()) as pool:
        values = pool.map(lambda chunk: measure_pairs(*metric.arguments, chunk), chunks)
        return np.concatenate([*values])


@dataclass(frozen=True, eq=False)
class _Job:
    """A task with all that it needs."""

    function: Callable[[Sketch | Marks, Metric, BlockPair, Best], Any]
    points: Sketch | Marks
    metric: Metric
    task: BlockPair
    best: Best

    @property
    def name(self) -> str:
        """The blocks that are compared."""
        (first, _), (second, _), _ = self.task
        return f"comparing points from {first} and from {second}"

    @property
    def shared(self) -> tuple[object, ...]:
        """The points, and their features."""
        return self.points, self.metric

    uses_gpu = False

    def work(self, report: Callable[[str], None]) -> Any:
        """Compare the points."""
        report(self.name)
        return self.function(self.points, self.metric, self.task, self.best)


def _run(jobs: Iterable[_Job], count: int) -> Iterator[Any]:
    """Results of all jobs, in any order; a single one runs here, without a thread."""
    if count <= 1:
        return (job.function(job.points, job.metric, job.task, job.best) for job in jobs)
    if on_cluster():
        return (outcome.get() for outcome in run_tasks(jobs))
    parallel = Parallel(n_jobs=-1, prefer="threads", return_as="generator_unordered", mmap_mode="c")
    calls = (delayed(job.function)(job.points, job.metric, job.task, job.best) for job in jobs)
    return iter(parallel(calls))


def _lower(
    points: Sketch | Marks, metric: Metric, task: BlockPair, best: Best
) -> tuple[BlockPair, Best]:
    """Lower the bounds of a task to the least measures in its blocks."""
    best = _with_limits(task, best)
    _compare(points, metric, task, best, (-1, -1))
    return task, best


def _collect(points: Sketch | Marks, metric: Metric, task: BlockPair, best: Best) -> IntArray:
    """Rows of all pairs of a task that are within its bounds."""
    best = _with_limits(task, best)._replace(pairs=np.empty((_ROOM, 2), np.int64))
    pieces, resume = [], (-1, -1)
    while True:
        count, *tiles = _compare(points, metric, task, best, resume)
        pieces.append(best.pairs[:count].copy())
        if tiles[0] < 0:
            return np.concatenate(pieces)
        resume = tiles[0], tiles[1]


def _compare(
    points: Sketch | Marks, metric: Metric, task: BlockPair, best: Best, resume: tuple[int, int]
) -> tuple[int, int, int]:
    if isinstance(points, Marks):
        tail = metric.maximum, metric.x.itemsize
        count, q_tile, tile = scan(points, *metric.arguments, *tail, *task, best, resume)
    else:
        count, q_tile, tile = compare(points, *metric.arguments, *task, best, resume)
    return count, q_tile, tile


def _with_limits(task: BlockPair, best: Best) -> Best:
    """Add arrays for limits to bounds; a block compared with itself has the same for a and b."""
    limit_a, limit_b = (
        np.empty(len(bounds), np.float32) for bounds in (best.nearest_a, best.nearest_b)
    )
    if task[0] == task[1]:
        return best._replace(
            limit_a=limit_a,
            nearest_b=best.nearest_a,
            opponent_b=best.opponent_a,
            limit_b=limit_a,
        )
    return best._replace(limit_a=limit_a, limit_b=limit_b)


class _State:
    """Least measures so far, over all positions; tasks work on copies of their part of it."""

    def __init__(self, points: Sketch | Marks, question: Question) -> None:
        n = question.n
        size = max(_BLOCK, -(-n // (_BLOCKS * LANES)) * LANES)
        self.points = points
        self.squared = question.p == 2 and question.x.dtype == np.uint8
        self.both_ways = isinstance(points, Marks) and question.nearest_of is not None
        self.blocks = [(start, min(start + size, n)) for start in range(0, n, size)]
        whole_tiles = -(-n // LANES) * LANES
        self.nearest = np.full(whole_tiles, -1.0)
        self.nearest[:n][question.asked[points.rows]] = math.inf
        self.opponent = np.full(whole_tiles, NO_ROW)
        has_classes = question.classes is not None
        count = int(points.classes[-1]) + 1 if has_classes else 1
        self.by_class = np.full((count, count), math.inf if has_classes else -1.0)
        if np.array_equal(points.classes, points.group):
            np.fill_diagonal(self.by_class, -1.0)  # no such pairs
        self.by_part = np.full(3, -1.0 if question.parts is None else math.inf)
        length = max(1, question.closest)
        self.closest = np.full(length, math.inf if question.closest else -1.0)
        self.closest_rows = np.full((length, 2), NO_ROW)
        self.lock = threading.Lock()

    @property
    def arrays(self) -> dict[str, Array]:
        """All that tasks improve, by name."""
        names = "nearest", "opponent", "by_class", "by_part", "closest", "closest_rows"
        return {name: getattr(self, name) for name in names}

    def tasks(self, first: bool) -> list[BlockPair]:
        """Every two blocks once, or in both orders."""
        blocks = self.blocks
        return [(a, b, first) for a in blocks for b in blocks if a <= b or self.both_ways]

    def wanted(self) -> FloatArray:
        """Largest distance that matters, of some random pairs."""
        points, random = self.points, np.random.default_rng(3)
        ends = random.integers(0, len(points.rows), (2, _WANTED))
        query, _ = ends = ends[:, np.not_equal(*points.group[ends])]
        by_class = self.by_class[*np.sort(points.classes[ends], axis=0)]
        by_part = self.by_part[points.parts[ends].sum(axis=0)]
        most = np.maximum(np.maximum(by_class, by_part), self.nearest[query])
        return np.asarray(np.maximum(most, self.closest[-1]))

    def bounds(self, task: BlockPair) -> Best:
        """Copy of what a task can improve."""
        a, b, _ = task
        classes = self.points.classes
        with self.lock:
            nearest_a = self.nearest[_whole_tiles(a)].copy()
            opponent_a = self.opponent[_whole_tiles(a)].copy()
            same = a == b
            nearest_b = nearest_a if same else self.nearest[_whole_tiles(b)].copy()
            opponent_b = opponent_a if same else self.opponent[_whole_tiles(b)].copy()
            rows = slice(int(classes[a[0]]), int(classes[a[1] - 1]) + 1)
            columns = slice(int(classes[b[0]]), int(classes[b[1] - 1]) + 1)
            return Best(
                nearest_a=nearest_a,
                opponent_a=opponent_a,
                limit_a=np.empty(0),
                nearest_b=nearest_b,
                opponent_b=opponent_b,
                limit_b=np.empty(0),
                by_class=self.by_class[rows, columns].copy(),
                first_classes=(rows.start, columns.start),
                by_part=self.by_part.copy(),
                closest=self.closest.copy(),
                closest_rows=self.closest_rows.copy(),
                pairs=np.empty((0, 2), np.int64),
            )

    def merge(self, task: BlockPair, best: Best) -> None:
        """Take over what a task improved."""
        a, b, _ = task
        with self.lock:
            self._merge_nearest(a, best.nearest_a, best.opponent_a)
            self._merge_nearest(b, best.nearest_b, best.opponent_b)
            row, column = best.first_classes
            height, width = best.by_class.shape
            by_class = self.by_class[row : row + height, column : column + width]
            np.minimum(by_class, best.by_class, out=by_class)
            np.minimum(self.by_part, best.by_part, out=self.by_part)
            pairs = {
                (value, *rows)
                for values, all_rows in (
                    (self.closest, self.closest_rows),
                    (best.closest, best.closest_rows),
                )
                for value, rows in zip(values.tolist(), all_rows.tolist(), strict=True)
            }
            for k, (value, i, j) in enumerate(sorted(pairs)[: len(self.closest)]):
                self.closest[k], self.closest_rows[k] = value, (i, j)

    def _merge_nearest(self, block: Block, nearest: FloatArray, opponent: IntArray) -> None:
        at = _whole_tiles(block)
        tied = nearest == self.nearest[at]
        better = (nearest < self.nearest[at]) | (tied & (opponent < self.opponent[at]))
        self.nearest[at][better] = nearest[better]
        self.opponent[at][better] = opponent[better]

    def answer(self) -> Answer:
        """Least measures, by row."""
        rows, n = self.points.rows, len(self.points.rows)
        nearest, opponent = np.empty(n), np.empty(n, np.int64)
        nearest[rows], opponent[rows] = self.nearest[:n], self.opponent[:n]
        known = np.isfinite(self.closest) & (self.closest >= 0)
        return Answer(
            nearest,
            opponent,
            np.where(self.by_class < 0, math.inf, self.by_class),
            self.by_part,
            self.closest[known],
            self.closest_rows[known],
            squared=self.squared,
        )


def _whole_tiles(block: Block) -> slice:
    """Positions of all tiles of a block."""
    return slice(block[0], -(-block[1] // LANES) * LANES)


class KeptSearch:
    """The place of one search among what is kept; without a place for it nothing is done.

    Results only ever get lower, and the same in any order, so a search may go on from what another
    process kept.
    """

    def __init__(self, question: Question, order: IntArray) -> None:
        self._parts = question.keep
        self._key = "" if question.keep is None else _identify(question, order)
        self._last = time.monotonic()

    def restore(self, arrays: Mapping[str, Array]) -> set[BlockPair]:
        """Fill the arrays of a search with what is kept, and return the tasks that are done."""
        kept = None if self._parts is None else load_arrays(self._parts, self._key)
        if kept is None:
            return set()
        for name, values in arrays.items():
            values[...] = kept[name]
        return {((a, b), (c, d), bool(touching)) for a, b, c, d, touching in kept["done"].tolist()}

    def keep(
        self, arrays: Mapping[str, Array], done: set[BlockPair], *, last: bool = False
    ) -> None:
        """Keep the arrays and the tasks that are done; if it is not the last time, now and then."""
        if self._parts is None or (not last and time.monotonic() < self._last + _PAUSE):
            return
        rows = [(*a, *b, int(touching)) for a, b, touching in sorted(done)]
        keep_arrays(self._parts, self._key, {**arrays, "done": np.array(rows, np.int64)})
        self._last = time.monotonic()


def _identify(question: Question, order: IntArray) -> str:
    """Hash of all that a search depends on; `order` are the rows as blocks divide them."""
    codes = (question.group, question.class_codes, question.part_codes, question.asked, order)
    asks = (question.classes, question.parts, question.nearest_of)
    setting: tuple[str | int, ...] = (
        "search",
        str(sorted(list_versions().items())),
        repr((question.x.shape, question.x.dtype.str, question.p, question.closest)),
        repr([asked is None for asked in asks]),
        *(digest(values.tobytes()) for values in (*codes, *split_rows(question.x))),
    )
    return f"{digest(*setting):016x}{digest('second half', *setting):016x}"

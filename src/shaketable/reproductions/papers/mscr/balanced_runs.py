"""Runs of the study in the plane, balanced within groups so that few groups are precise.

Every run has the law of a run of `study`: its split is a plain random one, 80/20, and its k shared
offsets are independent and uniform in the ball. Runs of a group depend on each other, so that what
is not asked about cancels in the mean of the group, whose expectation stays the same. Groups are
independent, and intervals are taken over groups.

- Splits: the test parts of five runs are the folds of one permutation.
- Shared offsets: each of the k offsets is drawn from strata of the square, one run in each, by
  permutations that are independent for the k offsets. So the k offsets of one run are independent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.core.arrays import keep_arrays, load_arrays
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.norms import norm_name
from shaketable.core.types import FloatArray, IntArray
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import run_tasks
from shaketable.corruptions import Clean, Corruption
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import Draws, Noise
from shaketable.evaluation.resolve import resolve_and_record
from shaketable.evaluation.store import Store
from shaketable.models.fitting import clone_seeded, fit_arrays
from shaketable.models.identity import content_hash
from shaketable.views.progress import count_steps

SIDE = 5
"""Strata of the square per axis, folds of a permutation, and permutations of a group."""

RUNS_EACH = SIDE * SIDE
"""Runs of a group."""

_SCHEME = 1  # raised when any number here changes


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """A study whose runs are balanced within groups."""

    data: Dataset
    model: Any
    """Unfitted estimator."""
    p: float
    train: Sequence[Corruption]
    test: Sequence[Corruption]
    k: int = 10
    draws: Draws = "shared"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.data.n_train is not None:
            raise InputError("data must have no fixed test part, since runs are other splits")
        if self.draws == "shared" and (self.p not in {2.0, np.inf} or self.data.d != 2):
            raise InputError(
                "shared offsets are balanced in the plane and in L-inf or L2, got "
                f"{self.data.d} features and {norm_name(self.p)}; draw independently"
            )

    @cached_property
    def _identity(self) -> int:
        """Hash of all that the numbers of a run depend on, but which run it is."""
        return digest(
            _SCHEME,
            self.data.fingerprint,
            content_hash(self.model) or "",
            str(sorted(list_versions().items())),
            *(c.spec for c in (*self.train, *self.test)),
            len(self.train),
            self.k,
            self.draws,
            self.seed,
        )

    def key(self, run: int) -> str:
        """Key by which the results file keeps a run."""
        return f"balanced run {self._identity:016x} {run}"

    @cached_property
    def sizes(self) -> IntArray:
        """Number of answers per cell, by test noise."""
        n_test = len(self.data.parts()[1])
        return np.array([n_test * (1 if isinstance(c, Clean) else self.k) for c in self.test])

    def split(self, run: int) -> tuple[IntArray, IntArray]:
        """Return the rows of the training and of the test part of a run."""
        data, n_test = self.data, len(self.data.parts()[1])
        permutation, fold = divmod(run, SIDE)
        rng = np.random.default_rng(digest("folds", data.fingerprint, self.seed, permutation))
        rows = np.roll(rng.permutation(data.n), -fold * n_test)
        return np.sort(rows[n_test:]), np.sort(rows[:n_test])

    def draw_offsets(self, run: int) -> FloatArray:
        """Return the k offsets that all points of a run share, uniform in the unit ball."""
        group, place = divmod(run, RUNS_EACH)
        rng = np.random.default_rng(digest("offsets", self.data.fingerprint, self.seed, group))
        u = np.stack([stratify(rng)[place] for _ in range(self.k)])
        if self.p == 2:
            radius, angle = np.sqrt(u[:, 0]), 2 * np.pi * u[:, 1]
            points = np.column_stack([np.cos(angle), np.sin(angle)])
            return np.asarray(radius[:, None] * points)
        return 2 * u - 1

    def copy(self, corruption: Corruption, rows: IntArray, run: int) -> tuple[Any, IntArray]:
        """Return noisy copies of points, as many as the study has, and their classes."""
        x, y = self.data.rows(rows), self.data.y[rows]
        if isinstance(corruption, Clean):
            return x, y
        repeated = np.repeat(x, self.k, axis=0)
        if self.draws == "shared":
            drawn: Any = np.tile(self.draw_offsets(run), (len(rows), 1))
        else:
            noise = Noise(k=self.k, seed=self.seed, run=run, draws=self.draws)
            keys = noise.keys(self.data, corruption, rows, np.arange(self.k))
            drawn = corruption.draw(repeated, keys.reshape(-1))
        return corruption.apply(repeated, drawn), np.repeat(y, self.k)

    def count_hits(self, run: int) -> IntArray:
        """Carry out a run: number of right answers, by test noise and training noise."""
        train_rows, test_rows = self.split(run)
        tests = [self.copy(corruption, test_rows, run) for corruption in self.test]
        points, classes = (np.concatenate(parts) for parts in zip(*tests, strict=True))
        ends = np.cumsum(self.sizes)[:-1]
        hits = np.empty((len(self.test), len(self.train)), np.int64)
        for column, corruption in enumerate(self.train):
            seed = digest("model", self.data.fingerprint, corruption.spec, self.seed, run)
            x, y = self.copy(corruption, train_rows, run)
            model = fit_arrays(clone_seeded(self.model, seed), x, y)
            right = model.predict(points) == classes
            hits[:, column] = [part.sum() for part in np.split(right, ends)]
        return hits


def stratify(rng: np.random.Generator) -> FloatArray:
    """Return points of the unit square, one for each run of a group, each uniform in the square.

    Every cell of a grid has one, and so has every one of as many columns and rows as there are
    points.

    >>> points = stratify(np.random.default_rng(0))
    >>> [len(set(np.floor(points[:, axis] * RUNS_EACH))) for axis in (0, 1)]
    [25, 25]
    """
    i, j = np.divmod(rng.permutation(RUNS_EACH), SIDE)
    finer = [rng.permuted(np.tile(np.arange(SIDE), (SIDE, 1)), axis=1) for _ in range(2)]
    strata = np.column_stack([SIDE * i + finer[0][i, j], SIDE * j + finer[1][j, i]])
    return (strata + rng.random((RUNS_EACH, 2))) / RUNS_EACH


@dataclass(frozen=True, eq=False)
class _Run:
    """One run: the unit of work of a process."""

    plan: Plan
    run: int

    @property
    def name(self) -> str:
        return f"run {self.run}"

    @property
    def shared(self) -> tuple[object, ...]:
        return self.plan.data, self.plan.model

    @property
    def uses_gpu(self) -> bool:
        return False

    def work(self, report: Callable[[str], None]) -> dict[str, Any]:
        report(self.name)
        start = time.process_time()
        hits = self.plan.count_hits(self.run)
        return {"hits": hits, "seconds": np.array(time.process_time() - start)}


@dataclass(frozen=True, eq=False)
class GroupedHits:
    """Right answers of complete groups of runs."""

    plan: Plan
    hits: IntArray
    """Shape (groups, runs of a group, test noise, training noise)."""
    wanted: int
    """Groups that were asked for."""
    known: int
    """Runs that are done, also of a group that is not complete."""
    seconds: float = 0.0
    """Processor time of all runs; NaN if it is not known."""
    read: int = 0
    """Runs that were done before, and read from the results file."""

    @property
    def groups(self) -> int:
        """Number of complete groups."""
        return len(self.hits)

    @cached_property
    def accuracies(self) -> FloatArray:
        """Accuracy of every run, (groups, runs of a group, test noise, training noise)."""
        return np.asarray(self.hits / self.plan.sizes[:, None])

    @property
    def unfinished(self) -> str:
        """What is not done; empty if all is."""
        if self.groups >= self.wanted:
            return ""
        return f"{self.known} of {self.wanted * RUNS_EACH} runs are done; the same command goes on"


def run_groups(
    plan: Plan,
    groups: int,
    store: Store,
    *,
    jobs: int | None = None,
    minutes: float | None = None,
    quiet: bool = True,
) -> GroupedHits:
    """Carry out groups of runs, as far as `store` does not have them and the time allows."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    done: dict[int, Mapping[str, Any]] = {}
    for run in range(groups * RUNS_EACH):
        if (kept := load_arrays(store, plan.key(run))) is not None:
            done[run] = kept

    read = len(done)

    def list_tasks() -> Any:
        for run in range(groups * RUNS_EACH):
            if run not in done and (end is None or time.monotonic() < end):
                yield _Run(plan, run)

    total = groups * RUNS_EACH - read
    with (
        count_steps("balanced runs", total=total, enabled=not quiet) as step,
        closing(run_tasks(list_tasks(), jobs)) as outcomes,
    ):
        for outcome in outcomes:
            task, found = outcome.task, outcome.get()
            assert isinstance(task, _Run)
            keep_arrays(store, plan.key(task.run), found)
            done[task.run] = found
            step()
    complete = 0
    while all(complete * RUNS_EACH + i in done for i in range(RUNS_EACH)) and complete < groups:
        complete += 1
    shape = complete, RUNS_EACH, len(plan.test), len(plan.train)
    hits = [done[run]["hits"] for run in range(complete * RUNS_EACH)]
    seconds = sum(float(found.get("seconds", np.nan)) for found in done.values())
    counts = np.array(hits, np.int64).reshape(shape)
    return GroupedHits(plan, counts, groups, len(done), seconds, read)


def find_noise(
    data: Dataset, p: float, levels: Sequence[float | str], store: Store
) -> Mapping[float | str, Corruption]:
    """Return noise of every size by its name, `Clean` for 0; eps_min is kept in `store`."""
    specs = [f"{norm_name(p)}({level})" for level in levels]
    found = resolve_and_record(specs, data, None, store)
    return {level: c if level else Clean() for level, c in zip(levels, found, strict=True)}

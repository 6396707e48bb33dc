"""What a study would take: its trainings and cells, and its time and size from small samples.

Nothing is stored. Of every model and training noise one training is timed, on few points first and
then on twice as many, until it has all points or its share of the time is used up. The rest is
extrapolated by the growth over the last three sizes, and so is an estimate. Time is that of the
processor, which does not depend on what else the machine does.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any, TypedDict, TypeVar, cast

import numpy as np

from shaketable.core.errors import InputError, ModelError
from shaketable.core.types import IntArray
from shaketable.data.files import as_dataset
from shaketable.evaluation.cells import group_by_draws, make_points, measure_groups
from shaketable.evaluation.evaluate_options import StudyOptions
from shaketable.evaluation.records import Record
from shaketable.evaluation.store import Store
from shaketable.evaluation.store_columns import encode
from shaketable.evaluation.study import Task, plan_study
from shaketable.evaluation.trainees import load_trainees, train_model
from shaketable.models.classifier import Classifier, as_classifier
from shaketable.views.blocks import Block, Column, Sentence, Table
from shaketable.views.numbers import format_bytes, format_seconds, format_spec
from shaketable.views.progress import show_progress
from shaketable.views.terminal import Displayed

T = TypeVar("T")

_BUDGET = 20.0  # seconds of the largest samples of all models together
_SHORT = 0.5  # seconds below which work is timed again, and the shorter time counts
_LEAST = 100  # training points of the smallest sample
_FEW = 50  # test points of the smallest sample
_ROW = 100  # bytes that SQLite needs for a row, its index and its part of unused space
_EMPTY = 77824  # bytes of a results file without cells


class SampleJson(TypedDict):
    """One model with one training noise, timed on a sample."""

    model: str
    train: str
    k: int
    trainings: Annotated[int, "how many are left"]
    points: Annotated[int, "training points of the largest sample"]
    of: Annotated[int, "training points of the study"]
    training_seconds: Annotated[float, "for all points"]
    test_seconds: Annotated[float, "for all points and tests"]
    bytes: Annotated[float, "of the cells of one training"]


class DryRunJson(TypedDict):
    """What a study would take."""

    data: str
    models: int
    regimes: Annotated[int, "training noises of a model"]
    runs: int
    runs_at_most: Annotated[bool, "whether a stopping rule may take fewer"]
    k: Annotated[list[int], "noisy copies of every point; everything is repeated for each number"]
    tests: Annotated[int, "cells per training: clean points and test noises"]
    trainings: int
    cells: int
    known_cells: Annotated[int, "cells that the results file holds already"]
    trainings_left: int
    processes: int
    seconds: Annotated[float, "estimated time with these processes, without their start"]
    seconds_of_one_process: Annotated[float, "estimated time of all work"]
    bytes: Annotated[int, "estimated size of what is added to the results file"]
    extrapolated: Annotated[bool, "whether some sample had fewer training points than the study"]
    samples: Annotated[
        list[SampleJson],
        "what was timed: one training per model and training noise, and its tests",
    ]


@dataclass(frozen=True)
class Sample:
    """One model with one training noise, timed on a sample."""

    model: str
    train: str
    k: int
    """Noisy copies of every point."""
    trainings: int
    """How many are still to be done."""
    points: int
    """Training points of the largest sample."""
    of: int
    """Training points of the study."""
    training_seconds: float
    """Of one training on all points, extrapolated unless `points` are all."""
    test_seconds: float
    """Of all tests of one training, extrapolated likewise."""
    bytes: float
    """Of the cells of one training."""

    @property
    def seconds(self) -> float:
        """Of one training and its tests."""
        return self.training_seconds + self.test_seconds


@dataclass(frozen=True)
class DryRun(Displayed):
    """What a study would take."""

    data: str
    models: int
    regimes: int
    """Training noises of a model."""
    runs: int
    stops: bool
    """Whether a stopping rule may take fewer runs."""
    copies: tuple[int, ...]
    """Noisy copies of every point; everything is repeated for each number of them."""
    tests: int
    """Cells per training: clean points and test noises."""
    trainings: int
    cells: int
    known: int
    """Cells that the results file holds already."""
    todo: int
    """Trainings that are still to be done."""
    processes: int
    samples: tuple[Sample, ...]
    store: str | None
    """Results file; None if there is none to be."""
    new: bool
    """Whether it does not exist yet."""

    @property
    def work(self) -> float:
        """Seconds of all trainings and tests in one process."""
        return math.fsum(sample.seconds * sample.trainings for sample in self.samples)

    @property
    def seconds(self) -> float:
        """Seconds with several processes, without their start."""
        longest = max((sample.seconds for sample in self.samples), default=0.0)
        return max(longest, self.work / self.processes)

    @property
    def bytes(self) -> int:
        """Size of what a results file would grow by, in bytes."""
        added = math.fsum(sample.bytes * sample.trainings for sample in self.samples)
        return round(added) + (_EMPTY if self.new else 0)

    @property
    def extrapolated(self) -> bool:
        """Whether some sample had fewer training points than the study."""
        return any(sample.points < sample.of for sample in self.samples)

    def __add__(self, other: DryRun) -> DryRun:
        """The same study with other numbers of noisy copies as well."""
        return replace(
            self,
            copies=(*self.copies, *other.copies),
            trainings=self.trainings + other.trainings,
            cells=self.cells + other.cells,
            known=self.known + other.known,
            todo=self.todo + other.todo,
            processes=max(self.processes, other.processes),
            samples=(*self.samples, *other.samples),
        )

    def json(self) -> DryRunJson:
        """Return all numbers, and one entry per sample."""
        return {
            "data": self.data,
            "models": self.models,
            "regimes": self.regimes,
            "runs": self.runs,
            "runs_at_most": self.stops,
            "k": list(self.copies),
            "tests": self.tests,
            "trainings": self.trainings,
            "cells": self.cells,
            "known_cells": self.known,
            "trainings_left": self.todo,
            "processes": self.processes,
            "seconds": self.seconds,
            "seconds_of_one_process": self.work,
            "bytes": self.bytes,
            "extrapolated": self.extrapolated,
            "samples": [cast(SampleJson, asdict(sample)) for sample in self.samples],
        }

    def blocks(self) -> list[Block]:
        """Return the numbers, and a table with one row per sample."""
        several, most = len(self.copies) > 1, "at most " if self.stops else ""
        factors = (
            f"{_count(self.models, 'model')} x {_count(self.regimes, 'training noise')} x "
            f"{most}{_count(self.runs, 'run')}"
        )
        if several:
            factors += f" x {len(self.copies)} numbers of noisy copies"
        tests = f"clean points and {_count(self.tests - 1, 'test noise')}"
        blocks: list[Block] = [
            Sentence(f"{most}{self.trainings} on {self.data} ({factors})", "trainings"),
            Sentence(f"{most}{self.cells} ({self.tests} per training: {tests})", "cells"),
        ]
        if not self.new:
            left = f"left: {_count(self.todo, 'training')}"
            blocks.append(Sentence(f"{self.store} has {self.known} of the cells; {left}"))
        if not self.samples:
            return blocks
        start = " and a few seconds to start them" if self.processes > 1 else ""
        return [
            *blocks,
            Sentence(
                f"{most}about {format_seconds(self.seconds)} with "
                f"{_count(self.processes, 'process')}{start}, {format_seconds(self.work)} of work",
                "time",
            ),
            Sentence(
                f"{most}about {format_bytes(self.bytes)} {'' if self.new else 'more '}in "
                f"{self.store or 'a results file, which --store names'}",
                "size",
            ),
            Table(
                "Measured: one training of every model and noise, and its tests"
                + (", extrapolated to all points" if self.extrapolated else ""),
                (
                    *map(Column, ("model", "training noise")),
                    Column("left", "count"),
                    *map(Column, ("points trained on", "training", "tests")),
                ),
                [
                    (
                        sample.model,
                        format_spec(sample.train) + (f", k = {sample.k}" if several else ""),
                        sample.trainings,
                        f"{sample.points} of {sample.of}",
                        format_seconds(sample.training_seconds),
                        format_seconds(sample.test_seconds),
                    )
                    for sample in self.samples
                ],
                limit=200,
            ),
        ]


def dry_run(
    data: Any,
    models: Any,
    options: StudyOptions,
) -> DryRun:
    """Return what `study` with these options would take; nothing is stored.

    Time and size are estimates, from a training of every model with every training noise. Samples
    take up to a minute together, or as long as trainings on few points take.
    """
    import joblib  # 0.1 s

    data = as_dataset(data)
    trainees = load_trainees(models, data, trust=options.models.trust)
    store = options.store
    known: set[str] = set()
    new = store is None or not Path(store).exists()
    with Store() as results:
        if store is not None and not new:
            with Store(store, must_exist=True) as kept:
                known = kept.keys()
                for separation in kept.everything().separations:
                    results.add_separation(separation)
        plan = plan_study(data, trainees, results, options)
    cells = [cell for task in plan for cell in task.cells]
    todo = [task for task in plan if any(cell.key not in known for cell in task.cells)]
    processes = max(1, min(joblib.effective_n_jobs(options.jobs), len(todo)))
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in todo:
        origin = task.cells[0].origin
        groups.setdefault((origin.name, origin.train), []).append(task)
    with _limit_threads(processes):
        samples = tuple(
            _take_sample(tasks, _BUDGET / len(groups))
            for tasks in show_progress(
                groups.values(), "timing samples", total=len(groups), enabled=not options.quiet
            )
        )
    runs = len({cell.noise.run for cell in cells})
    return DryRun(
        data=data.name,
        models=len(trainees),
        regimes=len(plan) // (runs * len(trainees)),
        runs=runs,
        stops=options.until is not None,
        copies=(cells[0].noise.k,),
        tests=len(plan[0].cells),
        trainings=len(plan),
        cells=len(cells),
        known=sum(cell.key in known for cell in cells),
        todo=len(todo),
        processes=processes,
        samples=samples,
        store=None if store is None else str(store),
        new=new,
    )


def _take_sample(tasks: Sequence[Task], budget: float) -> Sample:
    """Time the first of some tasks that differ in the run alone, within so many seconds or so."""
    task = tasks[0]
    cell = task.cells[0]
    classifier, points, training = _time_training(task, budget * 0.7)
    records, testing = _time_tests(task, classifier, budget * 0.3)
    share = len(cell.points.rows) / records[0].n
    size = math.fsum(_measure_size(encode(record), share) for record in records)
    size += _measure_size(encode(records[0].points), share)
    return Sample(
        model=cell.origin.name,
        train=cell.origin.train,
        k=task.cells[0].noise.k,
        trainings=len(tasks),
        points=points,
        of=len(task.train_rows),
        training_seconds=training,
        test_seconds=testing,
        bytes=size,
    )


def _time_training(task: Task, budget: float) -> tuple[Classifier, int, float]:
    """Train on more and more points.

    Returns the last model, its number of points, and the seconds that all points would take.
    """
    first, n = task.cells[0], len(task.train_rows)

    def train(size: int) -> Any:
        return train_model(
            task.trainee,
            task.training,
            first.data,
            _spread(task.train_rows, size),
            first.noise,
            name=first.origin.name,
            checkpoint=None,
            place=task.place,
        )

    trained, times = time_on_more(train, min(_LEAST, n), n, budget)
    model = trained.model if task.training.corruption is None else trained
    classifier = as_classifier(model, first.data, name=first.origin.name)
    return classifier, max(times), extrapolate(times, n)


def _time_tests(task: Task, classifier: Classifier, budget: float) -> tuple[list[Record], float]:
    """Test on more and more points; return the last records, and the seconds all would take."""
    data, rows = task.cells[0].data, task.cells[0].points.rows

    def test(size: int) -> list[Record]:
        points = make_points(data, _spread(rows, size))
        groups = group_by_draws(replace(cell, points=points) for cell in task.cells)
        return [record for group in measure_groups(groups, classifier) for record in group]

    records, times = time_on_more(test, min(_FEW, len(rows)), len(rows), budget)
    return records, extrapolate(times, len(rows))


def time_on_more(
    work: Callable[[int], T], size: int, n: int, budget: float
) -> tuple[T, dict[int, float]]:
    """Time work on more and more points, up to n; return its last result, and seconds by size."""
    times: dict[int, float] = {}
    warm = False  # the first time, code is imported and compiled, which does not count
    while True:
        try:
            result, seconds = _measure(work, size)
        except (InputError, ModelError):  # too few points for the model
            if size == n:
                raise
            size = min(2 * size, n)
            continue
        if not warm and seconds < _BUDGET:
            warm = True
            continue
        if seconds < min(_SHORT, budget):
            seconds = min(seconds, _measure(work, size)[1])
        times[size] = seconds
        enough = budget if len(times) > 2 else _BUDGET  # two sizes hardly show how it grows
        if size == n or extrapolate(times, 2 * size) > enough:
            return result, times
        size = min(2 * size, n)


def _measure(work: Callable[[int], T], size: int) -> tuple[T, float]:
    """Return a result, and the seconds that it would take on an idle machine.

    Other programs make the clock run longer, and several threads the processor. Work on a GPU shows
    on the clock only.
    """
    clock, processor = perf_counter(), process_time()
    result = work(size)
    clock, processor = perf_counter() - clock, process_time() - processor
    torch = sys.modules.get("torch")
    on_device = torch is not None and torch.cuda.is_initialized()
    return result, clock if on_device else min(clock, processor)


def extrapolate(times: Mapping[int, float], n: int) -> float:
    """Seconds for n points, from those for fewer, by the growth over the three largest sizes.

    The larger of two laws: a power law, and a line, which is right where a part of the time does
    not depend on the points. A cubic law needs three sizes; from two, the growth is at most
    quadratic, because an error of their times would grow with it.

    >>> extrapolate({100: 1.0, 200: 4.0}, 400), extrapolate({100: 5.0, 200: 6.0}, 400)
    (16.0, 8.0)
    """
    *before, last = sorted(times)
    first = before[-2:][0] if before else None
    if first is None or not 0 < times[first] <= times[last]:
        return times[last] * (n / last if first is None else 1.0)
    line = times[last] + (n - last) * (times[last] - times[first]) / (last - first)
    power = math.log(times[last] / times[first]) / math.log(last / first)
    return max(line, times[last] * math.pow(n / last, min(power, 3.0 if len(times) > 2 else 2.0)))


def _spread(rows: IntArray, size: int) -> IntArray:
    """Return so many rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, size).astype(np.int64)]


def _measure_size(row: Mapping[str, Any], share: float) -> float:
    """Bytes of a row of the results file; blobs are of so many times more points."""
    blobs = sum(len(value) for value in row.values() if isinstance(value, bytes))
    texts = sum(len(str(value)) for value in row.values() if not isinstance(value, bytes))
    return _ROW + texts + share * blobs


@contextmanager
def _limit_threads(processes: int) -> Iterator[None]:
    """Context in which libraries have the threads that each of some processes would have."""
    from threadpoolctl import threadpool_limits  # 0.1 s

    with threadpool_limits(max(1, (os.cpu_count() or 1) // processes)):
        yield


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"

"""Cells: one model under one corruption. Each has a key, and is measured in batches."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shaketable.core.checks import check_copies
from shaketable.core.errors import InputError, ModelError
from shaketable.core.keys import SCHEME, digest
from shaketable.core.threads import map_ahead
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption
from shaketable.data.dataset import Dataset
from shaketable.evaluation.answers import AnswerBuffer, Answers
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.records import AS_GIVEN, DEVICE, Points, Record, Setting
from shaketable.models.answers import Answer
from shaketable.models.classifier import Classifier
from shaketable.views.progress import count_steps

if TYPE_CHECKING:
    from shaketable.models.torch_modules import Sender

BATCH_VALUES, BATCH_ROWS = 1 << 22, 1 << 16
"""Values (32 MB of float64) and rows handed to the model at a time; results do not depend on it."""

_STARTED = 4  # batches a GPU has to do while answers before them are read, counted and written


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
    keeps_answers: bool = False
    """Whether answers are recorded, and not hits alone; no part of the key."""

    def __post_init__(self) -> None:
        check_copies(self.k, len(self.points.rows))

    @cached_property
    def is_clean(self) -> bool:
        """Whether the points are not corrupted."""
        return isinstance(self.corruption, Clean)

    @cached_property
    def k(self) -> int:
        """Draws per point; 1 for clean points and for images that are read from files."""
        return 1 if self.is_clean or self.corruption.traits.by_row else self.noise.k

    @cached_property
    def setting(self) -> Setting:
        """How the points are corrupted, as recorded.

        Noise that a device makes to the bit as the CPU does counts as drawn there.
        """
        noise = self.noise
        dtype = str(self.data.rows(slice(0, 0)).dtype)
        if self.is_clean:
            return Setting("none", "none", "none", dtype, self.k, noise.seed)
        there = noise.on_device and self.corruption.traits.made_on == "device"
        place = "device" if there else "cpu"
        return Setting(str(noise.bounds or "none"), noise.draws, place, dtype, self.k, noise.seed)

    @cached_property
    def place(self) -> str:
        """Corruption, and in studies training noise and run, for messages."""
        under = "on clean points" if self.is_clean else f"under {self.corruption.spec}"
        if self.origin.train == AS_GIVEN:
            return under
        return f"{under}, trained with {self.origin.train}, run {self.noise.run}"

    @cached_property
    def key(self) -> str:
        """Hash of everything that the counts depend on."""
        setting = self.setting
        parts = (
            self.corruption.spec,
            self.points.id,
            self.model_id,
            setting.bounds,
            setting.draws,
            setting.noise,
            setting.k,
            setting.seed,
            self.noise.run,
        )
        return f"{digest(SCHEME, *parts):016x}{digest(*parts, 'second half'):016x}"

    def record(
        self,
        *,
        hits: IntArray,
        predictions: IntArray,
        answers: Answers | None,
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
            setting=self.setting,
            run=self.noise.run,
            hits=hits,
            predictions=predictions if self.is_clean else None,
            answers=answers,
            versions=versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=seconds,
        )


@contextmanager
def locate_errors(place: str, corruption: Corruption | None = None) -> Iterator[None]:
    """Say in errors of a model where they happened, and what to do if values were left empty."""
    gaps = corruption is not None and corruption.traits.leaves_gaps
    remedy = (
        "; missing(share, mean) fills what is left empty, for models that need it" if gaps else ""
    )
    try:
        yield
    except InputError as error:
        if not gaps and not isinstance(error, ModelError):
            raise
        raise type(error)(f"{place}: {error}{remedy}") from error


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
    groups: Sequence[Sequence[Cell]], model: Classifier, *, progress: bool = False
) -> Iterator[list[Record]]:
    """Count a model's correct answers in groups of cells that share their draws.

    Yields the records of each group. While a GPU works on one batch, the next ones are made.
    """
    sharing = [_Group.of(cells) for cells in groups]
    on = "" if model.computed_on is None else f" on {model.computed_on.split()[0]}"
    total = sum(len(group.cells) * len(group.batches) for group in sharing)
    with (
        closing(_answer(sharing, model)) as answers,
        count_steps(f"evaluating {model.name}{on}", total=total, enabled=progress) as step,
    ):
        for group in sharing:
            yield _count_hits(group, model, answers, step)


@dataclass(frozen=True, eq=False)
class _Group:
    """Cells that share their draws, and the corruptions in their bounds."""

    cells: Sequence[Cell]
    corruptions: Sequence[Corruption]
    batches: Sequence[tuple[slice, range]]
    """Positions of points, and numbers of their draws."""

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> _Group:
        corruptions = [cell.corruption.bind(cell.noise.bounds) for cell in cells]
        return cls(cells, corruptions, list(_batches(cells[0])))

    @cached_property
    def draws_on_device(self) -> bool:
        """Whether noise is drawn on the model's device, with numbers of its own."""
        return self.cells[0].noise.on_device and self.corruptions[0].traits.made_on == "device"

    @cached_property
    def on_device(self) -> bool:
        """Whether points are corrupted on the model's device."""
        if not self.cells[0].noise.on_device:
            return False
        return self.draws_on_device or (
            self.on_levels and self.corruptions[0].traits.made_on == "any"
        )

    @cached_property
    def on_levels(self) -> bool:
        """Whether uint8 images are corrupted as they are: the same values, a quarter of the bytes.

        Noise that is drawn on a device gets them so as well, and makes floats of them there.
        """
        return self.cells[0].data.x.dtype == np.uint8 and (
            self.draws_on_device
            or all(
                c.traits.takes_levels and (each.noise.bounds is None or each.noise.bounds.on_bytes)
                for c, each in zip(self.corruptions, self.cells, strict=True)
            )
        )

    def split(self) -> list[range]:
        """Return numbers of cells that can be made apart, without drawing anything twice."""
        alone = all(type(c).draw is Corruption.draw for c in self.corruptions)
        every = range(len(self.cells))
        return [range(i, i + 1) for i in every] if alone and not self.on_device else [every]

    def make_inputs(
        self, batch: slice | IntArray, draws: range, numbers: range, send: Sender | None
    ) -> Iterable[Any]:
        """Return the corrupted points of some cells, on the device of the model if it has one."""
        first = self.cells[0]
        data, rows = first.data, first.points.rows[batch]
        x: Any = data.x[rows] if self.on_levels else data.rows(rows)
        x = np.repeat(x, len(draws), axis=0) if len(draws) > 1 else x
        keys = _keys(first, rows, draws).reshape(-1)
        if send is None:
            return self.corrupt(x, keys, numbers)
        if self.on_device:
            return self.corrupt(send(x, floats=self.draws_on_device), keys, numbers)
        inputs = map(send, self.corrupt(x, keys, numbers))
        return list(inputs) if send.overlaps else inputs

    def corrupt(self, x: Any, keys: Any, numbers: range) -> Iterator[Any]:
        """Yield the points as the corruptions with these numbers change them."""
        corruptions = [self.corruptions[i] for i in numbers]
        strongest = max(corruptions, key=lambda c: c.size)
        drawn = strongest.draw(x, keys)  # serves all smaller sizes
        for corruption in corruptions:
            yield corruption.apply(x, drawn)


def make_inputs(cell: Cell, places: IntArray, draws: range) -> Any:
    """Return the points at some places of a cell as its corruption changes them, draw by draw."""
    (inputs,) = _Group.of([cell]).make_inputs(places, draws, range(1), None)
    return inputs


Place: TypeAlias = tuple[int, slice, range]
"""Number of a cell in its group, positions of points, and numbers of their draws."""


def _answer(
    groups: Sequence[_Group], model: Classifier
) -> Generator[tuple[Place, Answer], None, None]:
    """Yield the answers of the model, batch by batch, and where they belong."""
    send = model.sender()
    apart = send is not None and send.overlaps  # so that threads have about as much to do
    tasks = [
        (group, *batch, numbers)
        for group in groups
        for batch in group.batches
        for numbers in (group.split() if apart else [range(len(group.cells))])
    ]
    sizes = (len(numbers) * (1 if group.on_levels else 4) for group, _, _, numbers in tasks)
    ahead = 0 if send is None else send.batches_ahead(max(sizes, default=1) * BATCH_VALUES)
    made = map_ahead(lambda task: task[0].make_inputs(*task[1:], send), tasks, ahead=ahead)
    waiting: deque[tuple[Place, Callable[[], Answer]]] = deque()
    with closing(made):
        for (group, batch, draws, numbers), inputs in zip(tasks, made, strict=True):
            for i, x in zip(numbers, inputs, strict=True):
                waiting.append(((i, batch, draws), _start(group.cells[i], model, x)))
                if len(waiting) > (_STARTED if ahead else 0):
                    place, wait = waiting.popleft()
                    yield place, wait()
        for place, wait in waiting:
            yield place, wait()


def _start(cell: Cell, model: Classifier, x: Any) -> Callable[[], Answer]:
    """Start to compute the answers for a cell; the function returned waits for them."""
    with locate_errors(cell.place, cell.corruption):
        wait = model.start(x, scored=cell.keeps_answers)

    def finish() -> Answer:
        with locate_errors(cell.place, cell.corruption):
            return wait()

    return finish


def _count_hits(
    group: _Group,
    model: Classifier,
    answers: Iterator[tuple[Place, Answer]],
    step: Callable[[], None],
) -> list[Record]:
    """Return the records of a group from its share of the answers."""
    first, started = group.cells[0], time.perf_counter()
    data, rows = first.data, first.points.rows
    hits = np.zeros((len(group.cells), len(rows)), np.int64)
    predictions = np.zeros(len(rows), np.int64)
    classes = len(data.classes)
    kept = [AnswerBuffer(c.points.y, c.k, classes) for c in group.cells if c.keeps_answers]
    for (i, batch, draws), answer in islice(answers, len(group.cells) * len(group.batches)):
        codes = answer.codes.reshape(-1, len(draws))
        predictions[batch] = codes[:, 0]
        hits[i, batch] += (codes == data.y[rows[batch], None]).sum(axis=1)
        if kept:
            kept[i].add(answer, batch, draws)
        step()
    seconds = (time.perf_counter() - started) / len(group.cells)
    libraries = list_versions() if model.device is None else list_versions("torch")
    if model.computed_on is not None:
        libraries = {**libraries, DEVICE: model.computed_on}
    return [
        cell.record(
            hits=cell_hits,
            predictions=predictions,
            answers=kept[i].pack() if kept else None,
            versions=libraries,
            seconds=seconds,
        )
        for i, (cell, cell_hits) in enumerate(zip(group.cells, hits, strict=True))
    ]


def _keys(cell: Cell, rows: IntArray, draws: range) -> Any:
    """Keys of every row and draw, (rows, draws); for images in files their positions there."""
    if cell.corruption.traits.by_row:
        places = rows - (cell.data.n_train or 0)
        return np.repeat(places.astype(np.uint64)[:, None], len(draws), axis=1)
    return cell.noise.keys(cell.data, cell.corruption, rows, np.array(draws))


def _batches(cell: Cell) -> Iterator[tuple[slice, range]]:
    """Split points and draws into batches that fit into memory."""
    n, k = len(cell.points.rows), cell.k
    size = max(1, min(BATCH_VALUES // cell.data.d, BATCH_ROWS))
    rows, draws = max(1, size // k), min(k, size)
    for i in range(0, n, rows):
        for j in range(0, k, draws):
            yield slice(i, min(n, i + rows)), range(j, min(k, j + draws))

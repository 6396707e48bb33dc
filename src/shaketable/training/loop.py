"""The training loop: stochastic gradient descent over a regime, by a recipe.

All randomness follows from the seed, the row, the epoch and the step, so that a training that was
killed goes on from its last checkpoint to the same weights.

On CUDA steps are recorded as graphs: one call starts all kernels of a step. A step of a small
network has hundreds of kernels, and on a large GPU starting them takes longer than running them. A
graph (``torch.cuda.CUDAGraph``) records them once, and gives the same results.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor, nn

from shaketable.core.errors import DIVERGED, InputError, describe_error, either
from shaketable.core.keys import digest, row_keys
from shaketable.core.tensors import move
from shaketable.core.types import IntArray, KeyArray
from shaketable.core.writing import check_writable, make_folder
from shaketable.data.dataset import Dataset
from shaketable.models.networks.weights import read_content, write_content
from shaketable.models.torch_modules import ModuleAnswer, to_floats
from shaketable.training.recipes import Recipe
from shaketable.views.progress import count_steps

Precision = Literal["auto", "float32", "bfloat16"]

COMPILE_FROM = 5000
"""Steps from which compiling the network is worth its minute, on CUDA."""

_HELD_OUT_BATCH = 1000


class Batch(NamedTuple):
    """Points of one step, as the data have them, and the randomness that is theirs."""

    x: Tensor
    """Floats in the layout of the data."""
    targets: Tensor
    rows: IntArray
    """Rows of the data."""
    keys: KeyArray
    """One key per point, new in every epoch."""
    noise_keys: KeyArray
    """The same, or one key per point for the whole training if noise is drawn once."""


class StepOutcome(NamedTuple):
    """What a step computes: its loss, scores of points, and the targets that they are to meet."""

    loss: Tensor
    scores: Tensor
    targets: Tensor
    """Class codes, or one share per class if images were mixed."""


class TrainingStep(Protocol):
    """What is done with a batch, up to the loss."""

    @property
    def replayable(self) -> bool:
        """Whether `compute` uses nothing but points and targets, and never waits for the device."""

    def change(self, network: nn.Module, batch: Batch) -> Batch:
        """Augment and corrupt the points."""

    def compute(self, network: nn.Module, batch: Batch) -> StepOutcome:
        """Compute scores and loss."""


@dataclass(frozen=True)
class EpochResult:
    """One point of a learning curve; accuracies are shares."""

    epoch: int
    loss: float
    accuracy: float
    """On the training points as the network got them, with noise, before each step."""
    rate: float
    seconds: float
    held_out: float | None = None
    """On clean points that it was not trained on; None if none were given."""


@dataclass(eq=False)
class Trainer:
    """One training: what it needs, and where it stands."""

    module: nn.Module
    data: Dataset
    rows: IntArray
    """Rows of the data to train on."""
    recipe: Recipe
    step: TrainingStep
    seed: int
    device: torch.device
    precision: Precision = "auto"
    compiled: bool | None = None
    """Whether the network is compiled; None: on CUDA, for long trainings."""
    replays: bool = False
    """Whether steps on CUDA are recorded and replayed, if they can be; see `Replay`."""
    held_out: IntArray | None = None
    curve: list[EpochResult] = field(default_factory=list)
    done: int = 0
    """Number of steps taken."""

    def __post_init__(self) -> None:
        recipe = self.recipe
        self.module.to(self.device)
        if self.data.x.ndim > 2:
            module: Any = self.module  # its types leave this form out
            module.to(memory_format=torch.channels_last)
        self.sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        """Loss and hits of the present epoch, over its points so far."""
        self.rate: float | Tensor = recipe.rate
        if self.device.type == "cuda":  # where a recorded step reads it
            self.rate = torch.tensor(recipe.rate, device=self.device)
        self.optimizer = torch.optim.SGD(
            self.module.parameters(),
            self.rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            nesterov=recipe.nesterov,
            fused=self.device.type == "cuda" or None,
        )
        self.steps_per_epoch = math.ceil(len(self.rows) / recipe.batch)
        self.total = recipe.epochs * self.steps_per_epoch

    def run(self, checkpoint: Checkpoint | None = None, *, progress: bool = False) -> None:
        """Train to the end; from the checkpoint on, if there is one.

        A loss that is not finite at the end of an epoch is an `InputError`; the checkpoint, which
        cannot lead to anything else, is then deleted.
        """
        if checkpoint is not None:
            checkpoint.restore(self)
        read = self._open_points()
        targets = torch.from_numpy(self.data.y[self.rows]).to(self.device)
        rate, network = self.recipe.make_schedule(), self._compile()
        update = self._make_update(network)
        left = self.total - self.done
        devices = [self.device] if self.device.type == "cuda" else []
        with (
            count_steps("training", total=left, enabled=progress) as advance,
            torch.random.fork_rng(devices),
            _deterministic(self.device),
            nullcontext() if checkpoint is None else checkpoint.hold_interrupts(),
        ):
            while self.done < self.total:
                began = time.perf_counter()
                for places, keys in self._list_batches():
                    self._set_rate(rate((self.done + 0.5) / self.total))
                    there = move(places, self.device)
                    batch = Batch(read(places, there), targets[there], self.rows[places], *keys)
                    self._take_step(network, batch, update)
                    if self.done % self.steps_per_epoch == 0:
                        self._close_epoch(time.perf_counter() - began)
                        if not math.isfinite(self.curve[-1].loss):
                            raise self._report_divergence(checkpoint)
                    if checkpoint is not None:
                        checkpoint.save_if_due(self)
                    advance()
        self.module.eval()

    def _list_batches(self) -> Iterator[tuple[IntArray, tuple[KeyArray, KeyArray]]]:
        """Places of the points of every step to come in this epoch, with their keys."""
        epoch, first = divmod(self.done, self.steps_per_epoch)
        every = np.arange(len(self.rows))
        order_key = digest("order of training", self.seed, epoch)
        order = np.argsort(row_keys(order_key, every, np.arange(1))[:, 0], kind="stable")
        draws = np.array([epoch, epoch if self.recipe.fresh else 0])
        keys = row_keys(digest("training", self.seed), self.rows, draws)
        for places in np.array_split(order, self.steps_per_epoch)[first:]:
            yield places, (keys[places, 0], keys[places, 1])

    def _set_rate(self, rate: float) -> None:
        if isinstance(self.rate, Tensor):
            self.rate.fill_(rate)
        else:
            self.rate = rate
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate

    def _take_step(self, network: nn.Module, batch: Batch, update: Callable[[Batch], None]) -> None:
        network.train()
        # for dropout, which draws from torch's own generator
        torch.manual_seed(digest("step of training", self.seed, self.done) % 2**63)
        with self._autocast():
            batch = self.step.change(network, batch)
        update(batch)
        self.done += 1

    def _make_update(self, network: nn.Module) -> Callable[[Batch], None]:
        """Return what changes the weights by a batch of points, as they go into the network."""

        def update(batch: Batch) -> None:
            with self._autocast():
                outcome = self.step.compute(network, batch)
            self.optimizer.zero_grad()
            outcome.loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            self.optimizer.step()
            with torch.no_grad():
                aims = outcome.targets
                hits = outcome.scores.argmax(1) == (aims if aims.ndim == 1 else aims.argmax(1))
                loss = outcome.loss.detach().double() * len(batch.x)
                self.sums += torch.stack([loss, hits.sum().double()])

        if self.device.type != "cuda" or not self.replays or not self.step.replayable:
            return update
        rows, keys = np.zeros(0, np.int64), np.zeros(0, np.uint64)  # which it does not use
        replay = Replay(lambda x, targets: update(Batch(x, targets, rows, keys, keys)))
        return lambda batch: replay(batch.x, batch.targets)

    def _close_epoch(self, seconds: float) -> None:
        """Write down the results of the epoch that ends here."""
        loss, accuracy = (self.sums / len(self.rows)).tolist()
        epoch, rate = self.done // self.steps_per_epoch, float(self.rate)
        held_out = self._score_held_out()
        self.curve.append(EpochResult(epoch, loss, accuracy, rate, seconds, held_out))
        self.sums.zero_()

    def _report_divergence(self, checkpoint: Checkpoint | None) -> InputError:
        """Delete the checkpoint, and return the error to raise."""
        if checkpoint is not None:
            checkpoint.delete()
        last = self.curve[-1]
        return InputError(
            f"{DIVERGED}: its loss must be finite, got {last.loss} in epoch {last.epoch} of "
            f"{self.recipe.epochs}; try a smaller learning rate ("
            + either(
                "train: --recipe 'auto(rate=…)'; study and harden: another --recipe",
                "rate=, or a Recipe",
            )
            + "), or less noise"
        )

    def _score_held_out(self) -> float | None:
        if self.held_out is None:
            return None
        answer, hits = ModuleAnswer("network", self.module), 0
        for first in range(0, len(self.held_out), _HELD_OUT_BATCH):
            rows = self.held_out[first : first + _HELD_OUT_BATCH]
            hits += int((answer(self.data.x[rows]).argmax(axis=1) == self.data.y[rows]).sum())
        return hits / len(self.held_out)

    def _open_points(self) -> Callable[[IntArray, Tensor], Tensor]:
        """Return what reads points at these places as floats on the device.

        They are all put there at once, unless they take more than a quarter of its memory or are
        on disk.
        """
        x = self.data.x
        size = len(self.rows) * x[:1].nbytes
        room = 4 << 30
        if self.device.type == "cuda":
            room = torch.cuda.get_device_properties(self.device).total_memory // 4
        if isinstance(x, np.memmap) or size > room:

            def read(places: IntArray, _: Tensor) -> Tensor:
                return _as_points(move(np.ascontiguousarray(x[self.rows[places]]), self.device))

            return read
        there = torch.from_numpy(x[self.rows]).to(self.device)
        return lambda _, places: _as_points(there[places])

    def _compile(self) -> nn.Module:
        on = self.compiled
        if on is None:
            on = self.device.type == "cuda" and self.total >= COMPILE_FROM
        if not on:
            return self.module
        # for every batch size by itself, or what was trained before would change the rounding
        return cast("nn.Module", torch.compile(self.module, dynamic=False))

    def _autocast(self) -> Any:
        on = self.precision == "bfloat16" or (
            self.precision == "auto"
            and self.device.type == "cuda"
            and torch.cuda.is_bf16_supported()
        )
        return torch.autocast(self.device.type, torch.bfloat16, enabled=on)

    def state(self) -> dict[str, Any]:
        """All that changes while training; see `Checkpoint`."""
        return {
            "done": self.done,
            "sums": self.sums,
            "curve": [asdict(result) for result in self.curve],
            "weights": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state."""
        self.done = state["done"]
        self.sums.copy_(state["sums"])
        self.curve = [EpochResult(**result) for result in state["curve"]]
        self.module.load_state_dict(state["weights"])
        for group, loaded in zip(
            self.optimizer.param_groups, state["optimizer"]["param_groups"], strict=True
        ):
            loaded["lr"], loaded["fused"] = self.rate, group["fused"]  # those of this device
        self.optimizer.load_state_dict(state["optimizer"])


def _as_points(x: Tensor) -> Tensor:
    """Return points as networks take them: uint8 as x/255, all else as float32."""
    return to_floats(x).float()


@contextmanager
def _deterministic(device: torch.device) -> Iterator[None]:
    """Let convolutions on CUDA give the same result every time."""
    if device.type != "cuda":
        yield
        return
    settings = torch.backends.cudnn
    before = settings.deterministic, settings.benchmark
    settings.deterministic, settings.benchmark = True, False
    try:
        yield
    finally:
        settings.deterministic, settings.benchmark = before


Work: TypeAlias = Callable[[Tensor, Tensor], None]
"""What is done with points and targets, all of it on the device."""

WARM_UP = 3
"""Calls that are not recorded: libraries set themselves up in them."""


@dataclass(frozen=True, eq=False)
class _Recording:
    """A graph, and the memory that it reads."""

    graph: Any
    x: Tensor
    targets: Tensor


class Replay:
    """Work on points and targets that is recorded for every shape of them, and replayed.

    It must not wait for the device, and must leave its results in tensors that stay where they are.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.calls: Counter[tuple[object, ...]] = Counter()
        self.recordings: dict[tuple[object, ...], _Recording] = {}

    def __call__(self, x: Tensor, targets: Tensor) -> None:
        """Do the work."""
        shapes = x.shape, x.stride(), targets.shape, targets.dtype
        recording = self.recordings.get(shapes)
        if recording is None:
            self.calls[shapes] += 1
            if self.calls[shapes] <= WARM_UP:
                self._work_beside(x, targets)
                return
            recording = self.recordings[shapes] = self._record(x, targets)
        recording.x.copy_(x)
        recording.targets.copy_(targets)
        recording.graph.replay()

    def _work_beside(self, x: Tensor, targets: Tensor) -> None:
        """Do the work on another stream, as it will be recorded."""
        here: Any = torch.cuda.current_stream()
        beside: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        beside.wait_stream(here)
        with torch.cuda.stream(beside):
            self.work(x, targets)
        here.wait_stream(beside)

    def _record(self, x: Tensor, targets: Tensor) -> _Recording:
        x, targets, graph = x.clone(), targets.clone(), torch.cuda.CUDAGraph()
        others = next(iter(self.recordings.values()), None)
        with torch.cuda.graph(graph, pool=None if others is None else others.graph.pool()):
            self.work(x, targets)
        return _Recording(graph, x, targets)


FORMAT = "shaketable checkpoint 1"


@dataclass(eq=False)
class Checkpoint:
    """A file with the state of one training; it is replaced as a whole."""

    path: Path
    identity: str
    """Hash of all that the weights depend on: another training does not go on from this file."""
    every: float = 60.0
    """Least number of seconds between two."""
    _last: float = field(default_factory=time.monotonic)
    _handlers: dict[int, Any] = field(default_factory=dict)
    """What signals do that are held."""
    _held: int | None = None
    """Signal that has come and waits."""

    def check_place(self) -> None:
        """Raise `InputError` before any work if the file cannot be written.

        Its folder may be missing, which is made then, but not the one above it.
        """
        folder = self.path.parent
        check_writable(self.path if folder.is_dir() else folder, "checkpoint")

    @contextmanager
    def hold_interrupts(self) -> Iterator[None]:
        """Context in which Ctrl-C and SIGTERM wait for the end of a step, and a checkpoint.

        Within a step, weights are neither those before nor those after it. A second signal does
        not wait. What the system itself does at a signal stays, and in other threads all of it.
        """
        if threading.current_thread() is threading.main_thread():
            usual = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
            self._handlers = {n: handler for n, handler in usual.items() if callable(handler)}
        for number in self._handlers:
            signal.signal(number, self._hold)
        try:
            yield
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._release()

    def _hold(self, number: int, _: object) -> None:
        self._release()
        self._held = number

    def _release(self) -> None:
        """Let a signal that waits do what it does."""
        number, self._held = self._held, None
        if number is not None:
            self._handlers[number](number, None)

    def save_if_due(self, trainer: Trainer) -> None:
        """Save the state if the last time is long ago, or if the training is interrupted."""
        interrupted = self._held is not None
        if interrupted or time.monotonic() - self._last >= self.every:
            self.save(trainer)
        if interrupted:
            self._release()

    def save(self, trainer: Trainer) -> None:
        """Save the state."""
        content = {"format": FORMAT, "identity": self.identity, **trainer.state()}
        make_folder(self.path.parent, "folder of checkpoints")
        write_content(self.path, "checkpoint", content)
        self._last = time.monotonic()

    def delete(self) -> None:
        """Delete the file, if it exists."""
        self.path.unlink(missing_ok=True)

    def restore(self, trainer: Trainer) -> None:
        """Put a training where it stood, if the file exists."""
        if not self.path.exists():
            return
        try:
            content = read_content(self.path)
        except Exception as error:  # of many kinds, for damaged files
            raise self._refuse(f"cannot be read ({type(error).__name__})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(
                f"file {str(self.path)!r} is no checkpoint of this version; delete or move it"
            )
        if "identity" not in content:
            raise self._refuse("does not say of which training it is")
        if content["identity"] != self.identity:
            raise InputError(
                f"checkpoint {str(self.path)!r} is of a training with other data or settings; "
                "delete it to train from the start, or name another file"
            )
        try:
            trainer.restore(content)
        except Exception as error:  # of many kinds, for parts that are missing or odd
            raise self._refuse(f"cannot be used ({describe_error(error)[:300]})") from error

    def _refuse(self, why: str) -> InputError:
        return InputError(f"checkpoint {str(self.path)!r} {why}; delete it to train from the start")

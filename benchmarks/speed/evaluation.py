"""Time `evaluate` on a torch device against the bare forward passes that it needs.

Networks with random weights are evaluated on random images of 32 x 32 x 3 under whole suites: a
convolutional network of three layers (`small`), and networks by name. The bare passes take as many
images, which lie on the device as float32, in batches of a fixed size, and fetch the predicted
classes once at the end; of many passes a few are timed, and their time is multiplied. All sides run
in one process, alternately; times are medians of the repeats.

Besides, where the time goes. The main thread waits for corrupted images, starts the network, waits
for its answers, and writes; the rest is counting and planning. Threads make the images and send
them; their seconds are added up.

    python benchmarks/speed/evaluation.py --device cuda
    python benchmarks/speed/evaluation.py --device cuda --networks wrn-28-4 --repeats 1
    python benchmarks/speed/evaluation.py --device cuda --networks wrn-28-4 --command
    python benchmarks/speed/evaluation.py --device cpu --n 200 --networks small --suites ice-cifar

With `--command`, ``shaketable evaluate`` is run in a process of its own on all suites, as a user
would, and its time on the clock and on the processor is told. Results: results/evaluation.md.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn

import shaketable as st
from shaketable.core.threads import map_ahead
from shaketable.evaluation import cells
from shaketable.evaluation.store import Store
from shaketable.models.classifier import Classifier
from shaketable.models.networks.files import save_network
from shaketable.models.networks.registry import build_network
from shaketable.models.torch_modules import Sender

SUITES = ("common-19", "pnorm-cifar", "ice-cifar", "two-factor")
PARTS = ("wait for images", "start", "wait for answers", "write", "make", "send")


def make_network(name: str, width: int) -> nn.Module:
    """Return a network with random weights; `width` is that of the first layer of the small one."""
    torch.manual_seed(0)
    if name != "small":
        return build_network(name, shape=(32, 32, 3), classes=10, seed=0).eval()
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Conv2d(2 * width, 4 * width, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 10),
    ).eval()


class Parts:
    """Seconds that parts of an evaluation take, by name."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Add the time of what is done within."""
        started = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[name] += time.perf_counter() - started  # type: ignore[assignment]

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is timed, and so is what it returns if that is a function."""

        @wraps(work)
        def run(*args: Any, **options: Any) -> Any:
            with self.time(name):
                result = work(*args, **options)
            return self.timed("wait for answers", result) if name == "start" else result

        return run

    def each(self, name: str, work: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
        """Return a generator that is timed while it makes its items."""

        @wraps(work)
        def run(*args: Any, **options: Any) -> Iterator[Any]:
            items = iter(work(*args, **options))
            while True:
                with self.time(name):
                    item = next(items, self)
                if item is self:
                    return
                yield item

        return run

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Time the parts of what is evaluated within."""
        with (
            patch.object(cells, "map_ahead", self.each("wait for images", map_ahead)),
            patch.object(cells._Group, "corrupt", self.each("make", cells._Group.corrupt)),
            patch.object(Sender, "__call__", self.timed("send", Sender.__call__)),
            patch.object(Classifier, "start", self.timed("start", Classifier.start)),
            patch.object(Store, "add", self.timed("write", Store.add)),
        ):
            yield


def measure_seconds(do: Callable[[], object], device: str) -> float:
    """Return the time of a call, with all work on the device done."""
    if device != "cpu":
        torch.cuda.synchronize()
    started = time.perf_counter()
    do()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def pass_forward(network: nn.Module, images: Tensor, *, passes: int, batch: int) -> Tensor:
    """Return the classes of the last pass."""
    with torch.inference_mode():
        for _ in range(passes):
            codes = torch.cat([network(part).argmax(dim=1) for part in torch.split(images, batch)])
    return codes.cpu()


def print_bare(network: nn.Module, data: st.Dataset, args: argparse.Namespace) -> None:
    """Print the time of a bare pass: as `evaluate` does it, channels last, and in bfloat16."""
    images = torch.tensor(data.x, device=args.device).permute(0, 3, 1, 2).float().div(255)
    told = []
    for name, form, half in (
        ("as it is", torch.contiguous_format, False),
        ("channels last", torch.channels_last, False),
        ("channels last, bfloat16", torch.channels_last, True),
    ):
        other: Any = deepcopy(network)
        other = other.to(memory_format=form)
        with torch.autocast(args.device, torch.bfloat16, enabled=half):
            go = partial(
                pass_forward, other, images.contiguous(memory_format=form), passes=3,
                batch=args.batch,
            )  # fmt: skip
            go()
            told.append(f"{name} {1000 * measure_seconds(go, args.device) / 3:.0f} ms")
    print(f"one bare pass: {'; '.join(told)}\n")


def compare(network: nn.Module, data: st.Dataset, suite: str, args: argparse.Namespace) -> None:
    """Print rows of one network and suite: the noise of the CPU, and that of the device."""
    small = st.make_dataset(data.x[:200], data.y[:200], name="random")
    resident = torch.tensor(data.x, device=args.device).permute(0, 3, 1, 2).float().div(255)
    resident = resident.contiguous()
    ways = {"CPU": False, "device": True}
    times: dict[str, list[float]] = {name: [] for name in ("bare", *ways)}
    parts = {name: Parts() for name in ways}

    def run(data: st.Dataset, *, on_device: bool) -> st.Records:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder, "results.sqlite") if args.store else None
            return st.evaluate(
                network, data, st.suite(suite), k=1, device_noise=on_device, store=store
            )

    passes = len(run(small, on_device=False))  # compiles, makes tables, loads libraries
    run(small, on_device=True)
    few = min(passes, args.bare)
    pass_forward(network, resident, passes=1, batch=args.batch)
    for _ in range(args.repeats):
        bare = measure_seconds(
            lambda: pass_forward(network, resident, passes=few, batch=args.batch), args.device
        )
        times["bare"].append(bare * passes / few)
        for name, on_device in ways.items():
            with parts[name].watch():
                seconds = measure_seconds(partial(run, data, on_device=on_device), args.device)
            times[name].append(seconds)
    bare = statistics.median(times["bare"])
    for name in ways:
        seconds = statistics.median(times[name])
        shares = [f"{parts[name].seconds[part] / args.repeats:.2f}" for part in PARTS]
        row = [suite, str(passes), name, f"{bare:.2f}", f"{seconds:.2f}", f"{seconds / bare:.2f}"]
        print(f"| {' | '.join([*row, *shares])} |", flush=True)


def run_command(name: str, data: st.Dataset, args: argparse.Namespace) -> None:
    """Run ``shaketable evaluate`` on all suites, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "data.npz"), x=data.x, y=data.y)
        module = make_network(name, args.width)
        save_network(
            Path(folder, "net.pt"), module, network=name, shape=(32, 32, 3), classes=10,
            labels=range(10),
        )  # fmt: skip
        command = [sys.executable, "-m", "shaketable", "evaluate", "--model", "net.pt"]
        command += ["--data", "data.npz", "--k", "1", "--quiet", "--store", "s.sqlite"]
        command += [word for suite in args.suites for word in ("--suite", suite)]
        for more in ([], ["--device-noise"]):
            Path(folder, "s.sqlite").unlink(missing_ok=True)
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(
                [*command, *more], cwd=folder, capture_output=True, text=True, check=False
            )
            seconds = time.perf_counter() - started
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            said = [line for line in done.stderr.splitlines() if "computed on" in line]
            print(f"shaketable evaluate --model {name}.pt {' '.join(more)}: exit {done.returncode}")
            print(f"{seconds:.1f} s, {cpu:.1f} s of CPU; {' '.join(said) or done.stderr}")


def main() -> None:
    """Print a table per network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--networks", nargs="+", default=["small", "resnet9"])
    parser.add_argument("--n", type=int, default=10_000, help="number of images")
    parser.add_argument("--width", type=int, default=32, help="channels of the small network")
    parser.add_argument("--batch", type=int, default=1000, help="images per bare forward pass")
    parser.add_argument("--bare", type=int, default=20, help="bare passes that are timed, at most")
    parser.add_argument("--batch-bits", type=int, default=22, help="values per batch, 2 to this")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--suites", nargs="+", default=SUITES)
    parser.add_argument("--store", action="store_true", help="write results to a file")
    parser.add_argument("--command", action="store_true", help="time the command line instead")
    args = parser.parse_args()
    cells.BATCH_VALUES = 1 << args.batch_bits
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(args.n, 32, 32, 3), dtype=np.uint8)
    data = st.make_dataset(images, rng.integers(10, size=args.n), name="random")
    where = torch.cuda.get_device_name() if args.device != "cpu" else "CPU"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {where}, {len(os.sched_getaffinity(0))} cores, ", end="")
    print(f"torch {torch.__version__}; {args.n} images, batches of 2**{args.batch_bits} values")
    for name in args.networks:
        print(f"\n{name}\n")
        if args.command:
            run_command(name, data, args)
            continue
        network = make_network(name, args.width).to(args.device)
        print_bare(network, data, args)
        titles = ["suite", "passes", "noise", "bare, s", "evaluate, s", "ratio", *PARTS]
        print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}", flush=True)
        for suite in args.suites:
            compare(network, data, suite, args)


if __name__ == "__main__":
    main()

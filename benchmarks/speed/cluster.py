"""What a cluster costs: efficiency of two workers, overhead per cell, bytes sent per worker.

Each backend starts its workers on this machine. Measured are, with one worker and with two:

- cells that wait for a fixed time, as if they trained on a device. Their efficiency says what the
  backend costs, whatever else the machine does; the first time data are sent, and again not;
- empty cells, which show the overhead per cell;
- a study of forests, whose records are compared with those of one process.

The cells share 50 MB. Each process counts how often it receives them: once, not with every cell.

    python benchmarks/speed/cluster.py
    python benchmarks/speed/cluster.py --backend dask --cells 40

Results: results/cluster.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import shaketable as st
from shaketable.core.types import Array
from shaketable.core.workers.tasks import run_tasks

MEGABYTES = 50
"""Size of the data that all cells share."""

EMPTY = 300
"""Number of empty cells."""


class Counted:
    """Data that count how often a process has received them, in a variable of its environment."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        os.environ["RECEIVED"] = str(int(os.environ.get("RECEIVED", "0")) + 1)


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell that waits, and reads its data."""

    data: Counted
    seconds: float
    number: int

    uses_gpu = False

    @property
    def name(self) -> str:
        """Its number."""
        return f"cell {self.number}"

    @property
    def shared(self) -> tuple[object, ...]:
        """The data."""
        return (self.data,)

    def work(self, report: Callable[[str], None]) -> tuple[int, int, int]:
        """Wait; return a value of the data, the process, and how often it has received data."""
        report(self.name)
        time.sleep(self.seconds)
        received = int(os.environ.get("RECEIVED", "0"))
        return int(self.data.values[self.number]), os.getpid(), received


def run_cells(data: Counted, seconds: float, cells: int) -> tuple[float, dict[int, int]]:
    """Return the seconds that so many cells take, and how often each process received data."""
    started = time.perf_counter()
    outcomes = list(run_tasks(Cell(data, seconds, number) for number in range(cells)))
    took = time.perf_counter() - started
    results = [outcome.get() for outcome in outcomes]
    assert sorted(value for value, _, _ in results) == list(range(cells))
    counts: dict[int, int] = {}
    for _, process, received in results:
        counts[process] = max(received, counts.get(process, 0))
    return took, counts


@contextmanager
def start(backend: str, workers: int) -> Iterator[tuple[dict[int, int], float]]:
    """Start workers that do something; yield what each has received, and the seconds it took."""
    started = time.perf_counter()
    with st.cluster(backend, workers=workers):
        _, counts = run_cells(Counted(np.arange(100)), 0.2, 6 * workers)
        yield counts, time.perf_counter() - started


def count_loopback() -> int:
    """Return the bytes that processes of this machine have sent each other over TCP."""
    with open("/proc/net/dev", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.strip().startswith("lo:"))


def study_forests(n_jobs: int) -> tuple[st.Records, float]:
    """Return the records of a study, and its seconds."""
    started = time.perf_counter()
    records = st.study("digits", "rf", runs=4, k=1, n_jobs=n_jobs)
    return records, time.perf_counter() - started


def main() -> None:
    """Measure all backends, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", action="append", help="joblib, dask or ray (default: all)")
    parser.add_argument("--workers", type=int, action="append", help="(default: 1 and 2)")
    parser.add_argument("--cells", type=int, default=40, help="cells that wait")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each waits")
    args = parser.parse_args()
    data = Counted(np.arange(MEGABYTES * 125_000))
    cores = time.process_time()
    here, seconds = study_forests(n_jobs=1)
    cores = time.process_time() - cores
    expected = {cell.key: cell.hits.tolist() for cell in here}
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"study in one process: {seconds:.1f} s, {cores:.1f} s of cores")
    print(
        "| backend | workers | start, s | efficiency, first | again | overhead, ms | data "
        "received by each | over TCP, MB | study, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for backend in args.backend or ["joblib", "dask", "ray"]:
        for workers in args.workers or (1, 2):
            with start(backend, workers) as (before, begun):
                sent = count_loopback()
                waited, after = run_cells(data, args.seconds, args.cells)
                sent = count_loopback() - sent
                times = [str(after[process] - before.get(process, 0)) for process in after]
                again, _ = run_cells(data, args.seconds, args.cells)
                ideal = 100 * args.cells * args.seconds / workers
                small = Counted(np.arange(EMPTY))
                empty = min(run_cells(small, 0, EMPTY)[0] for _ in range(3)) / EMPTY
                records, seconds = study_forests(n_jobs=workers)
                assert {c.key: c.hits.tolist() for c in records} == expected, "records differ"
            print(
                f"| {backend} | {workers} | {begun:.1f} | {ideal / waited:.1f} % | "
                f"{ideal / again:.1f} % | {1000 * empty:.1f} | {', '.join(times)} times | "
                f"{sent / 1e6:.0f} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""One table of speeds: jobs, how they are timed beside a peer, and how the table is written.

`python -m benchmarks` runs it; the jobs are in `overview_jobs.py`.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LEAST_ROUNDS = 3
MOST_SECONDS = 20
"""After so long, a job gets no more rounds, even if it had fewer."""
LEAST_SECONDS = 0.05
"""A sample takes at least as long: shorter calls are repeated."""
PACKAGES = (
    "shaketable", "numpy", "scipy", "scikit-learn", "pandas", "numba", "torch",
    "scikit-image", "imagecorruptions-imaug", "opencv-python-headless", "kornia", "foolbox",
)  # fmt: skip
START, END = "<!-- the table: start -->", "<!-- the table: end -->"
HEAD = ("job", "ours", "peer", "ratio", "ratio of CPU time", "date")
DASH = "–"


class DifferError(AssertionError):
    """The two sides of a job do not compute the same."""


def agree(condition: object, what: str) -> None:
    """Raise `DifferError` unless a condition holds."""
    if not condition:
        raise DifferError(what)


@dataclass(frozen=True)
class Sides:
    """What is timed: two calls without arguments, and how their results are compared."""

    ours: Callable[[], Any]
    peer: Callable[[], Any] | None = None
    check: Callable[[Any, Any], None] | None = None
    """Raises `DifferError` if the results of the two calls are not the same."""


@dataclass(frozen=True)
class Job:
    """Something that people wait for, as done by shaketable and by a peer."""

    name: str
    title: str
    make: Callable[[], Sides]
    peer: str = ""
    """Name of the peer; empty if there is none."""
    needs: tuple[tuple[str, str], ...] = ()
    """Modules that the peer needs, and the packages that have them."""
    also: tuple[tuple[str, str], ...] = ()
    """Modules that both sides need."""
    note: str = ""
    """What both sides compute, how that is checked, and what speaks for or against a side."""


@dataclass(frozen=True)
class Duration:
    """Seconds of one call, on the clock and of all cores, child processes included."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """One job, timed."""

    job: Job
    date: str
    ours: Duration | None = None
    peer: Duration | None = None
    missing: str = ""
    """What is not installed."""
    failed: str = ""
    """How the peer fails, or the results differ, so that nothing was timed."""

    @property
    def ratio(self) -> float:
        """How many times as long the peer takes; above 1, ours is faster."""
        return self.peer.wall / self.ours.wall if self.ours and self.peer else math.nan

    @property
    def cpu_ratio(self) -> float:
        """The same of CPU time."""
        return self.peer.cpu / self.ours.cpu if self.ours and self.peer else math.nan

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        if self.failed:
            peer = f"{self.job.peer} {self.failed}"
        elif self.missing:
            peer = self.missing
        elif self.peer is None:
            peer = self.job.peer or DASH
        else:
            peer = f"{self.job.peer}: {write_seconds(self.peer.wall)}"
        ours = write_seconds(self.ours.wall) if self.ours else DASH
        ratios = (write_ratio(self.ratio), write_ratio(self.cpu_ratio))
        return self.job.title, ours, peer, *ratios, self.date

    def json(self) -> dict[str, Any]:
        """Return all that is known, with undefined numbers as null."""
        sides = {"ours": self.ours, "peer": self.peer}
        seconds = {
            f"{side}_{kind}": None if taken is None else getattr(taken, kind)
            for side, taken in sides.items()
            for kind in ("wall", "cpu")
        }
        ratios = {"ratio": self.ratio, "cpu_ratio": self.cpu_ratio}
        return {
            "job": self.job.name,
            "title": self.job.title,
            "peer": self.job.peer or None,
            **{f"seconds_{name}": value for name, value in seconds.items()},
            **{name: None if math.isnan(value) else value for name, value in ratios.items()},
            "missing": self.missing or None,
            "failed": self.failed or None,
            "date": self.date,
        }


def find_missing(modules: Iterable[tuple[str, str]]) -> str:
    """Say which packages are not installed or cannot be imported; empty if all can be used."""
    for module, package in modules:
        if find_spec(module) is None:
            return f"not installed: pip install {package}"
        try:
            import_module(module)
        except (ImportError, OSError) as error:  # a system library may be missing
            return f"{package} cannot be imported: {error}"
    return ""


def read_clocks() -> Duration:
    """Return the time so far, on the clock and of this process and its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Duration(time.perf_counter(), sum(u.ru_utime + u.ru_stime for u in used))


def time_calls(call: Callable[[], object], number: int) -> Duration:
    """Return the mean duration of some calls in a row."""
    started = read_clocks()
    for _ in range(number):
        call()
    ended = read_clocks()
    return Duration((ended.wall - started.wall) / number, (ended.cpu - started.cpu) / number)


def compare(calls: Sequence[Callable[[], object]], seconds: float) -> list[Duration]:
    """Return the best duration of each call: on a busy machine, it is the least disturbed one.

    The calls take turns, in changing order, for at least so many seconds and `LEAST_ROUNDS`. They
    have been called before, so everything is compiled.
    """
    started, turn = time.perf_counter(), 1
    samples = [[time_calls(call, 1)] for call in calls]
    numbers = [max(1, math.ceil(LEAST_SECONDS / first.wall)) for (first,) in samples]
    while (taken := time.perf_counter() - started) < MOST_SECONDS and (
        turn < LEAST_ROUNDS or taken < seconds
    ):
        order = range(len(calls)) if turn % 2 == 0 else reversed(range(len(calls)))
        for i in order:
            samples[i].append(time_calls(calls[i], numbers[i]))
        turn += 1
    return [Duration(min(d.wall for d in own), min(d.cpu for d in own)) for own in samples]


def run_job(job: Job, seconds: float) -> Row:
    """Time a job; a peer that cannot be compared is said in its row."""
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    if missing := find_missing(job.also):
        return Row(job, date, missing=missing)
    sides, missing = job.make(), find_missing(job.needs)
    mine = sides.ours()
    if sides.peer is None or missing:
        return Row(job, date, compare([sides.ours], seconds)[0], missing=missing)
    try:
        theirs = sides.peer()
    except Exception as error:  # another version of the peer, say; the other jobs go on
        return Row(job, date, failed=f"fails: {type(error).__name__}: {error}")
    try:
        if sides.check is not None:
            sides.check(mine, theirs)
    except DifferError as error:
        return Row(job, date, failed=f"results differ: {error}")
    ours, peer = compare([sides.ours, sides.peer], seconds)
    return Row(job, date, ours, peer)


def write_seconds(seconds: float) -> str:
    """Write a duration with three digits.

    >>> write_seconds(12.345), write_seconds(0.0123), write_seconds(4.5e-05)
    ('12.3 s', '12.3 ms', '45.0 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_write_digits(seconds / size)} {unit}"
    return f"{_write_digits(1e6 * seconds)} µs"


def write_ratio(ratio: float) -> str:
    """Write a ratio with three digits, or two below 1; a dash if there is none.

    >>> write_ratio(123.4), write_ratio(0.987), write_ratio(float("nan"))
    ('123', '0.99', '–')
    """
    if math.isnan(ratio):
        return DASH
    return f"{ratio:.2f}" if ratio < 1 else _write_digits(ratio)


def _write_digits(value: float) -> str:
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f}"


def describe_machine() -> dict[str, Any]:
    """Return the processor, its cores, the load, and the versions of all packages."""
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": _read_processor(),
        "system": platform.system(),
        "cores": _count_cores(),
        "load_at_start": round(os.getloadavg()[0], 1),
        "threads_of_each_side": int(os.environ.get("OMP_NUM_THREADS") or 0),
        "versions": versions,
    }


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def write_rows(rows: Iterable[Row]) -> list[str]:
    """Write the lines of the table, which is Markdown and aligned for the terminal."""
    cells = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
    rule = "|".join("-" * (width + 2) for width in widths)
    return [f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])]


def say_slower(rows: Sequence[Row]) -> str:
    """Say in which jobs the peer needs less CPU time."""
    slower = [row.job.name for row in rows if row.cpu_ratio < 1]
    timed = sum(not math.isnan(row.cpu_ratio) for row in rows)
    if not timed:
        return "No peer was timed."
    if not slower:
        return f"By CPU time, ours is at least as fast in all {timed} jobs with a peer."
    return f"By CPU time, ours is slower in {len(slower)} of {timed} jobs: {', '.join(slower)}."


def say_machine(machine: dict[str, Any], seconds: float) -> str:
    """Say where and with what the table was measured."""
    packages = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    threads = machine["threads_of_each_side"]
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; load "
        f"{machine['load_at_start']} at the start; {threads} thread{'s' if threads > 1 else ''} "
        f"for each side; {seconds:.0f} s for the whole table. {packages}."
    )


def write_section(rows: Sequence[Row], machine: dict[str, Any], seconds: float) -> str:
    """Write the table, what is slower, where it was measured, and the notes, as Markdown."""
    notes = [f"- **{row.job.title}** (`{row.job.name}`): {row.job.note}" for row in rows]
    parts = [
        "\n".join(write_rows(rows)),
        _wrap(say_slower(rows)),
        _wrap(f"Measured on: {say_machine(machine, seconds)}"),
        "\n".join(_wrap(note, indent="  ") for note in notes),
    ]
    return "\n\n".join(parts)


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def write_into(page: Path, section: str) -> None:
    """Replace what a page has between its two markers."""
    text = page.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"{page} must hold the lines {START} and {END}, between which to write")
    page.write_text(f"{before}{START}\n\n{section}\n\n{END}{after}", encoding="utf-8")

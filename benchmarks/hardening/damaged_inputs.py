"""Ten thousand damaged inputs, over every kind of file that a command reads.

Each input is a good file, or a folder of them, with one damage: bits, bytes and parts of a file
changed, lost or repeated, and values and headers replaced by others that are well formed but odd. A
command reads it, in a worker process; what may come out is the result, or an input error: exit
code 2 and one line. Everything else is a fault of ours:

- mistake: exit code 4, or an exception that leaves `main`;
- crash: the process ends; memory: more than 2 GB are asked for; hang: no answer within 40 s of CPU
  time, or within 10 minutes;
- noise: a warning, or more than one line, on stderr;
- other numbers: a damaged results file that is read without an error, and gives other results.

    python benchmarks/hardening/damaged_inputs.py [--inputs 10000] [--seed 0] [--jobs 1]
        [--kinds npy npz]
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from input_damages import COMMON
from input_kinds import KINDS, Kind, run_command

HANG, LONGEST = 40, 600  # seconds of CPU time, and of waiting: other processes may be busy
MEMORY = 2 * 2**30  # bytes
GOOD = ("fine", "input error")
FAULTS = ("mistake", "crash", "hang", "memory", "noise", "other numbers")


def damage(kind: Kind, folder: Path, rng: np.random.Generator) -> str:
    """Damage one file of an input, and return what was done to it."""
    files = sorted(path for path in folder.glob(kind.files) if path.is_file())
    damages = (*COMMON, *kind.odd)
    file, change = files[rng.integers(len(files))], damages[rng.integers(len(damages))]
    file.write_bytes(change(file.read_bytes(), rng))
    return f"{change.__name__} in {file.relative_to(folder)}"


def try_input(kind: Kind, folder: Path, expected: str) -> tuple[str, str]:
    """Run the command of one input; return the outcome, and what was said of it."""
    try:
        code, out, err = run_command(kind.argv(folder))
    except BaseException as error:  # whatever leaves main is what is looked for
        return "memory" if isinstance(error, MemoryError) else "mistake", f"left main: {error!r}"
    lines = [line for line in err.splitlines() if not line.startswith(("note: ", "network: "))]
    strange = [line for line in lines if not line.startswith("shaketable: error: ")]
    outcome, said = "fine", ""
    if code == 2 and len(lines) == 1 and not strange:
        outcome, said = "input error", lines[0]
    elif code not in (*kind.codes, 2):
        outcome, said = "mistake", lines[-1] if lines else f"exit code {code}"
        outcome = "memory" if "MemoryError" in said else outcome
    elif code == 2 or strange:
        outcome, said = "noise", (strange or lines or ["nothing said"])[0]
    elif kind.same and re.sub(kind.varies, "", out) != re.sub(kind.varies, "", expected):
        outcome, said = "other numbers", out[:200]
    return outcome, said


def work(kinds: Sequence[Kind], seed: int, start: int, stop: int) -> None:
    """Try the inputs from `start` to `stop`, and write one line of JSON before and after each."""
    report, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    with tempfile.TemporaryDirectory() as place:
        good: dict[str, Path] = {}
        expected: dict[str, str] = {}
        for kind in kinds:  # imports and compiles everything, so that times are those of inputs
            good[kind.name] = Path(place) / kind.name.replace(" ", "_").replace(".", "_")
            good[kind.name].mkdir()
            kind.make(good[kind.name])
            copy = Path(place) / "undamaged"  # a command may change what it reads
            shutil.copytree(good[kind.name], copy)
            code, expected[kind.name], err = run_command(kind.argv(copy))
            assert code in kind.codes, (kind.name, err)
            shutil.rmtree(copy)
        size = int(re.findall(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        for i in range(start, stop):
            print(json.dumps([i]), file=report, flush=True)
            kind, rng = kinds[i % len(kinds)], np.random.default_rng([seed, i])
            folder = Path(place) / f"input{i}"
            shutil.copytree(good[kind.name], folder)
            done = damage(kind, folder, rng)
            outcome, said = try_input(kind, folder, expected[kind.name])
            said = said.replace(str(folder), "")
            shutil.rmtree(folder, ignore_errors=True)
            print(json.dumps([i, outcome, done, said]), file=report, flush=True)


# All inputs


def _cpu_seconds(process: int) -> float:
    """CPU time of a process so far; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(argv: Sequence[str], start: int, stop: int) -> dict[int, tuple[str, str, str]]:
    """Have a worker try inputs; one that hangs or crashes is replaced by the next."""
    outcomes: dict[int, tuple[str, str, str]] = {}
    while start < stop:
        command = [sys.executable, __file__, *argv, "--share", str(start), str(stop)]
        worker = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines: queue.Queue[str | None] = queue.Queue()

        def read(pipe: Any = worker.stdout, into: queue.Queue[str | None] = lines) -> None:
            for line in pipe:
                into.put(line)
            into.put(None)

        threading.Thread(target=read, daemon=True).start()
        current, why = None, "crash"
        since, used = time.monotonic(), 0.0
        while True:
            try:
                line = lines.get(timeout=5)
            except queue.Empty:  # before the first input everything is compiled
                waited, worked = time.monotonic() - since, _cpu_seconds(worker.pid) - used
                if current is not None and (worked > HANG or waited > LONGEST):
                    why = "hang"
                    break
                continue
            if line is None:
                break
            since, used = time.monotonic(), _cpu_seconds(worker.pid)
            at, *rest = json.loads(line)
            if rest:
                outcomes[at] = (rest[0], rest[1], rest[2])
                if at % 500 == 0:
                    print(f"{at} of {start} to {stop}", file=sys.stderr)
            else:
                current = at
        worker.kill()
        worker.wait()
        if current is None:
            raise RuntimeError("a worker ended before its first input; --share 0 1 shows why")
        if current not in outcomes:
            outcomes[current] = (why, "", "")
        start = current + 1
    return outcomes


def print_outcomes(kinds: Sequence[Kind], outcomes: dict[int, tuple[str, str, str]]) -> None:
    """Print a table of counts, and one line per cause of a fault."""
    names = (*GOOD, *FAULTS)
    print("| input | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    total: Counter[str] = Counter()
    for number, kind in enumerate(kinds):
        counts = Counter(o[0] for i, o in outcomes.items() if i % len(kinds) == number)
        total += counts
        print(f"| {kind.name} | " + " | ".join(str(counts[name]) for name in names) + " |")
    print("| all | " + " | ".join(str(total[name]) for name in names) + " |")
    causes: dict[tuple[str, str, str], list[int]] = {}
    for i, (outcome, _, said) in outcomes.items():
        if outcome not in GOOD:
            cause = re.sub(r"'[^']*'|\d+|\"[^\"]*\"", "…", said)[:150]
            causes.setdefault((kinds[i % len(kinds)].name, outcome, cause), []).append(i)
    for (name, outcome, _), at in sorted(causes.items(), key=lambda item: -len(item[1])):
        _, done, said = outcomes[at[0]]
        print(f"{len(at)} x {name}, {outcome} (input {at[0]}, {done}): {said[:200]!r}")


def parse_flags() -> argparse.Namespace:
    """Read the flags."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=[kind.name for kind in KINDS])
    parser.add_argument("--jobs", type=int, default=1, help="workers at a time")
    parser.add_argument("--share", type=int, nargs=2, help="be a worker: try these inputs")
    return parser.parse_args()


if __name__ == "__main__":
    flags = parse_flags()
    chosen = [kind for kind in KINDS if kind.name in flags.kinds]
    if flags.share is not None:
        work(chosen, flags.seed, *flags.share)
    else:
        ends = [flags.inputs * i // flags.jobs for i in range(flags.jobs + 1)]
        with ThreadPoolExecutor(flags.jobs) as pool:
            shares = pool.map(partial(watch, sys.argv[1:]), ends[:-1], ends[1:])
            print_outcomes(chosen, {i: found for share in shares for i, found in share.items()})

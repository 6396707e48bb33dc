"""Ten random kill -9, in a study with suites and in an adversary run, and the final numbers.

Each command runs once undisturbed. Then it runs with another results file, and its process and all
its workers are killed ten times, each time after a random part of the work and a random pause. At
last it runs to its end. Compared are what the two print as JSON, and all counts in the two files.
Then two processes work on a third file at the same time.

    python benchmarks/hardening/killing.py
    python benchmarks/hardening/killing.py --kills 3 --seed 1

Linux only. Results: results/killing.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import shaketable as st

COMMANDS = {
    "study with suites": (
        "cells",
        "study --data breast_cancer --scale --model 1nn --model logistic --suite pnorm --suite ice "
        "--runs 12 --k 2 --jobs 2",
    ),
    "adversary": (
        "parts",
        "adversary --data breast_cancer --scale --own --model logistic --norm inf "
        "--constraint none --constraint genuine-max --random 3 "
        "--eps 0.005,0.01,0.02,0.03,0.05,0.1,0.15,0.2 "
        "--attack random(queries=100) --attack rays(queries=150)",
    ),
}
"""By name: the table that grows while the command works, and its words."""


def start(words: Sequence[str], store: Path) -> subprocess.Popen[str]:
    """Start a command in a process group of its own."""
    argv = [sys.executable, "-m", "shaketable", *words, "--store", str(store), "--json", "--quiet"]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def count(store: Path, table: str) -> int:
    """Return the number of rows of a table; 0 if the file is not there yet."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db, db:
            (rows,) = db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            return int(rows)
    except sqlite3.Error:
        return 0


def finish(words: Sequence[str], store: Path) -> tuple[dict[str, Any], float]:
    """Run a command to its end; return what it prints, and the seconds it takes."""
    started = time.perf_counter()
    out, _ = start(words, store).communicate()
    result: dict[str, Any] = json.loads(out)
    return result, time.perf_counter() - started


def kill_once(words: Sequence[str], store: Path, table: str, rows: int) -> int | None:
    """Kill a command when it has added so many rows; return their number, None if it had ended."""
    before = count(store, table)
    process = start(words, store)
    while process.poll() is None and count(store, table) < before + rows:
        time.sleep(0.02)
    time.sleep(random.uniform(0, 0.3))
    ended = process.poll() is not None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return None if ended else count(store, table)


def read_counts(store: Path) -> dict[str, Any]:
    """Return all counts of a results file by cell."""
    with st.Store(store, must_exist=True) as results:
        return {cell.key: cell.hits.tolist() for cell in results.records()}


def main() -> None:
    """Kill both commands, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=COMMANDS, help="one of the two (default: both)")
    args = parser.parse_args()
    random.seed(args.seed)
    for name, (table, line) in COMMANDS.items():
        words = line.split()
        if args.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            calm, killed = Path(folder, "calm.sqlite"), Path(folder, "killed.sqlite")
            expected, seconds = finish(words, calm)
            total = count(calm, table)
            print(f"{name}: {total} {table} in {seconds:.0f} s without a kill")
            share = total / (args.kills + 2)
            for number in range(1, args.kills + 1):
                rows = random.randint(0, round(1.6 * share))
                left = kill_once(words, killed, table, rows)
                assert left is not None, "it ended before it was killed; use fewer kills"
                print(f"  kill {number}: {left} of {total} {table} are kept", flush=True)
            result, seconds = finish(words, killed)
            same = result == expected
            counts = read_counts(calm) == read_counts(killed) if table == "cells" else same
            print(f"  then to its end in {seconds:.0f} s: the same JSON: {same}, counts: {counts}")
            assert same
            assert counts
            both = [start(words, Path(folder, "both.sqlite")) for _ in range(2)]
            same = all(json.loads(process.communicate()[0]) == expected for process in both)
            print(f"  two processes at once on one file: the same JSON: {same}")
            assert same


if __name__ == "__main__":
    main()

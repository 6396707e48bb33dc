"""Plant faults in the source, one at a time, and see which of them the tests notice.

``planted_faults.toml`` lists the faults: a place in the source, what stands there instead, and the
tests that are to notice. Each is planted in a copy of the tree, never in the tree itself, and its
tests run until the first one fails. Faults that change nothing observable are marked as equivalent,
with the reason, and do not count.

    python benchmarks/planted_faults.py                  all faults
    python benchmarks/planted_faults.py rays upper       those whose file or name contains a word
    python benchmarks/planted_faults.py --unchanged      the same tests without any fault: all pass
    python benchmarks/planted_faults.py -o faults.json   the outcome of every fault as JSON

The exit status is 0 if at least 95 % of the faults that count are noticed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import re
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src/shaketable")
TABLE = Path(__file__).with_suffix(".toml")
ENOUGH = 0.95
# loaded once; every run of tests is a copy of a process that has them
PRELOADED = ("pytest", "hypothesis", "numpy", "scipy.stats", "pandas", "sklearn.ensemble")
HEAVY = ("numba", "altair", "torch")
_NO_TESTS = (4, 5)  # exit status of pytest if tests that were named do not exist


@dataclass(frozen=True)
class Fault:
    """One change of the source."""

    name: str
    file: str
    """File under ``src/shaketable``."""
    find: str
    """Text that occurs once in the file."""
    put: str
    """What stands there instead."""
    tests: tuple[str, ...]
    """Files or tests, under ``tests``."""
    equivalent: str = ""
    """Why it changes nothing observable; empty if it does change something."""

    @property
    def package(self) -> str:
        """First folder of the file."""
        return self.file.partition("/")[0].removesuffix(".py")


@dataclass(frozen=True)
class Outcome:
    """What happened to a fault."""

    file: str
    name: str
    result: str
    """``noticed``, ``survived``, ``too slow``, ``does not apply`` or ``equivalent``."""
    by: str = ""
    """The test that failed, or the reason."""
    seconds: float = 0.0

    @property
    def package(self) -> str:
        """First folder of the file."""
        return self.file.partition("/")[0].removesuffix(".py")


def load_faults(path: Path) -> list[Fault]:
    """Faults of a table: for every file its tests, and name, text and replacement of each fault."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    faults = [
        Fault(name, file, find, put, tuple(entry["tests"]), *equivalent)
        for file, entry in table.items()
        for name, find, put, *equivalent in entry["faults"]
    ]
    names = Counter((fault.file, fault.name) for fault in faults)
    if twice := [name for name, count in names.items() if count > 1]:
        raise SystemExit(f"faults must have different names, got {twice[0]} twice")
    return faults


def copy_tree(to: Path) -> Path:
    """Copy the tree with the times of its files, so that compiled code stays valid."""
    ignored = shutil.ignore_patterns(".git", ".hypothesis", ".*_cache", "results")
    return Path(shutil.copytree(ROOT, to, ignore=ignored))


def run_tests(tree: Path, tests: Sequence[str], log: Path, compile_anew: bool) -> None:
    """Run tests of a tree in this process, which ends with pytest's exit status."""
    os.setsid()  # so that it can be stopped together with processes that it starts
    with log.open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "src")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(tree / "src"))
    if compile_anew:
        from numba.core import config  # loaded already, so that the variable alone comes too late

        folder = str(log.with_suffix(".compiled"))
        config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = folder  # type: ignore[attr-defined]
    import pytest

    options = ["-x", "-n0", "-q", "-rfE", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # its modules are preloaded
    status = pytest.main([*options, *(f"tests/{test}" for test in tests)])
    sys.stdout.flush()
    os._exit(int(status))  # without waiting for idle workers of joblib


class Planter:
    """Copies of the tree, in which faults are planted and tests run."""

    def __init__(self, folder: Path, jobs: int, limit: float) -> None:
        self.folder, self.limit = folder, limit
        self.trees: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            self.trees.put(copy_tree(folder / f"tree{job}"))
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([*PRELOADED, *HEAVY])

    def try_fault(self, fault: Fault) -> Outcome:
        """Plant a fault, run its tests, and restore the file."""
        if fault.equivalent:
            return Outcome(fault.file, fault.name, "equivalent", fault.equivalent)
        tree = self.trees.get()
        path = tree / SOURCE / fault.file
        try:
            source, times = path.read_text(encoding="utf-8"), path.stat()
            if (found := source.count(fault.find)) != 1:
                reason = f"its text occurs {found} times"
                return Outcome(fault.file, fault.name, "does not apply", reason)
            try:
                path.write_text(source.replace(fault.find, fault.put), encoding="utf-8")
                return self.run(tree, fault, compile_anew="numba" in source)
            finally:
                path.write_text(source, encoding="utf-8")
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        except FileNotFoundError:
            return Outcome(fault.file, fault.name, "does not apply", "its file does not exist")
        finally:
            self.trees.put(tree)

    def run(self, tree: Path, fault: Fault, *, compile_anew: bool) -> Outcome:
        """Run the tests of a fault in a tree, for a limited time."""
        log = Path(tempfile.mkstemp(".log", dir=self.folder)[1])
        started = perf_counter()
        arguments = (tree, fault.tests, log, compile_anew)
        process = self.context.Process(target=run_tests, args=arguments)
        process.start()
        assert process.pid, "it was started"
        process.join(self.limit)
        slow = process.is_alive()
        with suppress(ProcessLookupError):  # processes that it started may be left
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        if slow:
            return Outcome(fault.file, fault.name, "too slow", "", self.limit)
        text = log.read_text(encoding="utf-8", errors="replace")
        failed = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(\S+)", text, re.MULTILINE)
        if process.exitcode in _NO_TESTS:
            return Outcome(fault.file, fault.name, "does not apply", "a test does not exist")
        crashed = process.exitcode not in (0, 1, 2)
        if bool(process.exitcode) != bool(failed) and not crashed:
            raise RuntimeError(f"{fault.file}, {fault.name}: pytest failed\n{text[-2000:]}")
        seconds = perf_counter() - started
        by = failed[1] if failed else "the process crashed" if crashed else ""
        return Outcome(fault.file, fault.name, "noticed" if by else "survived", by, seconds)


def try_all(faults: Sequence[Fault], jobs: int, limit: float, *, unchanged: bool) -> list[Outcome]:
    """Try all faults, several at a time; or their tests in the tree as it is."""
    with tempfile.TemporaryDirectory() as folder:
        planter = Planter(Path(folder), jobs, limit)

        def try_one(fault: Fault) -> Outcome:
            if unchanged:
                tree = planter.trees.get()
                outcome = planter.run(tree, fault, compile_anew=False)
                planter.trees.put(tree)
            else:
                outcome = planter.try_fault(fault)
            by = f"  ({outcome.by})" if outcome.by else ""
            took = f"{outcome.result:14} {outcome.seconds:5.1f} s"
            print(f"{took}  {fault.file}: {fault.name}{by}", flush=True)
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(try_one, faults))


def print_summary(outcomes: Sequence[Outcome]) -> float:
    """Print counts by package and the names of what survived; return the share noticed."""
    kinds = ("noticed", "survived", "too slow", "does not apply", "equivalent")
    print("\n| package | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
    packages = list(dict.fromkeys(outcome.package for outcome in outcomes))
    for package in [*packages, "all"]:
        count = Counter(o.result for o in outcomes if package in (o.package, "all"))
        print(f"| {package} | " + " | ".join(str(count[kind]) for kind in kinds) + " |")
    count = Counter(outcome.result for outcome in outcomes)
    changing = count["noticed"] + count["survived"] + count["too slow"]
    share = count["noticed"] / max(1, changing)
    print(f"\nnoticed: {count['noticed']} of {changing} that change anything, {share:.1%}")
    for outcome in outcomes:
        if outcome.result in ("survived", "too slow", "does not apply"):
            print(f"{outcome.result}: {outcome.file}: {outcome.name} {outcome.by}".rstrip())
    return share


def main() -> None:
    """Read the options, try the faults, and print what was noticed."""
    parser = argparse.ArgumentParser(description="Plant faults and see which the tests notice.")
    parser.add_argument("words", nargs="*", help="only faults whose file or name contains a word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="faults at a time")
    parser.add_argument("--limit", type=float, default=180, help="seconds for the tests of a fault")
    parser.add_argument("--unchanged", action="store_true", help="run the tests without faults")
    parser.add_argument("-o", "--output", type=Path, help="JSON file for the outcome of each fault")
    options = parser.parse_args()
    faults = [
        fault
        for fault in load_faults(TABLE)
        if not options.words or any(word in f"{fault.file}: {fault.name}" for word in options.words)
    ]
    if options.unchanged:
        faults = list({fault.tests: fault for fault in faults}.values())
    outcomes = try_all(faults, options.jobs, options.limit, unchanged=options.unchanged)
    if options.output:
        options.output.write_text(json.dumps([asdict(o) for o in outcomes], indent=1) + "\n")
    if options.unchanged:
        sys.exit(any(outcome.result != "survived" for outcome in outcomes))
    sys.exit(print_summary(outcomes) < ENOUGH)


if __name__ == "__main__":
    main()

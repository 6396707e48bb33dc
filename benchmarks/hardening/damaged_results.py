"""What commands make of a damaged results file: the same numbers, or a refusal with exit code 2.

A results file is damaged in many ways, one at a time, and read by ``report`` and by ``evaluate``,
which would add to it. Printing other numbers with exit code 0 is the fault that is looked for, any
exit code but 0 and 2 another. Then the time to open files of many cells, next to reading them.

    python benchmarks/hardening/damaged_results.py [--trials 1200] [--cells 10000 100000] [--seed 0]
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from shaketable.cli.main import main
from shaketable.evaluation.records import Points, Record, Setting
from shaketable.evaluation.store import Store

PAGE = 4096
Rng = np.random.Generator
Damage = Callable[[bytearray, bytes, Rng], bytearray]


def flip_bit(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Flip one bit anywhere."""
    file[rng.integers(len(file))] ^= 1 << int(rng.integers(8))
    return file


def change_byte(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Change one byte anywhere."""
    file[rng.integers(len(file))] ^= int(rng.integers(1, 256))
    return file


def change_letter(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Change one letter or digit to another, as in the text columns."""
    letters = [i for i, byte in enumerate(file) if chr(byte).isascii() and chr(byte).isalnum()]
    place = int(rng.choice(letters))
    file[place] = int(rng.choice([b for b in b"0123456789abcdefxyz" if b != file[place]]))
    return file


def copy_page(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Copy a page over another."""
    source, target = rng.choice(len(file) // PAGE, 2, replace=False) * PAGE
    file[target : target + PAGE] = file[source : source + PAGE]
    return file


def swap_pages(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Exchange two pages."""
    a, b = rng.choice(len(file) // PAGE, 2, replace=False) * PAGE
    file[a : a + PAGE], file[b : b + PAGE] = file[b : b + PAGE], file[a : a + PAGE]
    return file


def restore_page(file: bytearray, earlier: bytes, rng: Rng) -> bytearray:
    """Bring a page back as it was earlier, as if it had never been written."""
    start = int(rng.integers(len(earlier) // PAGE)) * PAGE
    file[start : start + PAGE] = earlier[start : start + PAGE]
    return file


def zero_range(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Fill up to two pages with zeros."""
    start, size = int(rng.integers(len(file))), int(rng.integers(1, 2 * PAGE))
    end = min(len(file), start + size)
    file[start:end] = bytes(end - start)
    return file


def move_bytes(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Copy a few bytes to another place."""
    size = int(rng.integers(4, 200))
    source, target = rng.integers(len(file) - size, size=2)
    file[target : target + size] = file[source : source + size]
    return file


def truncate(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Cut the end off, sometimes between pages."""
    size = int(rng.integers(1, len(file)))
    return file[: size // PAGE * PAGE if rng.random() < 0.5 else size]


def append(file: bytearray, _: bytes, rng: Rng) -> bytearray:
    """Add bytes of the file at its end."""
    start = int(rng.integers(len(file)))
    return file + file[start : start + int(rng.integers(1, 2 * PAGE))]


KINDS: tuple[Damage, ...] = (
    flip_bit,
    change_byte,
    change_letter,
    copy_page,
    swap_pages,
    restore_page,
    zero_range,
    move_bytes,
    truncate,
    append,
)

CORRUPTIONS = ("linf(eps_min)", *(f"{norm}(0.0{i})" for norm in ("l1", "l2") for i in range(1, 6)))
EVALUATE = [
    *("evaluate", "--data", "bands(n=100)", "--model", "1nn", "--k", "2", "--quiet", "--json"),
    *("--corruptions", *CORRUPTIONS, "--grid", "jitter(0.1)", "missing(0.1)"),
]
ADD = [*EVALUATE, "--model", "logistic"]


def run(argv: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it printed."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main(argv)
    return code, out.getvalue()


def damage_files(folder: Path, trials: int, seed: int) -> Mapping[str, Counter[str]]:
    """Outcomes by kind of damage: same, refused, or what is wrong."""
    made, copy = str(folder / "r.sqlite"), folder / "damaged.sqlite"
    run([*EVALUATE, "--store", made])
    earlier = Path(made).read_bytes()
    run([*ADD, "--store", made])
    intact = Path(made).read_bytes()
    commands = [["report", "--json"], [*ADD, "--store"]]
    wanted = [run([*command, made]) for command in commands]
    assert [code for code, _ in wanted] == [0, 0], wanted
    rng, outcomes = np.random.default_rng(seed), {kind.__name__: Counter[str]() for kind in KINDS}
    for trial in range(trials):
        kind = KINDS[trial % len(KINDS)]
        damaged = bytes(kind(bytearray(intact), earlier, rng))
        for command, (_, text) in zip(commands, wanted, strict=True):
            copy.write_bytes(damaged)
            Path(f"{copy}-journal").unlink(missing_ok=True)
            code, printed = run([*command, str(copy)])
            outcome = f"EXIT {code}"
            if code == 0:
                outcome = "same" if printed == text else "OTHER NUMBERS"
            elif code == 2:
                outcome = "refused"
            outcomes[kind.__name__][outcome] += 1
    return outcomes


def time_opening(folder: Path, cells: int, points: int = 500) -> None:
    """Print how long opening a file of many cells takes, and reading it."""
    rng, path = np.random.default_rng(0), folder / f"{cells}.sqlite"
    where = Points("p", (0, 1), np.arange(points), np.zeros(points, np.int64))
    with Store(path) as store:
        for start in range(0, cells, 1000):
            store.add(
                Record(
                    key=f"{i:032x}",
                    points=where,
                    data="made up",
                    fingerprint="f" * 16,
                    model="net",
                    recipe="r" * 16,
                    model_id="i" * 16,
                    train="clean",
                    corruption=f"linf({i})",
                    setting=Setting(
                        bounds="none",
                        draws="independent",
                        noise="cpu",
                        dtype="float64",
                        k=10,
                        seed=0,
                    ),
                    run=i,
                    hits=rng.binomial(10, 0.9, points),
                    versions={"numpy": "2.0.0", "shaketable": "0.1.0"},
                )
                for i in range(start, min(cells, start + 1000))
            )
    times: dict[str, list[float]] = {"open": [], "read": []}
    for _ in range(3):
        started = time.process_time()
        with Store(path) as store:
            times["open"].append(time.process_time() - started)
            started = time.process_time()
            store.records()
            times["read"].append(time.process_time() - started)
    opened, read = min(times["open"]), min(times["read"])
    print(
        f"{cells} cells, {path.stat().st_size / 1e6:.0f} MB: opened in {opened:.2f} s, read in "
        f"{read:.2f} s (processor time); ratio {opened / read:.2f}"
    )


def report() -> int:
    """Damage files, print the outcomes, and time opening; 1 if any outcome is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=1200)
    parser.add_argument("--cells", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        outcomes = damage_files(folder, args.trials, args.seed)
        for kind, counts in outcomes.items():
            print(f"{kind:14}", ", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
        total = sum(outcomes.values(), Counter())
        print(f"{args.trials} files, two commands each:", dict(total))
        for cells in args.cells:
            time_opening(folder, cells)
    finally:
        shutil.rmtree(folder)
    return int(bool(set(total) - {"same", "refused"}))


if __name__ == "__main__":
    sys.exit(report())

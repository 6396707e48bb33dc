"""What printing and a page cost, beside computing all their numbers once.

Five models under the 90 corruptions of pnorm-cifar on 10 000 points, from records made up here: the
same counts for every run, no model. "Numbers" computes every estimate that any view shows, from
records that nothing was computed from; "views" prints all tables and writes the page, from such
records too, so it includes the numbers.

    python benchmarks/speed/findings.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from shaketable import suite
from shaketable.evaluation.records import Points, Record, Records, Setting, SuiteRecord
from shaketable.findings.page import write_report
from shaketable.findings.results import Results, find

MODELS, POINTS = 5, 10_000


def make_records() -> Records:
    """Counts of models that get worse from corruption to corruption."""
    rng = np.random.default_rng(0)
    specs = suite("pnorm-cifar").names
    points = Points("p", tuple(range(10)), np.arange(POINTS), rng.integers(0, 10, POINTS))
    cells = []
    for model in range(MODELS):
        right = rng.random(POINTS) < 0.95 - 0.02 * model
        for i, spec in enumerate(("clean", *specs)):
            clean = spec == "clean"
            hits = right & (rng.random(POINTS) < 1 - 0.004 * i)
            cells.append(
                Record(
                    key=f"{model}-{i}",
                    points=points,
                    data="made up",
                    fingerprint="f",
                    model=f"net{model}",
                    recipe=f"recipe {model}",
                    model_id=f"id {model}",
                    train="as given",
                    corruption=spec,
                    setting=Setting(
                        bounds="none" if clean else "[0, 1]",
                        draws="none" if clean else "ladder",
                        noise="none" if clean else "cpu",
                        dtype="float32",
                        k=1,
                        seed=0,
                    ),
                    run=0,
                    hits=hits.astype(np.int64),
                )
            )
    return Records(tuple(cells), (), (SuiteRecord("f", "pnorm-cifar", "mce_lp", "", specs),))


def compute(results: Results) -> None:
    """Compute every number: JSON holds them all."""
    results.json()


def show(results: Results, folder: Path) -> None:
    """Print all tables and write the page."""
    with redirect_stdout(io.StringIO()):
        results.print()
    write_report(folder / "page.html", results)


def measure(work: Callable[[], None]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Time both in turn, and print the ratio of their medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    records = make_records()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = measure(lambda: show(find(records), folder))  # imports, templates, Vega's code
        numbers, views = [], []
        for _ in range(rounds):
            numbers.append(measure(lambda: compute(find(records))))
            views.append(measure(lambda: show(find(records), folder)))
    both = [statistics.median(values) for values in (numbers, views)]
    print(f"first page of a process: {first:.2f} s")
    print(f"all numbers once:        {both[0]:.2f} s")
    print(f"tables and page:         {both[1]:.2f} s, {both[1] / both[0]:.2f} times as long")


if __name__ == "__main__":
    main()

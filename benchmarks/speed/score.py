"""What `shaketable report` costs: CPU seconds by the number of models under the 69 two-factor sets.

Results files are made up here, without models: every set costs every model some right answers.

    python benchmarks/speed/score.py [--models 100 200 1000] [--points 500] [--json]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shaketable import Store, suite
from shaketable.evaluation.records import Points, Record, Setting, SuiteRecord


def write_store(path: Path, models: int, n: int) -> None:
    """Write a results file with all cells of the suite two-factor for so many models."""
    rng, specs = np.random.default_rng(0), suite("two-factor").names
    points = Points("p", tuple(range(10)), np.arange(n), rng.integers(0, 10, n))
    with Store(path) as store:
        store.add_suite(SuiteRecord("f", "two-factor", "mcv", "", specs))
        for model in range(models):
            skill = rng.beta(4, 1, n)
            store.add(
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
                        bounds="none" if spec == "clean" else "[0, 1]",
                        draws="none" if spec == "clean" else "independent",
                        noise="none" if spec == "clean" else "cpu",
                        dtype="float32",
                        k=1,
                        seed=0,
                    ),
                    run=0,
                    hits=(rng.random(n) < skill * (1 - 0.004 * i)).astype(np.int64),
                )
                for i, spec in enumerate(specs)
            )


def measure(path: Path, *flags: str) -> float:
    """Return the CPU seconds of the command, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "shaketable", "report", str(path), *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Print one row per number of models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[100, 200, 1000])
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    print("| models | CPU s | CPU ms per model |\n|---|---|---|")
    for models in args.models:
        with TemporaryDirectory() as folder:
            path = Path(folder, "r.sqlite")
            write_store(path, models, args.points)
            seconds = measure(path, *(["--json"] if args.json else []))
        print(f"| {models} | {seconds:.1f} | {1000 * seconds / models:.0f} |", flush=True)


if __name__ == "__main__":
    main()

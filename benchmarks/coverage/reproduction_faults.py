"""Change numbers of the package, one at a time, and see whether `shaketable reproduce` notices.

    python benchmarks/coverage/reproduction_faults.py [--points FOLDER]

Every change is made in a copy of the package. The command must exit 0 before and 1 after it. Prints
a Markdown table. Result: results/reproduction_faults.md.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import shaketable


@dataclass(frozen=True)
class Fault:
    """A number that is changed in one place, and the command that must notice."""

    name: str
    file: str
    old: str
    new: str
    about: str


FAULTS = (
    Fault(
        "mscr-table1", "core/norms.py", "2 ** max(1.0, 1 / p)", "3 ** max(1.0, 1 / p)",
        "eps_min is a third of the separation, not half",
    ),
    Fault(
        "pnorm-table6", "corruptions/balls/numbers.py", "math.lgamma(1 + 1 / p)",
        "math.lgamma(1.1 + 1 / p)",
        "the volume of a ball of radius 1 has a gamma function of 1.1 + 1/p",
    ),
    Fault(
        "pnorm-fig1", "corruptions/compiled/ziggurat.py", "u ** (1 / d)",
        "u ** (1 / (d + 1))",
        "noise lies too far outside in its ball",
    ),
    Fault(
        "genuine-toy", "models/builtin.py", "_step(x, 1.0)", "_step(x, 1.1)",
        "the classifier f1 steps at 1.1",
    ),
    Fault(
        "twofactor-table1", "corruptions/camera_faults.py", "var: float = 0.01",
        "var: float = 0.012", "the variance of Gaussian noise is .012",
    ),
    Fault(
        "hendrycks-severities", "corruptions/common/severities.json",
        "[0.05, 0.1, 0.15, 0.2, 0.3]", "[0.06, 0.1, 0.15, 0.2, 0.3]",
        "brightness of CIFAR, severity 1",
    ),
)  # fmt: skip


def run(name: str, source: Path, data: str | None) -> int:
    """Run the command with the package in a folder, and return its exit code."""
    words = ["reproduce", name, *(["--data", data] if data else []), "--quiet"]
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [sys.executable, "-m", "shaketable", *words, "-o", out],
            env=os.environ | {"PYTHONPATH": str(source)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
    return done.returncode


def main() -> None:
    """Plant every fault, and print the exit codes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", help="both data sets of the MSCR paper, for its names")
    args = parser.parse_args()
    package = Path(shaketable.__file__).parent
    print("| command | changed | exit code before | after |")
    print("|---|---|---|---|")
    for fault in FAULTS:
        data = args.points if fault.name.startswith("mscr") else None
        if fault.name.startswith("mscr") and data is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "shaketable"
            shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
            before = run(fault.name, Path(folder), data)
            file = copy / fault.file
            text = file.read_text(encoding="utf-8")
            if fault.old not in text:
                raise SystemExit(f"{fault.file} has no {fault.old}")
            file.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")
            after = run(fault.name, Path(folder), data)
        about = f"{fault.about} (`{fault.new}` for `{fault.old}` in {fault.file})"
        print(f"| {fault.name} | {about} | {before} | {after} |", flush=True)


if __name__ == "__main__":
    main()

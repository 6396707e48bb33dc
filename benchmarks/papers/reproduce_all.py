"""Run `shaketable reproduce` for every name and form that two cores can carry.

    python benchmarks/papers/reproduce_all.py --data FOLDER -o reproduced

FOLDER has bands2d_b.npz (the points in the plane of Siedel et al. (2022)), cifar10.npz, and MNIST,
a folder; names whose data are not there are left out. Prints a Markdown table: exit code and time.
The pages of the documentation are made of the JSON files, by ``python docs/make_reproductions.py
reproduced``.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from shaketable.reproductions.registry import REPRODUCTIONS

DATA = {
    **dict.fromkeys(("mscr-table2", "mscr-fig4", "mscr-fig5", "mscr-fig6"), "bands2d_b.npz"),
    "genuine-table1": "MNIST",
    **dict.fromkeys(("mscr-table1", "genuine-table3"), ""),  # the folder itself, for both sets
}
"""What names need of the folder; all others that need data take CIFAR-10."""


def list_commands(args: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the words after `shaketable reproduce`, of all that can be run."""
    for name, each in REPRODUCTIONS.items():
        if args.only and name not in args.only:
            continue
        for form, about in each.forms.items():
            if "GPU" in about.needs or (form == "full" and "day" in about.takes):
                continue
            words = [name, "--form", form]
            if about.needs and "data" in each.takes:
                path = args.data / DATA.get(name, "cifar10.npz") if args.data else None
                if path is None or not path.exists():
                    print(f"{name}, {form}: not run, no data were given ({about.needs})")
                    continue
                words += ["--data", str(path)]
            yield words


def main() -> None:
    """Run all, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="+", help="names")
    parser.add_argument("-o", "--out", default="reproduced")
    args = parser.parse_args()
    print("| command | exit code | s |")
    print("|---|---|---|")
    for words in list_commands(args):
        start = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "shaketable",
            "reproduce",
            *words,
            "-o",
            args.out,
            "--quiet",
        ]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        seconds = time.perf_counter() - start
        print(f"| {' '.join(words[:3])} | {done.returncode} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()

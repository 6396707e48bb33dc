"""Run `shaketable reproduce` for every name and form that two cores can carry.

    python benchmarks/papers/reproduce_all.py --plane bands2d_b.npz --images cifar10.npz \
        --digits MNIST -o reproduced

The points in the plane are those of Siedel et al. (2022); images and digits are files or folders
that `--data` takes. Prints a Markdown table: exit code and time. The pages of the documentation are
made of the JSON files, by ``python docs/make_reproductions.py reproduced``.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator

from shaketable.reproductions.registry import REPRODUCTIONS

PLANE = ("mscr-table1", "mscr-table2", "mscr-fig4", "mscr-fig5", "mscr-fig6")
DIGITS = ("genuine-table1",)
NO_IMAGES = ("genuine-toy", "genuine-sunset", "genuine-1nn", "twofactor-table1")


def list_commands(args: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the words after `shaketable reproduce`, of all that can be run."""
    for name, each in REPRODUCTIONS.items():
        if args.only and name not in args.only:
            continue
        for form, about in each.forms.items():
            if "GPU" in about.needs or (form == "full" and "day" in about.takes):
                continue
            path = choose_data(name, args) if about.needs else None
            if about.needs and path is None:
                print(f"{name}, {form}: not run, no data were given ({about.needs})")
                continue
            yield [name, "--form", form, *(["--data", path] if path else [])]


def choose_data(name: str, args: argparse.Namespace) -> str | None:
    """Return the path of the data that a name needs."""
    path: str | None = args.images
    if name in PLANE:
        path = args.plane
    elif name in DIGITS:
        path = args.digits
    return path


def main() -> None:
    """Run all, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plane")
    parser.add_argument("--images")
    parser.add_argument("--digits")
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

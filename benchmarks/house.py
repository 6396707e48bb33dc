"""The size of the code and of its doors, counted; and one evaluation, traced through the files.

    python benchmarks/house.py count                  # of this version
    python benchmarks/house.py count --source DIR     # of another checkout's src/
    python benchmarks/house.py trace                  # evaluate --suite pnorm-cifar --report
    python benchmarks/house.py times DIR              # against another checkout's src/

Code lines are lines that hold code: no blank lines, comments or docstrings. Flags are counted once
for every command that has them. A trace counts the files and functions of the package that a call
runs through, how often the file changes from one call to the next, and the calls of the parser of
specs. Times are CPU seconds of whole processes with one thread of BLAS, of both
versions in turn, and their ratio.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import resource
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

sys.path = [path for path in sys.path if path != str(Path(__file__).parent)]  # has a coverage/
SOURCE = Path(__file__).parents[1] / "src"
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER, tokenize.ENCODING,
}  # fmt: skip
PARSED = "calls of the spec parser"
GOALS = {
    "code lines": 37_000,
    "Python files": 330,
    "files under 40 lines": None,
    "template lines": 800,
    "schema files": 0,
    "commands": 16,
    "flags": 300,
    "distinct flags": None,
    "top-level names": 55,
}


def count_code_lines(source: str) -> int:
    """Number of lines that hold code, without docstrings and comments."""
    strings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }  # fmt: skip
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - strings)


def count_flags(source: Path) -> tuple[int, int, int]:
    """Commands, flags over all of them, and distinct flags; of the source's own package."""
    sys.path.insert(0, str(source))
    from shaketable.cli.commands import COMMANDS

    flags: list[str] = []
    for name in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        COMMANDS.get(name).add_flags(parser)
        flags += [a.option_strings[-1] for a in parser._actions if a.option_strings]
    return len(list(COMMANDS)), len(flags), len(set(flags))


def count(source: Path) -> None:
    """Print every measure beside its goal, then code lines and files by package."""
    package = source / "shaketable"
    lines = {path: count_code_lines(path.read_text()) for path in sorted(package.rglob("*.py"))}
    templates = sum(len(path.read_text().splitlines()) for path in package.rglob("*.j2"))
    schemas = [path for path in package.rglob("*.json") if path.name.endswith("schema.json")]
    commands, flags, distinct = count_flags(source)
    import shaketable

    measures = {
        "code lines": sum(lines.values()),
        "Python files": len(lines),
        "files under 40 lines": sum(len(p.read_text().splitlines()) < 40 for p in lines),
        "template lines": templates,
        "schema files": len(schemas),
        "commands": commands,
        "flags": flags,
        "distinct flags": distinct,
        "top-level names": len(shaketable.__all__),
    }
    print("| measure | count | goal |\n|---|---:|---:|")
    for name, value in measures.items():
        goal = GOALS[name]
        print(f"| {name} | {value:,} | {'' if goal is None else f'{goal:,}'} |")
    print("\n| package | code lines | files |\n|---|---:|---:|")
    packages: dict[str, list[int]] = {}
    for path, number in lines.items():
        packages.setdefault(path.relative_to(package).parts[0], []).append(number)
    for name, numbers in sorted(packages.items()):
        print(f"| {name} | {sum(numbers):,} | {len(numbers)} |")


def trace_calls(work: Callable[[], object]) -> dict[str, int]:
    """Run a function, and count the files, functions and changes of file that it goes through."""
    functions: dict[Any, int] = {}
    changes, last = 0, ""
    root = str(SOURCE)

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal changes, last
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(root):
            return
        functions[code] = functions.get(code, 0) + 1
        changes += code.co_filename != last
        last = code.co_filename

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    parsed = sum(n for code, n in functions.items() if code.co_name == "parse_call")
    return {
        "files": len({code.co_filename for code in functions}),
        "functions": len(functions),
        "changes of file": changes,
        PARSED: parsed,
    }


def trace() -> None:
    """Print the traces of one evaluation with its page, and of the findings of one corruption."""
    import numpy as np
    from sklearn.neighbors import KNeighborsClassifier

    import shaketable as st
    from shaketable.cli.main import main as run_command

    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    y = np.arange(40) % 4
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        np.savez("images.npz", x=x, y=y)
        words = "evaluate --model logistic --data images.npz --suite pnorm-cifar --k 1 --quiet"
        command = [*words.split(), "--report", "page.html"]

        def evaluate() -> None:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                run_command(command)

        parsed = trace_calls(evaluate)[PARSED]  # later, all specs are parsed
        traced = trace_calls(evaluate) | {PARSED: parsed}  # without compiling
        print("evaluate --suite pnorm-cifar --report:", traced)
        flat = x.reshape(40, -1) / 255
        model = KNeighborsClassifier(1).fit(flat[:20], y[:20])
        records = st.evaluate(model, (flat[20:], y[20:]), ["linf(0.1)"], k=2)
        print("st.find(records).json():", trace_calls(lambda: st.find(records).json()))
        os.chdir("/")


TIMED = {
    "--help": ["--help"],
    "evaluate, printed": ["evaluate", "--model", "rf", "--data", "bands(n=2000)", "--quiet"],
    "evaluate, with its page": [
        *("evaluate", "--model", "rf", "--data", "bands(n=2000)", "--quiet", "--report", "p.html")
    ],
    "suite, printed": [
        *("evaluate", "--model", "1nn", "--data", "digits", "--suite", "pnorm"),
        *("--points", "300", "--k", "1", "--quiet"),
    ],
}
"""Commands whose times are compared."""


def compare_times(other: Path, rounds: int) -> None:
    """Print the CPU time of commands with this version, with another one, and the ratio."""
    print("| command | other, s | this, s | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in TIMED.items():
            rows = [
                [time_command(words, source, folder) for source in (other, SOURCE)]
                for _ in range(rounds + 1)
            ]
            before, after = map(median, zip(*rows[1:], strict=True))  # the first fills caches
            print(f"| {name} | {before:.2f} | {after:.2f} | {after / before:.2f} |", flush=True)


def time_command(words: list[str], source: Path, folder: str) -> float:
    """CPU seconds of a command, with the package of a source."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "shaketable", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Count, trace, or compare times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    counter = actions.add_parser("count", help="lines, files, flags and names")
    counter.add_argument("--source", type=Path, default=SOURCE)
    actions.add_parser("trace", help="files and functions of one evaluation")
    timer = actions.add_parser("times", help="of commands, against another version")
    timer.add_argument("other", type=Path)
    timer.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if args.action == "count":
        count(args.source.resolve())
    elif args.action == "times":
        compare_times(args.other.resolve(), args.rounds)
    else:
        trace()


if __name__ == "__main__":
    main()

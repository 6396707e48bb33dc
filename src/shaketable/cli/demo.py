"""``shaketable demo``: two models on built-in data, and a table to go on with.

Makes a data set of two interlocking classes, measures their separation, trains a random forest and
a nearest-neighbour classifier, and evaluates both under noise of size eps_min and of three other
sizes. It writes a results file, a page, and a table for the next command.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from shaketable.cli.flags import add_copies_flags
from shaketable.core.errors import InputError, StoreError
from shaketable.views.terminal import print_blocks, print_lines, print_list

ABOUT = "two models on built-in data: verdicts, a page, a table to go on with"
EXAMPLES = """\
  shaketable demo --out demo"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Where the files go, how many copies, the seed."""
    parser.add_argument(
        "--out", default="shaketable-demo", metavar="DIR", help="where the files go"
    )
    add_copies_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate a random forest and a 1-NN, print verdicts, write a page and a table."""
    from shaketable.activities.first_calls import compile_ahead

    folder = Path(args.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {args.out!r} cannot be made: {error.strerror}") from error
    with compile_ahead():  # what the commands that it names need next
        _compare_models(folder, args)
    return 0


def _compare_models(folder: Path, args: argparse.Namespace) -> None:
    from shaketable.data.files import load
    from shaketable.data.writing import write_dataset
    from shaketable.evaluation.evaluate import evaluate
    from shaketable.findings.page import write_report
    from shaketable.findings.results import find
    from shaketable.models.loading import load_model
    from shaketable.views.blocks import Cards

    store = _prepare_store(folder / "demo.sqlite")
    data = load("bands(n=10000)")
    print_lines(
        "Two models of 10,000 points in the plane: a random forest (rf) and the nearest",
        "neighbour (1nn). Points of different classes are at least 0.02 apart, so noise of",
        "half that size, eps_min, need not change any answer. The MSCR says by how many per",
        "cent it does change the accuracy.",
    )
    levels = ["linf(eps_min)", *(f"linf({epsilon})" for epsilon in (0.005, 0.02, 0.04))]
    records = evaluate(
        {name: load_model(name)[0] for name in ("rf", "1nn")},
        data,
        levels,
        k=args.k,
        seed=args.seed,
        bounds=None,
        store=store,
        refit=True,
        progress=True,
    )
    results = find(records)
    print_blocks(
        block for block in results.blocks() if block.level == "headline" or isinstance(block, Cards)
    )
    page = write_report(folder / "demo.html", results, dataset=data)
    people = load("people")
    table = write_dataset(folder / "people.csv", people, label="repaid")
    print_lines("")
    print_list(
        {
            str(page): "all results, with charts; open it in a browser",
            str(store): "the same as a results file",
            str(table): f"{people.n:,} made-up persons, with text and gaps: who repaid a loan?",
        }
    )
    print_lines(
        "",
        "Next, a model of that table:",
        f"  shaketable evaluate --data {shlex.quote(str(table))} --label repaid --model rf "
        "--report report.html",
        "The same on your own table: replace the file and the label. A model that you have",
        "trained takes the place of rf: --model model.joblib --trust",
    )


def _prepare_store(path: Path) -> Path:
    """Remove the results file of another version, which could not be used."""
    from shaketable.evaluation.store import Store

    try:
        Store(path).close()
    except StoreError:
        path.unlink()
    return path

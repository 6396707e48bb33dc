"""``shaketable demo``: two models on built-in data.

Makes a data set of two interlocking classes, measures their separation, trains a random forest and
a nearest-neighbour classifier, and evaluates both under noise of size eps_min and of three other
sizes. It writes a results file and a page, and needs no files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from shaketable.cli.flags import add_copies_flags
from shaketable.core.errors import InputError, StoreError
from shaketable.views.terminal import print_lines

ABOUT = "two models on built-in data: separation, MSCR, a page"
EXAMPLES = """\
  shaketable demo --out demo"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Where the files go, how many copies, the seed."""
    parser.add_argument(
        "--out", default="shaketable-demo", metavar="DIR", help="where the files go"
    )
    add_copies_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate a random forest and a 1-NN, print the results and write a page."""
    from shaketable.data.files import load
    from shaketable.evaluation.evaluate import evaluate
    from shaketable.findings.page import write_report
    from shaketable.findings.results import find
    from shaketable.models.loading import load_model

    folder = Path(args.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {args.out!r} cannot be made: {error.strerror}") from error
    store = _prepare_store(folder / "demo.sqlite")
    data = load("bands(n=10000)")
    print_lines("A random forest and a 1-NN on 'bands': 2-D, two interlocking classes.", "")
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
    results.print()
    page = write_report(folder / "demo.html", results, dataset=data)
    print_lines(
        "",
        f"results file: {store}",
        f"page:         {page}",
        "",
        "The same on your own data, built-in models first, then your own:",
        "  shaketable separation mydata.csv --label COLUMN",
        "  shaketable evaluate --model rf --data mydata.csv --label COLUMN --report report.html",
        "  shaketable evaluate --model mypackage.mymodule:model --data train.npz --test test.npz",
        "  shaketable study --data mydata.csv --label COLUMN --model rf --runs 20 --store s.sqlite",
    )
    return 0


def _prepare_store(path: Path) -> Path:
    """Remove the results file of another version, which could not be used."""
    from shaketable.evaluation.store import Store

    try:
        Store(path).close()
    except StoreError:
        path.unlink()
    return path

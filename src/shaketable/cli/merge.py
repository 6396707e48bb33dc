"""``shaketable merge``: several results files in a new one.

Writes a new results file with everything that two files or more hold, such as evaluations from
several machines. A cell that two files hold with different counts is an error that names it.
"""

from __future__ import annotations

import argparse
from collections import Counter

from shaketable.core.options import parse_path
from shaketable.views.terminal import print_lines, print_notes

ABOUT = "join results files into a new one"
EXAMPLES = """\
  shaketable merge a.sqlite b.sqlite -o all.sqlite"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The files, and the new one."""
    parser.add_argument("stores", nargs="+", metavar="STORE", help="results files, two or more")
    parser.add_argument(
        "-o",
        "--out",
        type=parse_path,
        required=True,
        metavar="FILE",
        help="results file to write, which must not exist",
    )


def run(args: argparse.Namespace) -> int:
    """Write the new file, and say what it holds."""
    from shaketable.evaluation.merging import merge_stores

    merged = merge_stores(args.stores, args.out)
    shared = f", {merged.shared} of them in more than one file" if merged.shared else ""
    cells = f"{merged.cells} cells of {len(merged.models)} models{shared}"
    others = [f"{kind}: {number}" for kind, number in merged.others]
    print_lines(f"{args.out}: {'; '.join([cells, *others])}")
    notes = [
        f"model {before} is called {name} in a later file, and so here"
        for before, name in merged.renamed
    ]
    times = Counter(merged.models)
    notes += [
        f"{n} different models are called {name}; evaluate with --model NAME=MODEL to tell them "
        "apart"
        for name, n in times.items()
        if n > 1
    ]
    print_notes(notes)
    return 0

"""``shaketable card``: a section for a model card."""

from __future__ import annotations

import argparse

from shaketable.cli.flags import add_out_flag, add_reference_flag
from shaketable.cli.output import read_results
from shaketable.views.terminal import print_lines, print_text

ABOUT = "a section on robustness for a model card, as Markdown"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, the task, and where the section goes."""
    parser.add_argument("store", metavar="STORE", help="results file")
    parser.add_argument(
        "--model-index",
        metavar="TASK",
        help="begin with the metrics as YAML for the Hugging Face Hub; the task is that of the "
        "models, such as image-classification or tabular-classification",
    )
    add_reference_flag(parser)
    add_out_flag(parser, "file to write (default: print it)", (".md",))


def run(args: argparse.Namespace) -> int:
    """Print the section, or write it."""
    from shaketable.core.writing import write_beside
    from shaketable.findings.card import make_card

    results = read_results(args.store, reference=args.reference or "")
    card = make_card(results, task=args.model_index)
    if args.out is None:
        print_text(card)
        return 0
    with write_beside(args.out, "card") as beside:
        beside.write_text(card, encoding="utf-8")
    print_lines(f"card: {args.out}", to_stderr=True)
    return 0

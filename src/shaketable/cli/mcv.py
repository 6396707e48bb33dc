"""``shaketable mcv``: mean and variation of scores, from a results file or any table of scores."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.cli.flags import (
    CHART_ENDINGS,
    add_json_flag,
    add_out_flag,
    add_reference_flag,
    split_words,
)
from shaketable.cli.output import print_json
from shaketable.core.errors import InputError, UndefinedError
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.findings.mcv.finding import ScoreVariation, SetVariation

ABOUT = "mean score against its variation over conditions: the mCV plot"
SCHEMA = "findings/mcv/command.schema.json"

TABLES = (".csv", ".csv.gz", ".parquet")
"""Endings of tables of scores; any other file is a results file."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The file, and how a table is read."""
    parser.add_argument(
        "source",
        metavar="STORE|TABLE",
        help="results file, or a table of scores: one row per model, one column per condition, or "
        "columns CV, mean, min and max",
    )
    add_reference_flag(parser)
    parser.add_argument(
        "--suite", help="which suite of a results file (default: two-factor and its like)"
    )
    parser.add_argument(
        "--names", metavar="COLUMN", help="column of a table with the models' names"
    )
    parser.add_argument(
        "--clean",
        metavar="COLUMN",
        help="column of a table with the clean condition (default: clean)",
    )
    parser.add_argument(
        "--conditions",
        type=split_words,
        metavar="LIST",
        help="columns of a table with scores (default: all but the names)",
    )
    parser.add_argument(
        "--lower-is-better", action="store_true", help="scores of a table are errors, such as RMSE"
    )
    add_json_flag(parser)
    add_out_flag(parser, "chart to write", CHART_ENDINGS)


def run(args: argparse.Namespace) -> int:
    """Print means and variations, and draw the plot."""
    is_table = args.source.lower().endswith(TABLES)
    of_tables = {
        "--names": args.names,
        "--clean": args.clean,
        "--conditions": args.conditions,
        "--lower-is-better": args.lower_is_better,
    }
    for flag, given in ({"--suite": args.suite} if is_table else of_tables).items():
        if given:
            kind = "a results file" if is_table else "a table of scores, .csv or .parquet"
            raise InputError(f"{flag} is for {kind}, got {args.source!r}; leave it out")
    finding = (_find_in_table if is_table else _find_in_store)(args)
    with ignore_broken_pipe():
        if args.json:
            print_json(finding.json())
        else:
            finding.print()
    if args.out is not None:
        from shaketable.views.drawing import save_chart

        print_lines(f"chart: {save_chart(finding.plot(), args.out)}", to_stderr=True)
    return 0


def _find_in_table(args: argparse.Namespace) -> ScoreVariation:
    from shaketable.findings.mcv.finding import ScoreVariation
    from shaketable.findings.mcv.score_files import read_scores
    from shaketable.findings.mcv.variation import Variation, VariationTable

    rows = read_scores(args.source, model=args.names, clean=args.clean, conditions=args.conditions)
    table = VariationTable(
        rows, reference=args.reference or "", lower_is_better=args.lower_is_better
    )
    names = list(rows[0].scores) if isinstance(rows[0], Variation) else []
    if len(names) == 1:
        raise InputError(f"scores must be of two conditions or more, got {names[0]}; add columns")
    if rows[0].clean is None and any(row.label.lower() == "clean" for row in rows):
        note = "a row is called clean, and no column is; rows must be models, columns conditions"
        print_notes([note])
    file = Path(args.source).name
    title = f"{file}: scores over {len(names)} conditions" if names else f"{file}: summaries"
    return ScoreVariation(table, title, tuple(names))


def _find_in_store(args: argparse.Namespace) -> SetVariation:
    from shaketable.evaluation.store import Store
    from shaketable.findings.groups import RecordGroups
    from shaketable.findings.mcv.finding import find as find_variation

    with Store(args.source, must_exist=True) as store:
        records = store.records()
    groups = RecordGroups(records, reference=args.reference or "")
    finding = find_variation(groups, suite=args.suite or "")
    if finding is None:
        for sentence in groups.unfinished:
            raise InputError(sentence)
        complete = [result.suite for result in groups.suite_results]
        if any(s.name == args.suite if args.suite else s.kind == "sets" for s in complete):
            raise UndefinedError(
                "no model classifies any point of any set correctly, so there is no CV; check that "
                "their labels are the data's"
            )
        names = dict.fromkeys(s.name for s in records.suites)
        remedy = "fill one with evaluate --suite two-factor --store FILE"
        if names:
            remedy = f"choose one on record with --suite: {', '.join(names)}"
        raise InputError(
            f"results file {args.source!r} must hold a complete suite of sets, such as two-factor; "
            f"{remedy}"
        )
    return finding

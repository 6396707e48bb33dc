"""The command about means and their variation: of a results file, or of any table of scores."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaketable.errors import InputError

if TYPE_CHECKING:
    from shaketable.drawing import Chart

TABLES = (".csv", ".csv.gz", ".parquet")
"""Endings of tables of scores; any other file is a results file."""


def mcv(args: argparse.Namespace) -> int:
    """Compare models by the mean and the variation of their scores over several conditions."""
    of_table = args.source.lower().endswith(TABLES)
    others = {"--suite": args.suite} if of_table else {
        "--names": args.names, "--clean": args.clean, "--lower-is-better": args.lower_is_better
    }  # fmt: skip
    for flag, given in others.items():
        if given:
            kind = "a results file" if of_table else "a table of scores, .csv or .parquet"
            raise InputError(f"{flag} is for {kind}, got {args.source!r}; leave it out")
    found, chart = (_table if of_table else _store)(args)
    if args.json:
        print(json.dumps(found, indent=2))
    if args.out is not None:
        from shaketable.drawing import save

        print(f"chart: {save(chart, args.out)}", file=sys.stderr)
    return 0


def _table(args: argparse.Namespace) -> tuple[dict[str, Any], Chart]:
    from shaketable.mcv_charts import table_plot
    from shaketable.mcv_tables import print_variation
    from shaketable.score_files import read_scores
    from shaketable.variation import VariationTable

    rows = read_scores(args.source, model=args.names, clean=args.clean)
    table = VariationTable(
        rows, reference=args.reference or "", lower_is_better=args.lower_is_better
    )
    title = f"{Path(args.source).name}: scores over {len(rows[0].scores)} conditions"
    if not args.json:
        print_variation(table, title)
    return table.json(), table_plot(table, title=title)


def _store(args: argparse.Namespace) -> tuple[dict[str, Any], Chart]:
    from shaketable.mcv_boards import mcv_boards, mcv_json
    from shaketable.mcv_charts import mcv_plot
    from shaketable.mcv_tables import print_board
    from shaketable.store import Store

    with Store(args.source, must_exist=True) as store:
        records = store.records()
    boards = mcv_boards(records, reference=args.reference or "", suite=args.suite or "")
    if not boards:
        there = ", ".join(dict.fromkeys(s.name for s in records.suites)) or "none"
        raise InputError(
            f"results file {args.source!r} must hold a complete suite of sets, such as two-factor; "
            f"suites on record: {there}; name another one of these with --suite"
        )
    if not args.json:
        for board in boards:
            print_board(board)
    return mcv_json(boards), mcv_plot(boards)

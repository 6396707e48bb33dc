"""The command about means and their variation: of a results file, or of any table of scores."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shaketable.core.errors import InputError, UndefinedError
from shaketable.views.terminal import showing

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

TABLES = (".csv", ".csv.gz", ".parquet")
"""Endings of tables of scores; any other file is a results file."""


def mcv(args: argparse.Namespace) -> int:
    """Compare models by the mean and the variation of their scores over several conditions."""
    of_table = args.source.lower().endswith(TABLES)
    others = {"--suite": args.suite} if of_table else {
        "--names": args.names, "--clean": args.clean, "--conditions": args.conditions,
        "--lower-is-better": args.lower_is_better,
    }  # fmt: skip
    for flag, given in others.items():
        if given:
            kind = "a results file" if of_table else "a table of scores, .csv or .parquet"
            raise InputError(f"{flag} is for {kind}, got {args.source!r}; leave it out")
    found = (_table if of_table else _store)(args)
    with showing():
        if args.json:
            print(json.dumps(found.json(), indent=2))
        else:
            found.print()
    if args.out is not None:
        from shaketable.views.drawing import save

        print(f"chart: {save(found.draw(), args.out)}", file=sys.stderr)
    return 0


class _Views(NamedTuple):
    """What can be made of a source; none of it is, before it is asked for."""

    json: Callable[[], dict[str, Any]]
    print: Callable[[], None]
    draw: Callable[[], Chart]


def _table(args: argparse.Namespace) -> _Views:
    from shaketable.findings.mcv.score_files import read_scores
    from shaketable.findings.mcv.table import print_variation
    from shaketable.findings.mcv.variation import VariationTable

    rows = read_scores(args.source, model=args.names, clean=args.clean, conditions=args.conditions)
    table = VariationTable(
        rows, reference=args.reference or "", lower_is_better=args.lower_is_better
    )
    names = list(rows[0].scores)
    if len(names) < 2:
        raise InputError(f"scores must be of two conditions or more, got {names[0]}; add columns")
    if rows[0].clean is None and any(row.label.lower() == "clean" for row in rows):
        note = "a row is called clean, and no column is; rows must be models, columns conditions"
        print(f"note: {note}", file=sys.stderr)
    few = names if len(names) <= 10 else [*names[:9], f"and {len(names) - 9} more"]
    title = f"{Path(args.source).name}: scores over {len(names)} conditions"

    def draw() -> Chart:
        from shaketable.findings.mcv.charts import table_plot  # slow to load

        return table_plot(table, title=title)

    return _Views(table.json, lambda: print_variation(table, f"{title}: {', '.join(few)}"), draw)


def _store(args: argparse.Namespace) -> _Views:
    from shaketable.evaluation.store import Store
    from shaketable.findings.mce.scores import unfinished
    from shaketable.findings.mcv.boards import mcv_boards, mcv_json
    from shaketable.findings.mcv.table import print_board
    from shaketable.findings.suite_results import suite_results

    with Store(args.source, must_exist=True) as store:
        records = store.records()
    boards = mcv_boards(records, reference=args.reference or "", suite=args.suite or "")
    if not boards:
        for sentence in unfinished(records):
            raise InputError(sentence)
        met = [r.suite for r in suite_results(records)]
        if any(s.name == args.suite if args.suite else s.metric == "mcv" for s in met):
            raise UndefinedError(
                "no model has a right answer in any set, so there is no CV; check that their "
                "labels are the data's"
            )
        there = dict.fromkeys(s.name for s in records.suites)
        remedy = f"choose one on record with --suite: {', '.join(there)}" if there else (
            "fill one with evaluate --suite two-factor --store FILE"
        )  # fmt: skip
        raise InputError(
            f"results file {args.source!r} must hold a complete suite of sets, such as two-factor; "
            f"{remedy}"
        )

    def draw() -> Chart:
        from shaketable.findings.mcv.charts import mcv_plot  # slow to load

        return mcv_plot(boards)

    def show() -> None:
        for board in boards:
            print_board(board)

    return _Views(lambda: mcv_json(boards), show, draw)

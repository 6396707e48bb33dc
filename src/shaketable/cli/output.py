"""What several commands do with results: JSON, the page, and requirements such as --min-mscr."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError
from shaketable.core.schemas import add_version
from shaketable.views.terminal import ignore_broken_pipe, print_lines

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.findings.results import Results


def print_json(result: Any, *, versioned: bool = True) -> None:
    """Print a result as JSON; objects have the version of their schema unless told otherwise."""
    if versioned and isinstance(result, dict):
        result = add_version(result)
    print(json.dumps(result, indent=2))


def read_results(path: str, *, reference: str = "") -> Results:
    """Take all findings from a results file, which must hold at least one cell."""
    from shaketable.evaluation.store import Store
    from shaketable.findings.results import find

    with Store(path, must_exist=True) as store:
        records = store.records()
    if not len(records):
        raise InputError(f"results file {path!r} must hold at least one cell, got none")
    return find(records, reference=reference)


def show(results: Results, *, as_json: bool) -> None:
    """Print results as JSON or as tables."""
    with ignore_broken_pipe():
        if as_json:
            print_json(results.json())
        else:
            results.print()


def conclude(args: argparse.Namespace, results: Results, *, dataset: Dataset | None = None) -> int:
    """Write the page that the flags name, and return the exit code of what they require."""
    from shaketable.findings.requirement import check_defined, check_min_mscr

    code = 0
    if args.min_mscr is not None:
        verdicts = check_min_mscr(results.robustness, args.min_mscr / 100)
        for verdict in verdicts:
            print_lines(verdict, to_stderr=True)
        outcomes = {verdict.outcome for verdict in verdicts}
        code = 1 if "not met" in outcomes else 3 if "inconclusive" in outcomes else 0
    if args.report is not None:
        from shaketable.findings.page import write_report

        page = write_report(args.report, results, dataset=dataset)
        print_lines(f"page: {page}", to_stderr=True)
    check_defined(results.robustness)
    return code

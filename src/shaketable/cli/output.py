"""What several commands do with their results: JSON, the page, and what is required of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.records import Records


def print_json(result: Any) -> None:
    """Print a result as JSON."""
    print(json.dumps(result, indent=2))


def conclude(
    args: argparse.Namespace,
    records: Records,
    *,
    dataset: Dataset | None = None,
    notes: Iterable[str] = (),
    reference: str = "",
) -> int:
    """Write the page that the flags name, and return the exit code of what they require."""
    from shaketable.findings.requirement import check_defined, check_min_mscr

    code = 0
    if args.min_mscr is not None:
        verdicts = check_min_mscr(records, args.min_mscr / 100)
        for verdict in verdicts:
            print(verdict, file=sys.stderr)
        outcomes = {verdict.outcome for verdict in verdicts}
        code = 1 if "not met" in outcomes else 3 if "inconclusive" in outcomes else 0
    if args.report is not None:
        from shaketable.findings.page import write_report

        page = write_report(args.report, records, dataset=dataset, notes=notes, reference=reference)
        print(f"page: {page}", file=sys.stderr)
    check_defined(records)
    return code

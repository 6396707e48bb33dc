"""``shaketable report``: what a results file holds, without measuring anything.

Prints the findings of everything that a results file holds: evaluations, suites, studies, worst
cases and separations. With -o it writes one page that needs no other file. Nothing is measured, and
no model or data are needed, except to show points.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from shaketable.cli.flags import (
    add_grouping_flags,
    add_inputs_flags,
    add_intervals_flag,
    add_json_flag,
    add_metric_flag,
    add_page_flag,
    add_reference_flag,
    add_requirement_flags,
)
from shaketable.cli.output import conclude, read_group, read_results
from shaketable.core.errors import InputError
from shaketable.core.options import make_options

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

ABOUT = "what a results file holds: tables, JSON, a page, requirements"
SCHEMA = "shaketable.findings.schema:ReportJson"
EXAMPLES = """\
  shaketable report r.sqlite -o report.html
  shaketable report r.sqlite --inputs --data data.csv -o report.html
  shaketable report r.sqlite --json
  shaketable report new.sqlite --compare old.sqlite -o changes.html
  shaketable report r.sqlite --correlate mscr,mce --format latex"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, where results go, what else to show, and what is required."""
    parser.add_argument("store", metavar="STORE", help="results file")
    add_page_flag(
        parser, "-o", "--out", about="write a page with tables and figures", dest="report"
    )
    add_json_flag(parser, "; values are percentages")
    add_metric_flag(parser)
    add_reference_flag(parser)
    add_grouping_flags(parser)
    add_intervals_flag(parser)
    parser.add_argument(
        "--suite",
        help="show mean and variation over this suite (default: over two-factor and its like)",
    )
    parser.add_argument(
        "--correlate",
        metavar="METRIC,METRIC",
        help="say whether two metrics order the models alike, such as mscr,mce or "
        "'error,accuracy[linf(0.1)]'; of four models or more",
    )
    parser.add_argument(
        "--compare",
        metavar="OLD",
        help="results file from before: also show what changed since, new minus old",
    )
    add_requirement_flags(parser)
    add_inputs_flags(parser)
    parser.add_argument(
        "--trust",
        action="store_true",
        help="import modules that the file names to draw inputs again: their code runs",
    )


def run(args: argparse.Namespace) -> int:
    """Print what a results file holds."""
    from shaketable.evaluation.evaluate_options import MeasureOptions
    from shaketable.findings.comparison.versions import Changes, compare_stores
    from shaketable.findings.correlation.finding import find_asked_correlations as find_correlation
    from shaketable.findings.mcv.finding import find_asked_variation as find_variation
    from shaketable.findings.page import name_separated
    from shaketable.separations.view import show_record
    from shaketable.statistics.families import use_intervals
    from shaketable.views.terminal import print_blocks

    reference, baseline = args.reference or "", args.baseline or ""
    group = read_group(args.group)
    with use_intervals(args.intervals):
        results = read_results(
            args.store,
            reference=reference,
            baseline=baseline,
            group=group,
            metric=args.metric or "",
        )
        findings = dict(results.findings)
        if args.suite:
            findings["mcv"] = find_variation(results.records, reference=reference, suite=args.suite)
        if args.correlate:
            findings["correlate"] = find_correlation(results.records, args.correlate)
        if args.compare is not None:
            findings["changes"] = Changes(compare_stores(args.compare, args.store))
        results = replace(results, findings=findings)
        if not len(results.records) and not args.json:
            names = name_separated(results.records)
            for separation in results.records.separations:
                print_blocks(show_record(separation, name=names.get(separation.fingerprint, "")))
        data = _load_data(args)
        if data is not None and args.inputs is not None:
            results = results.show_inputs(data, args.inputs)
        return conclude(make_options(MeasureOptions, vars(args)), results, dataset=data)


def _load_data(args: argparse.Namespace) -> Dataset | None:
    """Load the data that the flags name; None if they name none."""
    from shaketable.activities.reading_again import load_given

    if args.inputs is not None and args.data is None:
        raise InputError(
            "--inputs needs --data: results files hold no inputs, so they are drawn again from the "
            "data; name these"
        )
    return load_given(args.store, vars(args))

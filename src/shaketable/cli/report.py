"""``shaketable report``: what a results file holds, without measuring anything."""

from __future__ import annotations

import argparse
from dataclasses import replace

from shaketable.cli.flags import (
    add_grouping_flags,
    add_intervals_flag,
    add_json_flag,
    add_page_flag,
    add_reference_flag,
    add_requirement_flags,
)
from shaketable.cli.output import conclude, read_group, read_results
from shaketable.core.options import make_options

ABOUT = "what a results file holds: tables, JSON, a page, requirements"
SCHEMA = "shaketable.findings.schema:ReportJson"
EXAMPLES = """\
  shaketable report r.sqlite -o report.html
  shaketable report r.sqlite --json
  shaketable report r.sqlite --correlate mscr,mce --format latex"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, where results go, what else to show, and what is required."""
    parser.add_argument("store", metavar="STORE", help="results file")
    add_page_flag(
        parser, "-o", "--out", about="write a page with tables and figures", dest="report"
    )
    add_json_flag(parser, "; values are percentages")
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
    add_requirement_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print what a results file holds."""
    from shaketable.evaluation.evaluate_options import MeasureOptions
    from shaketable.findings.correlation.finding import find_asked_correlations as find_correlation
    from shaketable.findings.mcv.finding import find_asked_variation as find_variation
    from shaketable.statistics.families import use_intervals

    reference, baseline = args.reference or "", args.baseline or ""
    group = read_group(args.group)
    with use_intervals(args.intervals):
        results = read_results(args.store, reference=reference, baseline=baseline, group=group)
        findings = dict(results.findings)
        if args.suite:
            findings["mcv"] = find_variation(results.records, reference=reference, suite=args.suite)
        if args.correlate:
            findings["correlate"] = find_correlation(results.records, args.correlate)
        results = replace(results, findings=findings)
        return conclude(make_options(MeasureOptions, vars(args)), results)

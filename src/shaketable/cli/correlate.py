"""``shaketable correlate``: whether two metrics order the models of a results file alike."""

from __future__ import annotations

import argparse

from shaketable.cli.flags import CHART_ENDINGS, add_json_flag, add_out_flag
from shaketable.cli.output import print_json
from shaketable.views.terminal import ignore_broken_pipe, print_lines

ABOUT = "correlation of two metrics over the models of a results file"
SCHEMA = "findings/correlation/command.schema.json"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, the two metrics, and where results go."""
    parser.add_argument("store", metavar="STORE", help="results file with four models or more")
    parser.add_argument(
        "--of",
        default="mscr",
        metavar="METRIC",
        help="first metric, such as mscr, error or 'accuracy[linf(0.1)]' (default: mscr)",
    )
    parser.add_argument(
        "--with",
        dest="second",
        default="mce",
        metavar="METRIC",
        help="second metric, such as mce_lp (default: mce)",
    )
    add_json_flag(parser)
    add_out_flag(parser, "chart to write", CHART_ENDINGS)


def run(args: argparse.Namespace) -> int:
    """Print the correlation on every data set, and draw the models."""
    from shaketable.evaluation.store import Store
    from shaketable.findings.correlation.numbers import correlate_all
    from shaketable.findings.correlation.view import make_blocks
    from shaketable.findings.groups import RecordGroups
    from shaketable.views.terminal import print_blocks

    with Store(args.store, must_exist=True) as store:
        groups = RecordGroups(store.records())
    found = correlate_all(groups, args.of, args.second)
    with ignore_broken_pipe():
        if args.json:
            print_json({"correlations": [correlation.json() for correlation in found]})
        else:
            print_blocks(make_blocks(found))
    if args.out is not None:
        from shaketable.findings.correlation.charts import scatter_chart
        from shaketable.views.drawing import save_chart

        print_lines(f"chart: {save_chart(scatter_chart(found), args.out)}", to_stderr=True)
    return 0

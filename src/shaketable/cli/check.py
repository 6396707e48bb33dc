"""``shaketable check``: requirements on the models in a results file.

Decides from a results file whether models meet requirements, and measures nothing. A requirement is
met or not met if its interval says so, else inconclusive. With --register it keeps requirements in
the results file before anything is measured.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import (
    add_intervals_flag,
    add_json_flag,
    add_requirement_flags,
    parse_confidence,
)
from shaketable.cli.output import print_json, print_result, write_decisions
from shaketable.core.errors import InputError
from shaketable.core.options import make_options
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.evaluation.evaluate_options import RequirementOptions

ABOUT = "requirements on models: met, not met or inconclusive"
SCHEMA = "shaketable.findings.requirements.check:CheckResultJson"
EXAMPLES = """\
  shaketable check r.sqlite --require "accuracy >= 90%" --require "mscr >= -1"
  shaketable check r.sqlite --require requirements.toml --junit requirements.xml
  shaketable check --register requirements.toml --store r.sqlite"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, what is required, and where the decisions go."""
    parser.add_argument("store", metavar="STORE", nargs="?", help="results file")
    parser.add_argument(
        "--register",
        metavar="FILE.toml",
        help="keep the requirements of a file in the results file, with the time, and decide "
        "nothing: best before anything is measured. Without --require, check decides the last "
        "ones. It is a record, not a proof: whoever can write the file can change it",
    )
    parser.add_argument(
        "--store",
        dest="into",
        metavar="STORE",
        help="with --register: results file, made if there is none",
    )
    add_requirement_flags(parser)
    parser.add_argument(
        "--confidence",
        type=parse_confidence,
        default=0.95,
        metavar="PERCENT",
        help="that all decisions are right; they share the rest (default: 95)",
    )
    parser.add_argument(
        "--careful",
        action="store_true",
        help="allow for rare kinds of points that were not seen; intervals are up to three times "
        "as wide",
    )
    add_intervals_flag(parser)
    add_json_flag(parser, "; values are percentages")


def run(args: argparse.Namespace) -> int:
    """Decide the requirements, print the decisions, and return 0, 1 or 3; or register them."""
    from shaketable.activities.stopping import read_requirements
    from shaketable.evaluation.evaluate_options import RequirementOptions
    from shaketable.findings.requirements.check import check
    from shaketable.statistics.families import use_intervals

    options = make_options(RequirementOptions, vars(args))
    if args.register is not None:
        return _register(args, options)
    if args.into is not None:
        raise InputError("--store is for --register; name the results file: shaketable check STORE")
    if args.store is None:
        raise InputError("check needs a results file: shaketable check STORE")
    requirements = read_requirements(options, registered=True)
    given = {"confidence": args.confidence, "careful": args.careful}
    with use_intervals(args.intervals):
        decisions = check(args.store, requirements, **given)
        print_result(decisions, json=args.json)
        write_decisions(options, decisions)
    if requirements:
        _keep(args.store, options, given)
    return decisions.exit_code


def _keep(path: str, options: RequirementOptions, given: dict[str, Any]) -> None:
    """Keep in the file what was required, and when, so that its page says whether it is met."""
    from shaketable.activities.stopping import write_kept
    from shaketable.core.errors import StoreError
    from shaketable.core.options import write_words
    from shaketable.evaluation.command_records import make_command_record
    from shaketable.evaluation.evaluate_options import RequirementOptions
    from shaketable.evaluation.store import Store

    settings = write_kept(options)
    words = write_words(RequirementOptions, settings)
    if given["confidence"] != 0.95:
        settings["confidence"] = percent = 100 * given["confidence"]
        words += ["--confidence", f"{percent:.15g}"]
    if given["careful"]:
        settings["careful"] = True
        words.append("--careful")
    record = make_command_record(
        "check", settings, {}, words, fingerprint="", models={}, recipes=(), seed=0
    )
    try:
        with Store(path) as store:
            store.add_command(record)
    except StoreError as error:
        print_notes([f"the requirements are not kept: {error}"])


def _register(args: argparse.Namespace, options: RequirementOptions) -> int:
    """Keep a file of requirements in the results file."""
    from shaketable.findings.requirements.registered import register

    for flag, given in (
        ("--require", options.require),
        ("--junit", options.junit),
        ("--markdown", options.markdown),
    ):
        if given:
            raise InputError(f"--register decides nothing; leave out {flag}")
    if (args.store is None) == (args.into is None):
        raise InputError("--register needs one results file; name it with --store STORE")
    registered = register(args.register, args.into or args.store)
    if args.json:
        print_json(registered.json())
    else:
        print_lines(str(registered))
    return 0

"""``shaketable dossier``: what an assessment asks for, from a results file and declared facts.

Puts together what an assessment asks for: the results of a file, requirements with the time when
they were set, and facts that only you know. What is missing is named in its place, with the key or
the command that adds it. init writes a file of facts to fill in.
"""

from __future__ import annotations

import argparse

from shaketable.cli.flags import add_again_flags, add_json_flag, add_out_flag
from shaketable.cli.output import print_result
from shaketable.cli.study_file import INIT
from shaketable.core.errors import InputError
from shaketable.views.terminal import print_lines

ABOUT = "what an assessment asks for: facts, requirements, evidence, limits"
SCHEMA = "shaketable.findings.dossier.dossier:DossierJson"
EXAMPLES = """\
  shaketable dossier init facts.toml
  shaketable dossier r.sqlite --facts facts.toml --data data.csv -o dossier.html
  shaketable dossier r.sqlite --facts facts.toml --rerun rerun.json -o dossier.json"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The results file, the facts, and where the dossier goes."""
    parser.add_argument("store", metavar="STORE", help="results file; init writes a file of facts")
    parser.add_argument(
        "new", nargs="?", metavar="FILE", help="with init: file to write (default: facts.toml)"
    )
    parser.add_argument(
        "--facts",
        metavar="FACTS.toml",
        help="what only you know: system, use, domain, data, people; what is missing is named",
    )
    parser.add_argument(
        "--rerun",
        metavar="FILE.json",
        help="what shaketable rerun STORE --json printed: whether the results come out again",
    )
    add_out_flag(parser, "page, PDF or JSON to write", (".html", ".pdf", ".json"))
    add_json_flag(parser, "; values are percentages")
    add_again_flags(parser, "to count test points that equal others")


def run(args: argparse.Namespace) -> int:
    """Put the dossier together, and write or print it; or write a new file of facts."""
    from shaketable.findings.dossier.facts import NEW_FILE, write_facts_file

    if args.store == INIT:
        path = args.new or NEW_FILE
        write_facts_file(path)
        print_lines(f"{path} is written; fill it in: shaketable dossier STORE --facts {path}")
        return 0
    if args.new is not None:
        raise InputError(f"unexpected argument {args.new!r}; see shaketable dossier --help")
    from shaketable.activities.reading_again import load_given
    from shaketable.findings.dossier.dossier import dossier

    data = load_given(args.store, vars(args))
    made = dossier(args.store, args.facts, data=data, rerun=args.rerun)
    if args.out is None or args.json:
        print_result(made, json=args.json)
    if args.out is not None:
        print_lines(f"dossier: {made.report(args.out)}", to_stderr=True)
    return 0

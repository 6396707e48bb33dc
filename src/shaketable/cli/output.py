"""What several commands do with results: tables, JSON, the page, and requirements."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError, ShaketableError
from shaketable.core.schemas import add_version
from shaketable.views.terminal import ignore_broken_pipe, print_lines

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.findings.groups import Grouping
    from shaketable.findings.requirements.check import Check
    from shaketable.findings.requirements.requirement import Requirement
    from shaketable.findings.results import Results


def print_json(result: Any, *, versioned: bool = True) -> None:
    """Print a result as JSON; objects have the version of their schema unless told otherwise."""
    if versioned and isinstance(result, dict):
        result = add_version(result)
    print(json.dumps(result, indent=2))


def read_results(
    path: str, *, reference: str = "", baseline: str = "", group: Grouping = "regime"
) -> Results:
    """Take all findings from a results file, which must hold at least one cell."""
    from shaketable.evaluation.store import Store
    from shaketable.findings.results import find

    with Store(path, must_exist=True) as store:
        records = store.records()
    if not len(records):
        raise no_cells(path)
    return find(records, reference=reference, baseline=baseline, group=group)


def no_cells(path: str) -> InputError:
    """Return the error for a results file without results."""
    return InputError(
        f"results file {path!r} must hold at least one cell, got none; evaluate and study write "
        "cells, adversary and separation only what they go on from"
    )


def read_requirements(args: argparse.Namespace) -> tuple[Requirement, ...]:
    """Read the requirements of ``--require``, ``--requirements`` and ``--min-mscr``."""
    from shaketable.findings.requirements.requirement import parse_requirements, read_file

    texts = list(args.require or ())
    if args.requirements is not None:
        texts += read_file(args.requirements)
    if getattr(args, "min_mscr", None) is not None:
        texts.append(f"mscr >= {args.min_mscr:g}")
    if not texts and (args.junit or args.markdown):
        flag = "--junit" if args.junit else "--markdown"
        raise InputError(f"{flag} writes what is required; add --require, such as 'mscr >= -1'")
    return parse_requirements(texts) if texts else ()


def conclude(args: argparse.Namespace, results: Results, *, dataset: Dataset | None = None) -> int:
    """Print results, write the files that the flags name, and return the exit code.

    The code is that of what the flags require; if this cannot be decided, the error is raised when
    everything else is done. A requirement that cannot be read is refused before that.
    """
    decisions: Check | None = None
    error: ShaketableError | None = None
    requirements = read_requirements(args)
    try:
        decisions = _decide(requirements, results)
    except ShaketableError as raised:
        error = raised
    with ignore_broken_pipe():
        if args.json:
            extra = {} if decisions is None else {"check": decisions.json()}
            print_json({**results.json(), **_list_sizes(results, dataset), **extra})
        else:
            results.print()
    if args.report is not None:
        from shaketable.findings.page import write_report

        page = write_report(args.report, results, dataset=dataset)
        print_lines(f"page: {page}", to_stderr=True)
    if error is not None:
        raise error
    if decisions is not None:
        print_lines(*(f"requirement {d}" for d in decisions.decisions), to_stderr=True)
        write_decisions(args, decisions)
    results.robustness.check_defined()
    return 0 if decisions is None else decisions.exit_code


def _list_sizes(results: Results, data: Dataset | None) -> dict[str, Any]:
    """Return eps_min in standard deviations of every column, by norm; nothing for images."""
    from shaketable.core.norms import norm_to_json
    from shaketable.separations.pair import compare_with_columns

    if data is None:
        return {}
    sizes = [
        {"norm": norm_to_json(s.norm), "columns": compare_with_columns(data, s.epsilon_min)}
        for s in results.records.separations
        if s.fingerprint == data.fingerprint
    ]
    sizes = [size for size in sizes if size["columns"]]
    return {"eps_min_deviations": sizes} if sizes else {}


def _decide(requirements: Sequence[Requirement], results: Results) -> Check | None:
    """Decide what is required; None if nothing is."""
    if not requirements:
        return None
    from shaketable.findings.requirements.check import check

    return check(results, requirements)


def write_decisions(args: argparse.Namespace, decisions: Check) -> None:
    """Write the decisions on requirements to the files that the flags name."""
    if args.junit is not None:
        decisions.write_junit(args.junit)
    if args.markdown is not None:
        decisions.write_markdown(args.markdown)

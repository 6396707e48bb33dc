"""What several commands do with results: tables, JSON, the page, and requirements."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.schemas import add_version
from shaketable.views.terminal import ignore_broken_pipe, print_lines

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.evaluate_options import MeasureOptions, RequirementOptions
    from shaketable.findings.groups import Grouping
    from shaketable.findings.requirements.check import Check
    from shaketable.findings.results import Results


def print_json(result: Any, *, versioned: bool = True) -> None:
    """Print a result as JSON; objects have the version of their schema unless told otherwise."""
    if versioned and isinstance(result, dict):
        result = add_version(result)
    print(json_format.dumps(result, indent=2))


def print_result(result: Any, *, json: bool) -> None:
    """Print a result as JSON, or as it prints itself."""
    with ignore_broken_pipe():
        if json:
            print_json(result.json())
        else:
            result.print()


def read_results(
    path: str,
    *,
    reference: str = "",
    baseline: str = "",
    group: Grouping = "regime",
    metric: str = "",
) -> Results:
    """Take all findings from a results file, which must hold at least one cell."""
    from shaketable.evaluation.store import Store
    from shaketable.evaluation.store_guards import store_without_cells
    from shaketable.findings.results import find

    with Store(path, must_exist=True) as store:
        records = store.records()
    if not records.holds_anything:
        raise store_without_cells(path)
    return find(records, reference=reference, baseline=baseline, group=group, metric=metric)


def read_group(asked: Sequence[str]) -> Grouping:
    """Return what ``--group`` asks for."""
    from shaketable.findings.groups import GROUPINGS

    asked = asked or ["regime"]
    names = [text for text in asked if "=" not in text]
    if names and len(asked) > 1:
        raise InputError(
            f"--group must be one of regime and network, or patterns NAME=PATTERN, got "
            f"{' and '.join(map(repr, asked))}; leave out {names[0]!r}"
        )
    if names:
        if names[0] not in GROUPINGS:
            raise unknown_name("group", names[0], GROUPINGS)
        return str(names[0])
    patterns = dict(text.split("=", maxsplit=1) for text in asked)
    for name, pattern in patterns.items():
        if not (name and pattern):
            raise InputError(
                f"--group must be NAME=PATTERN, got {f'{name}={pattern}'!r}; such as noisy='*(C?)'"
            )
    return patterns


def conclude(options: MeasureOptions, results: Results, *, dataset: Dataset | None = None) -> int:
    """Print results, write the files that the flags name, and return the exit code.

    The code is that of what the flags require; if this cannot be decided, the error is raised when
    everything else is done. A requirement that cannot be read is refused before that.
    """
    from shaketable.activities.stopping import read_requirements
    from shaketable.findings.requirements.finding import decide

    required = read_requirements(options)
    found = decide(results.groups, required) if required else None
    if found is not None:
        results = results.with_findings(requirements=found)
    with ignore_broken_pipe():
        if options.json:
            print_json({**results.json(), **_list_sizes(results, dataset)})
        else:
            results.print()
    if options.report is not None:
        from shaketable.findings.page import write_report

        whole = results if options.store is None else _join_file(results, options, dataset)
        page = write_report(options.report, whole, dataset=dataset)
        print_lines(f"page: {page}", to_stderr=True)
    if found is not None:
        for error in found.errors.values():
            raise error
        assert found.check is not None, "nothing failed"
        if options.json:
            print_lines(*(f"requirement {d}" for d in found.check.decisions), to_stderr=True)
        write_decisions(options, found.check)
    if len(results.records):
        results.robustness.check_defined()
    return 0 if found is None or found.check is None else found.check.exit_code


def _join_file(results: Results, options: MeasureOptions, data: Dataset | None) -> Results:
    """Return the results with all else that their results file holds, for its page."""
    from shaketable.evaluation.store import Store
    from shaketable.findings.finding import FINDINGS
    from shaketable.findings.results import find

    assert options.store is not None, "it is named"
    with Store(options.store, must_exist=True) as store:
        records = store.records()
    groups, findings = replace(results.groups, records=records), results.findings
    if {cell.key for cell in records} == {cell.key for cell in results.records}:
        kept = {
            name: groups.take(FINDINGS.get(name).find) for name in ("requirements", "worst_case")
        }
        others = {name: f for name, f in kept.items() if f is not None and name not in findings}
        return replace(results, groups=groups).with_findings(**others)
    whole = find(
        records,
        reference=groups.reference,
        baseline=groups.baseline,
        group=groups.group_by,
        metric=groups.metric,
        notes=results.notes,
    )
    if data is not None and (n := getattr(options, "inputs", None)) is not None:
        whole = whole.show_inputs(data, n)
    if options.require:
        whole = whole.with_findings(requirements=findings["requirements"])
    return whole


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


def write_decisions(options: RequirementOptions, decisions: Check) -> None:
    """Write the decisions on requirements to the files that the flags name."""
    if options.junit is not None:
        decisions.write_junit(options.junit)
    if options.markdown is not None:
        decisions.write_markdown(options.markdown)

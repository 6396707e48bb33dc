"""The search for training noise and its test, in the terminal."""

from __future__ import annotations

from shaketable.statistics.estimate import Estimate
from shaketable.training.hardening.result import Candidate, Hardening, Measures
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_lines, print_table


def print_hardening(result: Hardening) -> None:
    """Print the search, the comparison on the test part, and the verdict."""
    fit, selection, test = result.parts
    header = ["training noise", "clean", "change", "noisy", "change", "fits the price"]
    if result.unit:
        header.insert(1, f"x {result.unit}")
    copies = f"{result.workshop.noise.k} copies" if result.copies_test else ""
    print_table(
        f"{result.workshop.name} on {result.workshop.data.name}: accuracy in %, clean and under "
        f"{result.target}, and its change against training without noise"
        f"{f' on {copies} of every point' if copies else ''}; fitted on {fit} points and "
        f"compared on {selection} others, {_count(result.search_runs)}; * chosen",
        header,
        [_make_row(result, candidate) for candidate in result.candidates],
    )
    columns: list[tuple[str, Measures | None, bool]] = [
        ("plain", result.plain_test, False),
        (f"{copies} without noise", result.copies_test, False),
        (result.chosen, result.chosen_test, False),
        ("difference", result.difference, True),
    ]
    shown = [(name, values, signed) for name, values, signed in columns if values is not None]
    change = "MSCR" if result.at_eps_min else "relative change"
    rows = [
        ["clean accuracy", *(_format(values.clean, signed) for _, values, signed in shown)],
        ["accuracy under noise", *(_format(values.robust, signed) for _, values, signed in shown)],
        [change, *(_format(values.change, True) for _, values, signed in shown)],
    ]
    print_table(
        f"on the test part, {test} points that the search did not use; trained on the other "
        f"{fit + selection}, {_count(result.runs)}: in per cent, differences in percentage points"
        f"{f', from {copies} of every point without noise' if copies else ''}",
        ["", *(name for name, _, _ in shown)],
        rows,
    )
    print_lines(result.verdict)


def _make_row(result: Hardening, candidate: Candidate) -> list[str]:
    mark = " *" if candidate.noise == result.chosen else ""
    row = [
        candidate.noise + mark,
        f"{100 * candidate.clean_accuracy:.2f}",
        format_entry(candidate.clean, signed=True),
        f"{100 * candidate.robust_accuracy:.2f}",
        format_entry(candidate.robust, signed=True),
        "yes" if candidate.fits(result.price) else "no",
    ]
    if result.unit:
        row.insert(1, "" if candidate.size is None else f"{candidate.size:.3g}")
    return row


def _format(value: Estimate | None, signed: bool) -> str:
    return "undefined" if value is None else format_entry(value, signed=signed)


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"

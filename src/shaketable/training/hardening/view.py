"""What is shown of a search for training noise: candidates, the test, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.core.checks import list_names
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block, Cell, Column, Entry, Heading, Kind, Sentence, Table
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.training.hardening.result import Hardening, Measures


def make_blocks(result: Hardening) -> list[Block]:
    """Return the search, the comparison on the test part, and the verdict."""
    return [
        Heading("Training noise", "search", "Search"),
        _tabulate_search(result),
        _tabulate_test(result),
        Sentence(result.verdict),
    ]


def _tabulate_search(result: Hardening) -> Table:
    fit, selection, _ = result.parts
    copies = f" on {result.workshop.noise.k} copies of every point" if result.copies_test else ""
    return Table(
        f"accuracy of {result.workshop.name} on {result.workshop.data.name}, clean and under "
        f"{result.target}, and its change against training without noise{copies}; fitted on "
        f"{fit} points and compared on {selection} others, {_count(result.search_runs)}",
        (
            Column("training noise"),
            Column(f"x {result.unit}", "number"),
            Column("clean", "rate"),
            Column("change of clean", "points"),
            Column("noisy", "rate"),
            Column("change of noisy", "points"),
            Column("fits the price"),
        ),
        [
            (
                Entry(c.noise, "chosen" if c.noise == result.chosen else ""),
                c.size if result.unit else None,
                c.clean_accuracy,
                c.clean,
                c.robust_accuracy,
                c.robust,
                "yes" if c.fits(result.price) else "no",
            )
            for c in result.candidates
        ],
        limit=200,
        marked=[i for i, c in enumerate(result.candidates) if c.noise == result.chosen],
    )


def _tabulate_test(result: Hardening) -> Table:
    fit, selection, test = result.parts
    copies = f"{result.workshop.noise.k} copies" if result.copies_test else ""
    columns: list[tuple[str, Measures | None, Kind, Kind]] = [
        ("plain", result.plain_test, "rate", "change"),
        (f"{copies} without noise", result.copies_test, "rate", "change"),
        (result.chosen, result.chosen_test, "rate", "change"),
        ("difference", result.difference, "points", "points"),
    ]
    change = "MSCR" if result.at_eps_min else "relative change"
    rows: list[list[Cell]] = [["clean accuracy"], ["accuracy under noise"], [change]]
    for _, measures, _, kind in columns:
        if measures is None:
            values: list[Cell] = [None] * 3
        else:
            values = [
                measures.clean,
                measures.robust,
                Entry(measures.change or "undefined", kind=kind),
            ]
        for row, value in zip(rows, values, strict=True):
            row.append(value)
    without = f"; differences are from {copies} of every point without noise" if copies else ""
    return Table(
        f"on the test part, {test} points that the search did not use; trained on the other "
        f"{fit + selection}, {_count(result.runs)}{without}",
        (Column("value"), *(Column(n, kind, quantity="accuracy") for n, _, kind, _ in columns)),
        rows,
    )


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def describe_outcome(result: Hardening) -> str:
    """Say whether training with noise helps; it follows from the intervals on the test part."""
    none = "no training noise that helps was found"
    if result.difference is None:
        return (
            f"{none}: of {len(result.candidates)} candidates, none"
            f"{_within(result.price)} was more accurate under {result.target} than training "
            "without noise on the points for selection"
        )
    clean, robust = result.difference.clean, result.difference.robust
    if result.outcome == "not shown":
        finding = "falls" if robust.high < 0 else "is not shown to rise"
        return (
            f"{none}: {result.chosen} was the best in the search, but on the test part accuracy "
            f"under {result.target} {finding}: {_format_change(robust)}"
        )
    gain = f"accuracy under {result.target} rises by {_format(robust)}"
    if result.outcome == "costs more":
        more = f", more than the price of {100 * result.price:g}" if result.price else ""
        loss = f"clean accuracy falls by {_format(clean.subtract_from(0))}{more}"
        return f"training with {result.chosen} helps at a cost only: {gain}, but {loss}"
    return f"training with {result.chosen} helps: {gain}; {_describe_cost(clean, result.price)}"


def describe_diverged(result: Hardening) -> str:
    """Name the training noise that is no candidate."""
    if not result.diverged:
        return ""
    return f"training diverged with {list_names(result.diverged)}, so it is no candidate"


def describe_copies(result: Hardening) -> str:
    """Say that as many copies were compared, and what these alone change, where it is shown."""
    change = result.copies_difference
    if change is None:
        return ""
    copies = f"{result.workshop.noise.k} copies of every point"
    sentence = f"all noise is compared with {copies} without noise"
    if not any(value.low > 0 or value.high < 0 for value in (change.clean, change.robust)):
        return sentence
    clean, robust = map(_format_change, (change.clean, change.robust))
    return (
        f"{sentence}; the copies alone change clean accuracy by {clean}, and that under "
        f"{result.target} by {robust}, against one copy of every point"
    )


def _describe_cost(clean: Estimate, price: float) -> str:
    """Say what is known about the loss of clean accuracy if it is not shown to exceed the price."""
    if clean.low > 0:
        return f"clean accuracy rises by {_format(clean)}"
    change = f"clean accuracy changes by {_format_change(clean)}"
    if clean.low >= -price:
        return f"{change}: if it falls, then{_within(price)}"
    more = f" above the price of {100 * price:g} points" if price else ""
    excluded = f"{-100 * clean.low:.2f} points is excluded"
    return f"{change}: a loss{more} is not shown, and one of more than {excluded}"


def _within(price: float) -> str:
    return f" within the price of {100 * price:g} points" if price else ""


def _format(difference: Estimate) -> str:
    return f"{format_entry(difference)} percentage points"


def _format_change(difference: Estimate) -> str:
    return f"{format_entry(difference, signed=True)} percentage points"

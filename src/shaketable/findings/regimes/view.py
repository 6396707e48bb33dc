"""What is shown of training regimes: values, differences, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.core.checks import list_names
from shaketable.findings.regimes.numbers import name_metric
from shaketable.views.blocks import Block, Column, Entry, Heading, Level, Sentence, Table
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.findings.regimes.finding import CleanTest, Regimes, RegimeTable
    from shaketable.findings.regimes.numbers import Member

UNLIKE = (
    "values in one column are means over other networks or data in some rows, so only differences "
    "can be compared"
)
NO_BASELINE = "no differences: there is no regime clean; name another baseline"
COPIES = (
    "with noise, estimators were trained on k copies of every point (--k, 10 by default), and "
    "without it on one; to tell apart what copies do, --k 1 has none, and noise of size 0 has the "
    "copies without noise (--train 'linf(0)', --baseline 'linf(0)')"
)

_PAIRED = (
    "Differences are paired: the same points, runs and noise. Their intervals are for one "
    "difference at a time."
)


def make_blocks(finding: Regimes) -> list[Block]:
    """Return values, differences from the baseline, the answer on clean accuracy, and parts."""
    table = finding.table
    title = "Training regimes" if table.by == "regime" else "Groups of models"
    sentences = [
        Sentence(table.clean_words if table.baseline else NO_BASELINE),
        *([] if table.is_balanced else [Sentence(UNLIKE)]),
        *([Sentence(_PAIRED, level="detail")] if table.baseline else []),
    ]
    return [
        Heading(title, "regimes", title),
        *(sentence for sentence in sentences if sentence.text),
        *_make_tables(table, "summary"),
        *(t for part in finding.parts for t in _make_tables(part, "detail")),
    ]


def _make_tables(table: RegimeTable, level: Level) -> list[Table]:
    what = table.by if isinstance(table.by, str) else "group"
    labels = [group.label for group in table.groups]
    others = [label for label in labels if label != table.baseline]
    values = Table(
        f"every {what}, with 95 % intervals: {table.title}",
        (Column(what), *(Column(name_metric(m), "rate") for m in table.metrics)),
        [[label, *(table.values.get((label, m)) for m in table.metrics)] for label in labels],
        level,
        limit=100,
        what=f"{what}s",
    )
    differences = Table(
        f"minus {table.baseline}, on the same points and noise, with 95 % intervals: {table.title}",
        (
            Column(what),
            *(
                Column(name_metric(m), "points", quantity=f"difference of {name_metric(m)}")
                for m in table.metrics
            ),
        ),
        [
            [
                label,
                *(
                    Entry(table.differences.get(key), shown=key in table.shown)
                    for key in ((label, metric) for metric in table.metrics)
                ),
            ]
            for label in others
        ],
        level,
        limit=100,
        shown=table.judged,
        what=f"{what}s",
    )
    return [values, differences] if table.baseline and table.differences else [values]


def describe_average(members: Sequence[Member]) -> str:
    """Say over what a value is averaged; empty for one model.

    The interval is for these networks and data, not for others.
    """
    networks = dict.fromkeys(m.network for m in members)
    data = dict.fromkeys(m.data for m in members)
    parts = [
        f"{len(names)} {what}"
        for names, what in ((networks, "networks"), (data, "data sets"))
        if len(names) > 1
    ]
    if not parts and len(members) > 1:
        parts = [f"{len(members)} models"]
    return f"mean over {' and '.join(parts)}, for these alone" if parts else ""


def name_members(table: RegimeTable) -> str:
    """Name the networks, or the regimes if rows are networks, and the data of a table."""
    members = [m for g in table.groups for m in g.members]
    rest = [m.regime if table.by == "network" else m.network for m in members]
    names = [list_names(list(dict.fromkeys(x))) for x in (rest, [m.data for m in members])]
    return " on ".join(name for name in names if name)


def describe_members(table: RegimeTable) -> str:
    """Say which models a table is about, over what they are averaged, and what intervals cover."""
    members = [m for g in table.groups for m in g.members]
    mean = describe_average(members)
    if len({(m.network, m.fingerprint) for m in members}) == 1 or table.by == "network":
        mean = ""
    counts = sorted({table.count_runs(g) for g in table.groups})
    over = "new points, for these fitted models"
    if counts[-1] > 1:
        runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        over = f"{runs} runs"
    return f"{name_members(table)}{', ' if mean else ''}{mean}; intervals are over {over}"


def describe_judging(number: int) -> str:
    """Say for how many differences together the confidence of a claim holds."""
    if number == 1:
        return "other than 0: the 95 % interval excludes 0"
    return f"other than 0, with 95 % confidence for all {number} differences of a metric (Holm)"


def describe_clean(table: RegimeTable) -> str:
    """Answer whether noise in training raises clean accuracy, as far as it is shown."""
    tests = table.clean_tests
    if not tests:
        return ""
    raised = [t for t in tests if t.shown and t.value.value > 0]
    lowered = [t for t in tests if t.shown and t.value.value < 0]
    rest = [t.label for t in tests if not t.shown]
    parts = [f"yes, {_list_tests(raised)}" if raised else "this is not shown"]
    if lowered:
        parts.append(f"it is lower for {_list_tests(lowered)}")
    if rest and (raised or lowered):
        parts.append(f"the difference may be chance for {list_names(rest)}")
    question = "does noise in training raise clean accuracy?"
    about_noise = table.by == "regime" and table.baseline == "clean"
    if not about_noise:
        question = f"is clean accuracy higher than for {table.baseline}?"
    judged = "" if len(tests) == 1 else f" (p-values adjusted for {len(tests)} tests, Holm)"
    copied = about_noise and any(m.has_copies for g in table.groups for m in g.members)
    return f"{question} {'; '.join(parts)}{judged}{f'; {COPIES}' if copied else ''}"


def _list_tests(tests: Sequence[CleanTest]) -> str:
    return ", ".join(
        f"{t.label} by {format_entry(t.value, signed=True)} percentage points "
        f"(p {format_p_value(t.p_adjusted)})"
        for t in tests
    )


def format_p_value(p: float) -> str:
    """Return a p-value with its sign of relation.

    >>> format_p_value(0.0312), format_p_value(1e-9)
    ('= 0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"

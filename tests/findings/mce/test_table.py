"""Terminal tables of suites."""

import re

import pytest

from helpers.findings import find_once, print_results
from shaketable.evaluation.records import Records
from shaketable.findings.mce.scores import Scoreboard
from shaketable.views.numbers import format_brief

DERIVED = "derived from pnorm-cifar for 64 values in a range of 1"


def test_terminal_shows_one_row_per_norm_and_the_metrics_below(
    capsys: pytest.CaptureFixture[str], suite_records: Records, boards: list[Scoreboard]
) -> None:
    out = print_results(capsys, suite_records)
    for score in boards[0].scores:
        title = (
            f"{score.label} on tiles: error in %, suite pnorm (sizes {DERIVED}), 120 test points"
        )
        table = out.partition(title)[2].partition(f"{score.label}: mCE_Lp")[0]
        rows = {row[0]: row[1:] for row in map(str.split, table.splitlines()) if row}
        for ladder in score.ladders:
            cells = [f"{100 * v.error.value:.1f}" for v in ladder.levels]
            expected = [f"{100 * ladder.mean.value:.2f}", *["-"] * (10 - len(cells)), *cells]
            assert rows[ladder.title] == expected
        assert rows["norm"] == ["mean", *map(str, range(1, 11))]
        assert score.value is not None
        assert f"mCE_Lp {format_brief(score.value)}: mean error over 89 corruptions, against" in out
    for score in boards[1].scores:
        assert score.value is not None
        assert f"{score.label}: iCE {format_brief(score.value, signed=True)}: " in out
        table = out.partition(f"{score.label} on tiles: error in %, suite ice (sizes derived")[2]
        for ladder in score.ladders:
            (level,) = ladder.levels
            e, c = level.error, level.change
            numbers = [e.value, e.low, e.high, c.value, c.low, c.high]
            row = re.search(rf"^ {re.escape(level.spec)} .*$", table, re.M)
            assert row is not None
            printed = [float(v) for v in re.findall(r"-?\d+\.\d\d\b", row[0].partition(")")[2])]
            assert printed == pytest.approx([100 * v for v in numbers], abs=0.0051)


def test_published_sizes_are_not_called_derived(
    capsys: pytest.CaptureFixture[str], perfect: Records
) -> None:
    out = print_results(capsys, perfect)
    assert "suite pnorm-cifar (published sizes), 12 test points, 2 draws each" in out
    assert "suite ice-cifar (published sizes)" in out
    assert "derived" not in out
    assert [s["derived"] for s in find_once(perfect).json()["suites"]] == [None, None]

from dataclasses import replace

import numpy as np
import pytest

from helpers.records import make_records
from shaketable.evaluation.rerun import Rerun, compare_cells
from shaketable.evaluation.study import study
from shaketable.statistics.intervals import mean_difference

OPTIONS = {"train_eps": [0], "test_eps": [0.02], "k": 4, "runs": 4}


@pytest.fixture(scope="module")
def cells():
    """Clean points, linf(0.02) and linf(eps_min) in 4 runs."""
    return study("bands(n=100)", "1nn", **OPTIONS).cells


def change_hits(cell, by):
    return replace(cell, hits=np.clip(cell.hits + by, 0, cell.k), key=f"new {cell.key}")


def make_rerun(changes, missing=(), versions=None, platform=("a", "a")):
    return Rerun(
        store="s.sqlite",
        commands=(),
        cells=12,
        changes=changes,
        missing=missing,
        others=0,
        failures=(),
        sampled=False,
        versions=versions or {},
        platform=platform,
    )


def test_identical_counts_agree_whatever_the_keys_and_the_order(cells):
    now = [replace(cell, key=f"new {cell.key}", recipe="new") for cell in reversed(cells)]
    assert compare_cells(cells, now) == ((), ())
    result = make_rerun(*compare_cells(cells, now), versions={"numpy": ("1", "2")})
    assert result.agrees
    assert result.identical
    assert result.exit_code == 0
    assert "agrees: 12 cells were made again; all counts are identical" in repr(result)


def test_a_cell_that_differs_is_named_with_its_difference(cells):
    place = next(i for i, c in enumerate(cells) if c.corruption == "linf(0.02)" and c.run == 2)
    then = cells[place]
    now = [*cells]
    now[place] = replace(then, hits=np.where(np.arange(then.n) == 5, 4 - then.hits, then.hits))
    (change,), missing = compare_cells(cells, now)
    assert missing == ()
    assert (change.model, change.corruption, change.runs) == ("1nn", "linf(0.02)", 4)
    assert (change.cells, change.points) == (1, 1)
    moved = (4 - 2 * then.hits[5]) / (4 * then.n * 4)
    assert change.difference.value == pytest.approx(moved)
    assert change.now - change.then == pytest.approx(moved)
    assert not change.shown
    same = make_rerun((change,))
    assert not same.agrees, "with the same versions, counts must be identical"
    assert "though versions and platform are those of then" in same.verdict
    for other in (
        make_rerun((change,), versions={"numpy": ("1", "2")}),
        make_rerun((change,), platform=("a", "b")),
    ):
        assert other.agrees
        assert not other.identical
        assert "no more than chance explains" in other.verdict


def test_a_difference_beyond_chance_does_not_agree_with_any_versions(cells, capsys):
    now = [change_hits(c, -2) if c.corruption == "clean" else c for c in cells]
    now = [replace(c, hits=np.where(c.hits < 0, 0, c.hits)) for c in now]
    (change,), _ = compare_cells(cells, now)
    assert change.shown
    result = make_rerun((change,), versions={"numpy": ("1", "2")})
    assert result.exit_code == 1
    assert "1 mean accuracies by more than chance explains" in result.verdict
    result.print()
    out = capsys.readouterr().out
    assert "numpy 1 then, 2 now" in out
    assert "4 of 4" in out
    assert " *" in out
    assert "* more than chance explains" in out


def test_one_run_is_compared_point_by_point(cells):
    first = [cell for cell in cells if cell.run == 0]
    (change, *_), _ = compare_cells(first, [change_hits(cell, -1) for cell in first])
    assert change.runs == 1
    assert "fixed" in change.difference.method


def test_what_is_missing_does_not_agree(cells):
    _, missing = compare_cells(cells, cells[:-1])
    assert len(missing) == 1
    assert missing[0].endswith("run 3")
    result = make_rerun((), missing, versions={"numpy": ("1", "2")})
    assert not result.agrees
    assert f"1 are missing: {missing[0]}" in result.verdict


@pytest.mark.parametrize("conditions", [1, 6])
def test_changes_of_a_rerun(conditions):
    specs = [f"linf({i / 10:g})" for i in range(1, 1 + conditions)]
    clean, right = np.ones(200, int), np.full(200, 4)

    def lose(count):
        return np.where(np.arange(200) < count, 0, 4)

    def is_lost(count, judged):
        """Whether so many lost points are shown, among several conditions that are judged."""
        return mean_difference(lose(count), right, 4, confidence=1 - 0.05 / judged).high < 0

    count = next(n for n in range(1, 200) if is_lost(n, 1))  # alone
    assert not is_lost(count, 6)
    then = make_records({"clean": clean, **dict.fromkeys(specs, lose(0))}, k=4)
    now = make_records({"clean": clean, **dict.fromkeys(specs, lose(count))}, k=4)
    changes, missing = compare_cells(then.cells, now.cells)
    assert missing == ()
    assert [change.corruption for change in changes] == specs
    assert [change.shown for change in changes] == [conditions == 1] * conditions
    for change in changes:
        assert change.difference.value == pytest.approx(-count / 200)
        assert (change.cells, change.points, change.runs) == (1, count, 1)
        assert (change.then, change.now) == pytest.approx((1, 1 - count / 200))

"""Clouds and overlaps of balls: laws, and claims that notice a change."""

import math

import pytest
from scipy import special

import shaketable as st
from shaketable.corruptions.balls import numbers
from shaketable.reproductions.papers.pnorm import balls


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(balls, "_DRAWN", 60_000)


def find(found, table, row, column=""):
    (number,) = [
        n
        for t in found.measured.tables
        if t.key == table
        for n in t.numbers
        if (n.row, n.column) == (row, column)
    ]
    return number


def test_clouds_keep_their_laws():
    found = st.reproduce("pnorm-fig1")
    assert found.verdict == "holds"
    # the diamond has the area 2, the disc pi, the square 4
    assert find(found, "smaller", "L2 ball in L1 ball").printed.value == pytest.approx(2 / math.pi)
    assert find(found, "half", "L2").printed.value == pytest.approx(1 / 3)


def test_points_that_lie_too_far_inside_are_noticed(monkeypatch):
    draw = balls.samples
    monkeypatch.setattr(balls, "samples", lambda *a, **k: 0.98 * draw(*a, **k))
    found = st.reproduce("pnorm-fig1")
    failed = {j.claim for j in found.judgements if j.verdict == "fails"}
    assert {
        "a share r^2 lies within a radius r of the ball",
        "every point of a sphere lies on it",
    } <= failed


def test_overlaps_are_where_concentration_says(monkeypatch):
    monkeypatch.setattr(balls, "_RUNS", 4)
    found = st.reproduce("pnorm-fig5")
    assert found.verdict == "holds"
    assert find(found, "inside", "L-inf").printed.value == pytest.approx(4 * math.sqrt(3 / 3072))
    assert find(found, "inside", "L0").value == 64 / 3072
    # the median of the largest of 3072 normal numbers
    largest = 4 * special.ndtri(0.5 + 0.5 ** (1 + 1 / 3072)) / math.sqrt(3072)
    assert find(found, "covers", "L-inf").printed.value == pytest.approx(largest)


def test_another_second_ball_is_noticed(monkeypatch):
    monkeypatch.setattr(balls, "_RUNS", 4)
    monkeypatch.setattr(numbers, "pnorm", lambda x, p, exact=numbers.pnorm: 1.05 * exact(x, p))
    found = st.reproduce("pnorm-fig5")
    assert found.verdict == "fails"

"""Points that left their cell come back to its nearest point, in narrow cells too."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from helpers.regions import make_region
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.norms import pnorm


def make_steps(d, n, p):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, d))
    rows = rng.integers(0, n, 40)
    step = rng.normal(size=(40, d))
    return x, rows, x[rows] + 0.15 * d * step / pnorm(step, p)[:, None]


def project_by_nnls(x, row, moved):
    """Nearest point of a Voronoi cell in L2: min |u|, N (moved + u) <= b (Lawson & Hanson)."""
    normals = np.delete(x, row, axis=0) - x[row]
    offsets = np.square(normals).sum(axis=1) / 2 - normals @ (moved - x[row])
    if (offsets >= 0).all():
        return moved
    system = np.vstack([-normals.T, -offsets])
    target = np.r_[np.zeros(x.shape[1]), 1.0]
    residual = system @ nnls(system, target)[0] - target
    return moved - residual[:-1] / residual[-1]


@pytest.mark.parametrize(("d", "n"), [(2, 30), (3, 40), (8, 60)])
def test_in_l2_they_come_to_the_nearest_point(d, n):
    x, rows, moved = make_steps(d, n, 2)
    cells = VoronoiCells.of(x, 2, 0.15 * d, dtype=np.float64)
    pushed = cells.push_inside(rows, moved, d)
    nearest = np.array([project_by_nnls(x, *each) for each in zip(rows, moved, strict=True)])
    assert (pnorm(nearest - moved, 2) > 0.01).mean() > 0.3
    # a few of these cells have more walls near a corner than the rounds reach
    assert (pnorm(pushed - nearest, 2) < 1e-3).mean() >= 0.95


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_projected_points_lie_in_the_region_and_farther_out_than_along_the_ray(p):
    x, rows, moved = make_steps(3, 80, p)
    region = make_region(x, 0.45, "genuine-max", p=p)
    ends, pulled = region.project(rows, moved), region.pull(rows, moved)
    assert region.contains(rows, ends).all()
    assert region.contains(rows, pulled).all()
    out = pnorm(pulled - moved, p) > 1e-6
    assert out.mean() > 0.5
    way = [pnorm(each - x[rows], p)[out].mean() for each in (pulled, ends)]
    assert way[1] > 1.2 * way[0]
    np.testing.assert_allclose(ends[~out], moved[~out], atol=1e-9)


@pytest.mark.parametrize("p", [2.0, math.inf])
def test_columns_beside_do_not_move(p):
    x, rows, moved = make_steps(4, 60, p)
    moved[:, 3] = x[rows, 3]
    cells = VoronoiCells.of(x, p, 0.6, dtype=np.float64)
    pushed = cells.push_inside(rows, moved, 3)
    np.testing.assert_array_equal(pushed[:, 3], moved[:, 3])
    assert (pnorm(pushed - x[rows], p) <= pnorm(moved - x[rows], p) * (1 + 1e-9)).all()
    before, after = (cells.contains(rows, each).mean() for each in (moved, pushed))
    assert before < 0.6
    assert cells.contains(rows, cells.pull_inside(rows, pushed)).all()
    assert after > before

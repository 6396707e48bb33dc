"""Voronoi cells against distances to all points, compared one by one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from shaketable.adversary import voronoi as cells_module
from shaketable.adversary.voronoi import TIE, VoronoiCells
from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm

NORMS = [1.0, 1.5, 2.0, 3.0, math.inf]
DIMENSIONS = [1, 2, 5, 30]
CLOSE = 1e-9  # distances that rounding cannot tell apart


def distances(a, b, p):
    """Of all pairs, by scipy."""
    return cdist(a, b, "chebyshev") if math.isinf(p) else cdist(a, b, "minkowski", p=p)


def leads(x, rows, points, p):
    """How much nearer points are to their rows' than to the nearest that does not coincide."""
    far = distances(points, x, p)
    own = far[np.arange(len(rows)), rows]
    far[(x[rows][:, None] == x[None]).all(axis=2)] = math.inf
    return far.min(axis=1) - own


def scene(seed, n, d, *, wander=1.0):
    """Points, and for each of some rows one on its way to another and past it, and astray."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[-1] = x[0]  # coincide
    rows, others = rng.integers(n, size=(2, 3 * n))
    way = rng.uniform(0, 1, (3 * n, 1)) * (x[others] - x[rows])
    moved = x[rows] + way + wander * rng.uniform(0, 0.3, (3 * n, 1)) * rng.normal(size=way.shape)
    return x, rows, moved


def widest(x, rows, moved, p):
    return distances(moved, x, p)[np.arange(len(rows)), rows].max()


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("reach", [1.0, 0.1, 0.0])
def test_inside_is_nearer_than_to_all_others(d, p, reach):
    # with a small reach lists are short, and the rest is compared with all points
    x, rows, moved = scene(0, 60, d)
    cells = VoronoiCells.of(x, p, reach * widest(x, rows, moved, p))
    lead = leads(x, rows, moved, p)
    clear = abs(lead) > CLOSE
    inside = cells.contains(rows, moved)
    assert (inside == (lead > 0))[clear].all()
    assert min(inside.sum(), (~inside).sum()) > 5


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_inside_in_many_dimensions(p):
    # a distance is given up in the midst of it
    x, rows, moved = scene(0, 40, 700)
    way = (moved - x[rows]) * np.where(np.arange(120) % 2, 0.4, 1.6)[:, None]
    lead = leads(x, rows, x[rows] + way, p)
    inside = VoronoiCells.of(x, p, 100.0).contains(rows, x[rows] + way)
    assert (inside == (lead > 0)).all()
    assert min(inside.sum(), (~inside).sum()) > 5


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("d", [2, 30])
def test_lists_hold_all_points_within_twice_the_reach(d, p):
    x, _, _ = scene(1, 80, d)
    apart = distances(x, x, p)
    reach = float(np.quantile(apart, 0.3)) / 2
    lists = VoronoiCells.of(x, p, reach).lists
    for i in range(len(x)):
        others = lists.others[lists.starts[i] : lists.starts[i + 1]]
        if lists.first[i] != i:
            assert not len(others)
            continue
        expected = np.flatnonzero((apart[i] > 0) & (apart[i] <= 2 * reach))
        expected = expected[lists.first[expected] == expected]
        assert set(expected) <= set(others)
        assert apart[i, others].max(initial=0) <= 2.1 * reach
        assert (np.diff(apart[i, others]) >= -CLOSE).all()


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("d", [2, 30])
def test_lists_cut_short_change_nothing(monkeypatch, d, p):
    x, rows, moved = scene(2, 70, d)
    reach = widest(x, rows, moved, p)
    whole = VoronoiCells.of(x, p, reach)
    monkeypatch.setattr(cells_module, "_LONGEST", 4)
    monkeypatch.setattr(cells_module, "_PAIRS", 300)
    short = VoronoiCells.of(x, p, reach)
    sizes = np.diff(short.lists.starts)[:-1]
    assert sizes.max() == 4
    assert (sizes.min() == 0) == (d == 30)  # a smaller radius, for fewer pairs
    assert len(whole.lists.others) == 69 * 68
    assert (whole.contains(rows, moved) == short.contains(rows, moved)).all()
    np.testing.assert_allclose(
        short.pull_inside(rows, moved), whole.pull_inside(rows, moved), rtol=0, atol=1e-9
    )


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.sampled_from(NORMS),
    d=st.sampled_from(DIMENSIONS),
    whole=st.booleans(),
)
def test_a_point_belongs_to_one_cell_at_most(seed, p, d, whole):
    # theorem 1; on whole numbers many points are on boundaries, and in none
    rng = np.random.default_rng(seed)
    x, points = (
        rng.integers(-2, 3, (25, d)).astype(float) if whole else rng.normal(size=(25, d))
        for _ in range(2)
    )
    cells = VoronoiCells.of(x, p, 1.0)
    first = np.unique(cells.lists.first)
    inside = np.array([cells.contains(np.full(25, i), points) for i in first])
    assert (inside.sum(axis=0) <= 1).all()
    lead = np.sort(distances(points, x[first], p), axis=1)
    alone = lead[:, 1] - lead[:, 0] > CLOSE if len(first) > 1 else np.ones(25, bool)
    assert (inside.sum(axis=0) == alone).all()


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_boundaries_are_outside(d, p):
    # halves and quarters are exact
    x = np.zeros((2, d))
    x[1] = 0.5
    cells = VoronoiCells.of(x, p, 5.0)
    halfway = np.full((2, d), 0.25)
    assert not cells.contains(np.array([0, 1]), halfway).any()
    assert cells.contains(np.array([0, 1]), x).all()


@pytest.mark.parametrize("p", [*NORMS, 50.0])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_boundary_between_two_points_is_halfway(d, p):
    # in every norm: both distances are half the whole
    x = np.random.default_rng(3).normal(size=(2, d))
    cells = VoronoiCells.of(x, p, 10.0)
    moved = x[0] + np.array([[0.3], [0.499], [0.501], [1.0], [3.0]]) * (x[1] - x[0])
    pulled = cells.pull_inside(np.zeros(5, int), moved)
    assert (pulled[:2] == moved[:2]).all()
    np.testing.assert_allclose(pulled[2:], np.broadcast_to(x.mean(0), (3, d)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("reach", [1.0, 0.1])
def test_pulled_points_are_the_farthest_with_room(d, p, reach):
    x, rows, moved = scene(4, 60, d)
    cells = VoronoiCells.of(x, p, reach * widest(x, rows, moved, p))
    pulled = cells.pull_inside(rows, moved)
    step, kept = moved - x[rows], pulled - x[rows]
    share = np.sqrt((kept**2).sum(1) / np.maximum((step**2).sum(1), 1e-300))
    np.testing.assert_allclose(kept, share[:, None] * step, rtol=0, atol=1e-12)
    lead = leads(x, rows, moved, p)
    fixed, slope = cells.required_lead(rows)
    room = fixed + slope * distances(moved, x, p)[np.arange(len(rows)), rows]
    same = (pulled == moved).all(axis=1)
    assert same[lead > room + CLOSE].all()
    assert not same[lead < room - CLOSE].any()
    assert 5 < same.sum() < len(rows) - 5
    after = leads(x, rows, pulled, p)
    assert (after > room - CLOSE).all()
    np.testing.assert_allclose(after[~same], room[~same], rtol=0, atol=CLOSE)
    farther = x[rows] + (1 + 1e-5) * kept
    assert (leads(x, rows, farther, p) <= after + CLOSE).all()
    assert (room < 1e-4).all()
    assert (cells.pull_inside(rows, pulled) == pulled).mean() > 0.99


def twins(p):
    """Images in twos, a hundredth apart and less, their cells, and points just inside those."""
    rng = np.random.default_rng(5)
    x = np.repeat(rng.uniform(0, 1, (12, 784)), 2, axis=0)
    x[1::2] += 10.0 ** rng.uniform(-5, -2, (12, 1)) * rng.choice([-1, 1], (12, 784))
    other = x[np.arange(24) ^ 1]
    apart = np.diagonal(distances(x, other, p))
    return x, VoronoiCells.of(x, p, apart.max()), x + (0.5 - 1e-6) * (other - x)


@pytest.mark.parametrize("p", NORMS)
def test_pulled_points_stay_inside_when_they_are_rounded(p):
    x, cells, halfway = twins(p)
    rows = np.arange(24)
    assert cells.contains(rows, halfway).all()
    assert not cells.contains(rows, halfway.astype(np.float32)).all()  # a hair of 1e-6 does not do
    for moved in (halfway, 2 * halfway - x):
        pulled = cells.pull_inside(rows, moved)
        assert cells.contains(rows, pulled).all()
        assert cells.contains(rows, pulled.astype(np.float32)).all()
        assert (pulled - x != 0).any(axis=1).all()


def test_the_type_that_is_rounded_to_decides_the_room():
    x = 1e4 + np.array([[0.0], [1e-3]])  # float32 cannot tell them apart
    rows, moved = np.array([0]), x[1:]
    assert (VoronoiCells.of(x, 2, 1.0).pull_inside(rows, moved) == x[0]).all()
    fine = VoronoiCells.of(x, 2, 1.0, dtype=np.float64).pull_inside(rows, moved)
    np.testing.assert_allclose(fine - x[0], 5e-4, rtol=1e-5)
    coarse = VoronoiCells.of(np.array([[0.0], [1.0]]), 2, 1.0, dtype=np.float16)
    pulled = coarse.pull_inside(rows, np.array([[0.7]]))
    assert 0.49 < pulled < 0.5
    assert coarse.contains(rows, pulled.astype(np.float16)).all()


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.sampled_from(NORMS),
    d=st.sampled_from(DIMENSIONS),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_cells_are_star_shaped(seed, p, d, dtype):
    x, rows, moved = scene(seed, 30, d)
    cells = VoronoiCells.of(x, p, 1.0, dtype=dtype)
    ends = cells.pull_inside(rows, moved).astype(dtype).astype(float)
    for share in (0.0, 0.1, 0.6, 0.99, 1.0):
        assert cells.contains(rows, x[rows] + share * (ends - x[rows])).all()
    outside = ~cells.contains(rows, moved)
    beyond = x[rows] + 1.3 * (moved - x[rows])
    assert not cells.contains(rows[outside], beyond[outside]).any()


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_a_nearest_neighbour_classifier_is_right_in_every_cell(p):
    # theorem 2
    x, rows, moved = scene(6, 100, 3, wander=3.0)
    cells = VoronoiCells.of(x, p, 5.0)
    metric = {"metric": "chebyshev"} if math.isinf(p) else {"p": p}
    model = NearestNeighbors(n_neighbors=1, **metric).fit(x)

    def label(points):
        return cells.lists.first[model.kneighbors(points)[1][:, 0]]

    pulled = cells.pull_inside(rows, moved)
    assert (label(pulled) == cells.lists.first[rows]).all()
    assert (label(moved) != cells.lists.first[rows]).mean() > 0.2


def test_points_that_coincide_share_a_cell():
    x = np.array([[0.0, 1.0], [3.0, 1.0], [-0.0, 1.0], [3.0, 1.0]])
    cells = VoronoiCells.of(x, 2, 2.0)
    assert cells.lists.first.tolist() == [0, 1, 0, 1]
    assert cells.lists.others.tolist() == [1, 0]
    rows = np.arange(4)
    assert cells.contains(rows, x).all()
    assert cells.contains(rows, x[[2, 3, 0, 1]]).all()
    pulled = cells.pull_inside(rows, x[[1, 0, 1, 0]])
    np.testing.assert_allclose(pulled[:, 0], 1.5, atol=1e-5)
    cells.refuse_clashes(np.array([0, 1, 0, 1]))
    for codes in ([0, 1, 0, 2], [0, 0, 1, 0]):
        with pytest.raises(InputError, match="must not coincide"):
            cells.refuse_clashes(np.array(codes))


@pytest.mark.parametrize("d", [1, 30])
@pytest.mark.parametrize("x", [np.zeros((1, 1)), np.ones((3, 1))])
def test_a_single_place_owns_everything(x, d):
    x = np.repeat(x, d, axis=1)
    cells = VoronoiCells.of(x, 2, 1.0)
    moved = x + 1e6
    rows = np.arange(len(x))
    assert cells.contains(rows, moved).all()
    assert (cells.pull_inside(rows, moved) == moved).all()


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("reach", [0.0, 0.5, 100.0])
def test_free_balls_reach_halfway_to_the_nearest_point(d, p, reach):
    x, _, _ = scene(7, 120, d)
    cells, rows = VoronoiCells.of(x, p, reach), np.arange(len(x))
    apart = distances(x, x, p)
    apart[apart == 0] = math.inf
    nearest = x[apart.argmin(axis=1)]
    assert cells.contains(rows, x + (0.5 - 1e-9) * (nearest - x)).all()
    assert not cells.contains(rows, x + (0.5 + 1e-9) * (nearest - x)).any()
    step = np.random.default_rng(1).normal(size=x.shape)
    step *= (apart.min(axis=1) / 2 / pnorm(step, p))[:, None]
    assert cells.contains(rows, x + (1 - 1e-9) * step).all()


@pytest.mark.parametrize("p", NORMS)
def test_intervals_are_the_cells_in_one_dimension(p):
    x, _, _ = scene(8, 40, 1)
    cells = VoronoiCells.of(x, p, 1.0)
    places, place = np.unique(x, return_inverse=True)
    halfway = (places[:-1] + places[1:]) / 2
    ends = np.column_stack([np.append(-math.inf, halfway), np.append(halfway, math.inf)])
    ends = ends[place.ravel()]
    at = np.linspace(-5, 5, 400)[:, None]
    for row in range(len(x)):
        low, high = ends[row]
        assert (cells.contains(np.full(400, row), at) == ((low < at) & (at < high))[:, 0]).all()
        finite = ends[row][np.isfinite(ends[row])]
        assert not cells.contains(np.full(len(finite), row), finite[:, None]).any()


def test_refusals():
    x = np.zeros((2, 2))
    with pytest.raises(InputError, match="p must be 1 or more, got 0.5"):
        VoronoiCells.of(x, 0.5, 1.0)
    with pytest.raises(InputError, match="reach must be a distance, 0 or more, got -1"):
        VoronoiCells.of(x, 2, -1)


def test_many_points_and_a_reach_over_all_of_them_fit():
    rng = np.random.default_rng(9)
    x = rng.uniform(size=(2000, 2))
    cells = VoronoiCells.of(x, 2, 10.0)
    assert len(cells.lists.others) <= 512 * 2000
    rows = np.arange(2000)
    moved = x + rng.normal(size=x.shape)
    pulled = cells.pull_inside(rows, moved)
    assert cells.contains(rows, pulled).all()
    assert (leads(x, rows, moved, 2) > 0).sum() == cells.contains(rows, moved).sum()


class TestTensors:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = pytest.importorskip("shaketable.adversary.region_tensors")

    def make_both(self, cells):
        return self.tensors.HostVoronoi(cells), self.tensors.DeviceVoronoi(cells, "cpu")

    @pytest.mark.parametrize("p", NORMS)
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_tensors_are_pulled_as_arrays_are(self, d, p):
        x, rows, moved = scene(10, 60, d)
        cells = VoronoiCells.of(x, p, widest(x, rows, moved, p))
        moved = moved.astype(np.float32)
        expected = cells.pull_inside(rows, moved)
        same = (expected == moved).all(axis=1)
        for there in self.make_both(cells):
            given = self.torch.from_numpy(moved.copy())
            pulled = there.pull_inside(self.torch.from_numpy(rows), given)
            assert pulled.dtype == self.torch.float32
            assert (given.numpy() == moved).all()
            assert (pulled.numpy()[same] == moved[same]).all()
            np.testing.assert_allclose(pulled.numpy(), expected, rtol=0, atol=1e-6)
            assert cells.contains(rows, pulled.numpy()).all()
            assert cells.contains(rows, moved).sum() < len(rows) - 5

    @pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
    @pytest.mark.parametrize("d", [2, 30])
    def test_lists_cut_short_change_nothing(self, monkeypatch, d, p):
        x, rows, moved = scene(11, 60, d)
        monkeypatch.setattr(cells_module, "_LONGEST", 3)
        monkeypatch.setattr(cells_module, "_PAIRS", 30)  # some rows have no list
        monkeypatch.setattr(self.tensors, "_VALUES", 100)
        cells = VoronoiCells.of(x, p, widest(x, rows, moved, p))
        for there in self.make_both(cells):
            pulled = there.pull_inside(self.torch.from_numpy(rows), self.torch.from_numpy(moved))
            np.testing.assert_allclose(
                pulled.numpy(), cells.pull_inside(rows, moved), rtol=0, atol=1e-9
            )

    @pytest.mark.parametrize("p", NORMS)
    def test_pulled_points_stay_inside_when_they_are_rounded(self, p):
        x, cells, halfway = twins(p)
        rows = np.arange(len(x))
        for there in self.make_both(cells):
            pulled = there.pull_inside(self.torch.from_numpy(rows), self.torch.from_numpy(halfway))
            assert cells.contains(rows, pulled.float().numpy()).all()

    def test_rows_without_neighbours_are_skipped(self):
        x = np.array([[0.0], [10.0], [20.0], [20.5]])
        rows, moved = self.torch.tensor([1, 0, 1]), self.torch.zeros(3, 1)
        for there in self.make_both(VoronoiCells.of(x, 2, 1.0)):
            assert there.pull_inside(rows, moved) is moved
            mixed = there.pull_inside(self.torch.tensor([0, 3]), self.torch.tensor([[0.9], [20.0]]))
            np.testing.assert_allclose(mixed.numpy(), [[0.9], [20.25]], atol=1e-4)

    def test_neighbours_that_are_equally_bad_all_count(self):
        # the end of the step is 2 from both, but their boundaries are at 1 and 2
        x = np.array([[0.0, 0.0], [2.0, 1.0], [3.0, -2.0], [0.0, 9.0]])
        moved = np.array([[4.0, 0.0]])
        cells = VoronoiCells.of(x, math.inf, 4.0)
        for there in self.make_both(cells):
            pulled = there.pull_inside(self.torch.tensor([0]), self.torch.from_numpy(moved)).numpy()
            assert cells.contains(np.array([0]), pulled).all()
            np.testing.assert_allclose(pulled, [[1.0, 0.0]], atol=1e-5)

    def test_the_device_decides_the_way(self):
        cells = VoronoiCells.of(np.zeros((1, 1)), 2, 1.0)
        for device in ("cpu", "mps"):  # which holds no float64
            assert isinstance(self.tensors.voronoi_on(cells, device), self.tensors.HostVoronoi)
        assert isinstance(self.tensors.voronoi_on(cells, "meta"), self.tensors.DeviceVoronoi)


def test_what_is_nearer_by_rounding_alone_is_a_tie():
    x = np.array([[0.0], [2.0]])
    cells = VoronoiCells.of(x, 2, 2.0)
    near, clear = 1 - TIE / 4, 1 - 4 * TIE
    assert cells.contains(np.array([0, 0]), np.array([[near], [clear]])).tolist() == [False, True]


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_lists_are_the_same_from_a_device(p):
    pytest.importorskip("torch")
    rng = np.random.default_rng(9)
    x = rng.uniform(size=(90, 20))
    x[1::2] = x[::2] + 0.02 * rng.normal(size=(45, 20))
    x[5] = x[4]  # one place
    reach = 0.3 if math.isinf(p) else 0.5 * 20 ** (1 / p) / 4
    here, there = (VoronoiCells.of(x, p, reach, device=device) for device in (None, "cpu"))
    assert len(here.lists.others) > 80
    for one, two in zip(here.lists, there.lists, strict=True):
        np.testing.assert_array_equal(one, two)

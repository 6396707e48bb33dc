"""Volumes against geometry, and overlaps against areas."""

import math

import numpy as np
import pytest
from scipy import stats

from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.core.types import FloatArray, KeyArray
from shaketable.corruptions.balls import numbers as balls
from shaketable.corruptions.balls.charts import (
    tabulate_overlaps,
    tabulate_shares,
    tabulate_volumes,
)
from shaketable.corruptions.balls.numbers import (
    log_volume,
    overlap,
    samples,
    volume_factor,
    volume_table,
)
from shaketable.corruptions.pnorm import unit_ball
from shaketable.statistics.intervals import proportion

INF = math.inf


def away(share: float, expected: float, n: int) -> float:
    """Standard deviations between a share of n points and what it should be."""
    return abs(share - expected) / math.sqrt(expected * (1 - expected) / n)


@pytest.mark.parametrize(
    ("p", "d", "volume"),
    [(0.5, 1, 2), (7, 1, 2), (INF, 1, 2), (0.5, 2, 2 / 3), (1, 2, 2), (2, 2, math.pi), (INF, 2, 4),
     (1, 3, 4 / 3), (2, 3, 4 * math.pi / 3), (INF, 3, 8), (2, 4, math.pi**2 / 2),
     (0.5, 3, 64 / math.factorial(6))],
)  # fmt: skip
def test_volumes_are_those_of_geometry(p: float, d: int, volume: float) -> None:
    assert math.exp(log_volume(p, d)) == pytest.approx(volume, rel=1e-13)


@pytest.mark.parametrize(("p", "d"), [(0.7, 3), (3, 4), (10, 5)])
def test_volume_is_the_share_of_a_cube_that_the_ball_fills(p: float, d: int) -> None:
    cube = np.random.default_rng(0).uniform(-1, 1, (200_000, d))
    share = np.mean((np.abs(cube) ** p).sum(axis=1) <= 1)
    assert away(share, math.exp(log_volume(p, d)) / 2**d, len(cube)) < 4


def test_volumes_tend_to_the_cube_and_stay_finite() -> None:
    assert log_volume(1e9, 3072) == pytest.approx(log_volume(INF, 3072), abs=1e-4)
    assert math.isfinite(log_volume(0.001, 10**6))


def test_factors_are_those_of_the_paper_once_its_columns_change_places() -> None:
    printed = {3: (1.9, 3.1), 5: (6.1, 19.7), 10: (401.5, 9037), 20: (4e7, 6e10)}
    table = volume_table()
    assert [(v.p, v.q, v.d) for v in table] == [
        (p, q, d) for p, q in ((INF, 2), (2, 1)) for d in printed
    ]
    for v in table:
        assert v.factor == pytest.approx(printed[v.d][v.p == 2], rel=0.02)
        assert v.factor == volume_factor(v.p, v.q, v.d)
    assert volume_factor(INF, 2, 5) == pytest.approx(32 / (8 * math.pi**2 / 15))


def test_a_factor_beyond_floats_is_given_by_its_logarithm() -> None:
    (v,) = volume_table([3072], [(2, 1)])
    assert v.factor == INF
    assert v.log == log_volume(2, 3072) - log_volume(1, 3072)
    assert str(v) == "10^4991.0"
    assert volume_factor(1, 2, 3072) == 0.0


@pytest.mark.parametrize("p", [0.5, 1, 2, 10, INF])
def test_samples_fill_the_ball_evenly(p: float) -> None:
    points = samples(p, 2000)
    assert points.shape == (2000, 2)
    assert stats.kstest(pnorm(points, p) ** 2, "uniform").pvalue > 1e-3
    assert pnorm(samples(p, 100, kind="surface"), p) == pytest.approx(np.ones(100))
    np.testing.assert_array_equal(points, samples(p, 2000))
    assert not np.array_equal(points, samples(p, 2000, rng=1))


def test_vertices_are_corners() -> None:
    corners = samples("inf", 100, kind="vertices")
    assert {tuple(c) for c in corners.tolist()} == {(a, b) for a in (-1, 1) for b in (-1, 1)}
    with pytest.raises(InputError, match="did you mean 'surface'"):
        samples(2, 5, kind="surfaces")  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(("p", "d"), [(0.5, 3), (1, 1), (2, 3), (INF, 4)])
def test_of_the_same_norm_the_share_is_a_ratio_of_volumes(p: float, d: int) -> None:
    sizes = np.array([0.5, 0.8, 0.9, 1.0, 1.1, 1.3, 2.0])
    found = overlap(p, p, epsilon_q=1, epsilons=sizes, d=d, n=4000)
    for i, epsilon in enumerate(sizes):
        inside, over = found.first_in_second.value[i], found.second_in_first.value[i]
        if epsilon <= 1:
            assert inside == 1
        else:
            assert away(inside, epsilon**-d, 4000) < 4
        if epsilon >= 1:
            assert over == 1
        else:
            assert away(over, epsilon**d, 4000) < 4


def test_disc_and_square_share_their_areas() -> None:
    """A square of half side 0.8 and the unit disc have 4 circular caps not in common."""
    cap = math.acos(0.8) - 0.8 * 0.6
    common = math.pi - 4 * cap
    n = 20_000
    found = overlap("inf", 2, epsilon_q=1, epsilons=[0.8, 1], d=2, n=n)
    assert away(found.first_in_second.value[0], common / 1.6**2, n) < 4
    assert away(found.second_in_first.value[0], common / math.pi, n) < 4
    assert away(found.first_in_second.value[1], math.pi / 4, n) < 4
    assert found.second_in_first.value[1] == 1


@pytest.mark.parametrize(("p", "q"), [(0.5, 1), (1, 2), (2, 10), (10, INF)])
def test_balls_are_nested_and_corners_touch(p: float, q: float) -> None:
    d, n = 3, 3000
    found = overlap(p, q, epsilon_q=1, epsilons=[1, d ** (1 / p - 1 / q)], d=d, n=n)
    assert found.first_in_second.value[0] == 1
    assert found.second_in_first.value[1] == 1
    expected = math.exp(log_volume(p, d) - log_volume(q, d))
    assert away(found.second_in_first.value[0], expected, n) < 4


def test_overlap_of_the_paper() -> None:
    """In 3072 dimensions sizes hardly vary: |x_i| of L1 noise is exponential, of L2 normal."""
    d = 3072
    l1, linf = (overlap(p) for p in (1, "inf"))
    assert l1.first_in_second.half == pytest.approx(4 * math.sqrt(d / 2), rel=0.01)
    assert l1.second_in_first.half == pytest.approx(4 * math.sqrt(2 * d / math.pi), rel=0.01)
    assert linf.first_in_second.half == pytest.approx(4 / math.sqrt(d / 3), rel=0.01)
    most = stats.halfnorm.ppf(0.5 ** (1 / d))  # median of the largest of d
    assert linf.second_in_first.half == pytest.approx(4 * most / math.sqrt(d), rel=0.01)
    for p, sizes in ((1, [130, 166, 200]), ("inf", [0.11, 0.18, 0.5])):
        found = overlap(p, epsilons=sizes)
        assert found.first_in_second.value == pytest.approx([1, 0, 0], abs=0.01)
        assert found.second_in_first.value == pytest.approx([0, 0, 1], abs=0.01)


def test_l0_noise_moves_a_share_of_grey_values_to_black_or_white() -> None:
    sizes = [1 / 3072, 64.4 / 3072, 65 / 3072, 0.5, 3071 / 3072, 1]
    found = overlap(0, 2, epsilon_q=4, epsilons=sizes, n=20)
    assert found.first_in_second.value.tolist() == [1, 1, 0, 0, 0, 0], "0.5 * sqrt(64) = 4"
    assert found.second_in_first.value.tolist() == [0, 0, 0, 0, 0, 1], "no value stays at 0"
    assert (found.first_in_second.half, found.second_in_first.half) == (64 / 3072, 1)
    cube = overlap("l0", "inf", epsilon_q=0.5, epsilons=[0.5], d=8, n=5)
    assert cube.first_in_second.value == [1]
    assert overlap(0, "inf", epsilon_q=0.49, d=8, n=5).first_in_second.value.max() == 0
    assert overlap(0, 2).epsilons[-1] == 1


def test_intervals_are_those_of_a_proportion() -> None:
    n = 60
    found = overlap(1, 2, epsilon_q=1, epsilons=np.geomspace(0.1, 100, 60), d=3, n=n)
    hits = np.round(found.first_in_second.value * n).astype(int)
    assert {0, n} < set(hits.tolist())
    for side in (found.first_in_second, found.second_in_first):
        for value, low, high in zip(side.value, side.low, side.high, strict=True):
            expected = proportion(round(value * n), n)
            assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_shares_rise_and_fall_around_half_on_sizes_of_their_own() -> None:
    found = overlap(0.5, 2, d=50, n=301)
    for side, sign in ((found.first_in_second, -1), (found.second_in_first, 1)):
        assert (sign * np.diff(side.value) >= 0).all()
        at_half = np.interp(side.half, found.epsilons, side.value)
        assert at_half == pytest.approx(0.5, abs=0.1)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = overlap(1, 2, d=10, n=50)
    seen: list[int] = []

    def watched(keys: KeyArray, d: int, p: float) -> FloatArray:
        seen.append(len(keys) * d)
        return unit_ball(keys, d, p)

    monkeypatch.setattr(balls, "unit_ball", watched)
    monkeypatch.setattr(balls, "_BLOCK", 75)
    again = overlap(1, 2, d=10, n=50)
    assert max(seen) <= 75
    assert again.json() == whole.json()


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"p": -1}, "norm must be"),
        ({"q": 0}, "norm must be"),
        ({"epsilon_q": 0}, "positive"),
        ({"epsilons": [0.0]}, "positive and finite"),
        ({"epsilons": []}, "positive and finite"),
        ({"p": 0, "epsilons": [1.5]}, "at most 1"),
        ({"d": 0}, "d must be"),
        ({"n": 2.5}, "n must be"),
    ],
)
def test_what_is_no_ball_is_an_error(change: dict[str, float], rule: str) -> None:
    settings = {"p": 1, "q": 2, "d": 3, "n": 5} | change
    with pytest.raises(InputError, match=rule):
        overlap(settings.pop("p"), settings.pop("q"), **settings)  # type: ignore[arg-type]  # wrong


def test_tables_show_the_numbers() -> None:
    assert ["10", "401.5", "9037"] in [*tabulate_volumes(volume_table()).texts()]
    found = overlap(0, 2, epsilons=[0.01, 0.5], n=20)
    (row,) = tabulate_overlaps([found]).texts()
    assert row == ["L0", "L2(4)", "3,072", "0.02083", "1", "48"]
    assert [*tabulate_shares(found).texts()] == [
        ["0.01", "100.00 [83.16, 100.00]", "0.00 [0.00, 16.84]"],
        ["0.5", "0.00 [0.00, 16.84]", "0.00 [0.00, 16.84]"],
    ]


def test_the_points_of_the_two_balls_are_drawn_apart():
    found = overlap(2, 2, epsilon_q=4, d=20, n=201)
    # were they the same points, the two sizes at which half lies in the other would multiply to 16
    assert found.first_in_second.half * found.second_in_first.half != pytest.approx(16, rel=1e-9)
    assert found.first_in_second.half == pytest.approx(4, rel=0.2)

"""Opponents in tables, against distances that are computed pair by pair."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from helpers.frames import make_people
from shaketable import make_dataset, separation
from shaketable.core.errors import InputError, UndefinedError
from shaketable.separations.one_nn import one_nn
from shaketable.separations.pair import list_gaps

FRAME, Y = make_people(150)
FRAME = FRAME.drop(columns="since")
DATA = make_dataset(FRAME, Y)
MOVED, OTHERS = ["age", "income", "weight"], ["job", "size", "member"]


def same(a, b):
    return bool(a == b) or (pd.isna(a) and pd.isna(b))


def brute_force(p, *, gower):
    best, nearest = (math.inf, ()), np.full(len(Y), math.inf)
    rows = FRAME.to_dict("records")
    for i, j in combinations(range(len(rows)), 2):
        a, b = rows[i], rows[j]
        if Y[i] == Y[j] or any(pd.isna(a[c]) != pd.isna(b[c]) for c in MOVED):
            continue
        agree = [same(a[c], b[c]) for c in OTHERS]
        if not gower and not all(agree):
            continue
        gaps = [0 if pd.isna(a[c]) else abs(float(a[c]) - float(b[c])) for c in MOVED]
        gaps += [0 if ok else 1 for ok in agree]
        d = max(gaps) if math.isinf(p) else sum(g**p for g in gaps) ** (1 / p)
        best = min(best, (d, (i, j)))
        nearest[[i, j]] = np.minimum(nearest[[i, j]], d)
    return best, nearest


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("gower", [False, True])
def test_the_separation_is_that_of_all_opponents(p, gower):
    data = DATA.touching(others="gower") if gower else DATA
    found = separation(data, norm=p)
    (two_r, pair), nearest = brute_force(p, gower=gower)
    assert found.two_r == pytest.approx(two_r, rel=1e-6)
    assert found.pair == pair
    np.testing.assert_allclose(found.nearest, nearest, rtol=1e-6)
    alone = np.isinf(nearest)
    assert (found.opponent[alone] == -1).all()
    assert any("have no opponent" in note for note in found.notes) == alone.any()


def test_kept_numbers_count_by_their_range_in_gowers_distance():
    x = np.array([[0.0, 0], [1, 5], [3, 10], [3.5, 10]])
    data = make_dataset(x, [0, 1, 0, 1]).touching(keep="1", others="gower")
    found = separation(data, norm=1)
    np.testing.assert_allclose(found.nearest, [1.5, 1.5, 0.5, 0.5])
    assert [g.difference for g in list_gaps(data, (0, 1), 1)] == [1, 0.5]
    agreeing = separation(data.touching(others="agree"), norm=1)
    assert agreeing.nearest.tolist() == [math.inf, math.inf, 0.5, 0.5]


def test_points_without_opponents_leave_eps_min_undefined():
    data = make_dataset(pd.DataFrame({"n": [1.0, 2, 3, 4], "id": list("abcd")}), [0, 1, 0, 1])
    with pytest.raises(UndefinedError, match=r"leaves alone \(id\), and .*touching.others='gower'"):
        separation(data)
    gaps = pd.DataFrame({"n": [1.0, None, 3, None], "job": list("abab")})
    message = r"leaves alone \(job\) and have gaps in the same columns, and there are none;"
    with pytest.raises(UndefinedError, match=message):
        separation(make_dataset(gaps, [0, 1, 0, 1]))
    assert separation(data.touching(others="gower")).two_r == 1
    with pytest.raises(UndefinedError, match="no column holds numbers that noise may change"):
        separation(data.touching(keep="n"))


def test_categories_alone_have_no_eps_min_though_points_coincide():
    frame = pd.DataFrame({"job": ["a", "b"] * 20, "member": [True, False] * 20})
    for y in (["x", "y"] * 20, ["x", "y", "y", "x"] * 10):
        with pytest.raises(UndefinedError, match=r"no column holds numbers .*swap\(0.1\)"):
            separation(make_dataset(frame, y))


def test_gowers_distance_has_a_limit_and_1nn_refuses_tables():
    words = pd.DataFrame({"n": np.arange(1200.0), "id": [f"t{i}" for i in range(1200)]})
    data = make_dataset(words, np.arange(1200) % 2).touching(others="gower")
    with pytest.raises(InputError, match="at most 1000 different values"):
        separation(data, norm=2)
    with pytest.raises(InputError, match="1-NN compares points that are plain numbers"):
        one_nn(data)

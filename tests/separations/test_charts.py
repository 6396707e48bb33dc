"""Charts of a separation show its numbers, and Vega-Lite can draw them."""

import pytest

from helpers.pages import chart_rows
from shaketable import make_dataset
from shaketable.core.errors import InputError
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.separations import charts
from shaketable.separations.separation import separation


def test_nearest_counts_every_point_and_starts_at_the_separation(data: Dataset) -> None:
    result = separation(data)
    rows = chart_rows(charts.nearest_chart(result))
    assert sum(r["points"] for r in rows if "points" in r) == data.n
    steps = [r for r in rows if "share" in r]
    assert steps[0] == {"distance": result.two_r, "share": 100 / data.n}
    assert steps[-1]["share"] == 100
    assert [r["at"] for r in rows if "at" in r] == [result.two_r]


def test_nearest_needs_every_point(data: Dataset) -> None:
    with pytest.raises(InputError, match="points=True"):
        charts.nearest_chart(separation(data, points=False))


def test_left_out_starts_at_eps_min_and_takes_one_pair_a_step(data: Dataset) -> None:
    result = separation(data, closest=4)
    rows = chart_rows(charts.left_out_chart(result))
    assert rows[0] == {"pairs": 0, "epsilon": result.epsilon_min}
    assert [r["epsilon"] for r in rows] == (result.closest_distance / 2).tolist()
    with pytest.raises(InputError, match="at least 2 pairs"):
        charts.left_out_chart(separation(data, closest=1))


def test_points_are_named_by_their_source_rows() -> None:
    x = [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [9.0, 9.0]]
    left = make_dataset(x, list("ababa"), name="tiny").drop_clashes()
    rows = [r["row"] for r in chart_rows(charts.points_chart(separation(left), left))]
    assert sorted(rows) == [2, 2, 3, 3, 4], "those of the pair twice"


def test_every_layer_of_the_points_has_their_places(data: Dataset) -> None:
    panel = charts.points_chart(separation(data), data).to_dict()
    fields = [[layer["encoding"][axis]["field"] for axis in "xy"] for layer in panel["layer"]]
    assert fields == [["x", "y"]] * 3


def test_points_keep_the_closest_pair_when_there_are_too_many(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MAX_POINTS", 20)
    result = separation(data)
    rows = [r["row"] for r in chart_rows(charts.points_chart(result, data))]
    assert set(result.pair) <= set(rows)
    assert len(set(rows)) <= 22


def test_points_need_two_dimensions() -> None:
    iris = build("iris").drop_clashes()
    with pytest.raises(InputError, match="2 features"):
        charts.points_chart(separation(iris), iris)

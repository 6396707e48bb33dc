"""Charts of balls show the numbers of `shaketable.corruptions.balls.numbers`."""

import math
from typing import Any

import numpy as np
import pytest
import vl_convert

from shaketable.core.errors import InputError
from shaketable.corruptions.balls.charts import (
    overlap_chart,
    sample_panels,
    samples_chart,
    volumes_chart,
)
from shaketable.corruptions.balls.numbers import overlap, samples, volume_table
from shaketable.views.drawing import Chart


def drawn(chart: Chart) -> dict[str, Any]:
    """Spec of a chart that Vega-Lite accepts and compiles."""
    spec = chart.to_dict()
    vl_convert.vegalite_to_vega(spec)
    return spec


def rows_of(spec: dict[str, Any], panel: dict[str, Any]) -> list[dict[str, Any]]:
    data = panel.get("data") or panel["layer"][0]["data"]
    rows: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return rows


def test_samples_are_shown_on_equal_axes() -> None:
    panels = {"disc": samples(2, 30), "square": samples("inf", 30)}
    spec = drawn(samples_chart(panels))
    assert [p["title"] for p in spec["concat"]] == ["disc", "square"]
    for panel, points in zip(spec["concat"], panels.values(), strict=True):
        shown = [(r["x"], r["y"]) for r in rows_of(spec, panel)]
        np.testing.assert_allclose(shown, points, atol=1e-4)
        x, y = (panel["encoding"][axis]["scale"]["domain"] for axis in "xy")
        assert x == y == [-1.05, 1.05]
        assert panel["width"] == panel["height"]


def test_panels_of_the_paper_are_balls_and_spheres() -> None:
    panels = sample_panels(n=40)
    assert list(panels) == ["L0.5 sphere", "L1 ball", "L2 ball", "L10 sphere"]
    np.testing.assert_array_equal(panels["L2 ball"], samples(2, 40))
    np.testing.assert_array_equal(panels["L10 sphere"], samples(10, 40, kind="surface"))


def test_volumes_are_shown_in_powers_of_ten() -> None:
    spec = drawn(volumes_chart(volume_table([3, 3072])))
    shown = {(r["model"], r["d"]): r["log"] for r in rows_of(spec, spec)}
    for v in volume_table([3, 3072]):
        name = "L2 : L1" if v.p == 2 else "L-inf : L2"
        assert shown[name, v.d] == pytest.approx(v.log / math.log(10))
    with pytest.raises(InputError, match="nothing to draw"):
        volumes_chart([])


def test_overlap_shows_both_shares_and_their_intervals() -> None:
    found = [overlap(p, 2, d=20, n=50) for p in (0, 1, "inf", 0.5)]
    spec = drawn(overlap_chart(found))
    assert spec["columns"] == 3
    titles = [panel["title"] for panel in spec["concat"]]
    assert titles == [f"{name} and L2(4), d = 20" for name in ("L0", "L1", "L-inf", "L0.5")]
    for panel, o in zip(spec["concat"], found, strict=True):
        rows = rows_of(spec, panel)
        expected = np.concatenate(
            [
                np.stack([o.epsilons, 100 * s.value, 100 * s.low, 100 * s.high], axis=1)
                for s in (o.first_in_second, o.second_in_first)
            ]
        )
        shown = [[r["epsilon"], r["value"], r["low"], r["high"]] for r in rows]
        np.testing.assert_array_equal(shown, expected)
        assert rows[0]["model"].startswith("points of the first ball")
        ticks = panel["layer"][0]["encoding"]["x"]["axis"]["values"]
        assert o.epsilons.min() <= min(ticks) <= max(ticks) <= o.epsilons.max()
    with pytest.raises(InputError, match="nothing to draw"):
        overlap_chart([])

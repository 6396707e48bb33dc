"""Names beside points do not cover each other, and belong to the nearest point."""

import numpy as np
import pytest

from helpers.drawn import WIDTHS, draw_block
from shaketable.views import drawing
from shaketable.views.blocks import Chart
from shaketable.views.scatter import LETTER, LINE, Frame, place_labels, write_names

FRAME = Frame((0, 100), (0, 100), 400, 400)


def test_names_of_crowded_points_are_apart_and_inside():
    rng = np.random.default_rng(0)
    points = [tuple(p) for p in rng.uniform(100, 300, (12, 2)).tolist()]
    texts = [f"model {i}" for i in range(12)]
    labels = place_labels([points], texts, widths=[400], height=400)
    assert not any(label.hidden for label in labels)
    centres = points + np.array([(label.dx, label.dy) for label in labels])
    gaps = np.abs(centres[:, None] - centres[None])
    apart = (gaps[..., 0] >= LETTER * len(texts[0]) - 1e-6) | (gaps[..., 1] >= LINE - 1e-6)
    assert apart[~np.eye(12, dtype=bool)].all()
    assert (np.linalg.norm(centres - points, axis=1) < 80).all()


def test_names_at_the_edge_stay_inside():
    (label,) = place_labels([[(99, 1)]], ["name"], widths=[100], height=100)
    assert 99 + label.dx + LETTER * 2 <= 100
    assert 1 + label.dy - LINE / 2 >= 0


@pytest.mark.parametrize("crowd", [0.3, 1.0])
def test_every_name_is_nearest_to_its_own_point_or_a_line_leads_to_it(crowd):
    rng = np.random.default_rng(1)
    xy = 50 + crowd * rng.uniform(-40, 40, (9, 2))
    points = [(x, y, f"net {i}") for i, (x, y) in enumerate(xy.tolist())]
    _, layers = write_names([name for *_, name in points], points, FRAME)
    rows = next(iter(drawing.alt.layer(*layers).to_dict()["datasets"].values()))
    for width in (270, 620, 1100):
        frame = Frame((0, 100), (0, 100), width, 400)
        places = np.array([frame.to_pixels(x, y) for x, y, _ in points])
        for i, row in enumerate(rows):
            assert (row["x"], row["y"], row["text"]) == points[i]
            half = LETTER * len(row["text"]) / 2, LINE / 2
            centre = places[i] + [row["dx"], row["dy"]]
            gaps = np.hypot(*np.maximum(0, np.abs(places - centre) - half).T)
            assert gaps.argmin() == i or row["leads"]
            ends = np.abs(np.array([row["endx"] - row["dx"], row["endy"] - row["dy"]]))
            assert (ends <= np.array(half) + 0.02).all(), "a line ends at the name"


@pytest.mark.parametrize("width", WIDTHS)
def test_many_long_names_become_numbers_with_a_key(width):
    rng = np.random.default_rng(2)
    names = [f"a network with a long name {i}" for i in range(20)]
    xy = rng.uniform(25, 75, (20, 2)).tolist()
    points = [(x, y, name) for (x, y), name in zip(xy, names, strict=True)]

    def draw():
        colour, layers = write_names(names, points, FRAME)
        dots = drawing.make_chart([{"model": n, "x": x, "y": y} for x, y, n in points]).mark_point()
        dots = dots.encode(FRAME.x("x", "x"), FRAME.y("y", "y"), color=colour)
        return drawing.stack_panels(
            [drawing.alt.layer(dots, *layers).properties(height=FRAME.height)], title="Models"
        )

    (scene,) = draw_block(Chart(draw, ""), width)
    legend = [t.text for t in scene.texts if t.role == "legend-label"]
    assert legend == [f"{i + 1}  {name}" for i, name in enumerate(names)]
    assert (scene.find_overlaps(), scene.find_cut()) == ([], [])


def test_far_too_many_names_are_left_to_tooltips_and_the_chart_says_so():
    points = [(i / 2, i / 2, f"net {i}") for i in range(200)]
    colour, layers = write_names([name for *_, name in points], points, FRAME)
    assert colour.to_dict()["legend"] is None
    rows = [r for part in drawing.alt.layer(*layers).to_dict()["datasets"].values() for r in part]
    assert rows == [{"text": "200 points: names on pointing, and in the table"}]

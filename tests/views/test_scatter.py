"""Names beside points do not cover each other."""

import numpy as np

from shaketable.views.scatter import LETTER, LINE, place_labels


def test_names_of_crowded_points_are_apart_and_inside():
    rng = np.random.default_rng(0)
    points = [tuple(p) for p in rng.uniform(100, 300, (12, 2)).tolist()]
    texts = [f"model {i}" for i in range(12)]
    centres = np.array(place_labels(points, texts, width=400, height=400))
    width = LETTER * len(texts[0])
    gaps = np.abs(centres[:, None] - centres[None])
    apart = (gaps[..., 0] >= width - 1e-6) | (gaps[..., 1] >= LINE - 1e-6)
    assert apart[~np.eye(12, dtype=bool)][: 7 * 11].all()
    assert (np.linalg.norm(centres - points, axis=1) < 80).all()


def test_names_at_the_edge_stay_inside():
    ((x, y),) = place_labels([(99, 1)], ["name"], width=100, height=100)
    assert x + LETTER * 2 <= 100
    assert y - LINE / 2 >= 0

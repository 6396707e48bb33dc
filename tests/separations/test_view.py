"""The page of a separation shows what the library returns, and only the charts that apply."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.pages import EVIL, decode_png, find_shades, make_image_data, read_page
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.separations.audit import audit
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import rank_class_pairs, separation
from shaketable.views import numbers, web
from shaketable.views.text import make_visible


def test_page_of_a_separation_says_what_the_library_says(tmp_path: Path) -> None:
    data = build("wine")
    result, neighbours = separation(data), one_nn(data)
    page = read_page(audit(result, data, one_nn=neighbours).report(tmp_path / "s.html"))
    text = " ".join(page.text.split())
    assert result.nearest is not None
    assert result.by_class is not None
    low, high = neighbours.accuracy
    shown = [
        *result.closest_distance,
        *(result.closest_distance / 2),
        *np.quantile(result.nearest, [0.25, 0.5, 0.75]),
    ]
    assert all(numbers.format_distance(float(value)) in text for value in shown)
    assert all(
        numbers.format_short_distance(v) in text
        for v in result.by_class[~np.isnan(result.by_class)].tolist()
    )
    (table,) = (t for name, t in page.tables.items() if name.startswith("closest pairs"))
    rows = [[row[1].partition(" row ")[2], row[2].partition(" row ")[2]] for row in table[1:]]
    assert rows == result.closest.astype(str).tolist()
    assert "Row 43 ('class_0') is in 4 of these 10 pairs" in text
    assert "No two points coincide." in text
    assert f"{low:.2%}" in text
    assert f"{high:.2%}" in text
    assert data.notes()[0] in text
    assert data.fingerprint in text
    assert repr(result.two_r) in text
    near = (1.0, 0.472, 1.0, 0.0, 0.472, 0.0)  # 2.88, 4 and 5
    assert find_shades(page) == pytest.approx(near, abs=0.5 / web.HEATS)
    assert [spec["description"].partition(".")[0] for spec in page.specs] == [
        "eps_min without the closest pairs",
        "Distance of every point to the nearest point of another class",
    ]


def test_page_of_the_minimum_alone_says_what_is_missing(tmp_path: Path) -> None:
    data = build("iris")
    result = replace(separation(data, points=False, closest=1), by_class=None)
    page = read_page(audit(result, data).report(tmp_path / "s.html"))
    assert "only the minimum was asked for" in page.text
    assert "not kept for 3 classes" in page.text
    assert "not known" in page.text
    assert page.specs == []


@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 1), (6, 5, 3), (3, 6, 5)])
@pytest.mark.parametrize("scale", [1, 255])
def test_pairs_of_images_are_shown_pixel_by_pixel(
    tmp_path: Path, shape: tuple[int, ...], scale: int
) -> None:
    data = make_image_data(24, *shape)
    data = data if scale == 1 else replace(data, x=data.x / scale)
    result = separation(data, closest=2)
    page = read_page(audit(result, data).report(tmp_path / "s.html"))
    shown = [attrs for tag, attrs in page.elements if tag == "img"]
    assert len(shown) == 4
    for attrs, row in zip(shown, result.closest.ravel().tolist(), strict=True):
        assert f"row {row}," in str(attrs["alt"])
        pixels = decode_png(str(attrs["src"]))
        expected = np.round(data.x[row] * scale)
        expected = np.moveaxis(expected, 0, 2) if shape[0] == 3 else expected
        np.testing.assert_array_equal(pixels, expected.reshape(pixels.shape))


def test_page_of_a_separation_is_as_sound_as_that_of_results(tmp_path: Path) -> None:
    data = make_image_data(24, 6, 5, 3)
    path = audit(separation(data), data).report(tmp_path / "s.html", notes=[EVIL])
    page = read_page(path)
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert page.count("script") == 3 + len(page.specs)
    assert make_visible(EVIL) in page.text
    assert page.count("h1") == 1
    assert all("scope" in attrs for tag, attrs in page.elements if tag == "th")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [str(attrs["href"]) for tag, attrs in page.elements if tag == "a"]
    assert {link[1:] for link in links} <= set(ids)
    sources = [str(attrs["src"]) for _, attrs in page.elements if "src" in attrs]
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_page_of_a_separation_refuses_other_data(tmp_path: Path, data: Dataset) -> None:
    with pytest.raises(InputError, match="those of the separation"):
        audit(separation(data), build("iris")).report(tmp_path / "s.html")
    with pytest.raises(InputError, match="name another file"):
        audit(separation(data), data).report(tmp_path / "no" / "s.html")


def test_points_are_drawn_where_they_have_two_features(tmp_path: Path, data: Dataset) -> None:
    page = read_page(audit(separation(data, closest=1), data).report(tmp_path / "s.html"))
    assert [spec["description"].partition(".")[0] for spec in page.specs] == [
        "The data, and the closest pair of different classes",
        "Distance of every point to the nearest point of another class",
    ]


def test_a_page_names_the_rows_of_the_source_and_the_part_of_2r(tmp_path: Path) -> None:
    x = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [9.0, 9.0]])
    data = make_dataset(x, list("ababa"), name="tiny").drop_clashes()
    for norm, words in ((2, "Half of it"), (0.5, "The 2^(1/p)-th part of it")):
        result = separation(data, norm=norm)
        assert data.source_row(result.pair[0]) != result.pair[0]
        page = read_page(audit(result, data).report(tmp_path / "s.html"))
        rows = " and ".join(str(data.source_row(row)) for row in result.pair)
        assert f"rows {rows}" in " ".join(page.text.split())
        assert words in page.text
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_pairs_of_classes_are_ranked_from_the_closest_on() -> None:
    by_class = [[None, 3.0, 1.0], [3.0, None, 2.0], [1.0, 2.0, None]]
    ranked = rank_class_pairs("abc", by_class)
    assert ranked == [("a", "c", 1.0), ("b", "c", 2.0), ("a", "b", 3.0)]

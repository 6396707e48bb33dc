"""Galleries show the images that models would see, and their distances from the original."""

import math
import re
import zlib
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from helpers.pages import check_policy
from shaketable import make_dataset
from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.core.types import Array
from shaketable.corruptions import PNormNoise
from shaketable.corruptions import gallery as galleries
from shaketable.corruptions.gallery import Gallery, gallery
from shaketable.corruptions.parse import parse
from shaketable.data import Bounds
from shaketable.views.blocks import Images

SPECS = ["linf(0.1)", "l2(0.5)", "l0.5(500)"]


def make_images(*shape: int) -> Array:
    """Twelve images of random bytes."""
    return np.random.default_rng(0).integers(0, 256, (12, *shape), dtype=np.uint8)


def decoded(png: bytes) -> Array:
    """Pixels of a PNG file whose lines are stored as they are."""
    width, height = (int.from_bytes(png[i : i + 4], "big") for i in (16, 20))
    channels = {0: 1, 2: 3}[png[25]]
    size = int.from_bytes(png[33:37], "big")
    lines = np.frombuffer(zlib.decompress(png[41 : 41 + size]), np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 1), (6, 5, 3), (3, 6, 5), (1, 6, 5)])
@pytest.mark.parametrize("scale", ["bytes", "floats"])
def test_original_comes_first_then_every_corruption(shape: tuple[int, ...], scale: str) -> None:
    x = make_images(*shape)
    shown = gallery(x if scale == "bytes" else x / 255, SPECS, row=3)
    assert [p.name for p in shown.pictures] == ["original", *SPECS]
    last = np.moveaxis(x[3], 0, 2) if shape[0] in (1, 3) else x[3]
    np.testing.assert_array_equal(shown.pictures[0].image, last)
    for p in shown.pictures:
        assert p.image.dtype == np.uint8
        assert p.image.shape == last.shape
    moved = shown.pictures[1].image.astype(int) - last
    assert 0 < np.abs(moved).max() <= math.ceil(0.1 * 255)


def test_distances_are_those_moved_after_clipping() -> None:
    grey, black = (np.full((1, 8, 8), value) for value in (0.5, 0.0))
    for x in (grey, black):
        for p in gallery(x, ["l2(0.5)"]).pictures[1:]:
            rounding = 0.5 / 255 * 8
            seen = pnorm((p.image[None] / 255) - x, 2)[0]
            assert p.distances["L2"] == pytest.approx(seen, abs=rounding)
            assert list(p.distances) == ["L2", "L-inf"]
    whole, half = (gallery(x, ["l2(0.5)"]).pictures[1].distances["L2"] for x in (grey, black))
    assert 0.4 < whole <= 0.5
    assert half == pytest.approx(whole / math.sqrt(2), rel=0.25), "half of the values are clipped"
    assert "L0.5" in gallery(grey, ["l0.5(500)"]).pictures[1].distances
    salted = gallery(grey, ["l0(0.25)"]).pictures[1]
    assert salted.distances == {"L0": 0.25, "L2": 0.5 * 4, "L-inf": 0.5}
    both = gallery(grey, ["linf(0.1) + l2(0.1)"]).pictures[1]
    assert list(both.distances) == ["L2", "L-inf"]


def test_noise_can_be_as_large_as_its_ball_allows() -> None:
    grey = np.full((1, 8, 8, 3), 0.5)
    surface, corners = gallery(grey, ["l2(0.5, surface)", "linf(0.1, vertices)"]).pictures[1:]
    assert surface.distances["L2"] == pytest.approx(0.5)
    assert corners.distances["L-inf"] == pytest.approx(0.1)
    assert corners.distances["L2"] == pytest.approx(0.1 * math.sqrt(192)), "every value moved"


def test_noise_is_that_of_the_row_and_of_the_corruption() -> None:
    x = np.full((2, 8, 8), 0.5)

    def noise(spec: str, **settings: int) -> Array:
        return gallery(x, [spec], **settings).pictures[1].image  # type: ignore[arg-type]

    once = noise("linf(0.2)")
    np.testing.assert_array_equal(once, noise("linf(0.2)"))
    for other in (noise("linf(0.2)", row=1), noise("linf(0.2)", rng=1), noise("l2(2)")):
        assert np.mean(np.sign(once - 127.5) == np.sign(other - 127.5)) < 0.8
    stronger = noise("linf(0.4)")  # sizes of a norm scale the same noise
    np.testing.assert_array_equal(np.sign(once - 127.5), np.sign(stronger - 127.5))


def test_bounds_are_those_of_the_data_unless_given() -> None:
    x = np.zeros((2, 20, 20))
    data = make_dataset(x, [0, 1], name="black", bounds=Bounds(0, 1, "truncate"))
    clipped, truncated, asked = (
        np.mean(gallery(given, ["linf(0.4)"], bounds=bounds).pictures[1].image / 255)
        for given, bounds in ((x, None), (data, None), (data, (0, 1)))
    )
    assert clipped == pytest.approx(0.1, abs=0.03), "half of the values stay black"
    assert truncated == pytest.approx(0.2, abs=0.03)
    assert asked == pytest.approx(0.1, abs=0.03)


def test_corruptions_may_be_objects() -> None:
    shown = gallery(make_images(4, 4), [PNormNoise(2, 0.5)])
    assert shown.pictures[1].name == "l2(0.5)"


@pytest.mark.parametrize(("shape", "times"), [((6, 5), 26), ((3, 40, 64), 2), ((20, 130, 3), 1)])
def test_sheet_holds_every_picture_enlarged(shape: tuple[int, ...], times: int) -> None:
    shown = gallery(make_images(*shape), [f"linf({i / 100})" for i in range(1, 9)])
    sheet = shown.sheet()
    height, width = shown.pictures[0].image.shape[:2]
    assert width * times >= galleries.MIN_WIDTH
    assert sheet.shape[:2] == (2 * (height * times + 8) + 8, 7 * (width * times + 8) + 8)
    for i, p in enumerate(shown.pictures):
        top, left = 8 + i // 7 * (height * times + 8), 8 + i % 7 * (width * times + 8)
        part = sheet[top : top + height * times, left : left + width * times]
        for shift in {0, times - 1}:
            np.testing.assert_array_equal(
                part[shift::times, shift::times], p.image.reshape(height, width, -1)
            )
        assert (sheet[top - 8 : top] == 255).all()
        assert (sheet[top : top + height, left - 8 : left] == 255).all()


def test_png_decodes_to_the_sheet(tmp_path: Path) -> None:
    for shape in ((6, 5), (6, 5, 3)):
        shown = gallery(make_images(*shape), SPECS)
        path = shown.save(tmp_path / "sheet.PNG")
        np.testing.assert_array_equal(decoded(path.read_bytes()), shown.sheet())


def test_page_has_pictures_and_captions(tmp_path: Path) -> None:
    data = make_dataset(make_images(6, 5, 3), [0, 1] * 6, name="<b>evil</b>")
    shown = gallery(data, SPECS)
    path = shown.save(tmp_path / "page.html")
    check_policy(path)
    text = path.read_text(encoding="utf-8")
    found = re.findall(r'<img src="data:image/png;base64,([^"]+)" alt="([^"]+)"', text)
    assert [alt for _, alt in found] == [
        "The original image",
        *(f"The image under {spec}" for spec in SPECS),
    ]
    for (address, _), p in zip(found, shown.pictures, strict=True):
        np.testing.assert_array_equal(decoded(b64decode(address)), p.image)
        for norm, distance in p.distances.items():
            assert f"{norm} {distance:.6g}" in text
    assert "<b>" not in text
    assert "<script>" not in text
    assert "http:" not in text.replace("http-equiv", "")


def test_a_gallery_cannot_be_saved_as_anything_else(tmp_path: Path) -> None:
    shown: Gallery = gallery(make_images(6, 5), [])
    with pytest.raises(InputError, match=r"\.html or \.png, got .*sheet\.gif"):
        shown.save(tmp_path / "sheet.gif")
    for name in ("sheet.png", "page.html"):
        with pytest.raises(InputError, match="name another file"):
            shown.save(tmp_path / "nowhere" / name)


@pytest.mark.parametrize(
    ("x", "rule"),
    [
        (np.zeros((4, 9)), "images of shape"),
        (np.zeros((4, 5, 6, 2)), "images of shape"),
        (np.zeros((2, 9, 8, 4)), r"corrupted but not displayed, .* as in x\[\.\.\., :3\]$"),
        (np.zeros((2, 4, 9, 8)), r"corrupted but not displayed, .* as in x\[:, :3\]$"),
        (np.full((1, 4, 4), 7.0), "scale them"),
        (np.full((1, 4, 4), -0.1), "scale them"),
    ],
)
def test_what_cannot_be_seen_is_an_error(x: Array, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        gallery(x, SPECS)


@pytest.mark.parametrize("row", [12, -1, 0.5])
def test_row_must_be_one_of_the_data(row: float) -> None:
    with pytest.raises(InputError, match="row must be"):
        gallery(make_images(4, 4), SPECS, row=row)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("spec", ["l2(3, surface)", "l1(40, surface)", "linf(2, surface)"])
def test_distances_are_those_of_the_noise_also_where_the_image_is_cut(spec):
    name, size = spec.partition("(")[0], parse(spec).size
    made = gallery(np.full((1, 8, 8), 0.5), [spec], bounds=(-99, 99))
    title = {"l2": "L2", "l1": "L1", "linf": "L-inf"}[name]
    assert made.pictures[1].distances[title] == pytest.approx(size)
    cut = gallery(np.full((1, 8, 8), 0.5), [spec], bounds=(0, 1))
    assert cut.pictures[1].distances[title] < size


def test_sizes_of_a_corruption_stand_in_a_row_and_severities_below_each_other() -> None:
    x = np.full((1, 8, 8, 3), 0.5)
    names = [("brightness", 1), ("brightness", 2), ("brightness", 3), ("contrast", 1)]
    specs = [f"{name}({size}, 8px)" for name, size in [*names, ("contrast", 3)]]
    shown = gallery(x, specs)
    (block,) = (b for b in shown.blocks() if isinstance(b, Images))
    names = [p and p.note.partition(":")[0] for p in block.pictures]
    assert block.columns == 3
    assert names == ["original", None, None, *specs[:3], specs[3], None, specs[4]]
    sheet = shown.sheet()
    tile = 8 * 16 + 8
    assert sheet.shape == (3 * tile + 8, 3 * tile + 8, 3)
    assert (sheet[2 * tile + 8 :, tile + 8 : 2 * tile] == 255).all(), "no contrast(2)"
    assert (sheet[2 * tile + 8 : -8, 2 * tile + 8 : -8] != 255).all(), "contrast(3) is the third"


def test_sizes_of_other_units_are_in_their_order() -> None:
    shown = gallery(np.full((1, 8, 8), 0.5), ["l2(2)", "l2(1)", "linf(0.1)", "linf(0.3)"])
    (block,) = (b for b in shown.blocks() if isinstance(b, Images))
    names = [p and p.note.partition(":")[0] for p in block.pictures]
    assert names == ["original", None, "l2(1)", "l2(2)", "linf(0.1)", "linf(0.3)"]

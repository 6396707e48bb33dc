"""Ice: what is drawn, and what is read from a folder."""

import math
import sys

import numpy as np
import pytest
from scipy import ndimage

from shaketable.core.errors import InputError
from shaketable.corruptions.common.textures import (
    ICES,
    fingerprint,
    grow,
    ice,
    read_textures,
    reduction,
    resize,
    textures,
)

DRAWN = [0, 1, 3, 4]
"""The textures that differ."""


def grey(texture):
    return texture @ np.array([0.299, 0.587, 0.114])


def slow_resize(image, scale):
    """Linear interpolation pixel by pixel, in fractions of 2048."""

    def places(size, n):
        for i in range(n):
            at = float(np.float32((i + 0.5) * (1 / scale) - 0.5))
            at = min(max(at, 0), size - 1)
            share = at - math.floor(at)
            weights = [(math.floor(at), round(2048 * (1 - share)))]
            yield [*weights, (min(math.floor(at) + 1, size - 1), round(2048 * share))]

    height, width = (round(scale * size) for size in image.shape[:2])
    out = np.empty((height, width, 3), np.uint8)
    for y, rows in enumerate(places(image.shape[0], height)):
        for x, columns in enumerate(places(image.shape[1], width)):
            for c in range(3):
                total = 0
                for v, down in rows:
                    line = sum(int(image[v, u, c]) * across for u, across in columns)
                    total += (line // 16) * down // 65536
                out[y, x, c] = (total + 2) // 4
    return out


def test_textures_have_the_sizes_of_the_originals_and_two_are_the_same():
    found = textures()
    assert [t.shape for t in found] == [
        (600, 900, 3),
        (315, 560, 3),
        (315, 560, 3),
        (350, 527, 3),
        (495, 660, 3),
    ]
    assert all(t.dtype == np.uint8 for t in found)
    assert found[1] is found[2]
    assert textures() is found


@pytest.mark.parametrize("which", range(4))
def test_drawn_ice_has_the_spread_and_colours_that_were_measured(which):
    kind, texture = ICES[which], textures()[DRAWN[which]]
    found = np.percentile(grey(texture), [1, 10, 25, 50, 75, 90, 99])
    assert np.allclose(found, kind.quantiles[1:-1], atol=2)
    assert np.allclose(texture.mean(axis=(0, 1)), kind.mean, atol=1)
    spread = np.hypot(np.array(kind.slope) * grey(texture).std(), kind.tint)
    assert np.allclose(texture.std(axis=(0, 1)), spread, rtol=0.1)


@pytest.mark.parametrize("which", range(4))
def test_drawn_ice_has_the_bands_that_were_measured(which):
    smooth = [grey(textures()[DRAWN[which]])]
    smooth += [ndimage.gaussian_filter(smooth[0], sigma) for sigma in (1, 2, 4, 8, 16, 32, 64)]
    found = [np.std(a - b) for a, b in zip(smooth, [*smooth[1:], 0], strict=True)]
    # at 32 pixels and more a drawing is a torus and a photograph is not
    assert np.allclose(found[:6], ICES[which].bands[:6], rtol=0.12)
    assert np.allclose(found[6:], ICES[which].bands[6:], rtol=0.9)


def test_drawing_again_gives_the_same():
    again = grow(ICES[1], "texture 1")
    assert np.array_equal(again, textures()[1])
    assert not np.array_equal(grow(ICES[1], "another"), again)


def test_drawn_ice_stays_what_it_is():
    # pinned: results of frost hang on it
    found = [textures()[i][100, 200].tolist() for i in DRAWN]
    pinned = [[38, 116, 135], [175, 179, 188], [142, 157, 170], [56, 68, 81]]
    assert np.allclose(found, pinned, atol=1)


@pytest.mark.parametrize("scale", [0.2, 0.258, 0.3, 0.5, 1.7])
def test_reduced_textures_are_interpolated_as_described(scale):
    image = textures()[0][:60, :47]
    assert np.array_equal(resize(image, scale), slow_resize(image, scale))


def test_a_scale_of_one_changes_nothing():
    assert resize(textures()[1], 1.0) is textures()[1]


def test_reductions_are_those_of_the_profiles_and_between():
    assert [reduction(side) for side in (8, 32, 64, 224, 500)] == [0.2, 0.2, 0.3, 1.0, 1.0]
    between = [reduction(side) for side in range(32, 225)]
    assert np.all(np.diff(between) > 0)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (200, 40), (33, 500), (1200, 1300)])
def test_textures_are_enlarged_just_enough(height, width):
    flat, starts, heights, widths = ice("", 32, height, width)
    assert (heights >= height).all()
    assert (widths >= width).all()
    assert np.array_equal(starts, np.cumsum([0, *(3 * heights * widths)])[:-1])
    assert len(flat) == 3 * (heights * widths).sum()
    for texture, h, w in zip(textures(), heights, widths, strict=True):
        scale = max(0.2, height / len(texture), width / texture.shape[1])
        assert (h, w) == (round(scale * len(texture)), round(scale * texture.shape[1]))


class TestFolder:
    @pytest.fixture(autouse=True)
    def pillow(self):
        self.image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

    def save(self, path, colour, mode="RGB"):
        self.image.new(mode, (40, 30), colour).save(path)

    def test_the_originals_are_taken_by_name(self, tmp_path):
        for i, suffix in enumerate(["png", "png", "png", "jpg", "JPEG", "jpg"], start=1):
            self.save(tmp_path / f"frost{i}.{suffix}", (40 * i, 40 * i, 40 * i))
        self.save(tmp_path / "another.png", (1, 1, 1))
        found = textures(str(tmp_path))
        assert [t.shape for t in found] == [(30, 40, 3)] * 5
        assert [int(t[0, 0, 0]) for t in found] == [40, 80, 120, 160, 200]

    def test_other_images_are_all_taken_in_order(self, tmp_path):
        self.save(tmp_path / "frost1.png", (1, 2, 3, 255), "RGBA")
        self.save(tmp_path / "a.PNG", 7, "L")
        (tmp_path / "notes.txt").write_text("no image")
        found = read_textures(tmp_path)
        assert [t[0, 0].tolist() for t in found] == [[7, 7, 7], [1, 2, 3]]

    def test_textures_are_told_apart(self, tmp_path):
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            self.save(tmp_path / name / "a.png", (len(name) + (name == "two"), 0, 0))
        prints = {fingerprint(str(tmp_path / name)) for name in ("one", "two")} | {fingerprint()}
        assert len(prints) == 3
        assert all(len(found) == 8 for found in prints)

    def test_a_folder_that_is_none_says_so(self, tmp_path):
        with pytest.raises(InputError, match="cannot be read: .*nowhere.*; name a folder"):
            textures(str(tmp_path / "nowhere"))

    def test_an_empty_folder_says_so(self, tmp_path):
        with pytest.raises(InputError, match="has no .png or .jpg image; put some there"):
            textures(str(tmp_path))

    def test_a_broken_image_is_named(self, tmp_path):
        self.save(tmp_path / "a.png", (1, 2, 3))
        (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:60])
        with pytest.raises(InputError, match="b.png' cannot be read: .*; replace or remove it"):
            textures(str(tmp_path))
        (tmp_path / "b.png").write_text("no image")
        with pytest.raises(InputError, match="b.png' cannot be read: .*; replace or remove it"):
            textures(str(tmp_path))

    def test_without_pillow_the_remedy_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(InputError, match=r"pip install 'shaketable\[image\]'"):
            textures(str(tmp_path))

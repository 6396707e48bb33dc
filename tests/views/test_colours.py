"""Colours of pages and charts can be read and told apart, by colour-blind readers too."""

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from shaketable.views import web
from shaketable.views.drawing import COLOURS

Colour = NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB
SIGHTS = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip
TEXTS = ("ink", "faint", "link", "lost", "kept", "open")


def read_modes() -> dict[str, dict[str, str]]:
    """Colours of pages by name, in light and in dark."""
    style = web.get_environment().get_template("style.css.j2").render(heats=web.HEATS, beneath={})
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    modes = {}
    for name, text in (("light", light), ("dark", dark)):
        found = re.findall(r"--([\w-]+): #([0-9a-f]+);", text)
        modes[name] = {key: value if len(value) == 6 else "".join(2 * c for c in value)
                       for key, value in found}  # fmt: skip
    return modes


MODES = read_modes()


def decode(colour: str) -> Colour:
    """Red, green and blue from 0 to 1."""
    return np.frombuffer(bytes.fromhex(colour), np.uint8) / 255


def to_linear(colour: Colour) -> Colour:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def get_contrast(a: Colour, b: Colour) -> float:
    """Contrast of WCAG 2, from 1 to 21."""
    dark, light = sorted(float(to_linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (light + 0.05) / (dark + 0.05)


def to_lab(linear: Colour) -> Colour:
    """CIE L*a*b* of linear RGB, white point D65."""
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ linear / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_contrast_is_that_of_known_colours() -> None:
    assert get_contrast(decode("000000"), decode("ffffff")) == pytest.approx(21)
    assert get_contrast(decode("767676"), decode("ffffff")) == pytest.approx(4.54, abs=0.01)
    np.testing.assert_allclose(to_lab(to_linear(decode("ffffff"))), [100, 0, 0], atol=0.05)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("behind", ["paper", "panel"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(mode: str, behind: str, text: str) -> None:
    colours = MODES[mode]
    assert get_contrast(decode(colours[text]), decode(colours[behind])) >= 4.5


@pytest.mark.parametrize("mode", MODES)
def test_text_on_heat_can_be_read(mode: str) -> None:
    style = web.get_environment().get_template("style.css.j2").render(heats=web.HEATS, beneath={})
    found = re.findall(
        r"td\.heat-\d+ \{ background: color-mix\(in srgb, var\(--c1\) ([\d.]+)%", style
    )
    assert len(found) == web.HEATS + 1
    hot, cold, ink = (decode(MODES[mode][name]) for name in ("c1", "panel", "ink"))
    for share in np.array(found, float) / 100:
        assert get_contrast(share * hot + (1 - share) * cold, ink) >= 4.5


@pytest.mark.parametrize("mode", MODES)
def test_models_are_seen_on_paper(mode: str) -> None:
    for i in range(1, len(COLOURS) + 1):
        assert get_contrast(decode(MODES[mode][f"c{i}"]), decode(MODES[mode]["paper"])) >= 3


def test_charts_alone_have_the_colours_of_light_pages() -> None:
    assert [f"#{MODES['light'][f'c{i + 1}']}" for i in range(len(COLOURS))] == list(COLOURS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sight", SIGHTS)
def test_models_can_be_told_apart(mode: str, sight: str) -> None:
    seen = [
        to_lab(np.clip(SIGHTS[sight] @ to_linear(decode(MODES[mode][f"c{i + 1}"])), 0, 1))
        for i in range(len(COLOURS))
    ]
    near = min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2))
    assert near >= 15, "CIE76 distance; about 2.3 is just noticed"

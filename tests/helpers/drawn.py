"""Charts as they are drawn: where Vega puts texts and marks, at a given width."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import vl_convert

from shaketable.views import drawing, page
from shaketable.views.blocks import Block, Chart

WIDTHS = (330, 620, 1200)
"""Widths of charts on a page in a window of 375 pixels, in its column, and on a wide screen."""


@dataclass(frozen=True)
class Text:
    """A line of text, with the corners of the box around it."""

    text: str
    role: str
    """Such as ``axis-label``, ``legend-label``, ``mark``."""
    axis: tuple[int, ...]
    """Which group of the scene it is in."""
    corners: Any

    def covers(self, other: "Text") -> bool:
        """Whether the boxes of two texts overlap, turned ones too (separating axes)."""
        for a in (self.corners, other.corners):
            for edge in np.diff(a[:3], axis=0):
                spans = [
                    np.sort(corners @ edge)[[0, -1]] for corners in (self.corners, other.corners)
                ]
                slack = 0.5 * np.linalg.norm(edge)
                if spans[0][1] <= spans[1][0] + slack or spans[1][1] <= spans[0][0] + slack:
                    return False
        return True


@dataclass(frozen=True)
class Scene:
    """A chart that was drawn: its size in pixels and its texts."""

    width: float
    height: float
    texts: Sequence[Text]
    tree: Any

    def find_overlaps(self) -> list[tuple[str, str]]:
        """Return pairs of texts that cover each other; halos of the very same text do not count."""
        return [
            (a.text, b.text)
            for a, b in combinations(self.texts, 2)
            if a.covers(b) and not (a.text == b.text and np.allclose(a.corners, b.corners))
        ]

    def find_cut(self) -> list[str]:
        """Return texts that reach beyond the image."""
        size = np.array([self.width, self.height])
        return [
            t.text
            for t in self.texts
            if (t.corners.min(axis=0) < -1).any() or (t.corners.max(axis=0) > size + 1).any()
        ]


def draw_block(block: Block, width: int) -> list[Scene]:
    """Draw the figures of a block as a page does in a place of this width."""
    assert isinstance(block, Chart)
    scenes = []
    for figure in page._make_figures(block):
        wide = max(width, figure.min_width)
        wide = min(wide, 300) if block.title else wide  # small panels stand side by side
        fit = {"width": wide, "autosize": {"type": "fit-x", "contains": "padding"}}
        own = {} if figure.own_size else fit
        spec = {"$schema": drawing.alt.SCHEMA_URL, **figure.spec, **own}
        legend = {**drawing.THEME["legend"], "disable": bool(block.title)}
        spec = _fit_legends(spec, wide) | {"config": {**drawing.THEME, "legend": legend}}
        scenes.append(draw_spec(spec))
    return scenes


def _fit_legends(part: Any, width: int) -> Any:
    """Change the columns of legends as the script of a page does."""
    if isinstance(part, list):
        return [_fit_legends(each, width) for each in part]
    if not isinstance(part, dict):
        return part
    part = {key: _fit_legends(each, width) for key, each in part.items()}
    if isinstance(legend := part.get("legend"), dict) and "columns" in legend:
        columns = max(1, int(legend["columns"] * (width - 60) / drawing.WIDTH))
        part["legend"] = {**legend, "columns": columns}
    return part


def draw_spec(spec: dict[str, Any]) -> Scene:
    """Draw a Vega-Lite specification."""
    drawn = vl_convert.vegalite_to_scenegraph(json.loads(json.dumps(spec)))
    left, top = drawn["origin"]
    texts = [*_list_texts(drawn["scenegraph"], left, top, ())]
    return Scene(drawn["width"], drawn["height"], texts, drawn["scenegraph"])


def _list_texts(mark: Any, x: float, y: float, path: tuple[int, ...]) -> Iterator[Text]:
    for i, item in enumerate(mark.get("items", ())):
        at = x + item.get("x", 0), y + item.get("y", 0)
        if mark["marktype"] == "group":
            for j, inner in enumerate(item.get("items", ())):
                yield from _list_texts(inner, *at, (*path, i, j))
        elif mark["marktype"] == "text" and item.get("text") and item.get("opacity", 1):
            yield from _make_texts(item, mark.get("role", ""), at, path)


def _make_texts(item: Any, role: str, at: Any, path: tuple[int, ...]) -> Iterator[Text]:
    text = item["text"]
    lines = text if isinstance(text, list) else str(text).split(item.get("lineBreak", "\0"))
    size = item.get("fontSize", 11)
    angle = np.deg2rad(item.get("angle") or 0)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    for i, line in enumerate(map(str, lines)):
        wide, high = size * sum(map(_measure, line)), size
        left = {"center": -wide / 2, "right": -wide}.get(item.get("align", "left"), 0)
        places = {"middle": -high / 2, "top": 0, "line-top": 0, "bottom": -high}
        top = places.get(item.get("baseline", "alphabetic"), -0.8 * high) + i * (size + 2)
        box = np.array(
            [[left, top], [left + wide, top], [left + wide, top + high], [left, top + high]]
        )
        box += [item.get("dx", 0), item.get("dy", 0)]
        yield Text(line, role, path, box @ turn + np.array(at))


def _measure(letter: str) -> float:
    """Return the width of a letter of a sans-serif font at size 1, about."""
    if letter in "iljtfrI.,:;|()[]{}-' ":
        return 0.3
    return 0.8 if letter in "mwMW" else 0.67 if letter.isupper() else 0.54

"""One image under several corruptions, side by side, with its distance from the original."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels
from shaketable.core.keys import Rng, digest, make_key, row_keys
from shaketable.core.norms import norm_title, pnorm
from shaketable.core.spec import display_name
from shaketable.core.types import Array
from shaketable.core.writing import write_beside
from shaketable.corruptions import Corruption, Impulse, PNormNoise
from shaketable.corruptions.parse import as_corruption
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds
from shaketable.data.columns import Columns
from shaketable.data.dataset import Dataset, as_floats
from shaketable.data.images import have_image_scale, have_image_shape
from shaketable.views import images
from shaketable.views.blocks import Block, Heading, Images
from shaketable.views.blocks import Picture as ShownPicture
from shaketable.views.numbers import format_distance

FORMATS = (".html", ".png")
"""Endings of the files that a gallery can be saved as."""

MIN_WIDTH = 128
"""Least width of an image on a sheet, in pixels; smaller images are enlarged."""

_COLUMNS, _GAP = 7, 8  # images per row without ladders, and pixels between them on a sheet
_MAX_COLUMNS = 10  # of a page
_MAX_SIDE = 1024  # pixels of an image on a page
_LEAD = "Is the corruption visible? Point at an image to see the original in its place."
_DISTANCES = (
    "Below every image: its distance from the original in each norm, on a scale from 0 (black) to "
    "1 (white); in L0, the share of values that changed"
)
_WITHOUT_ALPHA = {"first": ":, :3", "last": "..., :3", "either": "..., :3"}  # by place of channels


@dataclass(frozen=True, eq=False)
class Picture:
    """One image of a gallery: the original, or a corrupted version and its distance from it."""

    name: str
    """Name or canonical spec of the corruption; ``original`` for the first image."""
    image: Array
    """uint8, (h, w), (h, w, 1) or (h, w, 3)."""
    distances: dict[str, float]
    """Distances by norm, on the scale from 0 to 1: that of the corruption, L2 and L-inf."""
    ladder: str = ""
    """Corruptions of one ladder differ in size only."""
    size: float = 0.0

    def show(self) -> ShownPicture:
        """Return the image with its name and its distances."""
        about = f"The image under {self.name}" if self.distances else "The original image"
        distances = "; ".join(
            f"{norm}{' share' if norm == 'L0' else ''} {format_distance(distance)}"
            for norm, distance in self.distances.items()
        )
        note = f"{self.name}: {distances}" if distances else self.name
        return ShownPicture(images.to_data_uri(self.image, max_side=_MAX_SIDE), about, note)


@dataclass(frozen=True, eq=False)
class Gallery:
    """The same image under several corruptions, the original first."""

    title: str
    pictures: tuple[Picture, ...]

    def blocks(self) -> list[Block]:
        """Return the images, each with its distance from the original."""
        grid = self._arrange_ladders()
        columns = len(grid[0]) if grid else 0
        places = [picture for line in grid for picture in line]
        if not 0 < columns <= _MAX_COLUMNS:
            places, columns = [*self.pictures], 0
        shown = [None if picture is None else picture.show() for picture in places]
        beneath = shown[0].address if shown[0] else ""
        return [Heading("", "images"), Images(shown, _DISTANCES, beneath=beneath, columns=columns)]

    def _arrange_ladders(self) -> list[list[Picture | None]]:
        """Return rows of the same length: the original, then one row per corruption, by size.

        Where corruptions have the same sizes, such as severities, these stand below each other.
        Without several corruptions of several sizes there are no rows.
        """
        original, *corrupted = self.pictures
        ladders: dict[str, dict[float, Picture]] = {}
        for picture in corrupted:
            ladders.setdefault(picture.ladder, {})[picture.size] = picture
        longest = max(map(len, ladders.values()), default=0)
        if len(ladders) < 2 or longest < 2 or sum(map(len, ladders.values())) < len(corrupted):
            return []
        sizes = sorted({size for ladder in ladders.values() for size in ladder})
        by_size = len(sizes) == longest
        rows: list[list[Picture | None]] = [
            [original],
            *(
                [by.get(size) for size in (sizes if by_size else sorted(by))]
                for by in ladders.values()
            ),
        ]
        return [row + [None] * (longest - len(row)) for row in rows]

    def sheet(self) -> Array:
        """Return all images as one, small ones enlarged: uint8, (h, w, c).

        One row per corruption with its sizes, else rows of seven.
        """
        columns = min(_COLUMNS, len(self.pictures))
        flowing = range(0, len(self.pictures), columns)
        grid = self._arrange_ladders()
        grid = grid or [[*self.pictures[i : i + columns]] for i in flowing]
        first = self.pictures[0].image
        height, width, channels = first.reshape(*first.shape[:2], -1).shape
        times = math.ceil(MIN_WIDTH / width)
        down, right = height * times + _GAP, width * times + _GAP
        shape = len(grid) * down + _GAP, len(grid[0]) * right + _GAP, channels
        sheet = np.full(shape, 255, np.uint8)
        for i, line in enumerate(grid):
            for j, picture in enumerate(line):
                if picture is not None:
                    tile = picture.image.reshape(height, width, channels)
                    large = tile.repeat(times, axis=0).repeat(times, axis=1)
                    top, left = i * down + _GAP, j * right + _GAP
                    sheet[top : top + height * times, left : left + width * times] = large
        return sheet

    def _repr_html_(self) -> str:
        """Images side by side, each above its name, for notebooks."""
        figures = (
            f'<figure style="margin:0;width:{MIN_WIDTH}px"><img alt="{escape(shown.about)}" '
            f'src="{shown.address}" style="width:100%;image-rendering:pixelated">'
            f'<figcaption style="color:inherit">{escape(picture.name)}</figcaption></figure>'
            for picture, shown in ((picture, picture.show()) for picture in self.pictures)
        )
        style = "display:flex;flex-wrap:wrap;gap:8px"
        return f'<p>{escape(self.title)}</p><div style="{style}">{"".join(figures)}</div>'

    def save(self, path: str | Path) -> Path:
        """Write one sheet (.png) or a self-contained page with captions (.html)."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in FORMATS:
            raise InputError(
                f"a gallery's file must end in {' or '.join(FORMATS)}, got {str(path)!r}; rename it"
            )
        if suffix == ".html":
            from shaketable.views import page  # loads the charts

            return page.write_blocks(path, self.blocks(), title=self.title, lead=_LEAD)
        with write_beside(path, "gallery") as beside:
            beside.write_bytes(images.encode_png(self.sheet()))
        return path


def gallery(
    data: Dataset | Array,
    corruptions: Iterable[str | Corruption],
    *,
    row: int = 0,
    rng: Rng = 0,
    bounds: BoundsLike = None,
) -> Gallery:
    """Show one image of the data under every corruption, as Siedel et al. (2024), figure 2.

    The paper shows noise of the largest possible size: on the surface of the ball,
    ``l2(0.5, surface)``, and at the corners of the L-inf ball, ``linf(0.01, vertices)``.

    Parameters
    ----------
    data
        Images, one per row: h x w, h x w x 1 or 3, or 1 or 3 x h x w, of uint8 or floats from 0
        to 1.
    corruptions
        Spec strings or corruptions.
    row
        Row of the image.
    rng
        Seed, numpy Generator, or None for fresh noise. Sizes of one norm use the same noise,
        scaled.
    bounds
        How noise is kept between black and white; by default as the data declare, or else clipped.

    Returns
    -------
    Gallery
        The pictures; notebooks show them, and `save` writes them.

    Examples
    --------
    >>> grey = np.full((1, 8, 8), 0.5)
    >>> shown = gallery(grey, ["linf(0.1)", "l2(1)"])
    >>> [picture.name for picture in shown.pictures], shown.sheet().shape
    (['original', 'linf(0.1)', 'l2(1)'], (144, 416, 1))
    """
    x = data.x if isinstance(data, Dataset) else np.asarray(data)
    check_images(x, row)
    declared = data.bounds if isinstance(data, Dataset) and bounds is None else as_bounds(bounds)
    original = as_floats(x[[row]])
    key = make_key(rng)
    pictures = [Picture("original", images.to_uint8(x[row]), {})]
    columns = Columns(lambda: as_floats(x))
    for given in corruptions:
        corruption = as_corruption(given).for_shape(x.shape[1:]).for_columns(columns)
        keys = row_keys(digest(key, corruption.ladder), np.array([row]), np.arange(1))[:, 0]
        noisy = corruption.bind(declared or Bounds(0.0, 1.0))(original, keys)
        image = images.to_uint8(np.clip(noisy[0], 0, 1))
        name = display_name(corruption.spec)
        distances = _distances(corruption, noisy - original)
        pictures.append(Picture(name, image, distances, corruption.ladder, corruption.size))
    name = data.name if isinstance(data, Dataset) else "the data"
    return Gallery(f"Row {row} of {name} under noise", tuple(pictures))


def move_to_surface(corruption: Corruption) -> Corruption:
    """Return p-norm noise at its largest, as in Fig. 2 of the paper; other corruptions as given.

    >>> [move_to_surface(as_corruption(spec)).spec for spec in ("l2(0.5)", "linf(0.1)", "fog(1)")]
    ['l2(0.5, surface)', 'linf(0.1, vertices)', 'fog(1)']
    """
    if not isinstance(corruption, PNormNoise):
        return corruption
    return replace(corruption, kind="vertices" if math.isinf(corruption.p) else "surface")


def check_images(x: Array, row: int) -> None:
    """Raise an error for data that cannot be displayed as images, or that lack the row."""
    if not have_image_shape(x) and (at := find_channels(x.shape[1:])) in _WITHOUT_ALPHA:
        raise InputError(
            f"images of 4 channels can be corrupted but not displayed, got shape {x.shape}; leave "
            f"the transparency out, as in x[{_WITHOUT_ALPHA[at]}]"
        )
    if not have_image_shape(x):
        raise InputError(
            "data must hold images of shape (h, w), (h, w, 1), (h, w, 3), (1, h, w) or "
            f"(3, h, w), one per row, got shape {x.shape}; reshape them, or put one image into a "
            "list"
        )
    if not have_image_scale(x):
        raise InputError(
            "data must be uint8 or lie in [0, 1] to be displayed, but its values span "
            f"[{x.min()}, {x.max()}]; scale them so that 0 is black and 1 is white"
        )
    if check_whole("row", row, least=0) >= len(x):
        raise InputError(f"row must be at most {len(x) - 1}, the last of the data, got {row!r}")


def _distances(corruption: Corruption, difference: Array) -> dict[str, float]:
    """Return the norms of a difference of images; in L0, the share of values that changed."""
    own = [corruption.p] if isinstance(corruption, PNormNoise) else []
    own += [0.0] if isinstance(corruption, Impulse) else []
    return {
        norm_title(p): float(np.mean(difference != 0) if p == 0 else pnorm(difference, p)[0])
        for p in dict.fromkeys([*own, 2.0, math.inf])
    }

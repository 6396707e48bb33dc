"""Square attack: random changes of squares of images, or of blocks of columns, kept by scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shaketable.adversary.attacks.climbing import Pace, climb
from shaketable.adversary.attacks.directions import Directions, scale_to_unit
from shaketable.adversary.attacks.registry import AttackResult, LabelQueries, declare
from shaketable.adversary.region import Region
from shaketable.core.checks import check_whole
from shaketable.core.image_layout import find_channels
from shaketable.core.keys import fold, uniforms
from shaketable.core.spec import Call
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.models.classifier import Classifier

_SHARE = 0.8  # share of values that the first changes concern
_HALVED = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # of the budget: the share halves
_OPPONENTS = 8  # draws of `Directions` that the search may begin at
_TRIED = 2  # points per row and call of the model


@declare("square", "queries=1000", "squares or columns that change at random, kept by scores")
@dataclass(frozen=True)
class Square:
    """Random search by scores, after the Square attack (Andriushchenko et al., ECCV 2020).

    A change is kept if the margin does not fall: the highest score of a wrong class, less that of
    the right one; of probabilities, their logarithms count. On images a change is a square window,
    on other points a block of columns drawn at random. Windows shrink as in the paper, from 80 % of
    all values. In L-inf the values of a window move by epsilon up or down, alike in each channel;
    on points that are no images, half of the changes lead inside the ball. In other norms something
    is added in the window, and the step is scaled to epsilon; how much is added grows with success
    and shrinks with failure. The search begins with vertical stripes or towards points with another
    predicted label, whichever is better. All points are projected to the region.

    >>> Square(500).spec
    'square(queries=500)'
    """

    queries: int = 1000
    """Queries per row, at most; all evaluated points are labelled once in addition."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", check_whole("queries", self.queries, least=1))

    @property
    def spec(self) -> str:
        """Name and budget."""
        return str(Call("square", (), {"queries": self.queries}))

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        queries = LabelQueries(model, region)
        directions = Directions.of(queries, rows, y, keys)
        directions = replace(directions, reach=np.full(len(rows), region.epsilon))
        windows = _Windows(directions, _arrange(region))
        return climb(queries, rows, y, keys, (windows, Pace(self.queries, _TRIED)))


@dataclass(frozen=True)
class _Layout:
    """Image of every value: which row and column of pixels, and which channel."""

    height: int
    width: int
    channels: int
    row: IntArray
    column: IntArray
    channel: IntArray


def _arrange(region: Region) -> _Layout | None:
    """Where the values of a point lie in its image; None if points are no images."""
    at = find_channels(region.shape) if region.held is None else "unknown"
    if at not in {"first", "last", "absent"}:
        return None
    places = np.indices(region.shape).reshape(len(region.shape), -1)
    if at == "absent":
        places = np.vstack([places, np.zeros_like(places[:1])])
    elif at == "first":
        places = np.roll(places, -1, axis=0)
    height, width, channels = (int(each.max()) + 1 for each in places)
    return _Layout(height, width, channels, *places)


@dataclass(frozen=True, eq=False)
class _Windows:
    """Changes of windows of points."""

    directions: Directions
    layout: _Layout | None

    def start(self) -> FloatArray:
        """Stripes, and points towards opponents."""
        drawn = self.directions.draw_points(range(0, 2 * _OPPONENTS, 2))
        return np.concatenate([self._draw_stripes()[:, None], drawn], axis=1)

    def propose(
        self, places: IntArray, moved: FloatArray, keys: KeyArray, done: float, size: FloatArray
    ) -> FloatArray:
        """Change one window of every row."""
        region, rows = self.directions.region, self.directions.rows[places]
        origin, p, epsilon = region.x[rows], region.p, region.epsilon
        share = _SHARE / 2 ** sum(done > part for part in _HALVED)
        inside, noise = self._draw_window(keys, share)
        before = moved - origin
        other = self.layout is None and (keys % np.uint64(2) == 1)[:, None]
        if math.isinf(p):
            corner = np.where(noise > 0, epsilon, -epsilon)
            if inside[0].sum() == 1:  # one value alone must change
                corner = np.where(np.abs(corner - before) < epsilon / 2, -corner, corner)
            step = np.where(inside, corner, before)
            within = before + epsilon * size[:, None] * inside * noise
            step = np.where(other, within, step)  # half of the changes lead inside the ball
        else:
            added = size[:, None] * scale_to_unit(np.where(inside, noise, 0.0), p)
            # where the ball has corners, half of the changes lead there
            kept = np.where(other & (p <= 1), 0.0, before / epsilon)
            step = epsilon * scale_to_unit(kept + added, p)
        return region.project(rows, origin + step)

    def _draw_stripes(self) -> FloatArray:
        """Points whose columns of pixels, or single values, move by epsilon up or down."""
        region, rows = self.directions.region, self.directions.rows
        keys, layout = fold(self.directions.keys, -1), self.layout
        if layout is None:
            signs = uniforms(keys, region.x.shape[1])
        else:
            signs = uniforms(keys, layout.width * layout.channels)
            signs = signs[:, layout.column * layout.channels + layout.channel]
        step = scale_to_unit(np.where(signs > 0.5, 1.0, -1.0), region.p) * region.epsilon
        return region.project(rows, region.x[rows] + step)

    def _draw_window(self, keys: KeyArray, share: float) -> tuple[Array, FloatArray]:
        """Which values a window holds, and what is added to them, (rows, d) each."""
        d, layout = self.directions.region.x.shape[1], self.layout
        if layout is None:
            count = max(1, round(share * d))
            draws = uniforms(keys, d)
            if count == 1:
                inside = draws.argmax(axis=1)[:, None] == np.arange(d)
            else:
                least = np.partition(draws, d - count, axis=1)[:, d - count, None]
                inside = draws >= least
            # the sum of several uniform numbers is nearly Gaussian
            noise = uniforms(fold(keys, 0), 4 * d).reshape(len(keys), d, 4).sum(axis=2) - 2
            return inside, noise
        side = round(math.sqrt(share * layout.height * layout.width))
        side = min(max(side, 1), layout.height, layout.width)
        draws = uniforms(keys, 2 + layout.channels)
        top = np.floor(draws[:, :1] * (layout.height - side + 1))
        left = np.floor(draws[:, 1:2] * (layout.width - side + 1))
        inside = (layout.row >= top) & (layout.row < top + side)
        inside &= (layout.column >= left) & (layout.column < left + side)
        return inside, np.where(draws[:, 2:] > 0.5, 1.0, -1.0)[:, layout.channel]

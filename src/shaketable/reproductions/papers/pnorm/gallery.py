"""Imperceptible noise of six norms, on the surface of its balls (Fig. 2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.keys import row_keys
from shaketable.core.norms import norm_title, pnorm
from shaketable.corruptions.gallery import Gallery, gallery, move_to_surface
from shaketable.corruptions.pnorm import PNormNoise, unit_ball
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import as_floats
from shaketable.reproductions.claims import Close, Within
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.statistics.intervals import proportion

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

_DEFAULT = "shapes(n=200)"
_RANGE = Bounds(0.0, 1.0)
_IMAGES = 100
_DRAWN = 1000  # points in the ball
_SHELL = 0.999
_LEVELS = 255
_SIDE = 160  # pixels of an image in the figure


@declare(
    "pnorm-fig2",
    place="Fig. 2",
    takes=("data",),
    about="images under imperceptible noise of six norms, as large as it can be",
    forms={
        "full": Form(
            about=f"{_IMAGES} images under the noise of iCE, moved to the surface of its balls",
            takes="seconds",
            needs="nothing; --data for CIFAR-10 or Tiny ImageNet",
            claims=[
                Within("noise has exactly the size of its ball", "size: *", high=1e-9),
                Within("corrupted images stay within black and white", "range: *", -1e-9, 1 + 1e-9),
                Close(
                    "values change on average as the law of the surface says",
                    "change: *",
                    tolerance=0.01,
                    relative=True,
                ),
                Close(
                    "as many points of a ball lie near its surface as the dimension says",
                    "shell: *",
                    tolerance=0.03,
                ),
            ],
            deviations=[
                "Whether noise can be seen is for the eye, and nothing is claimed about it: the "
                "figure shows it.",
                "By default images of the built-in set are shown, as those of the paper are not "
                "part of this package. They are of the same shape as those of CIFAR-10, so sizes "
                "are the paper's.",
                "At its largest, L-inf noise moves every value by epsilon: it is on the corners of "
                "the cube, which the authors call maximal.",
            ],
        ),
    },
    errata=["pnorm-ice-surface"],
)
def measure_gallery(asked: Asked) -> Measured:
    """Corrupt images by the noise of iCE on the surface of its balls, and measure it."""
    from shaketable.corruptions.suites.suite import suite
    from shaketable.data.files import as_dataset
    from shaketable.evaluation.resolve import resolve

    data = as_dataset(asked.data or _DEFAULT)
    images = as_floats(data.x[:_IMAGES]).astype(np.float64)
    keys = row_keys(asked.seed, np.arange(len(images)), np.arange(1))[:, 0]
    inside = resolve(suite("ice"), data, _RANGE).corruptions
    sizes, changes, shells, ends = [], [], [], []
    for noise in map(move_to_surface, inside):
        assert isinstance(noise, PNormNoise)
        free, clipped = (noise.bind(bounds)(images, keys) for bounds in (None, _RANGE))
        change = (free - images).reshape(len(images), -1)
        d, name = change.shape[1], norm_title(noise.p)
        away = float(np.abs(pnorm(change, noise.p) / noise.epsilon - 1).max())
        sizes.append(Number(f"{name}({noise.epsilon:g})", away))
        each = _LEVELS * np.abs(change).mean(axis=1)
        law = Printed(_LEVELS * noise.epsilon * _expect_change(noise.p, d))
        # nothing is random where the norm is the sum itself, or on the corners of the cube
        changes.append(Number(name, float(each[0]) if noise.p in (1, math.inf) else each, law))
        ends += [clipped.min(), clipped.max()]
        norms = pnorm(_draw_ball(asked.seed, d, noise.p), noise.p)
        near = proportion(int((norms > _SHELL).sum()), _DRAWN)
        shells.append(Number(name, near, Printed(1 - _SHELL**d)))
    shown = gallery(
        data, map(move_to_surface, inside), row=_choose_row(data.n), rng=asked.seed, bounds=_RANGE
    )
    return Measured(
        tables=[
            NumberTable("size", "Largest error of the size, relative", sizes, digits=12),
            NumberTable(
                "range",
                "Values of corrupted images, from 0 to 1",
                [
                    Number("lowest", float(np.min(ends))),
                    Number("highest", float(np.max(ends))),
                ],
            ),
            NumberTable(
                "change",
                f"Mean change of a value, in {_LEVELS}ths",
                changes,
                digits=3,
                against="law",
            ),
            NumberTable(
                "shell",
                f"Share of points in the ball beyond {_SHELL} of its radius",
                shells,
                digits=3,
                against="law",
            ),
        ],
        figure=lambda: _draw_pictures(shown),
        settings={"Data": data.name, "Images": len(images)},
    )


def _expect_change(p: float, d: int) -> float:
    r"""Mean absolute value of a coordinate on the unit sphere of the p-norm.

    :math:`E\,|x_i| = \frac{\Gamma(2/p)\,\Gamma(d/p)}{\Gamma(1/p)\,\Gamma((d + 1)/p)}`, and 1 on the
    corners of a cube.

    >>> round(_expect_change(1, 4), 12), round(_expect_change(2, 2), 4)
    (0.25, 0.6366)
    """
    if math.isinf(p):
        return 1.0
    log = math.lgamma(2 / p) + math.lgamma(d / p) - math.lgamma(1 / p) - math.lgamma((d + 1) / p)
    return math.exp(log)


def _draw_ball(seed: int, d: int, p: float) -> Any:
    return unit_ball(row_keys(seed, np.arange(_DRAWN), np.arange(1))[:, 0], d, p)


def _choose_row(n: int) -> int:
    """Row of the image that is shown; the same for data of the same size."""
    return min(7, n - 1)


def _draw_pictures(shown: Gallery) -> Chart:
    """Draw the original and the image under every noise, with its size."""
    import altair as alt

    from shaketable.views import drawing

    panels = []
    for picture in shown.pictures:
        about = picture.show()
        base = drawing.make_chart([{"url": about.address}])
        image = base.mark_image(width=_SIDE, height=_SIDE).encode(url=alt.Url("url:N"))
        panels.append(image.properties(title=picture.name, width=_SIDE, height=_SIDE))
    return drawing.arrange_panels(panels, title=shown.title, columns=4)

"""Charts and tables of the balls of p-norms: points, volumes, and how much they overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import numpy as np

from shaketable.core.keys import Rng
from shaketable.core.norms import as_p, norm_title
from shaketable.core.types import FloatArray
from shaketable.corruptions.balls.numbers import Overlap, Shares, VolumeFactor, samples
from shaketable.corruptions.pnorm import Kind
from shaketable.statistics.estimate import Estimate
from shaketable.views import drawing
from shaketable.views.blocks import Column, Table
from shaketable.views.drawing import HEIGHT, Chart, Row, make_tooltip

PAPER_SAMPLES: tuple[tuple[float, Kind], ...] = (
    (0.5, "surface"),
    (1.0, "ball"),
    (2.0, "ball"),
    (10.0, "surface"),
)
"""Norms and kinds of points in Fig. 1 of Siedel et al. (2024)."""

_KINDS: dict[Kind, str] = {"ball": "ball", "surface": "sphere", "vertices": "corners"}
_SIDE, _PANEL = 165, 230  # widths in pixels: of a square panel, and of a wider one
_COLUMNS = 3  # panels per row of an overlap chart
_FEW = 60  # lines of up to so many points mark each of them


def sample_panels(
    balls: Iterable[tuple[str | float, Kind]] = PAPER_SAMPLES, n: int = 1000, *, rng: Rng = 0
) -> dict[str, FloatArray]:
    """Return points for `samples_chart`, one panel per norm and kind, by its title.

    >>> list(sample_panels(n=10))
    ['L0.5 sphere', 'L1 ball', 'L2 ball', 'L10 sphere']
    """
    return {
        f"{norm_title(as_p(p))} {_KINDS.get(kind, kind)}": samples(p, n, kind=kind, rng=rng)
        for p, kind in balls
    }


def samples_chart(panels: Mapping[str, FloatArray]) -> Chart:
    """Draw points in the plane, one square panel per ball (Fig. 1).

    Parameters
    ----------
    panels
        Points by the title of their panel, as `sample_panels` returns them.

    >>> chart = samples_chart(sample_panels(n=10))
    """
    return drawing.arrange_panels(
        [_cloud(title, points) for title, points in panels.items()],
        title="Points drawn uniformly from balls and spheres of radius 1",
        columns=4,
    )


def volumes_chart(table: Sequence[VolumeFactor]) -> Chart:
    """Draw volume factors against the dimension, one line per pair of norms, in powers of ten.

    >>> from shaketable.corruptions.balls.numbers import volume_table
    >>> chart = volumes_chart(volume_table(range(1, 101)))
    """
    rows: list[Row] = [
        {"model": f"{norm_title(v.p)} : {norm_title(v.q)}", "d": v.d, "log": v.log / math.log(10)}
        for v in table
    ]
    names = [r["model"] for r in rows]
    base = drawing.make_chart(rows).encode(
        x=alt.X("d:Q", title="dimensions d", scale=alt.Scale(nice=False, zero=True)),
        y=alt.Y(
            "log:Q",
            title="how many times larger",
            axis=alt.Axis(labelExpr="'10^' + format(datum.value, '~g')", titlePadding=30),
        ),
        color=drawing.model_colour(names),
        tooltip=make_tooltip(model="balls", d="dimensions", log="log10 of the factor"),
    )
    line = base.mark_line(strokeWidth=2.5, point=len(rows) <= _FEW).properties(height=HEIGHT)
    panels: list[Chart] = [line] if rows else []
    title = "Ratio of the volumes of two balls of the same epsilon"
    return drawing.stack_panels(panels, title=title, otherwise="the table is empty")


def overlap_chart(overlaps: Sequence[Overlap]) -> Chart:
    """Draw the overlap of balls with a second one, one panel per first norm (Fig. 5).

    >>> from shaketable.corruptions.balls.numbers import overlap
    >>> chart = overlap_chart([overlap(p, 2, d=20, n=50) for p in (1, "inf")])
    """
    panels = [_shares(o, named=i % _COLUMNS == 0) for i, o in enumerate(overlaps)]
    title = "Overlap of a first ball of growing epsilon with a second ball"
    return drawing.arrange_panels(panels, title=title, columns=_COLUMNS)


def _cloud(title: str, points: FloatArray) -> Chart:
    rows = [{"x": x, "y": y} for x, y in points.round(4).tolist()]
    scale, axis = alt.Scale(domain=[-1.05, 1.05]), alt.Axis(values=[-1, 0, 1], format="d")
    x = alt.X("x:Q", title=None, scale=scale, axis=axis)
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    dots = drawing.make_chart(rows).mark_circle(style="count", size=7, opacity=0.6).encode(x=x, y=y)
    cloud: Chart = dots.properties(title=title, width=_SIDE, height=_SIDE)
    return cloud


def _shares(o: Overlap, *, named: bool) -> Chart:
    """Panel of two balls; only the first of a row has a title on its y axis."""
    sides = {
        "points of the first ball that lie in the second": o.first_in_second,
        "points of the second ball that lie in the first": o.second_in_first,
    }
    rows = [row for name, side in sides.items() for row in _rows(o.epsilons, name, side)]
    x_title = "share of dimensions, epsilon" if o.p == 0 else "epsilon"
    large = float(o.epsilons.max()) >= 1e4
    axis = alt.Axis(
        values=_ticks(o.epsilons), format="~s" if large else "~g", grid=False, labelSeparation=4
    )
    logarithmic = alt.Scale(type="log", nice=False)
    base = drawing.make_chart(rows).encode(
        x=alt.X("epsilon:Q", title=x_title, scale=logarithmic, axis=axis),
        color=drawing.model_colour(sides).legend(columns=1, labelLimit=0),
        tooltip=make_tooltip(
            model="points",
            epsilon="epsilon",
            value="share, %",
            low="95 % interval from, %",
            high="to, %",
        ),
    )
    scale, title = alt.Scale(domain=[0, 100]), "points in the other ball, %" if named else None
    y, low = (alt.Y(f"{name}:Q", title=title, scale=scale) for name in ("value", "low"))
    layers = (
        base.mark_area(opacity=0.25).encode(y=low, y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2).encode(y=y),
    )
    name = f"{norm_title(o.p)} and {norm_title(o.q)}({o.epsilon_q:g}), d = {o.d}"
    return alt.layer(*layers).properties(title=name, width=_PANEL, height=_SIDE)


def _rows(epsilons: FloatArray, name: str, side: Shares) -> list[Row]:
    columns = np.stack([epsilons, 100 * side.value, 100 * side.low, 100 * side.high], axis=1)
    keys = ("epsilon", "value", "low", "high")
    return [{"model": name, **dict(zip(keys, row, strict=True))} for row in columns.tolist()]


def _ticks(epsilons: FloatArray) -> list[float]:
    """Round numbers within the epsilons: 1, 2 and 5 times powers of ten."""
    low, high = float(epsilons.min()), float(epsilons.max())
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [t for e in powers for m in (1, 2, 5) for t in [float(f"{m}e{e}")] if low <= t <= high]


def tabulate_volumes(table: Sequence[VolumeFactor]) -> Table:
    """Volume factors, one row per dimension and one column per pair of norms."""
    pairs = list(dict.fromkeys((v.p, v.q) for v in table))
    at = {(v.p, v.q, v.d): str(v) for v in table}
    dimensions = dict.fromkeys(v.d for v in table)
    return Table(
        "ratio of the volumes of two balls of the same epsilon",
        (
            Column("d", "count"),
            *(Column(f"{norm_title(p)} : {norm_title(q)}", "number") for p, q in pairs),
        ),
        [[d, *(at[p, q, d] for p, q in pairs)] for d in dimensions],
        limit=200,
    )


def tabulate_overlaps(overlaps: Sequence[Overlap]) -> Table:
    """Sizes at which balls leave and cover the second one, one row per pair of balls."""
    halves = [(o, o.first_in_second.half, o.second_in_first.half) for o in overlaps]
    return Table(
        "inside up to: largest epsilon at which half of the first ball lies in the second; covers "
        "from: smallest epsilon at which the first ball holds half of the second; if the ratio is "
        "above 1, then between the two neither ball holds half of the other",
        (
            *map(Column, ("first ball", "second ball")),
            Column("d", "count"),
            *(Column(name, "number") for name in ("inside up to", "covers from", "ratio")),
        ),
        [
            (norm_title(o.p), _second(o), o.d, inside, over, over / inside)
            for o, inside, over in halves
        ],
    )


def tabulate_shares(o: Overlap) -> Table:
    """Both shares at every epsilon, with intervals."""

    def make_estimate(shares: Shares, i: int) -> Estimate:
        value, low, high = (float(ends[i]) for ends in (shares.value, shares.low, shares.high))
        return Estimate(value, low, high, 0.95, "Clopper-Pearson, for points drawn from the ball")

    first, second = norm_title(o.p), _second(o)
    return Table(
        f"{first} ball and {second} ball in {o.d} dimensions, {o.n} points from each: share that "
        "lies in the other, with 95 % intervals",
        (
            Column("epsilon", "number"),
            Column(f"{first} in {second}", "rate"),
            Column(f"{second} in {first}", "rate"),
        ),
        [
            (float(e), make_estimate(o.first_in_second, i), make_estimate(o.second_in_first, i))
            for i, e in enumerate(o.epsilons)
        ],
        limit=200,
    )


def _second(o: Overlap) -> str:
    return f"{norm_title(o.q)}({o.epsilon_q:g})"

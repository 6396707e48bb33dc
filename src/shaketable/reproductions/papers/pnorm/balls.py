"""Balls of p-norms: volume factors (Table 6), samples (Fig. 1) and overlaps (Fig. 5)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from shaketable.core.norms import norm_title, pnorm
from shaketable.corruptions.balls.numbers import (
    PAPER_NORMS,
    Overlap,
    overlap,
    samples,
    volume_factor,
    volume_table,
)
from shaketable.reproductions.claims import Close, Order, Within
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.statistics.intervals import proportion

_NORMS = (0.5, 1.0, 2.0, 10.0, 200.0, math.inf)
_RADII = (0.25, 0.5, 0.75)
_DRAWN = 100_000
_EDGE = 1 + 1e-9  # rounding aside
_NEAR = 0.01  # shares of so many points are known to half of that

_SECOND, _SIZE = 2, 4.0  # norm and size of the second ball of Fig. 5
_RUNS = 5
_TAIL = 0.025
_CONCENTRATED = 10  # up to which powers of normal values have a mean that most points are near


@declare(
    "pnorm-table6",
    place="Table 6",
    about="how many times larger one ball is than another of the same epsilon",
    forms={
        "full": Form(
            about="volumes in closed form",
            takes="a second",
            claims=[
                Close("every ratio rounds to the printed one, of the right column", "ratio: *"),
            ],
        ),
    },
    errata=["pnorm-table6"],
)
def measure_volumes(_asked: Asked) -> Measured:
    """Compute the volume factors of Table 6, rounded as in print."""
    from shaketable.corruptions.balls.charts import volumes_chart

    table, published = volume_table(), load_published("pnorm-table6")
    numbers = []
    for factor in table:
        column = f"{norm_title(factor.p)} over {norm_title(factor.q)}"
        numbers.append(
            Number(
                f"d = {factor.d}",
                math.exp(factor.log),
                published[f"d = {factor.d}", column],
                column=column,
            )
        )
    return Measured(
        tables=[NumberTable("ratio", "Ratio of volumes", numbers, digits=1)],
        figure=lambda: volumes_chart(volume_table(range(1, 101))),
    )


@declare(
    "pnorm-fig1",
    place="Fig. 1",
    about="points drawn uniformly from balls and spheres in the plane",
    forms={
        "full": Form(
            about="shares of 100,000 points of each ball and sphere against their laws; the figure "
            "has 1,000 of each, as in the paper",
            takes="a second",
            claims=[
                Within("no point lies outside its ball", "edge: *ball*", high=_EDGE),
                Within("every point of a sphere lies on it", "edge: *sphere*", high=_EDGE - 1),
                Close("a share r^2 lies within a radius r of the ball", "radius: *", _NEAR),
                Close("the share in a smaller ball is the ratio of the areas", "smaller: *", _NEAR),
                Close("directions of a sphere are those of its ball", "half: *", _NEAR),
            ],
            deviations=[
                "The paper shows four clouds and claims nothing in numbers. The laws of uniform "
                "points are claimed instead, for norms that it does not show too: for L200, "
                "single precision would break them.",
                "Directions on a sphere are those of uniform points in its ball. They are uniform "
                "by length only for L1, L2 and L-inf.",
            ],
        ),
    },
    errata=["pnorm-underflow"],
)
def measure_samples(asked: Asked) -> Measured:
    """Draw points in the plane and compare shares of them with areas."""
    from scipy import special

    from shaketable.corruptions.balls.charts import sample_panels, samples_chart

    edges, radii, smaller, halves = [], [], [], []
    for p, q in zip(_NORMS, (None, *_NORMS), strict=False):
        x, name = samples(p, _DRAWN, rng=asked.seed), norm_title(p)
        size = pnorm(x, p)
        edges.append(Number(f"{name} ball, largest norm", float(size.max())))
        for r in _RADII:
            inside = proportion(int((size <= r).sum()), _DRAWN)
            radii.append(Number(name, inside, Printed(r**2), column=f"r = {r:g}"))
        if q is not None:
            inside = proportion(int((pnorm(x, q) <= 1).sum()), _DRAWN)
            ratio = Printed(volume_factor(q, p, 2))
            smaller.append(Number(f"{name} ball in {norm_title(q)} ball", inside, ratio))
        on = samples(p, _DRAWN, kind="surface", rng=asked.seed)
        away = float(np.abs(pnorm(on, p) - 1).max())
        edges.append(Number(f"{name} sphere, largest distance of the norm from 1", away))
        below = proportion(int((np.abs(on[:, 0]) <= 0.5).sum()), _DRAWN)
        # |x_1|^p has a beta law; on the square, one of two coordinates is 1 and the other uniform
        law = 0.25 if math.isinf(p) else float(special.betainc(1 / p, 1 / p, 0.5**p))
        halves.append(Number(name, below, Printed(law)))
    shares = partial(NumberTable, digits=3, against="law")
    return Measured(
        tables=[
            NumberTable("edge", "Norms of points at the edge", edges, digits=12, corner="points"),
            shares("radius", "Share within a radius", radii, corner="ball"),
            shares("smaller", "Share in a smaller ball", smaller, corner="balls"),
            shares("half", "Share of |x1| <= 1/2", halves, corner="sphere"),
        ],
        figure=lambda: samples_chart(sample_panels(n=1000, rng=asked.seed)),
        own_size=True,
        settings={"Points": f"{_DRAWN} per ball and sphere; 1000 in the figure"},
    )


@declare(
    "pnorm-fig5",
    place="Fig. 5",
    takes=("runs",),
    about="how much of each of two balls of 3072 dimensions lies in the other",
    forms={
        "full": Form(
            about="1,000 points from every ball, five times, against laws of large dimensions",
            takes="seconds",
            claims=[
                Close(
                    "the first ball leaves the second where concentration says",
                    "inside: *",
                    tolerance=0.02,
                    relative=True,
                ),
                Close(
                    "it covers half of the second where concentration says",
                    "covers: *",
                    tolerance=0.02,
                    relative=True,
                ),
                Within("no size lets each ball hold half of the other", "gap: *", low=1.0),
                Within(
                    "L0 has a large interval of sizes without any overlap",
                    "free: L0",
                    low=10.0,
                ),
                Order(
                    "the gap grows with the distance from L2: L1, L0.5, L0",
                    ["gap: L1", "gap: L0.5", "gap: L0"],
                ),
                Order(
                    "the gap grows with the distance from L2: L5, L-inf, L0",
                    ["gap: L5", "gap: L-inf", "gap: L0"],
                ),
                Within("for L1 the two sizes differ by less than a quarter", "gap: L1", high=1.25),
                Within(
                    "between 97.5 and 2.5 % each share needs a factor below 1.5",
                    "window: *",
                    low=0.0,
                    high=1.5,
                ),
            ],
            deviations=[
                "The text names four of the six first norms: L0, L0.5, L1 and L-inf. L5 and L50 "
                "are our guess at the others.",
                "The paper has no numbers for the figure. Sizes are compared with closed forms of "
                "their limits for many dimensions, which hold up to about 1 %.",
                "The paper's L0 noise turns values black or white. Here the image below it is "
                "grey, so that every such value moves by 1/2.",
            ],
        ),
    },
)
def measure_overlaps(asked: Asked) -> Measured:
    """Estimate at which sizes balls leave and cover the L2 ball of size 4."""
    from shaketable.corruptions.balls.charts import overlap_chart, tabulate_overlaps

    runs = asked.runs or _RUNS
    rows: dict[str, list[Number]] = {key: [] for key in ("inside", "covers", "gap", "window")}
    shown, free = [], []
    for p in PAPER_NORMS:
        each = [overlap(p, _SECOND, epsilon_q=_SIZE, rng=asked.seed + run) for run in range(runs)]
        shown.append(each[0])
        name, d = norm_title(p), each[0].d
        inside, covers = (
            np.array([part.half for part in parts])
            for parts in ([o.first_in_second for o in each], [o.second_in_first for o in each])
        )
        laws = _expect_inside(p, d), _expect_covers(p, d)
        for key, found, law in zip(("inside", "covers"), (inside, covers), laws, strict=True):
            # sizes of L0 are whole numbers of dimensions, the same in every run
            ours = float(found[0]) if p == 0 else found
            rows[key].append(Number(name, ours, None if law is None else Printed(law)))
        gap = covers / inside
        rows["gap"].append(Number(name, float(gap[0]) if p == 0 else gap))
        if p == 0:
            free.append(Number(name, min(_measure_free(o) for o in each)))
            continue
        widths = np.array([_measure_window(o) for o in each])
        rows["window"] += [
            Number(f"{name}, {side}", widths[:, i])
            for i, side in enumerate(("first in second", "second in first"))
        ]
    sizes = partial(NumberTable, digits=4, against="law", corner="first ball")
    leaving, covering = (
        "Size up to which half of the first ball lies in",
        "Size from which it holds half of",
    )
    second = f"{norm_title(_SECOND)}({_SIZE:g})"
    return Measured(
        tables=[
            sizes("inside", f"{leaving} {second}", rows["inside"]),
            sizes("covers", f"{covering} {second}", rows["covers"]),
            NumberTable(
                "gap", "Gap: the second size over the first", rows["gap"], corner="first ball"
            ),
            NumberTable(
                "free", "Factor between sizes without any overlap", free, corner="first ball"
            ),
            NumberTable(
                "window", "Factor between sizes with 97.5 and 2.5 % of the points", rows["window"]
            ),
        ],
        blocks=[tabulate_overlaps(shown)],
        figure=lambda: overlap_chart(shown),
        settings={"Points": "1000 of each ball", "Repetitions": runs},
    )


def _expect_inside(p: float, d: int) -> float:
    r"""Size at which uniform points of the p-ball have the mean square of the L2 ball's edge.

    :math:`|x_i|^p` has a beta law, so
    :math:`E\,x_i^2 = \frac{\Gamma(3/p)\,\Gamma(d/p + 1)}{\Gamma(1/p)\,\Gamma((d + 2)/p + 1)}`.

    >>> round(_expect_inside(math.inf, 3072), 4)
    0.125
    """
    if p == 0:
        # k values that move by 1/2 are at the distance sqrt(k) / 2
        return math.floor((2 * _SIZE) ** 2) / d
    if math.isinf(p):
        return _SIZE * math.sqrt(3 / d)
    log = math.lgamma(3 / p) + math.lgamma(d / p + 1)
    log -= math.lgamma(1 / p) + math.lgamma((d + 2) / p + 1)
    return _SIZE / math.sqrt(d * math.exp(log))


def _expect_covers(p: float, d: int) -> float | None:
    """Norm of most points of the L2 ball, whose values are nearly normal with variance 1/d.

    None where neither the mean of powers nor the largest value decides, as for p = 50.
    """
    from scipy import special

    if p == 0:
        return 1.0
    if math.isinf(p):
        return _SIZE * math.sqrt(2 / d) * float(special.erfinv(0.5 ** (1 / d)))
    if p > _CONCENTRATED:
        return None
    power = math.exp((p / 2) * math.log(2 / d) + math.lgamma((p + 1) / 2)) / math.sqrt(math.pi)
    return _SIZE * math.pow(d * power, 1 / p)


def _measure_window(o: Overlap) -> tuple[float, float]:
    """Factor between the sizes at which a share is 97.5 and 2.5 %, for both shares."""
    falling, rising = o.first_in_second.value, o.second_in_first.value
    fall = o.epsilons[falling <= _TAIL].min() / o.epsilons[falling >= 1 - _TAIL].max()
    rise = o.epsilons[rising >= 1 - _TAIL].min() / o.epsilons[rising <= _TAIL].max()
    return float(fall), float(rise)


def _measure_free(o: Overlap) -> float:
    """Factor between the smallest and the largest size at which neither has points in the other."""
    none = (o.first_in_second.value == 0) & (o.second_in_first.value == 0)
    sizes = o.epsilons[none]
    return float(sizes.max() / sizes.min()) if len(sizes) else 1.0

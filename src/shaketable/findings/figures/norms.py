"""p-norms: how training on one transfers to others, and their balls (Siedel et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.norms import norm_title, pnorm_level
from shaketable.corruptions.balls.charts import (
    PAPER_SAMPLES,
    overlap_chart,
    sample_panels,
    samples_chart,
    tabulate_overlaps,
    tabulate_shares,
    tabulate_volumes,
    volumes_chart,
)
from shaketable.corruptions.balls.numbers import (
    PAPER_DIMENSIONS,
    PAPER_NORMS,
    Overlap,
    OverlapJson,
    VolumeFactor,
    VolumeFactorJson,
    overlap,
    volume_table,
)
from shaketable.corruptions.pnorm import Kind
from shaketable.evaluation.records import Record
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import Series, get_pairing
from shaketable.findings.subjects import get_norm_title
from shaketable.views import drawing
from shaketable.views.blocks import Block, Table
from shaketable.views.drawing import Chart, Row, make_tooltip
from shaketable.views.terminal import Displayed
from shaketable.views.text import join_names

_CLEAN = "no noise"
_CELL = 84, 52  # pixels
_WIDE = 620  # pixels, at least, so that titles fit


def draw_transfer(found: Found) -> Chart:
    """Accuracy by the norm of training and of test noise (figure 3 of the p-norm paper).

    For each test corruption, accuracies are divided by the highest of all models of the same
    network, so that the best has 100. They are then averaged over all sizes of the same norm in
    training and test, over networks and over data.

    Parameters
    ----------
    found
        Findings, records or a results file of models that were trained with noise of single norms,
        such as by ``--train "l1(50)" --train "l2(1)"``, and tested under p-norm noise. Models that
        were trained without noise have a row of their own.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> options = {"train": ["linf(0.1)", "l2(0.1)"], "corruptions": ["linf(0.1)", "l2(0.1)"]}
    >>> records = st.study("iris", "1nn", **options, k=1, runs=2, n_jobs=1)
    >>> type(st.figures.draw_transfer(records)).__name__
    '_ConcatChart'
    """
    rows = compute_transfer(as_results(found).groups.series)
    if len({row["train"] for row in rows} - {_CLEAN}) < 2:
        raise InputError(
            "the figure needs models that were trained with noise of two norms or more and tested "
            "under p-norm noise; run a study with "
            + either(
                '--train "l2(1)" --train "linf(0.1)" and --corruptions "l2(1)" "linf(0.1)"',
                "train=['l2(1)', 'linf(0.1)'] and the same corruptions=",
            )
        )
    about = (
        "Accuracy relative to the best model under each corruption, in per cent; mean over sizes, "
        "networks and data. Bold: the best of its column. In brackets: means of the limits of the "
        "accuracies' 95 % intervals, the best accuracies taken as known."
    )
    return drawing.compose_figure([_draw_matrix(rows)], finding=_describe(rows), about=about)


def compute_transfer(series: Iterable[Series]) -> list[Row]:
    """Return the mean normalised accuracy, one row per training norm and test norm, in per cent."""
    conditions: dict[tuple[object, ...], list[Series]] = {}
    for s in series:
        if get_norm_title(s.first) and _name_training(s.first) is not None:
            conditions.setdefault((get_pairing(s), s.first.network), []).append(s)
    shares: dict[tuple[str, str], list[Sequence[float]]] = {}
    for group in conditions.values():
        best = max(s.accuracies.mean() for s in group)
        has_noise = any(s.first.train != "clean" for s in group)
        for s in group if best and has_noise else ():
            place = str(_name_training(s.first)), get_norm_title(s.first)
            e = s.accuracy
            shares.setdefault(place, []).append([100 * x / best for x in (e.value, e.low, e.high)])
    rows: list[Row] = []
    for (train, test), parts in shares.items():
        # limits of a mean, whatever the correlation: they are too wide rather than too narrow
        value, low, high = np.mean(parts, axis=0).tolist()
        rows.append({"train": train, "noise": test, "value": value, "low": low, "high": high})
        rows[-1]["models"] = len(parts)
    for test in {row["noise"] for row in rows}:
        column = [row for row in rows if row["noise"] == test]
        for row in column:
            row["best"] = row["value"] == max(other["value"] for other in column)
    return rows


def _name_training(cell: Record) -> str | None:
    """Return the norm of the training noise; None for other training."""
    if cell.train == "clean":
        return _CLEAN
    try:
        level = pnorm_level(cell.train)
    except InputError:  # not a spec of a corruption, such as an adversary
        return None
    return None if level is None else norm_title(level.p)


def _draw_matrix(rows: Sequence[Row]) -> Chart:
    trains = sorted({row["train"] for row in rows}, key=_order)
    tests = sorted({row["noise"] for row in rows}, key=_order)
    low, high = min(row["value"] for row in rows), max(row["value"] for row in rows)
    for row in rows:
        row["label"] = f"{row['value']:.1f}"
        row["interval"] = f"[{row['low']:.1f}, {row['high']:.1f}]"
        row["ink"] = "white" if row["value"] > (low + high) / 2 else "#10243a"
    axis = alt.Axis(labelAngle=0, grid=False, domain=False, ticks=False, labelPadding=6)
    base = drawing.make_chart(rows).encode(
        x=alt.X("noise:N", title="norm of the test noise", sort=tests, axis=axis),
        y=alt.Y("train:N", title="norm of the training noise", sort=trains, axis=axis),
        tooltip=make_tooltip(
            train="training noise",
            noise="test noise",
            value="relative accuracy, %",
            interval="its 95 % interval",
            models="corruptions and models in the mean",
        ),
    )
    shades = alt.Scale(range=["#dfeaf5", "#0b4a83"], domain=[low, max(high, low + 0.01)])
    ink = alt.Color("ink:N", scale=None)
    best, others = (base.transform_filter(f"{sign}datum.best") for sign in ("", "!"))
    layers = (
        base.mark_rect().encode(color=alt.Color("value:Q", scale=shades, legend=None)),
        best.mark_text(fontWeight="bold", dy=-7).encode(text="label:N", color=ink),
        others.mark_text(dy=-7).encode(text="label:N", color=ink),
        base.mark_text(fontSize=10, dy=9).encode(text="interval:N", color=ink),
    )
    width = max(_WIDE, _CELL[0] * len(tests))
    chart: Chart = alt.layer(*layers).resolve_scale(color="independent")
    return chart.properties(width=width, height=_CELL[1] * len(trains))


def _order(name: str) -> float:
    """Return the order of a norm from its title; plain training comes first."""
    return -1.0 if name == _CLEAN else float(name.removeprefix("L").removeprefix("-"))


def _describe(rows: Sequence[Row]) -> str:
    """Say how often a norm's own training is the best against it, and which transfers best."""
    values = {(row["train"], row["noise"]): row["value"] for row in rows}
    noisy = sorted({train for train, _ in values} - {_CLEAN}, key=_order)
    tests = sorted({test for _, test in values}, key=_order)
    both = [norm for norm in noisy if (norm, norm) in values]
    own = [n for n in both if all(values[n, n] >= values.get((t, n), 0.0) for t in noisy)]
    means: Mapping[str, float] = {
        t: float(np.mean([values[t, test] for test in tests if (t, test) in values])) for t in noisy
    }
    best = max(means, key=lambda train: means[train])
    plain = [
        test
        for test in tests
        if values.get((_CLEAN, test), 0.0) > max(values.get((t, test), 0.0) for t in noisy)
    ]
    rest = f" Training without noise is better for {len(plain)} of {len(tests)}." if plain else ""
    lows, highs = (
        {t: float(np.mean([r[end] for r in rows if r["train"] == t])) for t in noisy}
        for end in ("low", "high")
    )
    rivals = [t for t in noisy if t != best and highs[t] >= lows[best]]
    doubt = f"; the intervals of {join_names(rivals, 'norms')} overlap with its" if rivals else ""
    return (
        f"As measured, for {len(own)} of {len(both)} norms, the norm that is tested is the best to "
        f"train on; on average over all tests it is {best}, with {means[best]:.1f} % of the best "
        f"accuracy{doubt}.{rest}"
    )


FIGURES.add("transfer", FigureKind(draw_transfer))


@dataclass(frozen=True)
class Balls(Displayed):
    """Numbers of several balls, and their chart."""

    rows: Sequence[VolumeFactor | Overlap]
    tables: Sequence[Table]
    plot: Callable[[], Chart]

    def json(self) -> list[VolumeFactorJson | OverlapJson]:
        """Return the numbers of every row."""
        return [row.json() for row in self.rows]

    def blocks(self) -> list[Block]:
        """Return the tables."""
        return [*self.tables]


def draw_samples(
    *, norms: Iterable[str] = (), surface: bool = False, n: int = 1000, seed: int = 0
) -> Chart:
    """Points from balls of p-norms in the plane (figure 1 of the p-norm paper).

    Parameters
    ----------
    norms
        Such as ``0.5`` and ``inf``; by default those of the paper.
    surface
        Whether points are on the surface of the balls, not inside.
    n, seed
        Points per ball, and the seed of the points.
    """
    kind: Kind = "surface" if surface else "ball"
    balls = [(norm, kind) for norm in norms] or PAPER_SAMPLES
    return samples_chart(sample_panels(balls, n, rng=seed))


def find_volumes(
    *, norms: Sequence[str] = ("inf", "2", "1"), dimensions: Sequence[int] = ()
) -> Balls:
    """Ratio of the volumes of two balls by the number of dimensions (Table 6 of the p-norm paper).

    Parameters
    ----------
    norms
        Two or more; the ball of each is compared with that of the next.
    dimensions
        By default 3, 5, 10 and 20, and in the chart all up to 100.
    """
    if len(norms) < 2:
        name = either("--norms", "norms")
        raise InputError(f"{name} must name two norms or more, whose volumes are compared")
    pairs = list(pairwise(norms))
    table = volume_table(dimensions or PAPER_DIMENSIONS, pairs)
    return Balls(
        table,
        [tabulate_volumes(table)],
        lambda: volumes_chart(volume_table(dimensions or range(1, 101), pairs)),
    )


def find_overlaps(
    *,
    norms: Iterable[str | float] = PAPER_NORMS,
    corruption: str = "l2(4)",
    epsilons: Sequence[float] | None = None,
    dimensions: Sequence[int] = (3072,),
    n: int = 1000,
    seed: int = 0,
) -> Balls:
    """Share of one ball that lies in another, as the first grows (figure 5 of the p-norm paper).

    Parameters
    ----------
    norms
        Of the first balls.
    corruption
        The second ball, as noise.
    epsilons
        Sizes of the first balls; see `overlap`.
    dimensions
        One number.
    n, seed
        Points per ball, and the seed of the points.
    """
    second = pnorm_level(corruption)
    if second is None or not second[0] > 0:
        name = either("--corruption", "corruption")
        raise InputError(f"{name} must be a ball such as 'l2(4)', got {corruption!r}")
    if len(dimensions) != 1:
        raise InputError(f"overlap is found in one dimension at a time, got {[*dimensions]}")
    q, epsilon = second
    options: dict[str, Any] = {"epsilon_q": epsilon, "epsilons": epsilons, "n": n, "rng": seed}
    overlaps = [overlap(p, q, d=dimensions[0], **options) for p in norms]
    tables = [*map(tabulate_shares, overlaps)] if epsilons else [tabulate_overlaps(overlaps)]
    return Balls(overlaps, tables, lambda: overlap_chart(overlaps))


FIGURES.add("balls-samples", FigureKind(draw_samples, source="nothing"))
FIGURES.add("balls-volumes", FigureKind(find_volumes, "nothing", has_numbers=True))
FIGURES.add("balls-overlap", FigureKind(find_overlaps, "nothing", has_numbers=True))

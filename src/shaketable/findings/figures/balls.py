"""Balls of the p-norms: points in them, volumes and overlaps (Siedel et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from shaketable.core.errors import InputError, either
from shaketable.core.norms import pnorm_level
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
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.views.blocks import Block, Table
from shaketable.views.drawing import Chart
from shaketable.views.terminal import Displayed


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
    """Points from balls of p-norms in the plane (Fig. 1 of the p-norm paper).

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
    """Share of one ball that lies in another, as the first grows (Fig. 5 of the p-norm paper).

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

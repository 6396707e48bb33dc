"""Options of `worst_case` and of agreement with 1-NN, as the command ``adversary`` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shaketable.core.options import (
    CHART_ENDINGS,
    COMMON,
    LIST,
    REPEATED,
    RESULTS,
    WHOLE,
    cluster_option,
    contains,
    norm_option,
    one_of,
    option,
    out_option,
    output_file,
    parse_epsilons,
    parse_finite,
    parse_path,
    report_option,
    seed_option,
    store_option,
    switch,
    whole,
)
from shaketable.data.options import DataOptions, bounds_option
from shaketable.models.options import ModelOptions, embedding_option
from shaketable.views.options import PrintOptions

_ATTACKS = "region and attacks"
_TIES = ("neither", "majority")
_CONSTRAINTS = ("none", "genuine-max", "genuine-exact")
_EFFORTS = ("1", "2", "3", "4", "5")


def _parse_effort(text: str) -> int:
    return int(one_of("effort", _EFFORTS)(text))


@dataclass(frozen=True)
class AdversaryOptions(PrintOptions):
    """Data, models, region, attacks, and what to write."""

    dataset: DataOptions = contains(
        DataOptions,
        data="file, folder or built-in set; where models are trained and there is no --test, 20 %% "
        "of the points are drawn as test points",
        points="attack only N of the test points, drawn with --seed",
    )
    models: ModelOptions = contains(ModelOptions, without=("threshold",))
    own: bool = switch("train on all points, and attack the same points", group="models")
    norm: str = norm_option("2")
    eps: tuple[float | str, ...] = option(
        "how far the adversary may go: numbers, eps_min or 0.5*eps_min, with commas (default: the "
        "distance to the nearest failure of every point is measured)",
        (),
        read=parse_epsilons,
        form=LIST,
        metavar="LIST",
        group=COMMON,
    )
    smooth: float | None = option(
        "certify the smoothed models: the class that a model answers most often under Gaussian "
        "noise of this standard deviation. Proves for every point a radius within which this class "
        "stays. Only --attack attacks these models, too",
        read=parse_finite,
        metavar="SIGMA",
        group=COMMON,
    )
    agreement: str | None = option(
        "attack nothing, but say which of two models or more labels more like 1-NN; a point with "
        "several nearest neighbours agrees with neither of two models, or has the label of the "
        "majority of them",
        read=one_of("agreement", _TIES),
        metavar="|".join(_TIES),
        group=COMMON,
    )
    constraint: tuple[str, ...] = option(
        "none: the whole ball; genuine: only what is closer to the point than to any other test "
        "point, at most (max) or exactly epsilon away; repeat it to compare (default: none)",
        (),
        read=one_of("constraint", _CONSTRAINTS),
        form=REPEATED,
        metavar="|".join(_CONSTRAINTS),
        group=_ATTACKS,
    )
    attack: tuple[str, ...] = option(
        "such as 'pgd(steps=20)', 'apgd(loss=ce)', 'random(queries=1000)', 'rays', 'cover', or "
        "'package.module:name(…)' for your own; repeat it for several (default: what suits the "
        "model)",
        (),
        form=REPEATED,
        metavar="SPEC",
        group=COMMON,
        rivals="attacks",
    )
    effort: int = option(
        "how hard to search where no attack is named: 1 is quick, 3 asks models without gradients "
        "up to 1200 times per point, 5 up to 22000 times; --dry-run names the attacks (default: 3)",
        3,
        read=_parse_effort,
        form=WHOLE,
        metavar="|".join(_EFFORTS),
        group=COMMON,
        rivals="attacks",
    )
    dry_run: bool = switch(
        "print which attacks would run, with estimates of queries and time, and stop",
        group=COMMON,
        in_files=False,
        kept=False,
    )
    embedding: str | None = embedding_option("Voronoi cells")
    random: int = whole(
        "also accuracy under random noise of the same sizes, K copies of every point",
        0,
        metavar="K",
        group=_ATTACKS,
    )
    smooth_draws: int = whole(
        "of --smooth, noisy copies of every point that bound the probability of its class",
        10_000,
        metavar="N",
        group="noise",
    )
    bounds: Any = bounds_option()
    seed: int = seed_option("random starts")
    out: str | None = out_option("chart to write", *CHART_ENDINGS)
    map: str | None = option(
        "chart of points of two features, for one model and one constraint: decision regions, "
        "Voronoi cells, and where the adversary went",
        read=parse_path,
        metavar="FILE",
        group=RESULTS,
    )
    examples: str | None = option(
        "adversarial examples found at the largest epsilon: rows, points, labels",
        read=output_file(".npz"),
        metavar="FILE.npz",
        group=RESULTS,
    )
    report: str | None = report_option("write a page with tables, figures and examples")
    store: str | None = store_option("it keeps the results of attacks, which are not run again")
    cluster: str | None = cluster_option()

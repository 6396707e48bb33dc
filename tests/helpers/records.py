"""Records with given numbers of hits, without a model."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.spec import split_factors
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Points, Record, Records, Setting, SuiteRecord
from shaketable.findings.suite_results import SuiteResult, group_suites


def make_records(
    hits: Mapping[str, ArrayLike],
    *,
    k: int = 1,
    model: str = "net",
    seed: int = 0,
    run: int = 0,
    draws: str = "independent",
    metric: str = "mcv",
    sets: tuple[str, ...] | None = None,
) -> Records:
    """Build records of one model from the hits of every point, by corruption.

    ``hits["clean"]`` is required and has one draw. `sets` are the corruptions of the suite, by
    default all.
    """
    counts = {spec: np.asarray(h, dtype=np.int64) for spec, h in hits.items()}
    n = len(counts["clean"])
    points = Points(f"points {run}", (0, 1), np.arange(n), np.zeros(n, np.int64))
    cells = []
    for spec, count in counts.items():
        clean = spec == "clean"
        cell = Record(
            key=f"{model} {spec} {seed} {run} {k}",
            points=points,
            data="by hand",
            fingerprint="f",
            model=model,
            recipe=model,
            model_id=f"{model} {run}",
            train="as given",
            corruption=spec,
            setting=Setting(
                bounds="none" if clean else "[0, 1]",
                draws="none" if clean else draws,
                noise="none" if clean else "cpu",
                dtype="float64",
                k=1 if clean else k,
                seed=seed,
            ),
            run=run,
            hits=count,
        )
        cells.append(cell)
    specs = tuple(counts) if sets is None else sets
    return Records(tuple(cells), (), (SuiteRecord("f", "by-hand", metric, "", specs),))


def make_suite_result(
    hits: Mapping[str, ArrayLike], *, k: int = 1, model: str = "net"
) -> SuiteResult:
    """Build the result of one model in a suite of all these sets."""
    (suite_result,) = group_suites(make_records(hits, k=k, model=model))
    return suite_result


def draw_hits(
    seed: int,
    specs: Iterable[str],
    cost: Mapping[str, float] | None = None,
    *,
    k: int = 4,
    n: int = 50,
) -> dict[str, IntArray]:
    """Draw the hits of all points under all sets; every factor costs a share of the right answers.

    `cost` is that share by the factor's name.
    """
    rng = np.random.default_rng(seed)
    cost = {"sp": 0.2, "ga": 0.1, "rotation": 0.3} if cost is None else cost
    skill, hits = rng.beta(4, 1, n), {}
    for spec in specs:
        p = skill * np.prod([1 - cost[f.partition("(")[0]] for f in split_factors(spec)])
        hits[spec] = rng.binomial(1 if spec == "clean" else k, p)
    return hits

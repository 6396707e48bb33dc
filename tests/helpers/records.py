"""Records made by hand: counts of hits, without a model."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from shaketable.evaluation.records import Points, Record, Records, SuiteRecord
from shaketable.findings.suite_results import SuiteResult, suite_results


def made(
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
    """Records of one model with these hits of every point; clean ones, in one draw, must be there.

    `sets` are those of the suite, by default all.
    """
    counts = {spec: np.asarray(h, dtype=np.int64) for spec, h in hits.items()}
    n = len(counts["clean"])
    points = Points(f"points {run}", (0, 1), np.arange(n), np.zeros(n, np.int64))
    cells = []
    for spec, found in counts.items():
        clean = spec == "clean"
        cell = Record(
            key=f"{model} {spec} {seed} {run} {k}", points=points, data="by hand", fingerprint="f",
            model=model, recipe=model, model_id=f"{model} {run}", train="as given", corruption=spec,
            bounds="none" if clean else "[0, 1]", draws="none" if clean else draws,
            noise="none" if clean else "cpu", dtype="float64", k=1 if clean else k, seed=seed,
            run=run, hits=found,
        )  # fmt: skip
        cells.append(cell)
    specs = tuple(counts) if sets is None else sets
    return Records(tuple(cells), (), (SuiteRecord("f", "by-hand", metric, "", specs),))


def result(hits: Mapping[str, ArrayLike], *, k: int = 1, model: str = "net") -> SuiteResult:
    """What one model did in a suite of all these sets."""
    (found,) = suite_results(made(hits, k=k, model=model))
    return found

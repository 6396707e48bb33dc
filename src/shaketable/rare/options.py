"""Options of `risk`, as the command takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.options import (
    COMMON,
    REPEATED,
    RUNNING,
    contains,
    option,
    report_option,
    seed_option,
    store_option,
    switch,
    whole,
)
from shaketable.data.options import DataOptions, bounds_option
from shaketable.models.options import ModelOptions
from shaketable.views.options import PrintOptions

BUDGET = 50_000
"""Answers of the model per point, about."""


def parse_probability(text: str) -> float:
    """Parse a probability between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise InputError(f"must be a probability between 0 and 1, such as 1e-6, got {text!r}")
    return value


@dataclass(frozen=True)
class RiskOptions(PrintOptions):
    """Data, models, corruptions, and what is required of them."""

    dataset: DataOptions = contains(
        DataOptions,
        data="file, folder or built-in set; where models are trained and there is no --test, 20 %% "
        "of the points are drawn as test points",
        points="take only N of the test points, drawn with --seed",
    )
    models: ModelOptions = contains(ModelOptions, without=("threshold",))
    corruption: tuple[str, ...] = option(
        "such as 'linf(eps_min)', 'l2(0.5)' or 'gaussian(0.1)'; repeat it for several (default: "
        "linf(eps_min))",
        (),
        form=REPEATED,
        metavar="SPEC",
        group=COMMON,
    )
    below: float | None = option(
        "what the probability of a wrong answer must be at most, as the mean over the points, such "
        "as 1e-6. Exit code 1: it is not, 3: interval too wide to decide",
        read=parse_probability,
        metavar="P",
        group=COMMON,
        kept=False,
    )
    budget: int = whole(
        "answers of the model per point, about; there is no limit for all points together, so see "
        f"--dry-run (default: {BUDGET})",
        BUDGET,
        group=COMMON,
    )
    precision: float | None = option(
        "stop at a point when half the width of its interval is at most so much of the value, such "
        "as 0.2, before the budget is used up",
        read=parse_probability,
        metavar="SHARE",
        group=COMMON,
    )
    bounds: Any = bounds_option()
    seed: int = seed_option("all random numbers")
    dry_run: bool = switch(
        "say how long it would take, from 2000 answers, and measure nothing",
        group=RUNNING,
        in_files=False,
        kept=False,
    )
    report: str | None = report_option("write a page with tables")
    store: str | None = store_option("it keeps the results, and an interrupted command goes on")

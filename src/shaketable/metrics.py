"""Metrics: pure functions from records to numbers with intervals; no model is ever seen here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shaketable.findings.mce.numbers import (
    SUITE_METRICS,
    error_change,
    ice,
    mce,
    mce_15,
    mce_alexnet,
    mce_lp,
    mce_lp_difference,
    mce_xn,
    mean_error,
    mean_error_difference,
    relative_mce_alexnet,
)
from shaketable.findings.mcv.numbers import cv_difference, mcv
from shaketable.findings.mcv.stability import Stability
from shaketable.findings.mscr.numbers import (
    ErrorProbability,
    accuracy,
    error_probability,
    mscr,
    mscr_difference,
    relative_loss,
    verdict,
)
from shaketable.findings.series import (
    Series,
    meets_same_noise,
    relative_change,
    series,
)
from shaketable.findings.suite_results import (
    SuiteResult,
    meets_same_suite,
    suite_results,
)

__all__ = [
    "METRICS",
    "SUITE_METRICS",
    "ErrorProbability",
    "Series",
    "Stability",
    "SuiteResult",
    "accuracy",
    "cv_difference",
    "error_change",
    "error_probability",
    "ice",
    "mce",
    "mce_15",
    "mce_alexnet",
    "mce_lp",
    "mce_lp_difference",
    "mce_xn",
    "mcv",
    "mean_error",
    "mean_error_difference",
    "meets_same_noise",
    "meets_same_suite",
    "mscr",
    "mscr_difference",
    "relative_change",
    "relative_loss",
    "relative_mce_alexnet",
    "series",
    "suite_results",
    "verdict",
]


METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": accuracy,
    "relative_loss": relative_loss,
    "mscr": mscr,
    "mscr_difference": mscr_difference,
    "error_probability": error_probability,
    "mce_lp": mce_lp,
    "mce_lp_difference": mce_lp_difference,
    "ice": ice,
    "mce": mce,
    "mce_15": mce_15,
    "mce_xn": mce_xn,
    "mce_alexnet": mce_alexnet,
    "relative_mce_alexnet": relative_mce_alexnet,
    "mcv": mcv,
    "cv_difference": cv_difference,
}
"""Metrics by name."""

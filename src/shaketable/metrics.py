"""The public metrics: functions from records to numbers with intervals, gathered from findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shaketable.findings.confidence.numbers import (
    calibration_error,
    selective_accuracy,
    sure_and_wrong,
)
from shaketable.findings.features.numbers import feature_losses
from shaketable.findings.finding import list_metrics
from shaketable.findings.inputs.numbers import flip_size
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
from shaketable.findings.measures.numbers import (
    balanced_accuracy,
    mean_measure_error,
    measure,
    measure_difference,
    measure_loss,
)
from shaketable.findings.mscr.numbers import (
    accuracy,
    accuracy_difference,
    error_probability,
    mscr,
    mscr_difference,
    relative_loss,
)
from shaketable.findings.mscr.view import describe_mscr
from shaketable.findings.series import group_series as series
from shaketable.findings.series import meets_same_noise, relative_change
from shaketable.findings.subgroups.numbers import group_accuracy, group_error_probability
from shaketable.findings.suite_results import group_suites as suite_results
from shaketable.findings.suite_results import meets_same_suite

__all__ = [
    "METRICS",
    "SUITE_METRICS",
    "accuracy",
    "accuracy_difference",
    "balanced_accuracy",
    "calibration_error",
    "cv_difference",
    "describe_mscr",
    "error_change",
    "error_probability",
    "feature_losses",
    "flip_size",
    "group_accuracy",
    "group_error_probability",
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
    "mean_measure_error",
    "measure",
    "measure_difference",
    "measure_loss",
    "meets_same_noise",
    "meets_same_suite",
    "mscr",
    "mscr_difference",
    "relative_change",
    "relative_loss",
    "relative_mce_alexnet",
    "selective_accuracy",
    "series",
    "suite_results",
    "sure_and_wrong",
]


METRICS: dict[str, Callable[..., Any]]
"""Metrics by name, also those of other installed packages; gathered when they are asked for."""


def __getattr__(name: str) -> Any:
    if name == "METRICS":
        return list_metrics()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Captions of the charts of errors under suites of corruptions."""

SUITE_MEANS = (
    "Points are measured errors, bars their 95 % intervals; dashed lines are errors on clean "
    "points. Errors grow to the right."
)
SUITE_ERRORS = (
    "One panel per norm or kind of corruption, on one scale. Points are measured errors from the "
    "weakest level to the strongest, bars their 95 % intervals; dashed lines are errors on clean "
    "points."
)

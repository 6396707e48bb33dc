"""Estimates with confidence intervals, from counts of right answers per point.

`intervals` has one function per quantity (accuracy, relative change, differences, error bounds);
each returns an `estimate.Estimate`. `counts` reads what is given; `own_intervals` computes the
limits, or `standard_intervals` where `families.use_intervals` chose that. docs/intervals/ has the
definitions, the constants and the coverage.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""Estimates with confidence intervals, from counts of right answers per point.

`intervals` has one function per quantity (accuracy, relative change, differences, error bounds);
each returns an `estimate.Estimate`. `limits` computes the limits, `counts` reads what is given.
"""

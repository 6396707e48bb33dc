"""Stopping rules, and what was known when they stopped, with a forecast for narrower intervals.

`numbers` says when enough is known: half-widths (`Precision`) or decisions (`Decided`). The
intervals of what was measured hold wherever a rule stops; `shaketable.statistics.sequences`
explains them.
"""

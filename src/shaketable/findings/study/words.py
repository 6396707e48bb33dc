"""Captions of the charts of studies."""

LADDER = (
    "One line per training noise, bars are 95 % intervals over runs; the dashed line is eps_min."
)
MATRIX = (
    "Mean over runs. Dots and bold numbers mark the best training noise for each test noise; "
    "outlined entries have the same noise in training and test."
)
TRADEOFF = (
    "One point per training noise, joined in order of its size. Up and right is better in both; a "
    "curve that only falls is a trade-off."
)
RUNS = (
    "The mean over an increasing number of runs, with its 95 % interval. If a line still moves at "
    "its end, more runs are needed."
)

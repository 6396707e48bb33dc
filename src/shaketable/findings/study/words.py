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
    "The mean over the first runs, more and more of them, with its 95 % interval. A line that "
    "still moves needs more runs."
)

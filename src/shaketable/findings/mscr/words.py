"""Captions of the charts of accuracies and of MSCR."""

PLAIN_ACCURACY = "Points are measured accuracies, bars their 95 % intervals."
MSCR = (
    "Points are estimates, bars their 95 % intervals. Left of or below zero, the model loses "
    "accuracy that the data do not force it to lose; at zero it is as robust as the data allow."
)
ACCURACY = (
    f"{PLAIN_ACCURACY} Up to eps_min, the dashed line, no accuracy has to be lost; beyond it, even "
    "a perfect classifier may lose some."
)
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

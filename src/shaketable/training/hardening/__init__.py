"""Hardening: the training noise that buys the most robustness, within a price in clean accuracy.

`search` finds it, and `result` compares ways of training, chooses one, and is what was found. The
data are used in three parts: models of the search are fitted on one and compared on another one,
and only the winner is compared with training without noise on the third. So the choice among
many cannot flatter the result.
"""

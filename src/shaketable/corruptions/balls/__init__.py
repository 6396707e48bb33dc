"""Balls of the p-norms: points from them, their volumes, and how much they overlap.

`numbers` is the public module ``shaketable.balls``; `table` prints its results, and `charts` draws
them.
"""

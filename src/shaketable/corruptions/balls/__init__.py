"""Balls of the p-norms: points from them, their volumes, and how much they overlap.

`numbers` computes, `charts` has charts and tables of the results.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

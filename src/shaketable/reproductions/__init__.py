"""Published numbers made again: ours beside print, and which declared claims hold.

A reproduction is a function that takes what was asked for (`registry.Asked`) and returns what was
measured (`registry.Measured`): tables of numbers, each with what is printed. What must hold is
declared beside it, before anything is measured, apart for every form: claims on the numbers, and
what differs from the paper and why. `claims` judges them, `result` shows the outcome.

To add one, copy a function of `papers/pnorm/balls.py`; modules are named in `registry`. Printed
tables are files of ``published/``, as printed, with what is right where the print has a slip.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

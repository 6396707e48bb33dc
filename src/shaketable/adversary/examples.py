"""The teaching classifiers of the papers, such as ``f1`` and ``circle``; see `models.examples`."""

from shaketable.models.examples import circle, f1, f2, f3, flat, oracle

__all__ = ["circle", "f1", "f2", "f3", "flat", "oracle"]

"""Corruptions: what is done to the inputs; one family a file, one canonical spec string each."""

from shaketable.corruptions.bounds import Bounds, BoundsLike, as_bounds
from shaketable.corruptions.compose import Sequence
from shaketable.corruptions.corruption import Clean, Corruption, noisy_copies
from shaketable.corruptions.noise import Gaussian, Impulse
from shaketable.corruptions.parse import CORRUPTION_NAMES, corrupt, parse
from shaketable.corruptions.pnorm import PNormNoise

__all__ = [
    "CORRUPTION_NAMES",
    "Bounds",
    "BoundsLike",
    "Clean",
    "Corruption",
    "Gaussian",
    "Impulse",
    "PNormNoise",
    "Sequence",
    "as_bounds",
    "corrupt",
    "noisy_copies",
    "parse",
]

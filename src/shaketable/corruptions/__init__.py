"""Corruptions: what is done to the inputs; one family a file, one canonical spec string each."""

from shaketable.corruptions.bounds import Bounds, BoundsLike, as_bounds
from shaketable.corruptions.cameras import CameraGaussian, Rotation, SaltPepper
from shaketable.corruptions.compose import Named, Sequence
from shaketable.corruptions.corruption import Clean, Columns, Corruption, noisy_copies
from shaketable.corruptions.noise import Gaussian, Impulse
from shaketable.corruptions.parse import CORRUPTION_NAMES, corrupt, parse
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.tables import Jitter, Missing, Rescaling

__all__ = [
    "CORRUPTION_NAMES",
    "Bounds",
    "BoundsLike",
    "CameraGaussian",
    "Clean",
    "Columns",
    "Corruption",
    "Gaussian",
    "Impulse",
    "Jitter",
    "Missing",
    "Named",
    "PNormNoise",
    "Rescaling",
    "Rotation",
    "SaltPepper",
    "Sequence",
    "as_bounds",
    "corrupt",
    "noisy_copies",
    "parse",
]

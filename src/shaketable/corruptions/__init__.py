"""Corruptions: what is done to the inputs; one family a file, one canonical spec string each."""

from shaketable.corruptions.camera_faults import CameraGaussian, Rotation, SaltPepper
from shaketable.corruptions.compose import Named, Sequence
from shaketable.corruptions.corrupt import corrupt
from shaketable.corruptions.corruption import Clean, Corruption, noisy_copies
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.parse import CORRUPTION_NAMES, parse
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.table_faults import Jitter, Missing, Rescaling
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds

__all__ = [
    "CORRUPTION_NAMES",
    "Bounds",
    "BoundsLike",
    "CameraGaussian",
    "Clean",
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

"""Corruptions: what is done to the inputs.

Every corruption is a frozen dataclass with one canonical spec string. A family of them is a module,
which declares them in the registry; to add one, copy such a module (see `registry`), or decorate a
function (see `custom`).
"""

from shaketable.corruptions.camera_faults import CameraGaussian, Rotation, SaltPepper
from shaketable.corruptions.category_faults import Swap, Typo
from shaketable.corruptions.compose import Named, Sequence
from shaketable.corruptions.corrupt import corrupt
from shaketable.corruptions.corruption import Clean, Corruption, noisy_copies
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.one_of import OneOf
from shaketable.corruptions.only import Only
from shaketable.corruptions.parse import as_corruption, parse
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.corruptions.table_faults import Jitter, Missing, Rescaling
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds

__all__ = [
    "CORRUPTIONS",
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
    "OneOf",
    "Only",
    "PNormNoise",
    "Rescaling",
    "Rotation",
    "SaltPepper",
    "Sequence",
    "Swap",
    "Typo",
    "as_bounds",
    "as_corruption",
    "corrupt",
    "noisy_copies",
    "parse",
]
